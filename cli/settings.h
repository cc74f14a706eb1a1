// Where the server is, who we are, and what is meant by default: flags over environment over file.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace tarn::cli {

/// A value and where it came from ("--endpoint", "TARN_ENDPOINT", a file's path, "default"), for
/// `config show`.
struct Setting {
  std::string value;
  std::string origin;
  bool operator==(const Setting&) const = default;
};

struct Settings {
  Setting endpoint{};  ///< without a trailing "/" or "/api/v1"
  Setting access_key{};
  Setting secret_key{};
  Setting repository{};
  Setting branch{};
  std::filesystem::path file{};  ///< what `config set` writes
};

/// Values of global flags; "" = not given.
struct Flags {
  std::string endpoint{};
  std::string access_key{};
  std::string secret_key{};
  std::string repository{};
  std::string branch{};
  std::string file{};
};

/// The process environment, or a test's.
using Environment = std::function<std::optional<std::string>(std::string_view name)>;
Environment process_environment();

/// Looks at flags, then TARN_*, then LAKECTL_*, then the first file that exists of: --config or
/// TARN_CONFIG,
/// ~/.config/tarn/config.yaml, LAKECTL_CONFIG_FILE, ~/.lakectl.yaml. A file that --config or
/// TARN_CONFIG names hides the later ones even before it exists. Throws a usage error for a file
/// that cannot be read as YAML.
Settings load_settings(const Flags& flags, const Environment& environment);

/// Sets one key of the file (endpoint, access_key, secret_key, repo, branch), keeping the others;
/// the file is written anew beside the old one and is readable by its owner only. An empty value
/// removes the key. Throws a usage error for another key.
void save_setting(const std::filesystem::path& file, std::string_view key,
                  const std::string& value);

/// Whether a person may be asked: CI unset and standard input a terminal.
bool may_prompt(const Environment& environment, bool input_is_terminal);

}  // namespace tarn::cli
