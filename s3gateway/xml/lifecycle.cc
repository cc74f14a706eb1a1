#include "s3gateway/xml/lifecycle.h"

#include <charconv>
#include <limits>
#include <set>

#include "core/base/digest.h"
#include "core/base/encoding.h"
#include "core/base/str_cat.h"
#include "core/model/names.h"
#include "s3gateway/wire/errors.h"
#include "s3gateway/wire/object_tags.h"
#include "s3gateway/xml/reader.h"
#include "s3gateway/xml/writer.h"

namespace tarn::s3::xml {
namespace {

constexpr uint32_t kNewerVersionsMax = 100;  ///< source: S3's limit
constexpr size_t kIdBytes = 12;              ///< random part of a generated rule id
constexpr uint64_t kDaysMax = std::numeric_limits<int32_t>::max();
/// S3's largest object: 50 TiB.
constexpr uint64_t kSizeMax = 50ULL << 40;
constexpr int64_t kDayMillis = 24 * 60 * 60 * int64_t{1000};

[[noreturn]] void refuse_argument(std::string message) {
  throw Refusal(failure::kInvalidArgument, std::move(message));
}

[[noreturn]] void refuse_request(std::string message) {
  throw Refusal(failure::kInvalidRequest, std::move(message));
}

/// nullopt unless `text` is a number without sign.
std::optional<uint64_t> number_of(std::string_view text) {
  uint64_t out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return out;
}

bool is_number(std::string_view text) {
  return number_of(text.starts_with('-') ? text.substr(1) : text).has_value();
}

uint32_t days_from(Reader& in, std::string_view name, std::string_view action) {
  const std::string text = in.text();
  if (!is_number(text)) in.fail(str_cat("has a ", name, " that is no number"));
  const auto days = number_of(text);
  if (!days || *days == 0 || *days > kDaysMax) {
    refuse_argument(str_cat("'", name, "' for ", action, " action must be a positive integer"));
  }
  return static_cast<uint32_t>(*days);
}

uint64_t size_from(Reader& in, std::string_view name) {
  const std::string text = in.text();
  if (!is_number(text)) in.fail(str_cat("has a ", name, " that is no number"));
  const auto size = number_of(text);
  if (!size || *size > kSizeMax) {
    refuse_argument(str_cat("'", name, "' must be a number of bytes that an object can have"));
  }
  return *size;
}

Instant date_from(Reader& in) {
  const std::string text = in.text();
  const auto date = parse_rfc3339(text);
  if (!date) in.fail("has a Date that is none");
  if (to_millis(*date) % kDayMillis != 0) refuse_argument("'Date' must be at midnight GMT");
  return *date;
}

void add_tag(Reader& in, LifecycleRule& rule) {
  std::optional<std::string> key;
  std::optional<std::string> value;
  while (const auto child = in.next_child()) {
    if (*child == "Key" && !key) {
      key = in.text();
    } else if (*child == "Value" && !value) {
      value = in.text();
    } else {
      in.fail("has an unknown element in a Tag");
    }
  }
  if (!key || !value) in.fail("has a Tag without Key or Value");
  if (!rule.tags.emplace(std::move(*key), std::move(*value)).second) {
    refuse_request("Duplicate Tag Keys are not allowed.");
  }
}

/// Reads one element of a filter; false if it is none.
bool add_predicate(Reader& in, std::string_view name, LifecycleRule& rule) {
  if (name == "Prefix" && !rule.prefix) {
    rule.prefix = in.text();
  } else if (name == "Tag") {
    add_tag(in, rule);
  } else if (name == "ObjectSizeGreaterThan" && !rule.larger_than) {
    rule.larger_than = size_from(in, name);
  } else if (name == "ObjectSizeLessThan" && !rule.smaller_than) {
    rule.smaller_than = size_from(in, name);
  } else {
    return false;
  }
  return true;
}

void parse_filter(Reader& in, LifecycleRule& rule) {
  size_t parts = 0;
  while (const auto child = in.next_child()) {
    if (parts++ > 0) in.fail("has a Filter with several parts that are not in And");
    if (*child == "And") {
      while (const auto part = in.next_child()) {
        if (!add_predicate(in, *part, rule)) in.fail("has an unknown element in And");
      }
    } else if (!add_predicate(in, *child, rule)) {
      in.fail("has an unknown element in a Filter");
    }
  }
}

void parse_expiration(Reader& in, LifecycleRule& rule) {
  if (rule.expires()) in.fail("has two Expiration actions in a Rule");
  while (const auto child = in.next_child()) {
    if (rule.expires()) in.fail("has an Expiration with more than one of Days and Date");
    if (*child == "Days") {
      rule.expire_days = days_from(in, "Days", "Expiration");
    } else if (*child == "Date") {
      rule.expire_date = date_from(in);
    } else if (*child == "ExpiredObjectDeleteMarker") {
      refuse_unsupported("the lifecycle action Expiration with ExpiredObjectDeleteMarker");
    } else {
      in.fail("has an unknown element in Expiration");
    }
  }
  if (!rule.expires()) in.fail("has an Expiration without Days or Date");
}

void parse_abortion(Reader& in, LifecycleRule& rule) {
  if (rule.abort_days) in.fail("has two AbortIncompleteMultipartUpload actions in a Rule");
  while (const auto child = in.next_child()) {
    if (*child != "DaysAfterInitiation" || rule.abort_days) {
      in.fail("has an unknown element in AbortIncompleteMultipartUpload");
    }
    rule.abort_days = days_from(in, *child, "AbortIncompleteMultipartUpload");
  }
  if (!rule.abort_days)
    in.fail("has an AbortIncompleteMultipartUpload without DaysAfterInitiation");
}

void parse_noncurrent(Reader& in, LifecycleRule& rule) {
  constexpr std::string_view kAction = "NoncurrentVersionExpiration";
  if (rule.noncurrent_days) in.fail("has two NoncurrentVersionExpiration actions in a Rule");
  while (const auto child = in.next_child()) {
    if (*child == "NoncurrentDays" && !rule.noncurrent_days) {
      rule.noncurrent_days = days_from(in, *child, kAction);
    } else if (*child == "NewerNoncurrentVersions" && !rule.noncurrent_newer) {
      rule.noncurrent_newer = days_from(in, *child, kAction);
      if (*rule.noncurrent_newer > kNewerVersionsMax) {
        refuse_argument(str_cat("'NewerNoncurrentVersions' for ", kAction,
                                " action must not be above ", kNewerVersionsMax));
      }
    } else {
      in.fail("has an unknown element in NoncurrentVersionExpiration");
    }
  }
  if (!rule.noncurrent_days) in.fail("has a NoncurrentVersionExpiration without NoncurrentDays");
}

void check_rule(const LifecycleRule& rule) {
  if (!rule.deletes() && !rule.abort_days) {
    refuse_request("At least one action needs to be specified in a rule");
  }
  if (rule.prefix && rule.prefix->size() > kKeyBytesMax) {
    refuse_request(str_cat("The maximum size of a prefix is ", kKeyBytesMax, "."));
  }
  if (rule.larger_than && rule.smaller_than && *rule.larger_than >= *rule.smaller_than) {
    refuse_request("'ObjectSizeLessThan' has to be a value greater than 'ObjectSizeGreaterThan'");
  }
  if (rule.abort_days && (!rule.tags.empty() || rule.larger_than || rule.smaller_than)) {
    refuse_request("AbortIncompleteMultipartUpload cannot be specified with Tags or object sizes.");
  }
  check_tags(rule.tags);
}

LifecycleRule parse_rule(Reader& in) {
  LifecycleRule rule;
  std::optional<std::string> status;
  bool filtered = false;
  while (const auto child = in.next_child()) {
    if (*child == "ID") {
      rule.id = in.text();
    } else if (*child == "Status" && !status) {
      status = in.text();
    } else if (*child == "Prefix" && !rule.legacy_prefix) {
      rule.legacy_prefix = true;
      rule.prefix = in.text();
    } else if (*child == "Filter" && !filtered) {
      filtered = true;
      if (rule.legacy_prefix) in.fail("has a Rule with both Prefix and Filter");
      parse_filter(in, rule);
    } else if (*child == "Expiration") {
      parse_expiration(in, rule);
    } else if (*child == "AbortIncompleteMultipartUpload") {
      parse_abortion(in, rule);
    } else if (*child == "NoncurrentVersionExpiration") {
      parse_noncurrent(in, rule);
    } else if (*child == "Transition" || *child == "NoncurrentVersionTransition") {
      refuse_unsupported(str_cat("the lifecycle action ", *child));
    } else {
      in.fail("has an unknown element in a Rule");
    }
  }
  if (filtered && rule.legacy_prefix) in.fail("has a Rule with both Prefix and Filter");
  if (!filtered && !rule.legacy_prefix) in.fail("has a Rule without Filter");
  if (status != "Enabled" && status != "Disabled") {
    in.fail("has a Rule whose Status is neither Enabled nor Disabled");
  }
  rule.enabled = status == "Enabled";
  check_rule(rule);
  return rule;
}

/// Generates missing ids and rejects duplicates.
void settle_ids(LifecycleRules& rules) {
  std::set<std::string_view> ids;
  for (LifecycleRule& rule : rules) {
    if (rule.id.empty()) rule.id = to_hex(random_bytes(kIdBytes));
    if (characters_of(rule.id) > kLifecycleIdCharactersMax) {
      refuse_argument(
          str_cat("ID length should not exceed allowed limit of ", kLifecycleIdCharactersMax));
    }
    if (!ids.insert(rule.id).second) {
      refuse_argument("Rule ID must be unique. Found same ID for more than one rule");
    }
  }
}

void write_predicates(Writer& out, const LifecycleRule& rule) {
  if (rule.prefix) out.element("Prefix", *rule.prefix);
  for (const auto& [key, value] : rule.tags) {
    out.open("Tag");
    out.element("Key", key);
    out.element("Value", value);
    out.close("Tag");
  }
  if (rule.larger_than) out.element("ObjectSizeGreaterThan", *rule.larger_than);
  if (rule.smaller_than) out.element("ObjectSizeLessThan", *rule.smaller_than);
}

void write_rule(Writer& out, const LifecycleRule& rule) {
  out.open("Rule");
  if (rule.expires()) {
    out.open("Expiration");
    if (rule.expire_days) out.element("Days", uint64_t{*rule.expire_days});
    if (rule.expire_date) out.element("Date", *rule.expire_date);
    out.close("Expiration");
  }
  out.element("ID", rule.id);
  if (rule.legacy_prefix) {
    out.element("Prefix", rule.prefix.value_or(""));
  } else {
    const size_t parts = rule.tags.size() + (rule.prefix ? 1 : 0) + (rule.larger_than ? 1 : 0) +
                         (rule.smaller_than ? 1 : 0);
    out.open("Filter");
    if (parts > 1) out.open("And");
    write_predicates(out, rule);
    if (parts > 1) out.close("And");
    out.close("Filter");
  }
  out.element("Status", rule.enabled ? "Enabled" : "Disabled");
  if (rule.noncurrent_days) {
    out.open("NoncurrentVersionExpiration");
    out.element("NoncurrentDays", uint64_t{*rule.noncurrent_days});
    if (rule.noncurrent_newer) {
      out.element("NewerNoncurrentVersions", uint64_t{*rule.noncurrent_newer});
    }
    out.close("NoncurrentVersionExpiration");
  }
  if (rule.abort_days) {
    out.open("AbortIncompleteMultipartUpload");
    out.element("DaysAfterInitiation", uint64_t{*rule.abort_days});
    out.close("AbortIncompleteMultipartUpload");
  }
  out.close("Rule");
}

}  // namespace

LifecycleRules parse_lifecycle(std::string_view document) {
  LifecycleRules rules;
  Reader in(document);
  in.enter_root("LifecycleConfiguration");
  while (const auto child = in.next_child()) {
    if (*child != "Rule") in.fail("has something other than a Rule");
    if (rules.size() == kLifecycleRulesMax) in.fail("has more than 1000 rules");
    rules.push_back(parse_rule(in));
  }
  in.finish();
  if (rules.empty()) in.fail("has no Rule");
  settle_ids(rules);
  return rules;
}

std::string lifecycle_to_xml(const LifecycleRules& rules) {
  Writer out("LifecycleConfiguration");
  for (const LifecycleRule& rule : rules) write_rule(out, rule);
  return out.finish();
}

}  // namespace tarn::s3::xml
