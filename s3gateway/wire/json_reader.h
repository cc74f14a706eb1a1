// A reader of the one JSON document of S3's API, the policy of an upload form: a bounded pull
// parser. JSON libraries refuse the escapes "\$" and "\v" that S3 describes for it, and keep one
// of two members of one name, where a policy must be refused.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace tarn::s3 {

/// Walks one text from the outside in. The caller asks for what must come next, so whatever the
/// grammar of its document does not name is refused. Every method throws Refusal
/// InvalidPolicyDocument, naming the byte. One thread at a time.
///
///   JsonReader in(text);
///   in.enter_object();
///   while (in.next()) { if (in.name() == "expiration") expires = in.string(); ... }
///   in.finish();
class JsonReader {
 public:
  /// Deepest nesting of objects and arrays; a policy has three.
  static constexpr size_t kDepthMax = 4;

  /// `text` must outlive the reader.
  explicit JsonReader(std::string_view text);

  void enter_object() { enter('{'); }
  void enter_array() { enter('['); }
  /// Steps to the next member or item of the current object or array, or leaves it when there is
  /// none.
  bool next();
  /// The name of the member, once after each next() in an object.
  std::string name();
  std::string string();
  /// A whole number that is not negative, or a string of its digits.
  uint64_t number();
  /// '{', '[', '"' or the first character of any other value.
  char peek();
  /// Nothing but blanks may follow.
  void finish();

  [[noreturn]] void fail(std::string_view why) const;

 private:
  struct Container {
    char close = 0;
    bool first = true;
  };

  void enter(char open);
  void skip_blanks();
  void expect(char c);
  void append_escape(std::string& out);
  uint32_t hex4();

  std::string_view text_;
  size_t at_ = 0;
  size_t depth_ = 0;
  std::array<Container, kDepthMax> open_;
};

}  // namespace tarn::s3
