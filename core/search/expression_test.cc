// Expressions as they are read, against a plain reading of what was written.
#include "core/search/expression.h"

#include <functional>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/str_cat.h"

namespace tarn::search {
namespace {

struct Object {
  std::string path;
  Entry entry;
};
using Meaning = std::function<bool(const Object&)>;

/// A text and, made with it and not from it, what it means.
struct Written {
  std::string text;
  Meaning meaning;
};

class Writer {
 public:
  explicit Writer(uint64_t seed) : random_(seed) {}

  uint64_t below(uint64_t end) { return random_() % end; }
  std::string one_of(const std::vector<std::string>& words) { return words[below(words.size())]; }

  Object object() {
    Object out{.path = one_of({"a", "b", "data/a", "data/b", "data/b/c", "\xc3\xa9"}), .entry = {}};
    out.entry.size_bytes = below(6);
    out.entry.mtime = from_millis(static_cast<int64_t>(below(6)) * 1000 - 2000);
    out.entry.content_type = one_of({"", "image/png", "image/gif", "text/csv"});
    Metadata metadata;
    Metadata tags;
    for (const char* key : {"k", "l"}) {
      if (below(3) > 0) metadata[key] = value();
      if (below(3) > 0) tags[key] = value();
    }
    out.entry.set_user_metadata(metadata);
    out.entry.set_object_tags(tags);
    return out;
  }

  Written expression(int depth) {
    const uint64_t kind = below(depth == 0 ? 1 : 5);
    if (kind <= 1) return condition();
    Written left = expression(depth - 1);
    if (kind == 2) {
      return {str_cat("not (", left.text, ")"),
              [of = left.meaning](const Object& o) { return !of(o); }};
    }
    Written right = expression(depth - 1);
    const bool all = kind == 3;
    const std::string word = all ? " and " : " or ";
    return {str_cat("(", left.text, ")", word, "(", right.text, ")"),
            [=, l = left.meaning, r = right.meaning](const Object& o) {
              return all ? l(o) && r(o) : l(o) || r(o);
            }};
  }

 private:
  std::string value() {
    return one_of({"0", "1", "1.0", "2", "-1", "1e0", "cat", "dog", "", "nan"});
  }

  Written condition() {
    switch (below(6)) {
      case 0:
        return number("size", [](const Object& o) {
          return std::optional(static_cast<double>(o.entry.size_bytes));
        });
      case 1:
        return number("modified", [](const Object& o) {
          return std::optional(static_cast<double>(to_millis(o.entry.mtime)) / 1000);
        });
      case 2:
        return path();
      case 3:
        return type();
      default:
        return pair();
    }
  }

  static bool compare(const std::string& op, double a, double b) {
    if (op == "=") return a == b;
    if (op == "!=") return a != b;
    if (op == "<") return a < b;
    if (op == "<=") return a <= b;
    if (op == ">") return a > b;
    return a >= b;
  }
  std::string comparison() { return one_of({"=", "!=", "<", "<=", ">", ">="}); }

  Written number(const std::string& field,
                 const std::function<std::optional<double>(const Object&)>& of) {
    const int low = static_cast<int>(below(5));
    const int high = static_cast<int>(below(5));
    if (below(4) == 0) {
      return {str_cat(field, " between ", low, " and ", high), [=](const Object& o) {
                const auto n = of(o);
                return n && *n >= low && *n <= high;
              }};
    }
    if (below(3) == 0) {
      return {str_cat(field, " in (", low, ", ", high, ")"), [=](const Object& o) {
                const auto n = of(o);
                return n && (*n == low || *n == high);
              }};
    }
    const std::string op = comparison();
    return {str_cat(field, op, low), [=](const Object& o) {
              const auto n = of(o);
              return n && compare(op, *n, low);
            }};
  }

  Written path() {
    const std::string path = one_of({"a", "data/b", "\xc3\xa9", "none"});
    if (below(2) == 0)
      return {str_cat("path = '", path, "'"), [=](const Object& o) { return o.path == path; }};
    return {"path ~ data/*", [](const Object& o) {
              return o.path.starts_with("data/") && o.path.find('/', 5) == std::string::npos;
            }};
  }

  Written type() {
    const bool equal = below(2) == 0;
    return {str_cat("type ", equal ? "=" : "!=", " image/*"),
            [=](const Object& o) { return o.entry.content_type.starts_with("image/") == equal; }};
  }

  Written pair() {
    const bool tag = below(2) == 0;
    const std::string key = one_of({"k", "l"});
    const std::string field = str_cat(tag ? "tag." : one_of({"", "meta."}), key);
    const auto find = [=](const Object& o) -> std::optional<std::string> {
      const Metadata pairs = tag ? o.entry.object_tags() : o.entry.user_metadata();
      const auto at = pairs.find(key);
      return at == pairs.end() ? std::nullopt : std::optional(at->second);
    };
    if (below(5) == 0)
      return {str_cat("has ", field), [=](const Object& o) { return find(o).has_value(); }};
    const std::string word = one_of({"cat", "dog"});
    if (below(3) == 0) {
      const bool equal = below(2) == 0;
      return {str_cat(field, equal ? " = " : " != ", word), [=](const Object& o) {
                const auto text = find(o);
                return text && (*text == word) == equal;
              }};
    }
    if (below(3) == 0)
      return {str_cat(field, " < '", word, "'"), [=](const Object& o) {
                const auto text = find(o);
                return text && *text < word;
              }};
    return numeric_pair(field, find);
  }

  Written numeric_pair(const std::string& field,
                       const std::function<std::optional<std::string>(const Object&)>& find) {
    static const std::map<std::string, double> kNumbers = {{"0", 0}, {"1", 1},   {"1.0", 1},
                                                           {"2", 2}, {"-1", -1}, {"1e0", 1}};
    const auto of = [=](const Object& o) -> std::optional<double> {
      const auto text = find(o);
      if (!text || !kNumbers.contains(*text)) return std::nullopt;
      return kNumbers.at(*text);
    };
    Written out = number(field, of);
    if (out.text.find("!=") == std::string::npos) return out;
    // Of what has the key and is no such number.
    return {out.text,
            [=, is = out.meaning](const Object& o) { return find(o) && (!of(o) || is(o)); }};
  }

  std::mt19937_64 random_;
};

TEST(Expression, EvaluatesAsDocumented) {
  Writer writer(3);
  int held = 0;
  for (int i = 0; i < 4000; ++i) {
    const Written written = writer.expression(static_cast<int>(writer.below(5)));
    ASSERT_EQ(problem_of_expression(written.text), "") << written.text;
    const Expression read = parse_expression(written.text);
    const std::string prefix = read.prefix();
    for (int n = 0; n < 10; ++n) {
      const Object object = writer.object();
      const bool expected = written.meaning(object);
      held += expected;
      ASSERT_EQ(read.matches(Subject(object.path, object.entry)), expected) << written.text;
      ASSERT_TRUE(!expected || object.path.starts_with(prefix)) << written.text;
    }
  }
  EXPECT_GT(held, 10'000);
  EXPECT_LT(held, 30'000);
}

TEST(Expression, FindsTheCommonPrefixOfMatches) {
  const auto prefix = [](std::string_view text) { return parse_expression(text).prefix(); };
  EXPECT_EQ(prefix("path ~ data/x*"), "data/x");
  EXPECT_EQ(prefix("path = data/x"), "data/x");
  EXPECT_EQ(prefix("path ~ data/x* and size > 3"), "data/x");
  EXPECT_EQ(prefix("path ~ data/x* or path = data/y"), "data/");
  EXPECT_EQ(prefix("path ~ data/x* or size > 3"), "");
  EXPECT_EQ(prefix("not path ~ data/x*"), "");
  EXPECT_EQ(prefix("path != data/x"), "");
  EXPECT_EQ(prefix("has path"), "");
  EXPECT_EQ(prefix("label = data/x"), "");
}

TEST(Expression, KnowsWhetherItReadsTags) {
  EXPECT_TRUE(parse_expression("size > 3 or not (a = 1 and has tag.a)").asks_for_tags());
  EXPECT_FALSE(parse_expression("size > 3 or not (a = 1 and has meta.tag)").asks_for_tags());
}

}  // namespace
}  // namespace tarn::search
