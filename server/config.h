// The configuration of tarnd: its values, the table of its keys, and the readers of its sources.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/http/server.h"
#include "core/meta/read_lease_options.h"

namespace tarn::server {

/// One S3-compatible store.
struct S3StoreConfig {
  std::string name{};
  std::vector<std::string> buckets{};  ///< empty = all buckets that no other store has
  std::string endpoint{};              ///< "" = none (the unnamed store only)
  std::string presign_endpoint{};      ///< "" = endpoint
  std::string region = "us-east-1";
  std::string access_key_id{};
  std::string secret_access_key{};
  std::string secret_access_key_file{};
  bool path_style = true;
  bool remove_versions = false;
};

struct Config {
  std::string listen = "127.0.0.1:8000";
  std::string data = "tarn-data";
  std::string run_as;
  std::string database;
  std::string database_file;

  std::string log_level = "info";
  std::string log_format = "text";
  std::string log_requests = "all";
  std::chrono::milliseconds log_slow_request{1000};

  std::vector<std::string> s3_hosts;
  std::string s3_region = "us-east-1";
  std::string s3_listen;
  std::string metrics_listen;
  std::string s3_create_bucket = "off";
  std::string s3_bucket_namespace = "local://buckets";
  bool s3_signature_v2 = true;
  std::string s3_anonymous;
  bool s3_public_buckets = false;
  std::vector<std::string> s3_cors_allowed_origins;
  std::vector<std::string> s3_cors_allowed_methods = {"GET", "HEAD", "PUT", "POST", "DELETE"};
  std::vector<std::string> s3_cors_allowed_headers = {"*"};
  std::vector<std::string> s3_cors_exposed_headers = {"ETag", "x-amz-request-id",
                                                      "x-amz-version-id"};
  std::chrono::milliseconds s3_cors_max_age = std::chrono::minutes{10};

  std::vector<std::string> trusted_proxies;
  std::string external_url;

  http::ServerLimits http;
  uint32_t db_connections = 16;
  std::string db_lost_writes = "refuse";
  std::string store_promoted_standby = "refuse";
  uint64_t cache_node_bytes = uint64_t{256} << 20;
  bool cache_read_leases = true;
  uint32_t cache_read_lease_reads_min = meta::kLeasedReadsMin;
  std::chrono::milliseconds cache_read_lease_pause = meta::kReadLeasePause;
  uint32_t job_workers = 3;
  uint32_t gc_interval_hours = 24;
  uint32_t gc_grace_hours = 24;
  uint32_t gc_unreachable_days = 14;
  uint32_t gc_deleted_days = 7;
  uint32_t gc_share_max = 10;
  uint32_t gc_deletes_per_second = 0;
  uint32_t gc_busy_percent = 50;
  uint64_t verify_bytes_per_second = uint64_t{100} << 20;
  uint64_t upload_bytes_max = uint64_t{5} << 40;
  uint32_t upload_multipart_hours = 7 * 24;
  uint32_t upload_multipart_open_max = 10'000;
  uint32_t branches_per_user_max = 10'000;

  std::string auth_setup = "start";
  std::string auth_presign = "on";
  std::string auth_master_key;
  std::string auth_master_key_file;

  std::vector<std::string> hooks_allowed_targets;
  bool hooks_lua_http = false;
  std::string hooks_variables;
  std::string hooks_repositories;
  uint32_t webhooks_workers = 8;
  std::chrono::milliseconds webhooks_timeout = std::chrono::seconds{15};
  std::chrono::milliseconds webhooks_retry_first = std::chrono::seconds{5};
  uint32_t webhooks_attempts_max = 10;

  std::string store_verify_reads = "off";
  std::string store_local_root;
  std::vector<std::string> store_local_import_roots;
  std::string store_cache_directory;
  uint64_t store_cache_bytes_max = uint64_t{10} << 30;
  uint64_t store_cache_object_bytes_max = uint64_t{8} << 20;
  S3StoreConfig store_s3;
  std::vector<S3StoreConfig> store_s3_stores;

  // Values with a default that depends on another key.
  std::string local_root() const;       ///< store.local.root, or <data>/objects
  std::string master_key_file() const;  ///< auth.master_key_file, or <data>/master.key
  /// store.s3, if it has an endpoint, and store.s3_stores.
  std::vector<S3StoreConfig> s3_stores() const;
};

/// A pointer to a value in a Config.
using ConfigValue = std::variant<std::string*, std::vector<std::string>*, bool*, uint32_t*,
                                 uint64_t*, std::chrono::milliseconds*>;

/// One key: its path in the file ("store.local.root"), its value and its description.
struct ConfigKey {
  std::string_view path;
  ConfigValue (*value)(Config&);
  std::string_view meaning;
  std::string_view default_text{};  ///< shown if the default depends on another key
  bool secret = false;              ///< never shown
  bool reload = false;              ///< SIGHUP applies a new value
};

/// All keys except store.s3_stores, in the order of the documentation.
std::span<const ConfigKey> config_keys();
const ConfigKey* find_config_key(std::string_view path);

/// "TARN_STORE_LOCAL_ROOT" for "store.local.root".
std::string environment_name(std::string_view path);

/// Parses a value: lists with commas, sizes with KiB, MiB, GiB or TiB, times with ms, s, m or h,
/// booleans as true or false. Throws invalid_argument with the expected form (the caller adds the
/// key).
void set_config_value(ConfigValue value, std::string_view text);
/// The value in the form that set_config_value parses.
std::string config_text(ConfigValue value);

/// Reads every key for which `variable` has a value, including empty ones. Throws invalid_argument
/// with a line for each variable that is wrong.
using Environment = std::function<std::optional<std::string>(const std::string& name)>;
void apply_environment(Config& config, const Environment& variable);
/// The environment of the process, for an Environment.
std::optional<std::string> environment(const std::string& name);

/// The names among `names` (of environment variables) that begin with TARN_ and that neither tarnd
/// nor the command nor `config.hooks_variables` uses, and are therefore probably misspelled. Those
/// that Kubernetes adds for a service called tarn are not.
std::vector<std::string> misspelt_variables(const Config& config,
                                            std::span<const std::string> names);

/// Throws invalid_argument with a line for each problem, which names the key and what is wrong with
/// its value, alone or in combination.
void check_config(const Config& config);

struct ListenAddress {
  std::string host;
  uint16_t port = 0;
};
/// Parses "127.0.0.1:8000", "[::1]:0", ":8000" (all addresses). Throws invalid_argument.
ListenAddress parse_listen(std::string_view text);

}  // namespace tarn::server
