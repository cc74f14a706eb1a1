// Bodies of the configuration calls.
#pragma once

#include <string>

namespace tarn::api::json {

/// The facts about this installation that clients may know.
struct Installation {
  std::string version{};
  std::string id{};                  ///< of all servers on one database, for ever
  std::string store_type = "local";  ///< "local" or "s3": what clients branch on
  std::string namespace_example{};   ///< for example "local://example-bucket/"
  std::string namespace_pattern{};   ///< regular expression of namespaces that can be used
  std::string namespace_prefix{};    ///< what a form may start with
  std::string import_pattern{};      ///< regular expression of import sources
  bool presign = true;               ///< whether URLs are given out that carry their own permission
  int64_t grace_seconds = 86400;     ///< age below which garbage collection leaves bytes alone
};

std::string config_body(const Installation& installation);
std::string version_body(const Installation& installation);
std::string storage_body(const Installation& installation);
/// Nothing is counted, so that there are no reports.
std::string usage_body(const Installation& installation);
std::string collection_body(const Installation& installation);

}  // namespace tarn::api::json
