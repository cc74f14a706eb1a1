#include "core/search/expression_words.h"

#include <algorithm>
#include <utility>

namespace tarn::search {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";
constexpr std::string_view kOperatorBytes = "=!<>~";
/// Bytes that end a word without quotes.
constexpr std::string_view kEndsPlain = " \t\r\n=!<>~(),\"'";

}  // namespace

void ExpressionWords::finish(Word::Kind kind, std::string text) {
  current_.kind = kind;
  current_.text = std::move(text);
  current_.end = position_;
}

void ExpressionWords::next() {
  position_ = std::min(text_.find_first_not_of(kBlanks, position_), text_.size());
  current_.at = position_;
  if (position_ == text_.size()) return finish(Word::Kind::kEnd, "");
  const char first = text_[position_];
  if (first == '"' || first == '\'') return read_quoted(first);
  if (kOperatorBytes.find(first) != std::string_view::npos) return read_operator();
  if (first == '(' || first == ')' || first == ',') {
    ++position_;
    return finish(first == '('   ? Word::Kind::kOpen
                  : first == ')' ? Word::Kind::kClose
                                 : Word::Kind::kComma,
                  "");
  }
  position_ = std::min(text_.find_first_of(kEndsPlain, position_), text_.size());
  finish(Word::Kind::kPlain, std::string(text_.substr(current_.at, position_ - current_.at)));
}

void ExpressionWords::read_quoted(char quote) {
  std::string out;
  for (++position_; position_ < text_.size(); ++position_) {
    const char c = text_[position_];
    if (c == quote) {
      ++position_;
      return finish(Word::Kind::kQuoted, std::move(out));
    }
    if (c == '\\' && position_ + 1 < text_.size()) ++position_;
    out.push_back(text_[position_]);
  }
  finish(Word::Kind::kUnclosed, "");
}

void ExpressionWords::read_operator() {
  const size_t end = std::min(text_.find_first_not_of(kOperatorBytes, position_), text_.size());
  position_ = end;
  std::string text(text_.substr(current_.at, end - current_.at));
  if (text == "==") text = "=";
  finish(Word::Kind::kOperator, std::move(text));
}

}  // namespace tarn::search
