#include "server/config_file.h"

#include <fstream>
#include <set>
#include <sstream>

#include <yaml-cpp/yaml.h>

#include "core/base/error.h"
#include "core/base/str_cat.h"
#include "server/problems.h"

namespace tarn::server {
namespace {

constexpr std::string_view kStoresKey = "store.s3_stores";

/// Reads one file.
class FileReader {
 public:
  FileReader(Config& config, const std::string& name, Problems& problems)
      : config_(config), name_(name), problems_(problems) {}

  void read_section(const YAML::Node& section, const std::string& prefix) {
    for_each_member(section,
                    [&](const std::string& member, const YAML::Node& key, const YAML::Node& value) {
                      const std::string path = prefix + member;
                      if (path == kStoresKey) {
                        read_stores(value);
                      } else if (const ConfigKey* known = find_config_key(path)) {
                        set(known->value(config_), path, key, value);
                      } else if (is_section(path)) {
                        read_section(value, path + ".");
                      } else {
                        fail(key, str_cat("unknown key \"", path, "\""));
                      }
                    });
  }

 private:
  [[noreturn]] void fail(const YAML::Node& at, std::string_view why) const {
    throw_invalid(str_cat(name_, ":", at.Mark().line + 1, ": ", why));
  }

  static bool is_section(const std::string& path) {
    for (const ConfigKey& key : config_keys()) {
      if (key.path.starts_with(path + ".")) return true;
    }
    return kStoresKey.starts_with(path + ".");
  }

  template <typename Visit>
  void for_each_member(const YAML::Node& section, const Visit& visit) {
    if (section.IsNull()) return;  // all lines of the section are comments
    if (!section.IsMap()) fail(section, "expected keys with values");
    std::set<std::string> seen;
    for (const auto& member : section) {
      problems_.collect([&] {
        if (!member.first.IsScalar()) fail(member.first, "a key must be plain text");
        const std::string& name = member.first.Scalar();
        if (!seen.insert(name).second)
          fail(member.first, str_cat("key \"", name, "\" is given twice"));
        visit(name, member.first, member.second);
      });
    }
  }

  /// Errors name the line of the key: the node of a missing value is on the next one.
  void set(ConfigValue place, const std::string& path, const YAML::Node& key,
           const YAML::Node& value) {
    try {
      if (auto* list = std::get_if<std::vector<std::string>*>(&place);
          list != nullptr && value.IsSequence()) {
        **list = texts(value);
      } else if (value.IsNull()) {
        fail(key, str_cat(path, ": has no value"));
      } else if (value.IsScalar()) {
        set_config_value(place, value.Scalar());
      } else {
        fail(key, str_cat(path, ": expected one value"));
      }
    } catch (const Error& error) {
      if (error.message().starts_with(name_)) throw;
      fail(key, str_cat(path, ": ", error.message()));
    }
  }

  std::vector<std::string> texts(const YAML::Node& list) const {
    std::vector<std::string> out;
    for (const YAML::Node& item : list) {
      if (!item.IsScalar()) fail(item, "expected a list of texts");
      out.push_back(item.Scalar());
    }
    return out;
  }

  void read_stores(const YAML::Node& list) {
    if (!list.IsSequence()) fail(list, str_cat(kStoresKey, ": expected a list"));
    for (const YAML::Node& item : list) config_.store_s3_stores.push_back(store_of(item));
  }

  S3StoreConfig store_of(const YAML::Node& item) {
    S3StoreConfig store;
    const std::map<std::string, ConfigValue> places = {
        {"name", &store.name},
        {"buckets", &store.buckets},
        {"endpoint", &store.endpoint},
        {"presign_endpoint", &store.presign_endpoint},
        {"region", &store.region},
        {"access_key_id", &store.access_key_id},
        {"secret_access_key", &store.secret_access_key},
        {"secret_access_key_file", &store.secret_access_key_file},
        {"path_style", &store.path_style},
        {"remove_versions", &store.remove_versions}};
    for_each_member(item,
                    [&](const std::string& member, const YAML::Node& key, const YAML::Node& value) {
                      const auto place = places.find(member);
                      if (place == places.end())
                        fail(key, str_cat("unknown key \"", kStoresKey, ".", member, "\""));
                      set(place->second, str_cat(kStoresKey, ".", member), key, value);
                    });
    if (store.name.empty()) fail(item, str_cat(kStoresKey, ": a store needs a name"));
    return store;
  }

  Config& config_;
  const std::string& name_;
  Problems& problems_;
};

}  // namespace

void apply_config_text(Config& config, const std::string& text, const std::string& name) {
  Problems problems;
  try {
    const YAML::Node root = YAML::Load(text);
    problems.collect([&] { FileReader(config, name, problems).read_section(root, ""); });
  } catch (const YAML::Exception& error) {
    problems.add(str_cat(name, ":", error.mark.line + 1, ": ", error.msg));
  }
  problems.throw_if_any();
}

void apply_config_file(Config& config, const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  const bool empty = in && in.peek() == std::ifstream::traits_type::eof() && !in.bad();
  if (!empty && (!in || !(text << in.rdbuf()))) {
    throw Error(ErrorCode::kNotFound,
                str_cat("reading the configuration file ", path, ": cannot be read"));
  }
  apply_config_text(config, text.str(), path);
}

}  // namespace tarn::server
