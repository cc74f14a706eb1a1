#include "cli/settings.h"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

#include <fcntl.h>
#include <unistd.h>
#include <yaml-cpp/yaml.h>

#include "cli/exit_code.h"
#include "core/base/str_cat.h"

namespace tarn::cli {
namespace {

constexpr std::string_view kDefaultEndpoint = "http://127.0.0.1:8000";
constexpr std::string_view kApiSuffix = "/api/v1";
constexpr int kOwnerOnly = 0600;

/// One setting under all its names; "" (or null) where it has none.
struct Source {
  Setting Settings::*setting;
  std::string Flags::*flag;
  std::string_view flag_name;
  std::string_view variable;
  /// Variables of lakectl and of lakeFS's other clients; the first that is set counts.
  std::array<std::string_view, 3> foreign_variables;
  std::string_view key;              ///< key in our file
  std::string_view lakectl_section;  ///< in lakectl's file: section, then key
  std::string_view lakectl_key;
  bool secret = false;
};

constexpr std::array<Source, 7> kSources{{
    {&Settings::endpoint,
     &Flags::endpoint,
     "--endpoint",
     "TARN_ENDPOINT",
     {"LAKECTL_SERVER_ENDPOINT_URL", "LAKEFS_ENDPOINT", "LAKEFS_HOST"},
     "endpoint",
     "server",
     "endpoint_url"},
    {&Settings::access_key,
     &Flags::access_key,
     "--access-key",
     "TARN_ACCESS_KEY",
     {"LAKECTL_CREDENTIALS_ACCESS_KEY_ID", "LAKEFS_ACCESS_KEY_ID", "LAKEFS_USERNAME"},
     "access_key",
     "credentials",
     "access_key_id"},
    {&Settings::secret_key,
     &Flags::secret_key,
     "--secret-key",
     "TARN_SECRET_KEY",
     {"LAKECTL_CREDENTIALS_SECRET_ACCESS_KEY", "LAKEFS_SECRET_ACCESS_KEY", "LAKEFS_PASSWORD"},
     "secret_key",
     "credentials",
     "secret_access_key",
     true},
    {&Settings::token, &Flags::token, "--token", "TARN_TOKEN", {}, "token", "", "", true},
    {&Settings::repository, &Flags::repository, "--repo", "TARN_REPO", {}, "repo", "", ""},
    {&Settings::branch, &Flags::branch, "--branch", "TARN_BRANCH", {}, "branch", "", ""},
    {&Settings::base_uri, nullptr, "", "", {"LAKECTL_BASE_URI"}, "", "", ""},
}};

struct File {
  std::filesystem::path path;
  YAML::Node root;
};

std::optional<std::string> non_empty(const Environment& environment, std::string_view name) {
  if (name.empty()) return std::nullopt;
  std::optional<std::string> value = environment(name);
  if (value && value->empty()) return std::nullopt;
  return value;
}

YAML::Node read_yaml(const std::filesystem::path& path) {
  try {
    return YAML::LoadFile(path.string());
  } catch (const YAML::Exception& error) {
    throw usage_error(str_cat("reading configuration ", path.string(), ": ", error.what()));
  }
}

std::filesystem::path own_file(const Flags& flags, const Environment& environment, bool& named) {
  named = true;
  if (!flags.file.empty()) return flags.file;
  if (const auto path = non_empty(environment, "TARN_CONFIG")) return *path;
  named = false;
  if (const auto base = non_empty(environment, "XDG_CONFIG_HOME")) {
    return std::filesystem::path(*base) / "tarn" / "config.yaml";
  }
  return std::filesystem::path(non_empty(environment, "HOME").value_or("/")) / ".config" / "tarn" /
         "config.yaml";
}

std::filesystem::path lakectl_file(const Environment& environment) {
  if (const auto path = non_empty(environment, "LAKECTL_CONFIG_FILE")) return *path;
  return std::filesystem::path(non_empty(environment, "HOME").value_or("/")) / ".lakectl.yaml";
}

File open_file(const std::filesystem::path& own, bool named, const Environment& environment) {
  std::error_code ignored;
  if (std::filesystem::exists(own, ignored)) return {own, read_yaml(own)};
  // No error: `config set --config FILE` creates the file, and settings that need it report that it
  // is missing.
  if (named) return {own, YAML::Node()};
  const std::filesystem::path lakectl = lakectl_file(environment);
  if (std::filesystem::exists(lakectl, ignored)) return {lakectl, read_yaml(lakectl)};
  return {};
}

std::optional<std::string> scalar(const YAML::Node& root, std::string_view section,
                                  std::string_view key) {
  if (key.empty() || !root.IsMap()) return std::nullopt;
  const YAML::Node map = section.empty() ? root : root[std::string(section)];
  if (!map.IsDefined() || !map.IsMap()) return std::nullopt;
  const YAML::Node value = map[std::string(key)];
  if (!value.IsDefined() || !value.IsScalar() || value.Scalar().empty()) return std::nullopt;
  return value.Scalar();
}

Setting resolve(const Source& source, const Flags& flags, const Environment& environment,
                const File& file) {
  if (source.flag != nullptr && !(flags.*source.flag).empty()) {
    return {flags.*source.flag, std::string(source.flag_name)};
  }
  if (auto value = non_empty(environment, source.variable))
    return {*value, std::string(source.variable)};
  for (const std::string_view variable : source.foreign_variables) {
    if (auto value = non_empty(environment, variable)) return {*value, std::string(variable)};
  }
  if (auto value = scalar(file.root, "", source.key)) return {*value, file.path.string()};
  if (auto value = scalar(file.root, source.lakectl_section, source.lakectl_key))
    return {*value, file.path.string()};
  return {};
}

void tidy_endpoint(Setting& endpoint) {
  if (endpoint.value.empty()) endpoint = {std::string(kDefaultEndpoint), "default"};
  std::string& url = endpoint.value;
  while (url.ends_with('/')) url.pop_back();
  if (url.ends_with(kApiSuffix)) url.resize(url.size() - kApiSuffix.size());
  if (url.find("://") == std::string::npos) url.insert(0, "http://");
}

void need_known_key(const std::string& key) {
  std::string known;
  for (const Source& source : kSources) {
    if (source.key.empty()) continue;
    if (source.key == key) return;
    known += str_cat(known.empty() ? "" : ", ", source.key);
  }
  throw usage_error(str_cat("setting \"", key, "\": not one of ", known));
}

void write_owner_only(const std::filesystem::path& file, const std::string& text) {
  const std::string next = str_cat(file.string(), ".new");
  const int fd = ::open(next.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, kOwnerOnly);
  bool written =
      fd >= 0 && ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  if (fd >= 0) written = ::close(fd) == 0 && written;
  if (written) written = std::rename(next.c_str(), file.c_str()) == 0;
  if (!written) {
    throw Error(ErrorCode::kInternal,
                str_cat("writing configuration ", file.string(), ": ", std::strerror(errno)));
  }
}

}  // namespace

Environment process_environment() {
  return [](std::string_view name) -> std::optional<std::string> {
    const char* value = std::getenv(std::string(name).c_str());
    if (value == nullptr) return std::nullopt;
    return value;
  };
}

Settings load_settings(const Flags& flags, const Environment& environment) {
  bool named = false;
  Settings settings;
  settings.file = own_file(flags, environment, named);
  const File file = open_file(settings.file, named, environment);
  for (const Source& source : kSources)
    settings.*source.setting = resolve(source, flags, environment, file);
  tidy_endpoint(settings.endpoint);
  return settings;
}

std::vector<NamedSetting> named_settings(const Settings& settings) {
  std::vector<NamedSetting> all;
  for (const Source& source : kSources) {
    if (!source.key.empty()) all.push_back({source.key, settings.*source.setting, source.secret});
  }
  return all;
}

void save_settings(const std::filesystem::path& file,
                   const std::vector<std::pair<std::string, std::string>>& values) {
  for (const auto& [key, value] : values) need_known_key(key);
  std::error_code ignored;
  YAML::Node root = std::filesystem::exists(file, ignored) ? read_yaml(file) : YAML::Node();
  for (const auto& [key, value] : values) {
    if (value.empty()) {
      root.remove(key);
    } else {
      root[key] = value;
    }
  }
  std::ostringstream text;
  text << root << '\n';
  std::filesystem::create_directories(file.parent_path(), ignored);
  write_owner_only(file, text.str());
}

bool may_prompt(const Environment& environment, bool input_is_terminal) {
  const auto ci = non_empty(environment, "CI");
  return input_is_terminal && (!ci || *ci == "false");
}

}  // namespace tarn::cli
