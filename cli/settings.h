// Settings: server, credentials and defaults, from flags, then the environment, then the file.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tarn::cli {

/// A value and its origin ("--endpoint", "TARN_ENDPOINT", a file's path, "default"), for `config
/// show`.
struct Setting {
  std::string value;
  std::string origin;
  bool operator==(const Setting&) const = default;
};

struct Settings {
  Setting endpoint{};  ///< without a trailing "/" or "/api/v1"
  Setting access_key{};
  Setting secret_key{};
  Setting token{};  ///< used instead of the keys
  Setting repository{};
  Setting branch{};
  Setting base_uri{};            ///< prefix of short names if no repository is set
  std::string profile{};         ///< of the file, from which its settings come; "" = none
  std::filesystem::path file{};  ///< the file that `config set` writes
};

/// Values of global flags; "" = not given.
struct Flags {
  std::string endpoint{};
  std::string access_key{};
  std::string secret_key{};
  std::string token{};
  std::string repository{};
  std::string branch{};
  std::string profile{};
  std::string file{};
};

/// The process environment, or that of a test.
using Environment = std::function<std::optional<std::string>(std::string_view name)>;
Environment process_environment();
/// The directory of the process; empty if it was removed.
std::filesystem::path working_directory();

/// The file of a directory: repository and branch for commands below it. It has no other settings,
/// since directories come from other people: a server in it would receive the user's keys.
constexpr std::string_view kDirectoryFile = ".tarn.yaml";

/// Reads flags, then TARN_*, then LAKECTL_*, then (repository and branch) the kDirectoryFile of
/// `directory` or of the nearest directory above it, then the first file that exists of: --config
/// or TARN_CONFIG, ~/.config/tarn/config.yaml, LAKECTL_CONFIG_FILE, ~/.lakectl.yaml. A file that
/// --config or TARN_CONFIG names hides the later ones even if it does not exist. If --profile,
/// TARN_PROFILE or the file's `profile` names a profile, the file's settings are those of
/// `profiles.NAME` alone. Throws a usage error for a file that is not valid YAML and for a profile
/// that the file does not have, unless `new_profile`.
Settings load_settings(const Flags& flags, const Environment& environment,
                       const std::filesystem::path& directory, bool new_profile = false);

/// A setting with its key in the file; secrets must not be shown.
struct NamedSetting {
  std::string_view key;
  const Setting& setting;
  bool secret;
};
/// The settings that a file can contain, in display order.
std::vector<NamedSetting> named_settings(const Settings& settings);

using SettingValues = std::vector<std::pair<std::string, std::string>>;

/// Sets keys of the file (those of named_settings), or of a profile in it, and keeps the others;
/// replaces the file by a new one that only its owner can read. An empty value removes its key.
/// Throws a usage error, without changes, for an unknown key.
void save_settings(const std::filesystem::path& file, const std::string& profile,
                   const SettingValues& values);

/// The profiles of the file, by name.
std::vector<std::string> profile_names(const std::filesystem::path& file);
/// Makes the profile that of later commands; "" = none. Throws a usage error if there is no such.
void choose_profile(const std::filesystem::path& file, const std::string& profile);

/// Writes the kDirectoryFile of a directory: `repo` and `branch`; without both it is removed.
void save_directory_settings(const std::filesystem::path& directory, const std::string& repository,
                             const std::string& branch);

/// Whether the user may be prompted: CI is unset and standard input is a terminal.
bool may_prompt(const Environment& environment, bool input_is_terminal);

}  // namespace tarn::cli
