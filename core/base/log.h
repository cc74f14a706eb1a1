// One line per event: `key=value` text or JSON, UTC with milliseconds, to standard error.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>

namespace tarn::log {

/// error = a person must look; warn = we recovered; info = state changed; debug = the rest.
enum class Level { kDebug, kInfo, kWarn, kError };
enum class Format { kText, kJson };

/// One key and its value. Keys are snake_case words. Values are never secrets, signatures or
/// bodies.
struct Field {
  std::string_view key;
  std::string value;
  bool is_number = false;

  Field(std::string_view k, std::string_view v) : key(k), value(v) {}
  Field(std::string_view k, const std::string& v) : key(k), value(v) {}
  Field(std::string_view k, const char* v) : key(k), value(v) {}
  template <typename T>
  requires std::is_integral_v<T> Field(std::string_view k, T v)
      : key(k), value(std::to_string(v)), is_number(true) {}
  /// Written with three decimals.
  Field(std::string_view k, double v);
};

/// Safe from any thread; lines that are being written may still have the old form.
void configure(Level least, Format format);
bool enabled(Level level);

/// Safe from any thread. Control characters in values are escaped.
void write(Level level, std::string_view event, std::initializer_list<Field> fields = {});

inline void debug(std::string_view e, std::initializer_list<Field> f = {}) {
  write(Level::kDebug, e, f);
}
inline void info(std::string_view e, std::initializer_list<Field> f = {}) {
  write(Level::kInfo, e, f);
}
inline void warn(std::string_view e, std::initializer_list<Field> f = {}) {
  write(Level::kWarn, e, f);
}
inline void error(std::string_view e, std::initializer_list<Field> f = {}) {
  write(Level::kError, e, f);
}

}  // namespace tarn::log
