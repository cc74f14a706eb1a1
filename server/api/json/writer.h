// A writer of JSON responses, straight into one string.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/model/page.h"

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

// The JSON envelope of every listing.

void write_pagination(Writer& out, bool has_more, std::string_view next_offset, size_t results);

/// The members "pagination" and "results" of an object, of which `write_item(out, item)` writes
/// one item. Ends the page after the item that reaches kPageBytesMax. `bytes_per_item` sizes the
/// buffer. Throws internal for a page with more to come that nothing ends by bytes.
template <typename Item, typename WriteItem>
void write_page(Writer& out, const Page<Item>& page, size_t bytes_per_item,
                const WriteItem& write_item) {
  Writer results(std::min(page.items.size() * bytes_per_item, kPageBytesMax));
  results.begin_array();
  if (page.has_more && !page.next_of && !page.ended_by_bytes) {
    throw Error(ErrorCode::kInternal, "listing: the page has no end by bytes");
  }
  const auto is_full = [&] { return page.next_of && results.bytes() >= kPageBytesMax; };
  size_t count = 0;
  for (; count < page.items.size() && !is_full(); ++count) write_item(results, page.items[count]);
  results.end_array();
  const bool is_cut = count < page.items.size();
  const bool has_more = is_cut || page.has_more;
  const std::string next = is_cut ? page.next_of(page.items[count - 1]) : page.next;
  write_pagination(out, has_more, has_more ? std::string_view(next) : "", count);
  out.document("results", results.text());
}

/// {"pagination": {...}, "results": [...]}, as write_page does.
template <typename Item, typename WriteItem>
std::string list_of(const Page<Item>& page, size_t bytes_per_item, const WriteItem& write_item) {
  Writer out(0);
  out.begin_object();
  write_page(out, page, bytes_per_item, write_item);
  out.end_object();
  return std::move(out).take();
}

}  // namespace tarn::api::json
