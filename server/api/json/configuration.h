// JSON bodies of the configuration calls.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/model/server_process.h"

namespace tarn::api::json {

/// Facts about this installation that clients may see.
struct Installation {
  std::string version{};
  std::string id{};                  ///< shared by all servers of one database, never changes
  std::string store_type = "local";  ///< "local" or "s3": clients behave differently by it
  std::string namespace_example{};   ///< for example "local://example-bucket/"
  std::string namespace_pattern{};   ///< regular expression of valid namespaces
  std::string namespace_prefix{};    ///< prefix that the web form suggests
  std::string import_pattern{};      ///< regular expression of import sources
  bool presign = true;               ///< whether presigned URLs are available
  int64_t grace_seconds = 86400;     ///< minimum age of bytes that garbage collection deletes
};

/// A key of the server's configuration as it started. Thread-safe: never changes.
struct Setting {
  std::string name;   ///< for example "gc.interval_hours"
  std::string value;  ///< without passwords; "" for a secret
  bool is_secret = false;
  bool is_default = true;
  std::string_view meaning{};
};

std::string settings_body(std::span<const Setting> settings);
/// `answering` is the id of the server that answers.
std::string servers_body(std::span<const ServerProcess> servers, std::string_view answering);
std::string config_body(const Installation& installation);
std::string version_body(const Installation& installation);
std::string storage_body(const Installation& installation);
/// Usage is not counted, so the report is empty.
std::string usage_body(const Installation& installation);
std::string collection_body(const Installation& installation);

}  // namespace tarn::api::json
