// GetObject and HeadObject, which share all code so that their headers cannot differ.

#include <algorithm>
#include <chrono>
#include <optional>

#include "core/base/error.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "core/base/text.h"
#include "core/branch/repositories.h"
#include "core/imports/source_checksums.h"
#include "core/objects/checked_read.h"
#include "core/objects/direct_upload.h"
#include "core/objects/multipart.h"
#include "core/objects/objects.h"
#include "s3gateway/operations/lookup.h"
#include "s3gateway/operations/object_headers.h"
#include "s3gateway/operations/operations.h"
#include "s3gateway/operations/precondition.h"
#include "s3gateway/wire/checksums.h"
#include "s3gateway/wire/errors.h"
#include "s3gateway/wire/list_query.h"
#include "s3gateway/wire/range.h"
#include "s3gateway/xml/documents.h"

namespace tarn::s3 {
namespace {

/// Maximum size of bytes that are read into the response: one write together with the head is
/// faster than a second system call for the file.
constexpr uint64_t kInlineBytesMax = 64 * 1024;
/// The token in the User-Agent of clients that accept redirects to the store.
constexpr std::string_view kRedirectWord = "s3RedirectionSupport";
constexpr std::chrono::minutes kRedirectLifetime{15};

/// The part of the object that is sent.
struct Selection {
  blob::ByteRange range;
  bool partial = false;
  bool whole = false;                 ///< neither a range nor a part was asked for
  std::optional<size_t> parts_count;  ///< to be shown
  std::vector<Checksum> checksums;    ///< of exactly the bytes selected
};

class ObjectSource final : public http::BodySource {
 public:
  explicit ObjectSource(std::unique_ptr<blob::BlobReader> reader) : reader_(std::move(reader)) {}
  size_t read(std::span<char> out) override { return reader_->read(out); }
  std::optional<size_t> splice(int pipe, size_t limit) override {
    return reader_->splice(pipe, limit);
  }

 private:
  std::unique_ptr<blob::BlobReader> reader_;
};

[[noreturn]] void refuse_range(std::string_view requested, uint64_t size_bytes) {
  http::Headers headers;
  headers.add("Content-Range", str_cat("bytes */", size_bytes));
  throw Refusal(failure::kInvalidRange, "The requested range is not satisfiable",
                {{"RangeRequested", std::string(requested)},
                 {"ActualObjectSize", std::to_string(size_bytes)}},
                std::move(headers));
}

/// Whether the Range applies: If-Range restricts it to an unchanged object.
bool range_applies(const http::Headers& headers, const Entry& entry) {
  const std::string_view condition = headers.get("if-range");
  if (condition.empty()) return true;
  if (const auto date = parse_http_date(condition))
    return to_seconds(entry.mtime) <= to_seconds(*date);
  return etag_listed(condition, entry.etag);
}

Selection select_bytes(const http::Headers& headers, const Entry& entry) {
  Selection out{.range = {0, entry.size_bytes}, .parts_count = std::nullopt, .checksums = {}};
  const std::string_view requested = headers.get("range");
  if (requested.empty() || !range_applies(headers, entry)) {
    out.checksums = entry.checksums();
    out.whole = true;
    return out;
  }
  const RangeOutcome outcome = select_range(requested, entry.size_bytes);
  if (std::holds_alternative<UnsatisfiableRange>(outcome)) {
    refuse_range(requested, entry.size_bytes);
  }
  if (const auto* range = std::get_if<blob::ByteRange>(&outcome)) {
    out.range = *range;
    out.partial = true;
  } else {
    out.checksums = entry.checksums();
  }
  return out;
}

Selection select_part(Call& call, const Entry& entry, const std::string& text) {
  const uint64_t number = check_number(text, "partNumber", 1, objects::kPartNumberMax, 1);
  if (call.request.headers.find("range")) {
    throw Refusal(failure::kInvalidRequest,
                  "Cannot specify both Range header and partNumber query parameter.");
  }
  const std::vector<objects::UploadedPart> parts = object_parts(call.engine(), entry);
  if (number > std::max<size_t>(parts.size(), 1)) {
    throw Refusal(failure::kInvalidPart,
                  str_cat("The object has ", std::max<size_t>(parts.size(), 1), " parts."),
                  {{"PartNumber", text}});
  }
  Selection out{.range = {0, entry.size_bytes},
                .partial = entry.size_bytes > 0,
                .parts_count = std::nullopt,
                .checksums = {}};
  if (parts.empty()) return out;
  for (size_t i = 0; i + 1 < number; ++i) out.range.offset += parts[i].size_bytes;
  out.range.length = parts[number - 1].size_bytes;
  out.parts_count = parts.size();
  out.checksums = parts[number - 1].checksums;
  return out;
}

/// Values from the query become headers, so they must not contain line ends.
void check_overrides(const HeaderOverrides& overrides) {
  for (const auto& [header, value] : overrides) {
    if (!has_control(value)) continue;
    throw Refusal(failure::kInvalidArgument,
                  str_cat("The override of ", header, " must not hold control characters."));
  }
}

http::Response not_modified(const Call& call, const Entry& entry) {
  http::Response response;
  response.status = 304;
  add_not_modified_headers(response.headers, entry, call.now());
  return response;
}

bool shows_checksums(const Call& call) {
  return equal_ignoring_case(call.request.headers.get("x-amz-checksum-mode"), "ENABLED");
}

/// Opens the selected bytes. Adds checksums that only the object's source knows to `headers`.
std::unique_ptr<blob::BlobReader> open_selected(Call& call, const objects::FoundObject& found,
                                                const Selection& selection, std::string_view path,
                                                http::Headers& headers) {
  if (selection.whole && !std::holds_alternative<ExternalAddress>(found.entry.address)) {
    return objects::open_checked_object(call.engine(), found.repository, path, found.entry,
                                        call.context.options.read_check);
  }
  if (!selection.whole || !selection.checksums.empty() || !shows_checksums(call))
    return objects::open_object(call.engine(), found.repository, found.entry, selection.range);
  imports::WholeObject whole =
      imports::open_whole_object(call.engine(), found.repository, found.entry);
  add_checksum_headers(headers, whole.checksums);
  return std::move(whole.reader);
}

void attach_bytes(Call& call, const objects::FoundObject& found, const Selection& selection,
                  std::string_view path, http::Response& response) {
  const blob::ByteRange range = selection.range;
  if (range.length == 0) return;
  auto reader = open_selected(call, found, selection, path, response.headers);
  if (range.length <= kInlineBytesMax) {
    response.body.resize(range.length);
    size_t filled = 0;
    while (filled < range.length) {
      const size_t count = reader->read(std::span(response.body).subspan(filled));
      if (count == 0) {
        throw Error(ErrorCode::kDataLoss, reason::kObjectCorrupt,
                    "reading an object: its bytes end too early");
      }
      filled += count;
    }
  } else if (const int fd = reader->duplicate_fd(); fd >= 0) {
    response.file.emplace(fd, reader->file_offset(), range.length);
  } else {
    response.source = std::make_unique<ObjectSource>(std::move(reader));
    response.content_length = range.length;
  }
}

http::Response object_response(Call& call, const ObjectRead& read, const VersionedObject& found,
                               const Selection& selection) {
  const Entry& entry = found.entry;
  http::Response response;
  response.status = selection.partial ? 206 : 200;
  http::Headers& headers = response.headers;
  add_object_headers(headers, entry, call.now(), read.overrides);
  if (selection.partial) {
    headers.add("Content-Range", str_cat("bytes ", selection.range.offset, '-',
                                         selection.range.offset + selection.range.length - 1, '/',
                                         entry.size_bytes));
  }
  add_version_header(headers, found.version_id);
  if (selection.parts_count) {
    headers.add("x-amz-mp-parts-count", std::to_string(*selection.parts_count));
  }
  if (shows_checksums(call)) {
    // Clients set this mode on every read, so only HEAD makes an extra request to the source.
    const bool asks_source = call.request.method == "HEAD" && selection.whole;
    const std::vector<Checksum> own = entry.checksums();
    if (asks_source) {
      add_checksum_headers(headers, imports::checksums_of(call.engine(), entry));
    } else if (!own.empty()) {
      add_checksum_headers(headers, selection.checksums, type_of(own.front()));
    } else {
      add_checksum_headers(headers, selection.checksums);
    }
  }
  return response;
}

/// The marker "ref/" of an existing ref: an empty directory object with the time of the ref's
/// commit.
http::Response directory_marker(Call& call, const Location& location, bool head) {
  const auto ref = find_ref(
      call.engine(), branch::get_repository(call.engine(), location.repository), location.ref);
  if (!ref) {
    throw Refusal(failure::kNoSuchKey, "The specified key does not exist.",
                  {{"Key", str_cat(location.ref, '/')}});
  }
  Entry entry;
  entry.etag = std::string(kEmptyMd5);
  entry.mtime = ref->commit.created;
  entry.content_type = std::string(kDirectoryContentType);
  select_bytes(call.request.headers, entry);  // refuses every range
  http::Response response;
  add_object_headers(response.headers, entry, call.now(), {});
  if (head) response.content_length = 0;
  return response;
}

/// A redirect to the store's own URL; nullopt if this server sends the bytes. Imported objects
/// without a version are never redirected, because only this server notices when their source
/// changes.
std::optional<http::Response> redirect(const Call& call, const ObjectRead& read,
                                       const objects::FoundObject& found) {
  // The store's URL would remain valid after the bucket stops being public.
  if (!call.context.options.redirect || call.public_repository || read.part_number ||
      !read.overrides.empty() ||
      call.request.headers.get("user-agent").find(kRedirectWord) == std::string_view::npos) {
    return std::nullopt;
  }
  const auto version = found.entry.source_version();
  if (version && version->version_id.empty()) return std::nullopt;
  const auto url = objects::store_url_to_read(call.engine(), found.repository, found.entry,
                                              {call.now(), kRedirectLifetime});
  if (!url) return std::nullopt;
  http::Response response;
  response.status = 307;
  response.headers.add("Location", *url);
  response.headers.add("Cache-Control", "no-store");
  return response;
}

http::Response read_object(Call& call, const ObjectRead& read, bool head) {
  const Location location = locate(call, read.bucket, read.key);
  if (!read.overrides.empty() && call.verified.mechanism == sigv4::Mechanism::kNone) {
    throw Refusal(failure::kInvalidRequest,
                  "Request specific response headers cannot be used for anonymous GET requests.");
  }
  check_overrides(read.overrides);
  if (location.is_marker()) return directory_marker(call, location, head);
  const VersionedObject found = require_object(call.engine(), location, read.version_id);
  const ReadConditions conditions = read_conditions(call.request.headers);
  if (!conditions.none()) {
    switch (evaluate(conditions, found.entry.etag, found.entry.mtime)) {
      case ReadVerdict::kProceed:
        break;
      case ReadVerdict::kNotModified:
        return not_modified(call, found.entry);
      case ReadVerdict::kFailed:
        refuse_condition();
    }
  }
  if (!head) {
    if (auto elsewhere = redirect(call, read, found)) return *std::move(elsewhere);
  }
  const Selection selection = read.part_number ? select_part(call, found.entry, *read.part_number)
                                               : select_bytes(call.request.headers, found.entry);
  http::Response response = object_response(call, read, found, selection);
  if (!found.commit) {
    add_expiration(call, location, found.repository.id, found.settings_version, found.entry,
                   response.headers);
  }
  if (head) {
    response.content_length = selection.range.length;
  } else {
    // Browsers must not run uploaded bytes in this origin.
    response.headers.add("X-Content-Type-Options", "nosniff");
    response.headers.add("Content-Security-Policy", "default-src 'none'; sandbox");
    attach_bytes(call, found, selection, location.path, response);
  }
  return response;
}

}  // namespace

http::Response run(Call& call, const GetObject& endpoint) {
  return read_object(call, endpoint, /*head=*/false);
}

http::Response run(Call& call, const HeadObject& endpoint) {
  return read_object(call, endpoint, /*head=*/true);
}

namespace {

std::optional<std::string> header(const Call& call, std::string_view name) {
  const std::string* value = call.request.headers.find(name);
  return value ? std::optional<std::string>(*value) : std::nullopt;
}

std::optional<xml::ObjectAttributesResult::Parts> parts_page(Call& call, const Entry& entry) {
  const std::vector<objects::UploadedPart> parts = object_parts(call.engine(), entry);
  if (parts.empty()) return std::nullopt;
  xml::ObjectAttributesResult::Parts out;
  out.total = parts.size();
  out.max_parts = std::min(check_number(header(call, "x-amz-max-parts"), "x-amz-max-parts", 0,
                                        INT32_MAX, kPartsPerPageMax),
                           kPartsPerPageMax);
  out.marker = check_number(header(call, "x-amz-part-number-marker"), "x-amz-part-number-marker", 0,
                            INT32_MAX, 0);
  for (const objects::UploadedPart& part : parts) {
    if (part.number <= out.marker) continue;
    if (out.parts.size() == out.max_parts) {
      out.truncated = true;
      break;
    }
    out.parts.push_back({part.number, part.size_bytes, part.checksums});
    out.next_marker = part.number;
  }
  return out;
}

/// The names in x-amz-object-attributes, which may be spread over several headers.
std::vector<std::string> asked_for(const http::Headers& headers) {
  std::vector<std::string> out;
  for (const auto& [name, value] : headers.all()) {
    if (!equal_ignoring_case(name, "x-amz-object-attributes")) continue;
    std::string word;
    for (char c : value + ",") {
      if (c != ',' && c != ' ' && c != '\t') {
        word.push_back(c);
      } else if (!word.empty()) {
        out.push_back(std::exchange(word, {}));
      }
    }
  }
  return out;
}

}  // namespace

http::Response run(Call& call, const GetObjectAttributes& endpoint) {
  const std::vector<std::string> names = asked_for(call.request.headers);
  const VersionedObject found = require_object(
      call.engine(), locate(call, endpoint.bucket, endpoint.key), endpoint.version_id);
  const Entry& entry = found.entry;
  xml::ObjectAttributesResult result;
  for (const std::string& name : names) {
    if (name == "ETag") {
      result.etag = entry.etag;
    } else if (name == "Checksum") {
      result.checksums = entry.checksums();
    } else if (name == "ObjectParts") {
      result.parts = parts_page(call, entry);
    } else if (name == "StorageClass") {
      result.storage_class = std::string(storage_class_of(entry));
    } else if (name == "ObjectSize") {
      result.size_bytes = entry.size_bytes;
    } else {
      throw Refusal(
          failure::kInvalidArgument,
          "x-amz-object-attributes must name ETag, Checksum, ObjectParts, StorageClass or "
          "ObjectSize.",
          {{"ArgumentName", "x-amz-object-attributes"}, {"ArgumentValue", name}});
    }
  }
  if (names.empty()) {
    throw Refusal(failure::kInvalidArgument, "The header x-amz-object-attributes is required.",
                  {{"ArgumentName", "x-amz-object-attributes"}});
  }
  http::Response response = xml_response(200, to_xml(result));
  response.headers.add("Last-Modified", to_http_date(std::min(entry.mtime, call.now())));
  add_version_header(response.headers, found.version_id);
  return response;
}

}  // namespace tarn::s3
