#include "s3gateway/wire/post_policy.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "core/base/encoding.h"
#include "core/base/str_cat.h"
#include "core/base/text.h"
#include "core/base/time_apart.h"
#include "s3gateway/wire/errors.h"
#include "s3gateway/wire/range.h"

namespace tarn::s3 {
namespace {

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

bool is_surrogate(uint32_t code) { return code >= 0xd800 && code < 0xe000; }

JsonReader::JsonReader(std::string_view text) : text_(text) {
  if (!is_utf8(text)) fail("is no UTF-8");
}

void JsonReader::fail(std::string_view why) const {
  throw Refusal(failure::kInvalidPolicyDocument,
                str_cat("Invalid Policy: the document ", why, ", at byte ", at_, "."));
}

void JsonReader::skip_blanks() {
  while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != std::string::npos) {
    ++at_;
  }
}

char JsonReader::peek() {
  skip_blanks();
  if (at_ == text_.size()) fail("ends too early");
  return text_[at_];
}

void JsonReader::expect(char c) {
  if (peek() != c) fail(str_cat("lacks a '", c, "'"));
  ++at_;
}

void JsonReader::enter(char open) {
  expect(open);
  if (depth_ == kDepthMax) fail("is nested too deeply");
  open_[depth_++] = {open == '{' ? '}' : ']', true};
}

bool JsonReader::next() {
  Container& container = open_[depth_ - 1];
  if (peek() == container.close) {
    ++at_;
    --depth_;
    return false;
  }
  if (!container.first) expect(',');
  container.first = false;
  return true;
}

std::string JsonReader::name() {
  std::string out = string();
  expect(':');
  return out;
}

uint32_t JsonReader::hex4() {
  uint32_t code = 0;
  const char* const begin = text_.data() + at_;
  const char* const end = begin + std::min<size_t>(4, text_.size() - at_);
  const auto [stop, error] = std::from_chars(begin, end, code, 16);
  if (error != std::errc() || stop != begin + 4) fail("has a broken \\u escape");
  at_ += 4;
  return code;
}

void JsonReader::append_escape(std::string& out) {
  // "\$" and "\v" are no JSON, but S3's description of policies has them.
  constexpr std::string_view kNames = "\"\\/$bfnrtv";
  constexpr std::string_view kMeanings = "\"\\/$\b\f\n\r\t\v";
  if (at_ == text_.size()) fail("ends inside a string");
  const char c = text_[at_++];
  if (const size_t index = kNames.find(c); index != std::string_view::npos) {
    out.push_back(kMeanings[index]);
    return;
  }
  if (c != 'u') fail("has an unknown escape");
  uint32_t code = hex4();
  if (is_surrogate(code)) {
    if (code >= 0xdc00 || text_.substr(at_, 2) != "\\u") fail("has half a surrogate pair");
    at_ += 2;
    const uint32_t low = hex4();
    if (low < 0xdc00 || !is_surrogate(low)) fail("has half a surrogate pair");
    code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
  }
  append_utf8(out, code);
}

std::string JsonReader::string() {
  if (peek() != '"') fail("lacks a string");
  ++at_;
  std::string out;
  for (;;) {
    if (at_ == text_.size()) fail("ends inside a string");
    const char c = text_[at_++];
    if (c == '"') return out;
    if (static_cast<unsigned char>(c) < 0x20) fail("has a control character in a string");
    if (c == '\\') {
      append_escape(out);
    } else {
      out.push_back(c);
    }
  }
}

uint64_t JsonReader::number() {
  std::string quoted;
  std::string_view digits;
  if (peek() == '"') {
    quoted = string();
    digits = quoted;
  } else {
    const size_t end = std::min(text_.find_first_not_of("0123456789", at_), text_.size());
    digits = text_.substr(at_, end - at_);
    at_ = end;
  }
  const auto value = parse_decimal(digits);
  if (!value) fail("lacks a whole number");
  return *value;
}

void JsonReader::finish() {
  skip_blanks();
  if (at_ != text_.size()) fail("goes on after its end");
}

using Condition = PostPolicy::Condition;
using Match = PostPolicy::Match;

constexpr std::string_view kBucketField = "bucket";
constexpr std::string_view kKeyField = "key";
constexpr std::string_view kIgnoredPrefix = "x-ignore-";
/// Fields of the signature, which conditions need not cover.
constexpr std::array<std::string_view, 4> kUncovered = {"policy", "AWSAccessKeyId", "signature",
                                                        "x-amz-signature"};

[[noreturn]] void deny(std::string why) {
  throw Refusal(failure::kAccessDenied, str_cat("Invalid according to Policy: ", why));
}

/// "2026-11-20T08:15:42.000Z", the fraction optional. Looser forms could be read as another time
/// than the author meant.
std::optional<Instant> parse_expiration(std::string_view text) {
  constexpr size_t kTimeAt = 10;
  if (text.size() <= kTimeAt || text[kTimeAt] != 'T' || !text.ends_with('Z')) return std::nullopt;
  return parse_rfc3339(text);
}

/// {"acl": "private"}
Condition exact_condition(JsonReader& in) {
  in.enter_object();
  if (!in.next()) in.fail("has a condition without a field");
  Condition out;
  out.field = in.name();
  out.value = in.string();
  if (in.next()) in.fail("has a condition with more than one field");
  return out;
}

void require_item(JsonReader& in) {
  if (!in.next()) in.fail("has a condition that lacks an item");
}

void end_condition(JsonReader& in) {
  if (in.next()) in.fail("has a condition with too many items");
}

void read_range(JsonReader& in, PostPolicy& out) {
  require_item(in);
  const uint64_t least = in.number();
  require_item(in);
  const uint64_t most = in.number();
  end_condition(in);
  out.file_bytes_min = std::max(out.file_bytes_min, least);
  out.file_bytes_max = std::min(out.file_bytes_max, most);
}

/// ["starts-with", "$key", "dir/"], ["eq", "$acl", "private"] or ["content-length-range", 1, 10]
void read_operation(JsonReader& in, PostPolicy& out) {
  in.enter_array();
  require_item(in);
  const std::string operation = in.string();
  if (equal_ignoring_case(operation, "content-length-range")) return read_range(in, out);
  Condition condition;
  if (equal_ignoring_case(operation, "starts-with")) {
    condition.match = Match::kPrefix;
  } else if (!equal_ignoring_case(operation, "eq")) {
    in.fail("has a condition other than eq, starts-with and content-length-range");
  }
  require_item(in);
  const std::string field = in.string();
  if (field.size() < 2 || field[0] != '$') in.fail("has a condition whose field lacks its \"$\"");
  condition.field = field.substr(1);
  require_item(in);
  condition.value = in.string();
  end_condition(in);
  out.conditions.push_back(std::move(condition));
}

void read_conditions(JsonReader& in, PostPolicy& out) {
  in.enter_array();
  for (size_t count = 0; in.next(); ++count) {
    if (count == kPolicyConditionsMax) in.fail("has too many conditions");
    if (in.peek() == '{') {
      out.conditions.push_back(exact_condition(in));
    } else {
      read_operation(in, out);
    }
  }
}

bool needs_no_condition(std::string_view name) {
  const auto same = [&](std::string_view other) { return equal_ignoring_case(name, other); };
  return std::any_of(kUncovered.begin(), kUncovered.end(), same) ||
         starts_with_ignoring_case(name, kIgnoredPrefix);
}

bool covers(const PostPolicy& policy, std::string_view name) {
  return std::any_of(policy.conditions.begin(), policy.conditions.end(),
                     [&](const Condition& c) { return equal_ignoring_case(c.field, name); });
}

std::string text_of(const Condition& condition) {
  return str_cat("[\"", condition.match == Match::kEqual ? "eq" : "starts-with", "\", \"$",
                 condition.field, "\", \"", condition.value, "\"]");
}

}  // namespace

PostPolicy parse_post_policy(std::string_view base64) {
  const std::optional<std::string> text = from_base64(base64);
  if (!text) {
    throw Refusal(failure::kInvalidPolicyDocument,
                  "Invalid Policy: the field \"policy\" is no base64.");
  }
  PostPolicy out;
  bool has_expiration = false;
  bool has_conditions = false;
  JsonReader in(*text);
  in.enter_object();
  while (in.next()) {
    const std::string name = in.name();
    if (name == "expiration" && !has_expiration) {
      const auto expires = parse_expiration(in.string());
      if (!expires) in.fail("has an expiration that is no time such as 2030-01-01T00:00:00Z");
      out.expires = *expires;
      has_expiration = true;
    } else if (name == "conditions" && !has_conditions) {
      read_conditions(in, out);
      has_conditions = true;
    } else {
      in.fail("has a name other than one \"expiration\" and one \"conditions\"");
    }
  }
  in.finish();
  if (!has_expiration) in.fail("lacks \"expiration\"");
  if (!has_conditions) in.fail("lacks \"conditions\"");
  return out;
}

void check_post_policy(const PostPolicy& policy, const http::Headers& fields,
                       std::string_view bucket, std::string_view key, Instant now) {
  if (now >= policy.expires) {
    deny(str_cat("Policy expired. It was valid until ", to_rfc3339(policy.expires),
                 ", the server's time is ", to_rfc3339(now), ", ", time_apart(policy.expires, now),
                 " later."));
  }
  for (const Condition& condition : policy.conditions) {
    const bool of_bucket = equal_ignoring_case(condition.field, kBucketField);
    const bool of_key = equal_ignoring_case(condition.field, kKeyField);
    const std::string_view value = of_bucket ? bucket : of_key ? key : fields.get(condition.field);
    const bool holds = condition.match == Match::kEqual ? value == condition.value
                                                        : value.starts_with(condition.value);
    if (!holds) deny(str_cat("Policy Condition failed: ", text_of(condition)));
  }
  for (std::string_view name : {kBucketField, kKeyField}) {
    if (!covers(policy, name)) deny(str_cat("Policy Condition missing: ", name));
  }
  for (const auto& [name, value] : fields.all()) {
    if (!needs_no_condition(name) && !covers(policy, name)) {
      deny(str_cat("Extra input fields: ", name));
    }
  }
}

}  // namespace tarn::s3
