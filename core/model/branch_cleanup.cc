#include "core/model/branch_cleanup.h"

#include "core/base/error.h"
#include "core/base/str_cat.h"
#include "core/base/wire.h"

namespace tarn {
namespace {

constexpr uint8_t kCleanupVersion = 1;

void check_rule(const CleanupRule& rule) {
  const auto fail = [&](std::string_view why) {
    throw Error(ErrorCode::kInvalidArgument,
                str_cat("rules: \"", rule.pattern.pattern(), "\": ", why));
  };
  for (const uint32_t days : {rule.stale_days, rule.expire_days, rule.notice_days}) {
    if (days > kCleanupDaysMax) fail(str_cat("at most ", kCleanupDaysMax, " days"));
  }
  if (rule.stale_days == 0 && rule.expire_days == 0 && !rule.losers) {
    fail("needs stale_days, expire_days or losers");
  }
  if (rule.expire_days > 0 && rule.notice_days == 0) fail("notice_days must be at least 1");
  if (rule.expire_days > 0 && rule.notice_days > rule.expire_days) {
    fail("notice_days must not be more than expire_days");
  }
}

}  // namespace

const CleanupRule* CleanupRules::rule_for(std::string_view branch) const {
  for (const CleanupRule& rule : rules) {
    if (rule.pattern.matches(branch)) return &rule;
  }
  return nullptr;
}

void check_cleanup_rules(const CleanupRules& rules) {
  if (rules.rules.size() > kCleanupRulesMax) {
    throw_invalid(str_cat("rules: there may be at most ", kCleanupRulesMax, " of them"));
  }
  if (rules.deletions_max < 1 || rules.deletions_max > kCleanupDeletionsMax) {
    throw_invalid(str_cat("deletions_max: must be from 1 to ", kCleanupDeletionsMax));
  }
  for (size_t i = 0; i < rules.rules.size(); ++i) {
    check_rule(rules.rules[i]);
    for (size_t j = 0; j < i; ++j) {
      if (rules.rules[i].pattern.pattern() == rules.rules[j].pattern.pattern()) {
        throw_invalid(str_cat("rules: \"", rules.rules[i].pattern.pattern(), "\" is there twice"));
      }
    }
  }
}

std::string encode_cleanup_rules(const CleanupRules& rules) {
  std::string out(1, static_cast<char>(kCleanupVersion));
  put_varint(out, rules.deletions_max);
  put_varint(out, rules.rules.size());
  for (const CleanupRule& rule : rules.rules) {
    put_bytes(out, rule.pattern.pattern());
    put_varint(out, rule.stale_days);
    put_varint(out, rule.losers ? 1 : 0);
    put_varint(out, rule.expire_days);
    put_varint(out, rule.notice_days);
  }
  return out;
}

CleanupRules decode_cleanup_rules(std::string_view bytes) {
  WireReader in(bytes, "branch cleanup rules");
  if (in.u8() != kCleanupVersion) in.fail("unknown version");
  CleanupRules out;
  out.deletions_max = static_cast<uint32_t>(in.varint());
  for (uint64_t count = in.varint(); count > 0; --count) {
    CleanupRule rule{.pattern = Glob(std::string(in.bytes()))};
    rule.stale_days = static_cast<uint32_t>(in.varint());
    rule.losers = in.varint() != 0;
    rule.expire_days = static_cast<uint32_t>(in.varint());
    rule.notice_days = static_cast<uint32_t>(in.varint());
    out.rules.push_back(std::move(rule));
  }
  in.expect_end();
  return out;
}

}  // namespace tarn
