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
constexpr std::string_view kProfiles = "profiles";
constexpr std::string_view kProfile = "profile";
constexpr mode_t kOwnerOnly = 0600;
constexpr mode_t kForAll = 0644;
/// Directories above the working directory that are searched for kDirectoryFile.
constexpr int kDirectoriesMax = 64;

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
  bool in_directory = false;  ///< also read from kDirectoryFile
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
    {&Settings::repository,
     &Flags::repository,
     "--repo",
     "TARN_REPO",
     {},
     "repo",
     "",
     "",
     false,
     true},
    {&Settings::branch,
     &Flags::branch,
     "--branch",
     "TARN_BRANCH",
     {},
     "branch",
     "",
     "",
     false,
     true},
    {&Settings::base_uri, nullptr, "", "", {"LAKECTL_BASE_URI"}, "", "", ""},
}};

/// `settings` is the map that has them: the document, or one of its profiles.
struct File {
  std::filesystem::path path;
  YAML::Node root;
  YAML::Node settings = root;
  std::string origin = path.string();
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

/// The profiles of a document, or an empty node.
YAML::Node profiles_of(const YAML::Node& root) {
  if (!root.IsMap()) return YAML::Node();
  const YAML::Node profiles = root[std::string(kProfiles)];
  return profiles.IsDefined() && profiles.IsMap() ? profiles : YAML::Node();
}

std::vector<std::string> names_of(const YAML::Node& profiles) {
  std::vector<std::string> names;
  for (const auto& profile : profiles) names.push_back(profile.first.as<std::string>());
  return names;
}

[[noreturn]] void throw_no_profile(const std::string& profile, const File& file) {
  std::string known;
  for (const std::string& name : names_of(profiles_of(file.root))) {
    known += str_cat(known.empty() ? "" : ", ", name);
  }
  throw usage_error(str_cat("profile \"", profile, "\": ", file.path.string(), " has ",
                            known.empty() ? "no profiles" : str_cat("only ", known),
                            "; create it with: tarn auth login --profile ", profile));
}

/// Lets the file's settings be those of the chosen profile, and returns its name.
std::string enter_profile(const Flags& flags, const Environment& environment, bool new_profile,
                          File& file) {
  std::string profile = flags.profile;
  if (profile.empty()) profile = non_empty(environment, "TARN_PROFILE").value_or("");
  if (profile.empty()) profile = scalar(file.root, "", kProfile).value_or("");
  if (profile.empty()) return "";
  const YAML::Node profiles = profiles_of(file.root);
  const YAML::Node found = profiles.IsMap() ? profiles[profile] : YAML::Node();
  if ((!found.IsDefined() || !found.IsMap()) && !new_profile) throw_no_profile(profile, file);
  file.settings.reset(found.IsDefined() && found.IsMap() ? found : YAML::Node());
  file.origin = str_cat(file.path.string(), " (profile ", profile, ')');
  return profile;
}

File directory_file(std::filesystem::path directory) {
  for (int i = 0; i < kDirectoriesMax && !directory.empty(); ++i) {
    const std::filesystem::path path = directory / kDirectoryFile;
    std::error_code ignored;
    if (std::filesystem::is_regular_file(path, ignored)) return {path, read_yaml(path)};
    if (directory == directory.parent_path()) break;
    directory = directory.parent_path();
  }
  return {};
}

Setting resolve(const Source& source, const Flags& flags, const Environment& environment,
                const File& directory, const File& file) {
  if (source.flag != nullptr && !(flags.*source.flag).empty()) {
    return {flags.*source.flag, std::string(source.flag_name)};
  }
  if (auto value = non_empty(environment, source.variable))
    return {*value, std::string(source.variable)};
  for (const std::string_view variable : source.foreign_variables) {
    if (auto value = non_empty(environment, variable)) return {*value, std::string(variable)};
  }
  if (source.in_directory) {
    if (auto value = scalar(directory.root, "", source.key)) return {*value, directory.origin};
  }
  if (auto value = scalar(file.settings, "", source.key)) return {*value, file.origin};
  if (auto value = scalar(file.settings, source.lakectl_section, source.lakectl_key))
    return {*value, file.origin};
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

void write_file(const std::filesystem::path& file, const YAML::Node& root, mode_t mode) {
  std::ostringstream out;
  out << root << '\n';
  const std::string text = out.str();
  std::error_code ignored;
  std::filesystem::create_directories(file.parent_path(), ignored);
  const std::string next = str_cat(file.string(), ".new");
  const int fd = ::open(next.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
  bool written =
      fd >= 0 && ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  if (fd >= 0) written = ::close(fd) == 0 && written;
  if (written) written = std::rename(next.c_str(), file.c_str()) == 0;
  if (!written) {
    throw Error(ErrorCode::kInternal,
                str_cat("writing configuration ", file.string(), ": ", std::strerror(errno)));
  }
}

/// The document of the file; an empty map if there is none.
YAML::Node existing(const std::filesystem::path& file) {
  std::error_code ignored;
  YAML::Node root = std::filesystem::exists(file, ignored) ? read_yaml(file) : YAML::Node();
  return root.IsMap() ? root : YAML::Node(YAML::NodeType::Map);
}

}  // namespace

Environment process_environment() {
  return [](std::string_view name) -> std::optional<std::string> {
    const char* value = std::getenv(std::string(name).c_str());
    if (value == nullptr) return std::nullopt;
    return value;
  };
}

std::filesystem::path working_directory() {
  std::error_code ignored;
  return std::filesystem::current_path(ignored);
}

Settings load_settings(const Flags& flags, const Environment& environment,
                       const std::filesystem::path& directory, bool new_profile) {
  bool named = false;
  Settings settings;
  settings.file = own_file(flags, environment, named);
  File file = open_file(settings.file, named, environment);
  settings.profile = enter_profile(flags, environment, new_profile, file);
  const File nearest = directory_file(directory);
  for (const Source& source : kSources)
    settings.*source.setting = resolve(source, flags, environment, nearest, file);
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

void save_settings(const std::filesystem::path& file, const std::string& profile,
                   const SettingValues& values) {
  for (const auto& [key, value] : values) need_known_key(key);
  YAML::Node root = existing(file);
  // Not assigned later: an assignment would change the node that `root` refers to.
  YAML::Node settings = profile.empty() ? root : root[std::string(kProfiles)][profile];
  for (const auto& [key, value] : values) {
    if (value.empty()) {
      settings.remove(key);
    } else {
      settings[key] = value;
    }
  }
  write_file(file, root, kOwnerOnly);
}

std::vector<std::string> profile_names(const std::filesystem::path& file) {
  return names_of(profiles_of(existing(file)));
}

void choose_profile(const std::filesystem::path& file, const std::string& profile) {
  File content{file, existing(file)};
  if (profile.empty()) {
    content.root.remove(std::string(kProfile));
  } else {
    const YAML::Node profiles = profiles_of(content.root);
    if (!profiles.IsMap() || !profiles[profile].IsDefined()) throw_no_profile(profile, content);
    content.root[std::string(kProfile)] = profile;
  }
  write_file(file, content.root, kOwnerOnly);
}

void save_directory_settings(const std::filesystem::path& directory, const std::string& repository,
                             const std::string& branch) {
  const std::filesystem::path file = directory / kDirectoryFile;
  if (repository.empty() && branch.empty()) {
    std::error_code failed;
    std::filesystem::remove(file, failed);
    if (!failed) return;
    throw Error(ErrorCode::kInternal, str_cat("removing ", file.string(), ": ", failed.message()));
  }
  YAML::Node root;
  if (!repository.empty()) root["repo"] = repository;
  if (!branch.empty()) root["branch"] = branch;
  write_file(file, root, kForAll);
}

bool may_prompt(const Environment& environment, bool input_is_terminal) {
  const auto ci = non_empty(environment, "CI");
  return input_is_terminal && (!ci || *ci == "false");
}

}  // namespace tarn::cli
