#include "s3gateway/wire/post_policy.h"

#include <algorithm>
#include <array>
#include <optional>

#include "core/base/encoding.h"
#include "core/base/str_cat.h"
#include "core/base/text.h"
#include "s3gateway/wire/errors.h"
#include "s3gateway/wire/json_reader.h"

namespace tarn::s3 {
namespace {

using Condition = PostPolicy::Condition;
using Match = PostPolicy::Match;

constexpr std::string_view kBucket = "bucket";
constexpr std::string_view kKey = "key";
constexpr std::string_view kIgnoredPrefix = "x-ignore-";
/// Fields that say who signs, and what is signed.
constexpr std::array<std::string_view, 4> kUncovered = {"policy", "AWSAccessKeyId", "signature",
                                                        "x-amz-signature"};

[[noreturn]] void deny(std::string why) {
  throw Refusal(failure::kAccessDenied, str_cat("Invalid according to Policy: ", why));
}

/// "2026-11-20T08:15:42.000Z", the fraction optional: anything looser might mean another time than
/// its author thinks.
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
  if (now >= policy.expires) deny("Policy expired.");
  for (const Condition& condition : policy.conditions) {
    const bool of_bucket = equal_ignoring_case(condition.field, kBucket);
    const bool of_key = equal_ignoring_case(condition.field, kKey);
    const std::string_view value = of_bucket ? bucket : of_key ? key : fields.get(condition.field);
    const bool holds = condition.match == Match::kEqual ? value == condition.value
                                                        : value.starts_with(condition.value);
    if (!holds) deny(str_cat("Policy Condition failed: ", text_of(condition)));
  }
  for (std::string_view name : {kBucket, kKey}) {
    if (!covers(policy, name)) deny(str_cat("Policy Condition missing: ", name));
  }
  for (const auto& [name, value] : fields.all()) {
    if (!needs_no_condition(name) && !covers(policy, name)) {
      deny(str_cat("Extra input fields: ", name));
    }
  }
}

}  // namespace tarn::s3
