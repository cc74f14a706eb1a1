// A scanner of the small XML documents of S3: elements and their text, nothing else of XML.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tarn::blob {

/// Steps from tag to tag. Namespace prefixes and attributes are dropped, comments and declarations
/// skipped, the five named and the numeric entities decoded; a document type, depth over 8 or
/// broken markup throws unavailable: an answer that is not the store's own. One thread at a time;
/// the document must outlive it.
class XmlScanner {
 public:
  explicit XmlScanner(std::string_view document) : document_(document) {}

  enum class Event { kStart, kEnd, kDone };
  Event next();
  /// Names of the open elements from the outermost, the one that just started or ends included.
  const std::vector<std::string_view>& path() const { return path_; }
  /// Decoded text since the tag before this one: at the end of an element without children, its
  /// content.
  const std::string& text() const { return text_; }

 private:
  [[noreturn]] void fail(std::string_view why) const;
  std::string_view take_until(std::string_view end, std::string_view what);
  void take_text();
  void append_decoded(std::string_view raw);
  void append_entity(std::string_view name);
  Event take_tag(std::string_view tag);

  std::string_view document_;
  size_t at_ = 0;
  std::vector<std::string_view> path_;
  std::string text_;
  bool leaving_ = false;      // path_ still holds the element that ended
  bool self_closed_ = false;  // its end comes next
};

}  // namespace tarn::blob
