// Reads the small XML documents of S3 requests: a bounded pull parser, no DTD, no entities beyond
// the five.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tarn::s3::xml {

/// Deepest nesting of elements; the deepest document of S3's requests has four.
constexpr uint32_t kDepthMax = 8;

/// Walks one document from the outside in. Element names are given without prefix; attributes are
/// passed over. Every method throws Refusal MalformedXML, naming the byte, for what is not
/// well-formed UTF-8 XML, for a DOCTYPE and for more than kDepthMax levels. One thread at a time.
///
///   Reader in(body);
///   in.enter_root("Delete");
///   while (auto child = in.next_child()) { if (*child == "Quiet") quiet = in.text() == "true";
///   else in.skip(); } in.finish();
class Reader {
 public:
  /// `document` must outlive the reader.
  explicit Reader(std::string_view document);

  /// Enters the root, which must have this name.
  void enter_root(std::string_view name);
  /// Enters the next child of the current element, or leaves the current element when there is
  /// none. Text between children must be blank.
  std::optional<std::string_view> next_child();
  /// The text of the current element, which must have no children; leaves it.
  std::string text();
  /// Leaves the current element with all it holds.
  void skip();
  /// Nothing but blanks and comments may follow the root.
  void finish();

  [[noreturn]] void fail(std::string_view why) const;

 private:
  std::string_view start_tag();
  void end_tag();
  void skip_blanks();
  bool skip_misc();
  void append_reference(std::string& out);
  std::string_view name();
  void attribute();
  void expect(std::string_view token);
  bool at(std::string_view token) const { return document_.substr(at_).starts_with(token); }

  std::string_view document_;
  size_t at_ = 0;
  uint32_t depth_ = 0;
  std::string_view open_[kDepthMax];  // full names of the open elements
  bool self_closed_ = false;          // the current element was <Name/>
};

}  // namespace tarn::s3::xml
