#include "server/config.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <set>

#include "core/actions/grants.h"
#include "core/auth/permissions.h"
#include "core/base/encoding.h"
#include "core/base/error.h"
#include "core/base/quantity.h"
#include "core/base/str_cat.h"
#include "core/base/text.h"
#include "core/http/target_rules.h"
#include "s3gateway/wire/cors.h"
#include "server/problems.h"

namespace tarn::server {
namespace {

constexpr std::array<Unit, 5> kSizes = {
    Unit{"", 1}, {"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", uint64_t{1} << 40}};
constexpr std::array<Unit, 4> kTimes = {
    Unit{"ms", 1}, {"s", 1000}, {"m", 60'000}, {"h", 3'600'000}};
/// A day: a longer timeout is a mistake.
constexpr uint64_t kTimeMsMax = 86'400'000;

std::vector<std::string> parse_list(std::string_view text) {
  std::vector<std::string> out;
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    if (const std::string_view item = trimmed(text.substr(0, comma)); !item.empty())
      out.emplace_back(item);
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return out;
}

uint64_t parse_size(std::string_view text, uint64_t most) {
  const std::optional<uint64_t> value = parse_quantity(text, kSizes);
  if (!value || *value > most)
    throw_invalid("expected a whole number, with or without KiB, MiB, GiB or TiB");
  return *value;
}

/// Numbers from here on are shown with a unit; smaller ones may be counts.
constexpr uint64_t kShownWithUnitMin = uint64_t{1} << 20;

/// The largest unit that divides `value`.
std::string with_unit(uint64_t value, std::span<const Unit> units) {
  for (size_t i = units.size(); i-- > 0;) {
    if (value >= units[i].factor && value % units[i].factor == 0) {
      return str_cat(value / units[i].factor, units[i].name);
    }
  }
  return str_cat(value, units[0].name);
}

struct Setter {
  std::string_view text;
  void operator()(std::string* value) const { *value = text; }
  void operator()(std::vector<std::string>* value) const { *value = parse_list(text); }
  void operator()(bool* value) const {
    if (text != "true" && text != "false") throw_invalid("expected true or false");
    *value = text == "true";
  }
  void operator()(uint32_t* value) const {
    *value = static_cast<uint32_t>(parse_size(text, UINT32_MAX));
  }
  void operator()(uint64_t* value) const { *value = parse_size(text, UINT64_MAX); }
  void operator()(std::chrono::milliseconds* value) const {
    const std::optional<uint64_t> ms = parse_quantity(text, kTimes);
    if (!ms || *ms > kTimeMsMax) throw_invalid("expected a time of at most 24h with ms, s, m or h");
    *value = std::chrono::milliseconds(*ms);
  }
};

struct Printer {
  std::string operator()(const std::string* value) const { return *value; }
  std::string operator()(const std::vector<std::string>* value) const {
    return joined(*value, ",");
  }
  std::string operator()(const bool* value) const { return *value ? "true" : "false"; }
  std::string operator()(const uint32_t* value) const { return size(*value); }
  std::string operator()(const uint64_t* value) const { return size(*value); }
  std::string operator()(const std::chrono::milliseconds* value) const {
    return with_unit(static_cast<uint64_t>(value->count()), kTimes);
  }

  static std::string size(uint64_t value) {
    return value < kShownWithUnitMin ? std::to_string(value) : with_unit(value, kSizes);
  }
};

[[noreturn]] void refuse(std::string_view key, std::string_view why) {
  throw_invalid(str_cat(key, ": ", why));
}

void check_one_of(std::string_view key, std::string_view value,
                  std::initializer_list<std::string_view> allowed) {
  if (std::find(allowed.begin(), allowed.end(), value) != allowed.end()) return;
  refuse(key, str_cat("must be one of ", joined(allowed, ", ")));
}

/// Adds the key's name to what `read` throws.
template <typename Read>
void check_readable(std::string_view key, Read&& read) {
  try {
    read();
  } catch (const Error& error) {
    refuse(key, error.message());
  }
}

void check_listen(std::string_view key, std::string_view value) {
  check_readable(key, [&] { parse_listen(value); });
}

bool is_normal_directory(std::string_view path) {
  if (!path.starts_with('/') || path.size() < 2 || path.ends_with('/')) return false;
  return (std::string(path) + "/").find("//") == std::string::npos &&
         (std::string(path) + "/").find("/./") == std::string::npos &&
         (std::string(path) + "/").find("/../") == std::string::npos;
}

/// Whether one directory contains the other or both are the same. They need not exist.
bool overlap(const std::string& one, const std::string& other) {
  const auto with_slash = [](const std::string& path) {
    std::error_code unreadable;
    auto real = std::filesystem::weakly_canonical(std::filesystem::absolute(path), unreadable);
    if (unreadable) real = std::filesystem::absolute(path).lexically_normal();
    std::string out = real.string();
    if (!out.ends_with('/')) out += '/';
    return out;
  };
  const std::string a = with_slash(one);
  const std::string b = with_slash(other);
  return a.starts_with(b) || b.starts_with(a);
}

/// Checks a URL prefix: scheme, host and optional port, no path.
void check_origin(std::string_view key, std::string_view url) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!url.starts_with(scheme)) continue;
    const std::string_view host = url.substr(scheme.size());
    if (!host.empty() && host.find_first_of("/?#@ ") == std::string_view::npos) return;
  }
  refuse(key, "must be http:// or https://, a host and maybe a port, nothing behind");
}

template <typename Check>
void check_each(Problems& problems, std::string_view key, const std::vector<std::string>& values,
                Check&& check) {
  for (const std::string& value : values) {
    if (const std::optional<std::string> wrong = check(value)) {
      problems.add(str_cat(key, ": \"", value, "\" ", *wrong));
    }
  }
}

void check_gateway(const Config& config, Problems& problems) {
  check_each(problems, "s3.hosts", config.s3_hosts,
             [](std::string_view host) -> std::optional<std::string> {
               const bool plain =
                   !host.empty() && !host.starts_with('.') &&
                   host.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-.") ==
                       std::string_view::npos;
               if (plain) return std::nullopt;
               return "must be a host name in lower case, without a port";
             });
  check_each(problems, "s3.cors.allowed_origins", config.s3_cors_allowed_origins,
             &s3::check_cors_origin);
  check_each(problems, "s3.cors.allowed_methods", config.s3_cors_allowed_methods,
             &s3::check_cors_method);
  check_each(problems, "s3.cors.allowed_headers", config.s3_cors_allowed_headers,
             [](std::string_view name) { return s3::check_cors_header(name, true); });
  check_each(problems, "s3.cors.exposed_headers", config.s3_cors_exposed_headers,
             [](std::string_view name) { return s3::check_cors_header(name, false); });
}

void check_s3_store(std::string_view key, const S3StoreConfig& store) {
  if (!store.endpoint.starts_with("http://") && !store.endpoint.starts_with("https://")) {
    refuse(str_cat(key, ".endpoint"), "must begin with http:// or https://");
  }
  if (store.endpoint.find('@') != std::string::npos) {
    refuse(str_cat(key, ".endpoint"), "must hold no user: access_key_id is for that");
  }
  if (!store.presign_endpoint.empty()) {
    check_origin(str_cat(key, ".presign_endpoint"), store.presign_endpoint);
  }
  if (store.access_key_id.empty() != store.secret_access_key.empty()) {
    refuse(str_cat(key, ".secret_access_key"), "goes with access_key_id: both or none");
  }
}

/// Cached objects would evict each other while they are read if the cache held fewer.
constexpr uint64_t kCachedObjectsMin = 4;

void check_import_root(const Config& config, const std::string& root) {
  for (const std::string& own : {config.data, config.local_root()}) {
    if (!overlap(root, own)) continue;
    refuse("store.local.import_roots",
           str_cat("\"", root, "\" and ", own,
                   ", which holds what this server keeps, overlap: "
                   "imports would read other repositories' objects and secrets"));
  }
  if (!is_normal_directory(root)) {
    refuse("store.local.import_roots",
           str_cat("\"", root, "\" is no absolute directory in its plain form"));
  }
}

void check_stores(const Config& config, Problems& problems) {
  for (const std::string& root : config.store_local_import_roots) {
    problems.collect([&] { check_import_root(config, root); });
  }
  if (config.store_cache_bytes_max / kCachedObjectsMin < config.store_cache_object_bytes_max) {
    problems.add(str_cat("store.cache.bytes_max: must be at least ", kCachedObjectsMin,
                         " times store.cache.object_bytes_max"));
  }
  bool catch_all = !config.store_s3.endpoint.empty();
  if (catch_all) problems.collect([&] { check_s3_store("store.s3", config.store_s3); });
  for (const S3StoreConfig& store : config.store_s3_stores) {
    problems.collect(
        [&] { check_s3_store(str_cat("store.s3_stores \"", store.name, "\""), store); });
    if (store.buckets.empty() && catch_all) {
      problems.add(str_cat("store.s3_stores: \"", store.name,
                           "\" names no buckets, but another store takes the rest"));
    }
    catch_all = catch_all || store.buckets.empty();
  }
}

void check_keys(const Config& config, Problems& problems) {
  if (!config.auth_master_key.empty() &&
      (config.auth_master_key.size() != 64 || !from_hex(config.auth_master_key))) {
    problems.add("auth.master_key: must be 64 hex digits");
  }
  if (config.data.empty()) problems.add("data: must name a directory");
}

void check_numbers(const Config& config, Problems& problems) {
  const auto at_least = [&](std::string_view key, uint32_t value, uint32_t least) {
    if (value < least) problems.add(str_cat(key, ": must be at least ", least));
  };
  at_least("http.workers", config.http.workers, 1);
  at_least("http.connections_max", config.http.connections_max, 1);
  at_least("db.connections", config.db_connections, 2);
  at_least("upload.multipart_hours", config.upload_multipart_hours, 1);
  at_least("upload.multipart_open_max", config.upload_multipart_open_max, 1);
  at_least("branches.per_user_max", config.branches_per_user_max, 1);
  if (config.gc_share_max < 1 || config.gc_share_max > 100) {
    problems.add("gc.share_max: must be 1 to 100, a percentage");
  }
  if (config.gc_busy_percent < 1 || config.gc_busy_percent > 100) {
    problems.add("gc.busy_percent: must be 1 to 100, a percentage");
  }
}

/// Variables that are no keys: of tarnd, of the command and the Python package, and of ./dev.
constexpr std::array<std::string_view, 13> kOtherVariables = {"TARN_CONFIG",
                                                              "TARN_ADMIN_ACCESS_KEY_ID",
                                                              "TARN_ADMIN_SECRET_ACCESS_KEY",
                                                              "TARN_ADMIN_SECRET_ACCESS_KEY_FILE",
                                                              "TARN_SETUP_TOKEN",
                                                              "TARN_SETUP_TOKEN_FILE",
                                                              "TARN_ENDPOINT",
                                                              "TARN_ACCESS_KEY",
                                                              "TARN_SECRET_KEY",
                                                              "TARN_TOKEN",
                                                              "TARN_REPO",
                                                              "TARN_BRANCH",
                                                              "TARN_CACHE"};

/// Variables of a service called tarn or tarn-x: TARN_SERVICE_HOST, TARN_PORT_8000_TCP_ADDR.
bool is_of_kubernetes(std::string_view name) {
  return name.find("_SERVICE_HOST") != std::string_view::npos ||
         name.find("_SERVICE_PORT") != std::string_view::npos || name.ends_with("_PORT") ||
         name.find("_TCP") != std::string_view::npos;
}

}  // namespace

std::string Config::local_root() const {
  return store_local_root.empty() ? str_cat(data, "/objects") : store_local_root;
}

std::string Config::master_key_file() const {
  return auth_master_key_file.empty() ? str_cat(data, "/master.key") : auth_master_key_file;
}

std::vector<S3StoreConfig> Config::s3_stores() const {
  std::vector<S3StoreConfig> out = store_s3_stores;
  if (!store_s3.endpoint.empty()) out.push_back(store_s3);
  return out;
}

std::string environment_name(std::string_view path) {
  std::string out = "TARN_";
  for (char c : path) {
    out.push_back(c == '.' ? '_' : c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c);
  }
  return out;
}

void set_config_value(ConfigValue value, std::string_view text) { std::visit(Setter{text}, value); }

std::string config_text(ConfigValue value) { return std::visit(Printer(), value); }

std::optional<std::string> environment(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

void apply_environment(Config& config, const Environment& variable) {
  Problems problems;
  for (const ConfigKey& key : config_keys()) {
    const std::string name = environment_name(key.path);
    const std::optional<std::string> text = variable(name);
    if (!text) continue;
    try {
      set_config_value(key.value(config), *text);
    } catch (const Error& error) {
      problems.add(str_cat("environment variable ", name, ": ", error.message()));
    }
  }
  problems.throw_if_any();
}

std::vector<std::string> misspelt_variables(const Config& config,
                                            std::span<const std::string> names) {
  std::set<std::string, std::less<>> known(kOtherVariables.begin(), kOtherVariables.end());
  for (const ConfigKey& key : config_keys()) known.insert(environment_name(key.path));
  std::vector<std::string> out;
  for (const std::string& name : names) {
    if (!name.starts_with("TARN_") || known.contains(name) || is_of_kubernetes(name)) continue;
    // Hooks use it.
    if (config.hooks_variables.find(name + "=") != std::string::npos) continue;
    out.push_back(name);
  }
  return out;
}

void check_config(const Config& config) {
  Problems problems;
  const auto one_of = [&](std::string_view key, std::string_view value,
                          std::initializer_list<std::string_view> allowed) {
    problems.collect([&] { check_one_of(key, value, allowed); });
  };
  problems.collect([&] { check_listen("listen", config.listen); });
  if (!config.s3_listen.empty()) {
    problems.collect([&] { check_listen("s3.listen", config.s3_listen); });
  }
  if (!config.metrics_listen.empty()) {
    problems.collect([&] { check_listen("metrics.listen", config.metrics_listen); });
  }
  one_of("log.level", config.log_level, {"debug", "info", "warn", "error"});
  one_of("log.format", config.log_format, {"text", "json"});
  one_of("log.requests", config.log_requests, {"all", "slow", "none"});
  one_of("auth.setup", config.auth_setup, {"start", "http"});
  one_of("db.lost_writes", config.db_lost_writes, {"refuse", "accept"});
  one_of("store.promoted_standby", config.store_promoted_standby, {"refuse", "adopt"});
  one_of("auth.presign", config.auth_presign, {"on", "off"});
  one_of("store.verify_reads", config.store_verify_reads, {"off", "local", "all"});
  one_of("s3.create_bucket", config.s3_create_bucket, {"off", "repository", "rooted"});
  if (!config.s3_bucket_namespace.starts_with("local://") &&
      !config.s3_bucket_namespace.starts_with("s3://")) {
    problems.add("s3.bucket_namespace: must begin with local:// or s3://");
  }
  if (!config.external_url.empty()) {
    problems.collect([&] { check_origin("server.external_url", config.external_url); });
  }
  for (const std::string& block : config.trusted_proxies) {
    if (auth::is_address_block(block)) continue;
    problems.add(str_cat("http.trusted_proxies: \"", block, "\" is no IP address or CIDR block"));
  }
  const auto readable = [&](std::string_view key, const auto& read) {
    problems.collect([&] { check_readable(key, read); });
  };
  readable("hooks.allowed_targets", [&] { http::TargetRules{config.hooks_allowed_targets}; });
  readable("hooks.variables", [&] { actions::Grants{config.hooks_variables}; });
  readable("hooks.repositories", [&] { actions::Grants{config.hooks_repositories}; });
  check_numbers(config, problems);
  check_keys(config, problems);
  check_gateway(config, problems);
  check_stores(config, problems);
  problems.throw_if_any();
}

ListenAddress parse_listen(std::string_view text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) throw_invalid("expected HOST:PORT");
  ListenAddress out;
  uint32_t port = 0;
  const std::string_view digits = text.substr(colon + 1);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  if (error != std::errc() || end != digits.data() + digits.size() || port > UINT16_MAX) {
    throw_invalid("expected a port from 0 to 65535 after the colon");
  }
  out.port = static_cast<uint16_t>(port);
  std::string_view host = text.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  out.host = host.empty() ? "0.0.0.0" : std::string(host);
  return out;
}

}  // namespace tarn::server
