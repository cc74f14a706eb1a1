#include "core/branch/cleanup.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/base/str_cat.h"
#include "core/branch/cleanup_store.h"
#include "core/branch/repositories.h"
#include "core/branch/settings.h"
#include "core/meta/branches.h"
#include "core/meta/repositories.h"

namespace tarn::branch {
namespace {

using std::chrono::days;

constexpr uint32_t kBranchesPerRead = 1'000;
/// Reads of one listing: it examines a limited number of branches, and its page says to go on.
constexpr int kReadsPerPageMax = 10;
/// Stale without a rule, in a listing that names no number of days.
constexpr uint32_t kStaleDaysDefault = 30;

/// The judgement of the rules on a branch.
struct Assessment {
  const CleanupRule* rule = nullptr;
  std::vector<std::string> reasons{};
  std::optional<Instant> deletes{};
};

Assessment assess(const CleanupRules& rules, const BranchActivity& branch,
                  std::optional<uint32_t> stale_days) {
  Assessment out{.rule = rules.rule_for(branch.name.str())};
  const auto idle = branch.now - branch.active;
  uint32_t stale = out.rule != nullptr ? out.rule->stale_days : 0;
  if (stale_days) stale = *stale_days;
  if ((stale > 0 || stale_days) && idle >= days{stale}) out.reasons.emplace_back("no_commit");
  if (branch.lost && (stale_days || (out.rule != nullptr && out.rule->losers))) {
    out.reasons.emplace_back("lost_promotion");
  }
  if (out.rule == nullptr || out.rule->expire_days == 0) return out;
  const days notice{out.rule->notice_days};
  if (idle < days{out.rule->expire_days} - notice) return out;
  out.deletes = std::max<Instant>(branch.active + days{out.rule->expire_days}, branch.now + notice);
  if (branch.expires && !branch.expires_by.empty()) out.deletes = branch.expires;
  return out;
}

/// Days after which any rule says anything.
uint32_t least_days(const CleanupRules& rules) {
  uint32_t out = kCleanupDaysMax;
  for (const CleanupRule& rule : rules.rules) {
    if (rule.stale_days > 0) out = std::min(out, rule.stale_days);
    if (rule.expire_days > 0) out = std::min(out, rule.expire_days - rule.notice_days);
  }
  return out;
}

/// The terms of every branch of a repository.
struct Terms {
  const Repository& repository;
  CleanupRules rules;
  std::vector<BranchRule> protections;
};

Terms terms_of(Engine& engine, const Repository& repository) {
  return {repository, get_cleanup_rules(engine, repository).value,
          get_branch_rules(engine, repository).value};
}

std::string kept_by(const Terms& terms, const BranchActivity& branch) {
  if (branch.name == terms.repository.default_branch) return "it is the default branch";
  const bool is_protected =
      std::any_of(terms.protections.begin(), terms.protections.end(), [&](const BranchRule& rule) {
        return rule.blocks(BranchAction::kDelete) && rule.pattern.matches(branch.name.str());
      });
  if (is_protected) return "a rule protects it";
  if (!branch.in_use.empty()) return branch.in_use;
  if (branch.expires && branch.expires_by.empty()) return "it has an expiry of its own";
  return {};
}

/// Applies the rules to one branch. Returns whether it announced a deletion.
bool apply_rule(Engine& engine, const Terms& terms, const BranchActivity& branch,
                bool may_announce) {
  CleanupStore rows(engine.pool);
  const Assessment assessment = assess(terms.rules, branch, std::nullopt);
  const std::string name = str_cat(terms.repository.name.str(), "/", branch.name.str());
  const std::string kept =
      assessment.deletes || !branch.expires_by.empty() ? kept_by(terms, branch) : std::string();
  if (!branch.expires_by.empty() && (!assessment.deletes || !kept.empty())) {
    if (rows.lift(branch.id)) {
      log::info("branch_expiry_lifted",
                {{"branch", name}, {"message", kept.empty() ? "no rule wants it" : kept}});
    }
    return false;
  }
  if (!assessment.reasons.empty() && !branch.told && rows.tell_stale(branch, assessment.reasons)) {
    log::info("branch_stale", {{"branch", name}, {"reason", assessment.reasons.front()}});
  }
  if (!assessment.deletes || !kept.empty() || branch.expires || !may_announce) return false;
  if (!rows.announce(branch, *assessment.deletes, assessment.rule->pattern.pattern())) return false;
  log::info("branch_expiring", {{"branch", name},
                                {"rule", assessment.rule->pattern.pattern()},
                                {"expires", to_rfc3339(*assessment.deletes)}});
  return true;
}

}  // namespace

Tagged<CleanupRules> get_cleanup_rules(Engine& engine, const Repository& repository) {
  const auto body = engine.settings.find(repository.id, meta::SettingKind::kBranchCleanup);
  if (!body) check_exists(engine, repository);
  return {body ? decode_cleanup_rules(*body) : CleanupRules{}, setting_etag(body)};
}

void set_cleanup_rules(Engine& engine, const Repository& repository, const CleanupRules& rules,
                       const SettingWrite& write) {
  check_cleanup_rules(rules);
  check_writable(engine, repository, write.force);
  const bool done = engine.settings.update(
      repository.id, meta::SettingKind::kBranchCleanup,
      [&](const std::optional<std::string>& present) -> std::optional<std::string> {
        if (write.if_match && *write.if_match != setting_etag(present)) {
          throw Error(ErrorCode::kPreconditionFailed, "Precondition failed");
        }
        if (rules.rules.empty()) return std::nullopt;
        return encode_cleanup_rules(rules);
      });
  if (!done) check_exists(engine, repository);
  if (rules.rules.empty()) CleanupStore(engine.pool).lift_all(repository.id);
}

Page<StaleBranch> list_stale_branches(Engine& engine, const Repository& repository,
                                      const StaleQuery& query) {
  const Terms terms = terms_of(engine, repository);
  const CleanupRules& rules = terms.rules;
  std::optional<uint32_t> stale_days = query.days;
  if (!stale_days && rules.rules.empty()) stale_days = kStaleDaysDefault;
  const uint32_t least = std::min(least_days(rules), stale_days.value_or(kCleanupDaysMax));
  CleanupStore rows(engine.pool);
  Page<StaleBranch> page{.next = query.after, .next_of = std::mem_fn(&StaleBranch::name)};
  for (int read = 0; read < kReadsPerPageMax; ++read) {
    const std::vector<BranchActivity> some = rows.list(repository.id, query.prefix, page.next,
                                                       int64_t{least} * 86'400, kBranchesPerRead);
    for (const BranchActivity& branch : some) {
      if (page.items.size() == query.limit) {
        page.has_more = true;
        return page;
      }
      page.next = branch.name.str();
      Assessment assessment = assess(rules, branch, stale_days);
      if (assessment.reasons.empty() && !assessment.deletes) continue;
      if (branch.name == repository.default_branch) continue;
      StaleBranch out{.name = branch.name.str(), .head = branch.head, .active = branch.active};
      out.idle_days = std::chrono::duration_cast<days>(branch.now - branch.active).count();
      out.reasons = std::move(assessment.reasons);
      if (assessment.rule != nullptr) out.rule = assessment.rule->pattern.pattern();
      out.deletes = assessment.deletes;
      out.announced = !branch.expires_by.empty();
      out.kept_by = kept_by(terms, branch);
      page.items.push_back(std::move(out));
    }
    if (some.size() < kBranchesPerRead) {
      page.next.clear();
      return page;
    }
  }
  page.has_more = true;
  return page;
}

bool clean_up_one_repository(Engine& engine, std::stop_token stop) {
  CleanupStore rows(engine.pool);
  const auto due = rows.claim_due(kCleanupInterval);
  if (!due) return false;
  const Repository repository = engine.repositories.current(*due);
  if (repository.read_only) return true;
  const Terms terms = terms_of(engine, repository);
  const CleanupRules& rules = terms.rules;
  uint32_t announced = 0;
  for (std::string after; !stop.stop_requested();) {
    const std::vector<BranchActivity> some =
        rows.list(repository.id, "", after, int64_t{least_days(rules)} * 86'400, kBranchesPerRead);
    for (const BranchActivity& branch : some) {
      if (stop.stop_requested()) return true;
      after = branch.name.str();
      announced += apply_rule(engine, terms, branch, announced < rules.deletions_max) ? 1 : 0;
    }
    if (some.size() < kBranchesPerRead) break;
  }
  return true;
}

std::string use_of_branch(Engine& engine, const Repository& repository, BranchId branch) {
  const auto activity = CleanupStore(engine.pool).find(repository.id, branch);
  return activity ? kept_by(terms_of(engine, repository), *activity) : std::string();
}

std::string kept_from_cleanup(Engine& engine, const Repository& repository, BranchId branch) {
  const auto activity = CleanupStore(engine.pool).find(repository.id, branch);
  if (!activity || activity->expires_by.empty()) return {};
  const Terms terms = terms_of(engine, repository);
  const std::string kept = kept_by(terms, *activity);
  if (!kept.empty()) return kept;
  return assess(terms.rules, *activity, std::nullopt).deletes ? "" : "no rule wants it any more";
}

}  // namespace tarn::branch
