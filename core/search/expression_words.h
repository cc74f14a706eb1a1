// The tokens of an expression.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tarn::search {

struct Word {
  enum class Kind : uint8_t {
    kPlain,     ///< a name, a keyword or a value without quotes
    kQuoted,    ///< `text` is what the quotes hold, unescaped
    kOperator,  ///< of the bytes = ! < > ~, whether there is one or not; == is =
    kOpen,
    kClose,
    kComma,
    kEnd,
    kUnclosed,  ///< quotes that do not end
  };
  Kind kind = Kind::kEnd;
  std::string text{};
  size_t at = 0;   ///< offset of its first byte
  size_t end = 0;  ///< and of the one behind its last
};

/// Reads front to back. One thread at a time.
class ExpressionWords {
 public:
  explicit ExpressionWords(std::string_view text) : text_(text) { next(); }

  const Word& current() const { return current_; }
  void next();
  /// As it was written, for messages.
  std::string_view written(const Word& word) const {
    return text_.substr(word.at, word.end - word.at);
  }

 private:
  void read_quoted(char quote);
  void read_operator();
  void finish(Word::Kind kind, std::string text);

  std::string_view text_;
  size_t position_ = 0;
  Word current_;
};

}  // namespace tarn::search
