// The parser of search expressions; docs/search.md has the grammar.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/encoding.h"
#include "core/base/error.h"
#include "core/base/number.h"
#include "core/base/quantity.h"
#include "core/base/str_cat.h"
#include "core/base/text.h"
#include "core/search/expression.h"
#include "core/search/instant.h"

namespace tarn::search {
namespace {

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
  /// The word as it was written, for messages.
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

constexpr std::string_view kBlanks = " \t\r\n";
constexpr std::string_view kOperatorBytes = "=!<>~";
/// Bytes that end a word without quotes.
constexpr std::string_view kEndsPlain = " \t\r\n=!<>~(),\"'";

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

using Kind = Expression::Kind;

constexpr Unit kSizeUnits[] = {{"", 1},
                               {"B", 1},
                               {"KB", 1'000},
                               {"MB", 1'000'000},
                               {"GB", 1'000'000'000},
                               {"TB", 1'000'000'000'000},
                               {"KiB", uint64_t{1} << 10},
                               {"MiB", uint64_t{1} << 20},
                               {"GiB", uint64_t{1} << 30},
                               {"TiB", uint64_t{1} << 40}};
constexpr std::array<std::string_view, 6> kKeywords = {"and", "or", "not", "in", "between", "has"};

/// Ends the parsing; caught in read().
struct Problem {
  size_t at;
  std::string why;
};

std::optional<Comparison> comparison_of(std::string_view text) {
  if (text == "=") return Comparison::kEqual;
  if (text == "!=") return Comparison::kUnequal;
  if (text == "<") return Comparison::kLess;
  if (text == "<=") return Comparison::kLessOrEqual;
  if (text == ">") return Comparison::kGreater;
  if (text == ">=") return Comparison::kGreaterOrEqual;
  return std::nullopt;
}

bool is_ordering(Comparison comparison) {
  return comparison != Comparison::kEqual && comparison != Comparison::kUnequal;
}

/// Accepts the syntax of numbers only, so "nan" and "inf" are words.
std::optional<double> number_of(std::string_view word) {
  const bool begins = word.find_first_of("0123456789.") <= 1;
  return begins ? parse_number(word) : std::nullopt;
}

class Parser {
 public:
  explicit Parser(std::string_view text) : words_(text) {}

  Expression whole() {
    Expression out = any();
    if (current().kind != Word::Kind::kEnd) expected("'and', 'or' or the end");
    return out;
  }

 private:
  const Word& current() const { return words_.current(); }

  bool at_keyword(std::string_view keyword) const {
    return current().kind == Word::Kind::kPlain && equal_ignoring_case(current().text, keyword);
  }
  bool at_any_keyword() const {
    return std::any_of(kKeywords.begin(), kKeywords.end(),
                       [&](std::string_view keyword) { return at_keyword(keyword); });
  }
  bool take_keyword(std::string_view keyword) {
    if (!at_keyword(keyword)) return false;
    words_.next();
    return true;
  }
  bool take(Word::Kind kind) {
    if (current().kind != kind) return false;
    words_.next();
    return true;
  }

  [[noreturn]] void expected(std::string_view what) const {
    const Word& word = current();
    if (word.kind == Word::Kind::kUnclosed) throw Problem{word.at, "quotes that are not closed"};
    const std::string found = word.kind == Word::Kind::kEnd
                                  ? "the end"
                                  : str_cat("'", words_.written(word).substr(0, 40), "'");
    throw Problem{word.at, str_cat("expected ", what, ", found ", found)};
  }

  /// Increases the nesting depth for its lifetime.
  class Deeper {
   public:
    Deeper(size_t& depth, size_t at) : depth_(depth) {
      if (++depth_ > kExpressionDepthMax)
        throw Problem{at, str_cat("more than ", kExpressionDepthMax, " levels")};
    }
    ~Deeper() { --depth_; }
    Deeper(const Deeper&) = delete;
    Deeper& operator=(const Deeper&) = delete;

   private:
    size_t& depth_;
  };

  static Expression joined(Kind kind, std::vector<Expression> parts) {
    if (parts.size() == 1) return std::move(parts[0]);
    return {.kind = kind, .parts = std::move(parts)};
  }
  static Expression negated(Expression part) {
    Expression out{.kind = Kind::kNot};
    out.parts.push_back(std::move(part));
    return out;
  }

  Expression any() {
    std::vector<Expression> parts;
    do {
      parts.push_back(all());
    } while (take_keyword("or"));
    return joined(Kind::kAny, std::move(parts));
  }

  Expression all() {
    std::vector<Expression> parts;
    do {
      parts.push_back(one());
    } while (take_keyword("and"));
    return joined(Kind::kAll, std::move(parts));
  }

  Expression one() {
    const Deeper deeper(depth_, current().at);
    if (take_keyword("not")) return negated(one());
    if (take(Word::Kind::kOpen)) {
      Expression out = any();
      if (!take(Word::Kind::kClose)) expected("'and', 'or' or ')'");
      return out;
    }
    if (take_keyword("has")) return condition(field("a field"), Comparison::kEqual, {});
    return test(field("a field, 'has', 'not' or '('"));
  }

  Field field(std::string_view what) {
    if (current().kind != Word::Kind::kPlain || at_any_keyword()) expected(what);
    const Word word = current();
    words_.next();
    std::string name = word.text;
    const bool prefix = name == "meta." || name == "tag.";
    if (prefix && current().kind == Word::Kind::kQuoted && current().at == word.end) {
      name += current().text;
      words_.next();
    }
    auto found = parse_field(name);
    if (!found) throw Problem{word.at, str_cat("expected a key behind '", word.text, "'")};
    return *std::move(found);
  }

  Expression test(const Field& field) {
    if (take_keyword("in")) return list(field);
    if (take_keyword("between")) return between(field);
    if (take_keyword("not")) {
      if (!take_keyword("in")) expected("'in'");
      return negated(list(field));
    }
    const Word symbol = current();
    const auto comparing = comparison_of(symbol.text);
    if (symbol.kind != Word::Kind::kOperator || (!comparing && symbol.text != "~"))
      expected("one of = != < <= > >= ~, 'in' or 'between'");
    words_.next();
    return comparing ? comparison(field, *comparing, symbol.at) : pattern(field, symbol.at);
  }

  Expression list(const Field& field) {
    if (!take(Word::Kind::kOpen)) expected("'('");
    std::vector<Expression> parts;
    do {
      parts.push_back(comparison(field, Comparison::kEqual, current().at));
    } while (take(Word::Kind::kComma));
    if (!take(Word::Kind::kClose)) expected("',' or ')'");
    return joined(Kind::kAny, std::move(parts));
  }

  Expression between(const Field& field) {
    std::vector<Expression> parts;
    parts.push_back(comparison(field, Comparison::kGreaterOrEqual, current().at));
    if (!take_keyword("and")) expected("'and' and the upper end");
    parts.push_back(comparison(field, Comparison::kLessOrEqual, current().at));
    return joined(Kind::kAll, std::move(parts));
  }

  /// The value of a pattern or a comparison; `what` names it in messages.
  Word value(std::string_view what) {
    const bool quoted = current().kind == Word::Kind::kQuoted;
    if (!quoted && (current().kind != Word::Kind::kPlain || at_any_keyword())) expected(what);
    Word out = current();
    words_.next();
    return out;
  }

  Expression pattern(const Field& field, size_t symbol_at) {
    if (field.kind == Field::Kind::kSize || field.kind == Field::Kind::kModified) {
      throw Problem{symbol_at, "expected a comparison: size and modified have no pattern"};
    }
    const Word word = value("a pattern");
    const std::string problem = Glob::problem(word.text);
    if (!problem.empty()) throw Problem{word.at, str_cat("a pattern that is wrong: ", problem)};
    return condition(field, Comparison::kEqual, Glob(word.text));
  }

  Expression comparison(const Field& field, Comparison comparison, size_t at) {
    switch (field.kind) {
      case Field::Kind::kSize:
        return condition(field, comparison, size());
      case Field::Kind::kModified:
        return condition(field, comparison, moment());
      case Field::Kind::kPath:
        return condition(field, comparison, value("a path").text);
      case Field::Kind::kType:
        if (is_ordering(comparison)) throw Problem{at, "expected '=', '!=', '~' or 'in' for type"};
        return condition(field, comparison, value("a content type").text);
      case Field::Kind::kMetadata:
      case Field::Kind::kTag:
        break;
    }
    return pair_comparison(field, comparison);
  }

  uint64_t size() {
    constexpr std::string_view kWhat = "a size, for example 10MiB";
    const Word before = current();
    const Word word = value(kWhat);
    const auto bytes = parse_quantity(word.text, kSizeUnits);
    if (!bytes)
      throw Problem{before.at,
                    str_cat("expected ", kWhat, ", found '", word.text.substr(0, 40), "'")};
    return *bytes;
  }

  Instant moment() {
    constexpr std::string_view kWhat =
        "a time, for example 2026-11-20, 2026-11-20T08:00:00Z or seconds since 1970";
    const Word word = value(kWhat);
    const auto time = parse_instant(word.text);
    if (!time)
      throw Problem{word.at,
                    str_cat("expected ", kWhat, ", found '", word.text.substr(0, 40), "'")};
    return *time;
  }

  Expression pair_comparison(const Field& field, Comparison comparison) {
    const Word word = value("a value");
    if (word.kind == Word::Kind::kPlain) {
      if (const auto number = number_of(word.text)) return condition(field, comparison, *number);
      if (is_ordering(comparison)) {
        throw Problem{word.at, str_cat("expected a number, or a text in quotes, found '",
                                       word.text.substr(0, 40), "'")};
      }
    }
    return condition(field, comparison, word.text);
  }

  Expression condition(Field field, Comparison comparison, decltype(Condition::value) value) {
    if (++terms_ > kExpressionTermsMax)
      throw Problem{current().at, str_cat("more than ", kExpressionTermsMax, " conditions")};
    return {.kind = Kind::kCondition,
            .condition = {std::move(field), comparison, std::move(value)}};
  }

  ExpressionWords words_;
  size_t depth_ = 0;
  size_t terms_ = 0;
};

/// The expression, or an error message.
std::variant<Expression, std::string> read(std::string_view text) {
  if (text.size() > kExpressionBytesMax)
    return str_cat("is longer than ", kExpressionBytesMax, " bytes");
  if (!is_utf8(text)) return "is not UTF-8";
  try {
    return Parser(text).whole();
  } catch (const Problem& problem) {
    return str_cat(problem.why, " at byte ", problem.at);
  }
}

}  // namespace

Expression parse_expression(std::string_view text) {
  auto found = read(text);
  if (auto* problem = std::get_if<std::string>(&found)) throw_invalid("search: " + *problem);
  return std::get<Expression>(std::move(found));
}

std::string problem_of_expression(std::string_view text) {
  const auto found = read(text);
  const auto* problem = std::get_if<std::string>(&found);
  return problem == nullptr ? "" : *problem;
}

}  // namespace tarn::search
