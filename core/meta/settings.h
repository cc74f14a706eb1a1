// Settings of the installation, shared by all its servers.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/db/pool.h"

namespace tarn::meta {

/// Safe from any thread.
class Settings {
 public:
  explicit Settings(db::Pool& pool) : pool_(pool) {}

  std::optional<std::string> find(std::string_view key);
  /// Sets it unless it is set; returns what it is afterwards. Of several servers that call this at
  /// once all get the same.
  std::string set_once(std::string_view key, std::string_view value);

 private:
  db::Pool& pool_;
};

}  // namespace tarn::meta
