#include "core/actions/condition.h"

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "core/base/error.h"
#include "core/base/str_cat.h"
#include "core/base/text.h"

namespace tarn::actions {
namespace {

/// The first alternative is nil.
using Value = std::variant<std::monostate, bool, double, std::string>;

/// Evaluates an expression while parsing it. Without `failed` it only checks the syntax.
class Reader {
 public:
  Reader(std::string_view text, std::optional<bool> failed) : text_(text), failed_(failed) {}

  Value read() {
    if (text_.size() > kConditionBytesMax) {
      throw_invalid(str_cat("if: is longer than ", kConditionBytesMax, " bytes"));
    }
    Value value = disjunction();
    skip_blanks();
    if (at_ != text_.size()) fail("an operator or the end was expected");
    return value;
  }

 private:
  Value disjunction() {
    Value left = conjunction();
    while (take("||") || take_word("or")) {
      const bool right = truth(conjunction(), "||");
      left = truth(left, "||") || right;
    }
    return left;
  }

  Value conjunction() {
    Value left = comparison();
    while (take("&&") || take_word("and")) {
      const bool right = truth(comparison(), "&&");
      left = truth(left, "&&") && right;
    }
    return left;
  }

  Value comparison() {
    Value left = negation();
    for (;;) {
      if (take("==")) {
        left = left == negation();
      } else if (take("!=")) {
        left = left != negation();
      } else {
        return left;
      }
    }
  }

  Value negation() {
    if (++nesting_ > kConditionNestingMax) fail("is nested too deeply");
    Value value = (take_not() || take_word("not")) ? Value(!truth(negation(), "!")) : operand();
    --nesting_;
    return value;
  }

  Value operand() {
    if (take("(")) {
      Value value = disjunction();
      if (!take(")")) fail("a ')' was expected");
      return value;
    }
    skip_blanks();
    if (at_ < text_.size() && (text_[at_] == '"' || text_[at_] == '\'')) return quoted();
    const std::string_view word = this->word();
    if (word.empty()) fail("a value was expected");
    if (word == "true") return true;
    if (word == "false") return false;
    if (word == "nil") return Value();
    if (word == "success" || word == "failure") {
      if (!take("(") || !take(")")) fail(str_cat(word, " is called as ", word, "()"));
      return failed_.value_or(false) == (word == "failure");
    }
    double number = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
    if (error == std::errc() && end == word.data() + word.size()) return number;
    at_ -= word.size();
    fail(str_cat("\"", word, "\" means nothing here; there are success() and failure()"));
  }

  Value quoted() {
    const size_t end = text_.find(text_[at_], at_ + 1);
    if (end == std::string_view::npos) fail("a text is not closed");
    std::string value(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return value;
  }

  std::string_view word() {
    skip_blanks();
    const size_t begin = at_;
    if (at_ < text_.size() && text_[at_] == '-') ++at_;
    while (at_ < text_.size() && (is_word(text_[at_]) || text_[at_] == '.')) ++at_;
    return text_.substr(begin, at_ - begin);
  }

  bool take(std::string_view sign) {
    skip_blanks();
    if (!text_.substr(at_).starts_with(sign)) return false;
    at_ += sign.size();
    return true;
  }

  bool take_not() {
    skip_blanks();
    if (text_.substr(at_).starts_with("!=")) return false;
    return take("!");
  }

  bool take_word(std::string_view wanted) {
    const size_t before = at_;
    if (word() == wanted) return true;
    at_ = before;
    return false;
  }

  void skip_blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n')) {
      ++at_;
    }
  }

  bool truth(const Value& value, std::string_view sign) const {
    if (const bool* known = std::get_if<bool>(&value)) return *known;
    if (!failed_) return false;
    throw_invalid(str_cat("if: \"", text_, "\": ", sign, " needs true or false"));
  }

  [[noreturn]] void fail(std::string_view why) const {
    throw_invalid(
        str_cat("if: \"", text_.substr(0, kConditionBytesMax), "\": at byte ", at_, ": ", why));
  }

  const std::string_view text_;
  const std::optional<bool> failed_;
  size_t at_ = 0;
  size_t nesting_ = 0;
};

}  // namespace

void check_condition_text(std::string_view text) { Reader(text, std::nullopt).read(); }

bool holds(std::string_view text, bool failed) {
  const Value value = Reader(text, failed).read();
  if (const bool* known = std::get_if<bool>(&value)) return *known;
  throw_invalid(str_cat("if: \"", text, "\" is neither true nor false"));
}

}  // namespace tarn::actions
