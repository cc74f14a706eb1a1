#include "core/meta/settings.h"

namespace tarn::meta {
namespace {

constexpr db::Query kSelectSetting{"settings_select_value",
                                   "SELECT value FROM settings WHERE key = $1"};

constexpr db::Query kInsertSetting{"settings_insert_value", R"sql(
  INSERT INTO settings (key, value) VALUES ($1, $2) ON CONFLICT DO NOTHING)sql"};

}  // namespace

std::optional<std::string> Settings::find(std::string_view key) {
  const db::Rows rows = pool_.run(kSelectSetting, {key}, db::Pool::Retry::kRead);
  if (rows.empty()) return std::nullopt;
  return std::string(rows.bytes(0, 0));
}

std::string Settings::set_once(std::string_view key, std::string_view value) {
  pool_.run(kInsertSetting, {key, db::Bytes{value}}, db::Pool::Retry::kWrite);
  // A statement does not see a row that was inserted while it ran; the next one does.
  return find(key).value_or(std::string(value));
}

}  // namespace tarn::meta
