#include "cli/transfer.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "cli/local_file.h"
#include "cli/object_record.h"
#include "core/base/encoding.h"
#include "core/base/str_cat.h"
#include "core/base/text.h"

namespace tarn::cli {
namespace {

constexpr size_t kMd5HexLength = 32;
/// Attempts of a presigned upload, which starts over if another request used its address.
constexpr int kLinkAttempts = 3;

bool is_md5(std::string_view text) { return text.size() == kMd5HexLength && is_lower_hex(text); }

void check_md5(std::string_view what, const std::string& expected, const std::string& actual) {
  if (!is_md5(expected) || expected == actual) return;
  throw Error(ErrorCode::kDataLoss,
              str_cat(what, ": the bytes have checksum ", actual, ", the server says ", expected));
}

std::string unquoted(std::string etag) {
  std::erase(etag, '"');
  return etag;
}

std::string type_of(const NewObject& facts) {
  return facts.content_type.empty() ? std::string(kUnknownType) : facts.content_type;
}

/// Sends the file's bytes as the body of `request`. Throws if the answer is not ok().
Answer send(Client& client, const Request& request, FileReader& file, const NewObject& facts,
            const Moved& moved) {
  const auto open = [&]() -> BodySource {
    if (file.size_bytes() >= 0) file.rewind();
    return [&] {
      const std::string_view piece = file.next();
      moved(piece.size());
      return piece;
    };
  };
  const Answer answer = client.upload({.request = request,
                                       .content_type = type_of(facts),
                                       .size_bytes = file.size_bytes(),
                                       .open = open});
  if (!answer.ok()) throw error_from(answer);
  return answer;
}

Json send_through_server(Client& client, FileReader& file, const Uri& target,
                         const NewObject& facts, const Moved& moved) {
  Request request{
      .method = Method::kPost,
      .path = api_path({"repositories", target.repository, "branches", target.ref, "objects"}),
      .query = {{"path", target.path}}};
  for (const auto& [key, value] : facts.metadata) {
    request.headers.emplace_back(str_cat("X-Lakefs-Meta-", key), value);
  }
  if (facts.no_clobber) request.headers.emplace_back("If-None-Match", "*");
  return json_of(send(client, request, file, facts, moved));
}

/// Stores that return no ETag return the MD5 in base64.
std::string checksum_of(const Answer& stored, const std::string& md5) {
  const std::string etag = unquoted(stored.header("ETag"));
  if (!etag.empty()) return etag;
  const std::optional<std::string> raw = from_base64(stored.header("Content-MD5"));
  return raw ? to_hex(*raw) : md5;
}

Json send_presigned(Client& client, FileReader& file, const Uri& target, const NewObject& facts,
                    const Moved& moved) {
  const std::string path =
      api_path({"repositories", target.repository, "branches", target.ref, "staging", "backing"});
  Request link{.method = Method::kPut, .path = path, .query = {{"path", target.path}}};
  if (facts.no_clobber) link.headers.emplace_back("If-None-Match", "*");
  Json metadata = Json::object();
  for (const auto& [key, value] : facts.metadata) metadata[key] = value;
  for (int attempt = 1;; ++attempt) {
    const Json place =
        client.call({.path = path, .query = {{"path", target.path}, {"presign", "true"}}});
    const Request put{.method = Method::kPut, .url = place.at("presigned_url").get<std::string>()};
    const Answer stored = send(client, put, file, facts, moved);
    const std::string md5 = file.md5();
    const std::string checksum = checksum_of(stored, md5);
    check_md5(str_cat("storing ", to_string(target)), checksum, md5);
    const Answer linked = client.ask(with_body(link, Json{{"staging", place},
                                                          {"checksum", checksum},
                                                          {"size_bytes", file.size_bytes()},
                                                          {"user_metadata", metadata},
                                                          {"content_type", type_of(facts)}}));
    if (linked.ok()) return json_of(linked);
    const Error error = error_from(linked);
    if (error.code() != ErrorCode::kConflict || attempt == kLinkAttempts) throw error;
  }
}

/// The location of the bytes, and their checksum if it is known in advance.
struct Place {
  Request request;
  std::string checksum;
};

Place place_of(Client& client, Way way, const Uri& source) {
  if (way == Way::kServer) return {read_request(source), ""};
  const Json stats = stat_object(client, source, true);
  return {{.url = stats.at("physical_address").get<std::string>()}, stats.value("checksum", "")};
}

}  // namespace

Json upload_file(Client& client, Way way, const std::string& local, const Uri& target,
                 const NewObject& facts, const Moved& moved) {
  FileReader file(local);
  if (way == Way::kPresigned && file.size_bytes() >= 0) {
    return send_presigned(client, file, target, facts, moved);
  }
  Json stats = send_through_server(client, file, target, facts, moved);
  check_md5(str_cat("uploading ", local), stats.value("checksum", ""), file.md5());
  return stats;
}

uint64_t download_file(Client& client, Way way, const Uri& source,
                       const std::filesystem::path& target, const Moved& moved) {
  const Place place = place_of(client, way, source);
  FileWriter file(target);
  Answer answer = client.download(place.request, [&](std::string_view piece) {
    file.write(piece);
    moved(piece.size());
  });
  answer.subject = to_string(source);
  if (!answer.ok()) throw error_from(answer);
  const std::string checksum =
      place.checksum.empty() ? unquoted(answer.header("ETag")) : place.checksum;
  check_md5(str_cat("downloading ", to_string(source)), checksum, file.md5());
  file.finish();
  return file.written_bytes();
}

bool is_same(const std::filesystem::path& file, uint64_t size_bytes, const std::string& checksum,
             bool size_only, const Moved& looked) {
  std::error_code absent;
  const bool regular = std::filesystem::is_regular_file(file, absent);
  if (!regular || std::filesystem::file_size(file, absent) != size_bytes || absent) return false;
  if (size_only) return true;
  if (!is_md5(checksum)) return false;
  FileReader reader(file.string());
  for (size_t read = reader.next().size(); read > 0; read = reader.next().size()) looked(read);
  return reader.md5() == checksum;
}

}  // namespace tarn::cli
