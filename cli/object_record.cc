#include "cli/object_record.h"

#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"

namespace tarn::cli {

Request read_request(const Uri& uri) {
  return {.path = api_path({"repositories", uri.repository, "refs", uri.ref, "objects"}),
          .query = {{"path", uri.path}}};
}

Json stat_object(Client& client, const Uri& uri, bool presign) {
  Request request{
      .path = api_path({"repositories", uri.repository, "refs", uri.ref, "objects", "stat"}),
      .query = {{"path", uri.path}}};
  if (presign) request.query.emplace_back("presign", "true");
  return client.call(request);
}

void each_object_below(Client& client, const Uri& below,
                       const std::function<void(const Json&)>& act) {
  bool found = false;
  client.each(
      {.path = api_path({"repositories", below.repository, "refs", below.ref, "objects", "ls"}),
       .query = {{"prefix", below.path}}},
      [&](const Json& item) {
        found = true;
        act(item);
        return true;
      });
  if (found) return;
  throw Error(ErrorCode::kNotFound, reason::kObjectNotFound,
              str_cat("there is no object below ", to_string(below),
                      ": nothing was done; see what there is: tarn fs ls ",
                      to_string({below.repository, below.ref, ""})));
}

void print_object(Output& out, const Uri& uri, const Json& stats) {
  const int64_t size = stats.value("size_bytes", int64_t{0});
  std::vector<std::pair<std::string, std::string>> lines{
      {"object", to_string(uri)},
      {"size", str_cat(size, " (", size_in_words(static_cast<uint64_t>(size)), ")")},
      {"modified", time_in_words(stats.value("mtime", int64_t{0}))},
      {"checksum", stats.value("checksum", "")},
      {"content type", stats.value("content_type", "")},
      {"stored at", stats.value("physical_address", "")},
  };
  const Json metadata = stats.value("metadata", Json::object());
  for (const auto& [key, value] : metadata.items()) {
    lines.emplace_back("meta", str_cat(key, '=', value.get<std::string>()));
  }
  out.object("Object", stats, lines);
}

}  // namespace tarn::cli
