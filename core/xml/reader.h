// A reader of small XML documents, such as S3's requests and answers: a bounded pull parser without
// DTD, with no entities beyond the five.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tarn {

/// Walks one document from the outside in. Element names are given without prefix; attributes are
/// ignored. Every method reports what is not well-formed UTF-8 XML, a DOCTYPE and more than
/// kDepthMax levels. References to control characters are read, although XML 1.0 has none: keys of
/// objects may hold them. Memory is the text of one element. One thread at a time.
///
///   XmlReader in(body, &fail);
///   in.enter_root("Delete");
///   while (auto child = in.next_child()) { if (*child == "Quiet") quiet = in.text() == "true";
///   else in.skip(); } in.finish();
class XmlReader {
 public:
  /// Deepest nesting of elements; the deepest document of S3 has four.
  static constexpr uint32_t kDepthMax = 8;

  /// Throws an error of the caller's choice. `why` says where: "at byte 5 it lacks a name".
  using Fail = void (*)(std::string_view why);

  /// `document` must outlive the reader.
  XmlReader(std::string_view document, Fail on_error);

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

  /// Reports an error of the document's meaning where the reader stands.
  [[noreturn]] void fail(std::string_view why) const;

 private:
  std::string_view start_tag();
  void end_tag();
  void skip_blanks();
  bool skip_misc();
  bool append_piece(std::string& out);
  void append_reference(std::string& out);
  std::string_view name();
  void attribute();
  void expect(std::string_view token);
  bool at(std::string_view token) const { return document_.substr(at_).starts_with(token); }

  std::string_view document_;
  Fail fail_;
  size_t at_ = 0;
  uint32_t depth_ = 0;
  std::string_view open_[kDepthMax];  // full names of the open elements
  bool self_closed_ = false;          // the current element was <Name/>
};

}  // namespace tarn
