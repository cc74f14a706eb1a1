// A writer of XML documents: compact, UTF-8, no namespace prefixes, because some clients scan them
// as text; and the elements that several documents share.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/time.h"
#include "core/model/entry.h"
#include "core/xml/escape.h"

namespace tarn::s3::xml {

/// One document. Names come from the code, never from requests; text is escaped. One thread at a
/// time.
class Writer {
 public:
  enum class Root { kS3Namespace, kBare };
  static constexpr size_t kUsualBytes = 1024;

  /// Writes the declaration and opens the root element. `expected_bytes`: of the whole document.
  explicit Writer(std::string_view root, Root kind = Root::kS3Namespace,
                  size_t expected_bytes = kUsualBytes);

  void open(std::string_view name);
  void close(std::string_view name);
  void element(std::string_view name, std::string_view text);
  void element(std::string_view name, const std::string& text) {
    element(name, std::string_view(text));
  }
  void element(std::string_view name, const char* text) { element(name, std::string_view(text)); }
  void element(std::string_view name, uint64_t number);
  void element(std::string_view name, bool value);
  /// "2026-11-20T08:15:42.605Z": in milliseconds, unlike Last-Modified.
  void element(std::string_view name, Instant time);
  /// The etag in quotes, as S3 shows it; control characters, which no parser takes, as in headers.
  void etag(std::string_view unquoted);
  /// An element with attributes given as literal text, for the grants of an ACL.
  void open_with(std::string_view name, std::string_view attributes);

  // The pieces of an element, for listings: markup that is written in one go for a thousand objects
  // costs half of an element at a time.

  /// Literal tags.
  void markup(std::string_view tags) { out_.append(tags); }
  void text(std::string_view text) { append_escaped(out_, text); }
  void number(uint64_t number);
  void time(Instant time);

  /// Closes the root and returns the document.
  std::string finish();

 private:
  std::string root_;
  std::string out_;
  int64_t time_s_ = -1;  // cached: consecutive items of a listing often have the same second
  std::string time_text_;
};

struct Owner {
  std::string id;
  std::string display_name;
};

inline void write_owner(Writer& out, std::string_view element, const Owner& owner) {
  out.open(element);
  out.element("ID", owner.id);
  out.element("DisplayName", owner.display_name);
  out.close(element);
}

/// ChecksumCRC32 and so on, in the order given; then ChecksumType when there is any and
/// `with_type`.
void write_checksums(Writer& out, const std::vector<Checksum>& checksums, bool with_type);

}  // namespace tarn::s3::xml
