#include "core/model/lifecycle.h"

#include <algorithm>

#include "core/base/wire.h"

namespace tarn {
namespace {

constexpr uint8_t kVersion = 1;
constexpr int64_t kDayMillis = 24 * 60 * 60 * int64_t{1000};

constexpr uint8_t kEnabled = 1;
constexpr uint8_t kLegacyPrefix = 2;

/// 0 stands for an absent value, others for the value less one.
void put_optional(std::string& out, std::optional<uint64_t> value) {
  put_varint(out, value ? *value + 1 : 0);
}

std::optional<uint64_t> optional_from(WireReader& in) {
  const uint64_t value = in.varint();
  if (value == 0) return std::nullopt;
  return value - 1;
}

std::optional<uint32_t> days_from(WireReader& in) {
  const auto value = optional_from(in);
  if (!value) return std::nullopt;
  return static_cast<uint32_t>(*value);
}

bool starts_with(std::string_view key, const std::optional<std::string>& prefix) {
  return !prefix || key.starts_with(*prefix);
}

LifecycleRule rule_from(WireReader& in) {
  LifecycleRule out;
  out.id = in.bytes();
  const uint8_t flags = in.u8();
  out.enabled = (flags & kEnabled) != 0;
  out.legacy_prefix = (flags & kLegacyPrefix) != 0;
  if (in.u8() != 0) out.prefix = std::string(in.bytes());
  for (uint64_t count = in.varint(); count > 0; --count) {
    std::string key(in.bytes());
    out.tags[std::move(key)] = std::string(in.bytes());
  }
  out.larger_than = optional_from(in);
  out.smaller_than = optional_from(in);
  out.expire_days = days_from(in);
  if (const auto millis = optional_from(in)) {
    out.expire_date = from_millis(unzigzag(*millis));
  }
  out.abort_days = days_from(in);
  out.noncurrent_days = days_from(in);
  out.noncurrent_newer = days_from(in);
  return out;
}

}  // namespace

bool LifecycleRule::takes(std::string_view key, const Entry& entry) const {
  if (!starts_with(key, prefix)) return false;
  if (larger_than && entry.size_bytes <= *larger_than) return false;
  if (smaller_than && entry.size_bytes >= *smaller_than) return false;
  if (tags.empty()) return true;
  const Metadata have = entry.object_tags();
  return std::all_of(tags.begin(), tags.end(), [&](const auto& tag) {
    const auto at = have.find(tag.first);
    return at != have.end() && at->second == tag.second;
  });
}

Instant after_days(Instant time, uint32_t days) {
  const int64_t over = to_millis(time) + days * kDayMillis;
  const int64_t past = ((over % kDayMillis) + kDayMillis) % kDayMillis;
  return from_millis(past == 0 ? over : over - past + kDayMillis);
}

std::optional<Expiry> expiry_of(const LifecycleRules& rules, std::string_view key,
                                const Entry& entry) {
  std::optional<Expiry> out;
  for (const LifecycleRule& rule : rules) {
    if (!rule.enabled || !rule.expires() || !rule.takes(key, entry)) continue;
    const Instant at =
        rule.expire_date ? *rule.expire_date : after_days(entry.mtime, *rule.expire_days);
    if (!out || at < out->at) out = Expiry{at, &rule};
  }
  return out;
}

bool removes_noncurrent(const LifecycleRules& rules, const NoncurrentVersion& version,
                        Instant now) {
  return std::any_of(rules.begin(), rules.end(), [&](const LifecycleRule& rule) {
    if (!rule.enabled || !rule.noncurrent_days ||
        version.newer < rule.noncurrent_newer.value_or(0)) {
      return false;
    }
    // A delete marker has neither size nor tags.
    const bool of_bytes = !rule.tags.empty() || rule.larger_than || rule.smaller_than;
    const bool takes = version.entry ? rule.takes(version.key, *version.entry)
                                     : !of_bytes && starts_with(version.key, rule.prefix);
    return takes && after_days(version.since, *rule.noncurrent_days) <= now;
  });
}

std::optional<Instant> abortion_of(const LifecycleRules& rules, std::string_view key,
                                   Instant created) {
  std::optional<Instant> out;
  for (const LifecycleRule& rule : rules) {
    if (!rule.enabled || !rule.abort_days || !starts_with(key, rule.prefix)) continue;
    const Instant at = after_days(created, *rule.abort_days);
    if (!out || at < *out) out = at;
  }
  return out;
}

std::string encode_lifecycle(const LifecycleRules& rules) {
  std::string out(1, static_cast<char>(kVersion));
  put_varint(out, rules.size());
  for (const LifecycleRule& rule : rules) {
    put_bytes(out, rule.id);
    out.push_back(static_cast<char>((rule.enabled ? kEnabled : 0) |
                                    (rule.legacy_prefix ? kLegacyPrefix : 0)));
    out.push_back(static_cast<char>(rule.prefix.has_value()));
    if (rule.prefix) put_bytes(out, *rule.prefix);
    put_varint(out, rule.tags.size());
    for (const auto& [key, value] : rule.tags) {
      put_bytes(out, key);
      put_bytes(out, value);
    }
    put_optional(out, rule.larger_than);
    put_optional(out, rule.smaller_than);
    put_optional(out, rule.expire_days);
    put_optional(
        out, rule.expire_date ? std::optional(zigzag(to_millis(*rule.expire_date))) : std::nullopt);
    put_optional(out, rule.abort_days);
    put_optional(out, rule.noncurrent_days);
    put_optional(out, rule.noncurrent_newer);
  }
  return out;
}

LifecycleRules decode_lifecycle(std::string_view bytes) {
  WireReader in(bytes, "lifecycle rules");
  if (in.u8() != kVersion) in.fail("unknown version");
  LifecycleRules out;
  for (uint64_t count = in.varint(); count > 0; --count) out.push_back(rule_from(in));
  in.expect_end();
  return out;
}

}  // namespace tarn
