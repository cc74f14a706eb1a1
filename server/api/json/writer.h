// A writer of JSON responses, straight into one string.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tarn::api::json {

/// Appends values in order and inserts the commas. Bytes that are not UTF-8 become U+FFFD. One
/// thread at a time.
class Writer {
 public:
  explicit Writer(size_t expected_bytes = 512) { out_.reserve(expected_bytes); }

  void begin_object() { open('{'); }
  void end_object() { close('}'); }
  void begin_array() { open('['); }
  void end_array() { close(']'); }
  /// Writes `name` unescaped: it must be a plain ASCII literal.
  void key(std::string_view name);
  /// A key that comes from a user, escaped.
  void named(std::string_view name);

  void text(std::string_view value);
  void number(int64_t value);
  void boolean(bool value) { raw(value ? "true" : "false"); }
  void null() { raw("null"); }

  void text(std::string_view name, std::string_view value) { key(name), text(value); }
  void number(std::string_view name, int64_t value) { key(name), number(value); }
  void boolean(std::string_view name, bool value) { key(name), boolean(value); }
  /// NaN and infinities, which JSON lacks, become "NaN", "Infinity" and "-Infinity".
  void real(std::string_view name, double value);
  void texts(std::string_view name, const std::vector<std::string>& values);
  /// Appends a value that is already JSON.
  void document(std::string_view name, std::string_view json) { key(name), raw(json); }
  void text_map(std::string_view name, const std::map<std::string, std::string>& pairs);
  /// Writes the members of `pairs` as one object without a name.
  void text_map(const std::map<std::string, std::string>& pairs);

  size_t bytes() const { return out_.size(); }
  std::string_view text() const { return out_; }
  /// Returns the document, with a final newline; the writer must not be used afterwards.
  std::string take() &&;

 private:
  void open(char bracket);
  void close(char bracket);
  void raw(std::string_view literal);
  void comma() {
    if (needs_comma_) out_.push_back(',');
  }

  std::string out_;
  bool needs_comma_ = false;
};

}  // namespace tarn::api::json
