#include "core/promotion/verdict.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/base/enum_names.h"
#include "core/base/str_cat.h"
#include "core/base/text.h"
#include "core/promotion/approval_rules.h"
#include "core/promotion/metric_rules.h"
#include "core/promotion/stages.h"

namespace tarn::promotion {
namespace {

constexpr std::array<std::string_view, 4> kRuleOutcomes = {"pass", "fail", "skipped", "pending"};
constexpr std::array<std::string_view, 3> kGateOutcomes = {"passed", "failed", "pending"};

/// The first of `count` items.
std::string first_of(const std::vector<std::string>& items, uint64_t count) {
  std::string out = joined(items, ", ");
  if (count > items.size()) out += str_cat(" and ", count - items.size(), " more");
  return out;
}

bool contains(const std::vector<std::string>& items, const std::string& item) {
  return std::find(items.begin(), items.end(), item) != items.end();
}

/// Evaluates one candidate, rule by rule.
class RuleEvaluation : RuleWriter {
 public:
  RuleEvaluation(const GatePolicy& policy, const GateCandidate& candidate, Verdict& out)
      : RuleWriter(out), policy_(policy), candidate_(candidate) {}

  void run(const ToBeat& to_beat) {
    const std::vector<Metric> metrics = metrics_of(policy_, candidate_);
    verdict_.warnings = candidate_.facts.warnings;
    judge_origin();
    judge_metrics(policy_, candidate_, metrics, to_beat, *this);
    judge_objects();
    judge_card();
    for (const std::string& name : policy_.checks.required) judge_check(name);
    judge_attempts();
    for (const TimeHold& hold : candidate_.holds) pending(hold.rule, hold.code, hold.reason);
    judge_rejection();
    const CountedApprovals approvals(policy_, candidate_, metrics);
    approvals.judge(policy_.approvals, "approvals", {}, *this);
    judge_stages(policy_, candidate_, approvals, *this);
    if (const auto& refusal = candidate_.refusal)
      fail(refusal->rule, refusal->code, refusal->reason);
  }

 private:
  void judge_origin() {
    if (policy_.candidates) {
      const std::string& pattern = policy_.candidates->pattern();
      if (!candidate_.branch.empty() && policy_.candidates->matches(candidate_.branch)) {
        pass("candidates", str_cat("branch ", candidate_.branch, " matches ", pattern));
      } else {
        fail("candidates", "candidate_refused",
             str_cat(candidate_.ref, " is not a branch that matches ", pattern));
      }
    }
    if (policy_.require_up_to_date) {
      judge_bound("require_up_to_date", candidate_.up_to_date, "not_up_to_date",
                  str_cat("the head of ", policy_.destination.str(), " is ",
                          candidate_.up_to_date ? "" : "not ", "in the history of ", candidate_.ref,
                          candidate_.up_to_date ? "" : ": merge it and measure again"));
    }
    judge_ancestor();
    if (policy_.unchanged_since.ref.empty()) return;
    judge_paths("unchanged_since", candidate_.objects.differing_count, "differs_from_ancestor",
                str_cat("differs from ", policy_.unchanged_since.ref, " in ",
                        first_of(candidate_.objects.differing, candidate_.objects.differing_count)),
                "equals " + policy_.unchanged_since.ref);
  }

  void judge_ancestor() {
    if (policy_.require_ancestor.empty()) return;
    if (candidate_.has_ancestor) {
      pass("require_ancestor", str_cat(policy_.require_ancestor, " is in the history"));
    } else {
      fail("require_ancestor", "ancestor_missing",
           str_cat(policy_.require_ancestor, " is not in the history of ", candidate_.ref));
    }
  }

  void judge_card() {
    const CardRules& rules = policy_.card;
    const CardFacts& facts = candidate_.card;
    if (rules.path.empty()) return;
    if (!facts.exists) {
      return fail("card", "card_missing", str_cat("there is no ", rules.path, ": write it"));
    }
    if (!facts.problem.empty()) {
      return fail("card", "card_invalid", str_cat(rules.path, ": ", facts.problem));
    }
    judge_bound("card", facts.missing.empty(), "card_field_missing",
                facts.missing.empty() ? str_cat(rules.path, " has ", joined(rules.required, ", "))
                                      : str_cat(rules.path, " lacks ", joined(facts.missing, ", "),
                                                ", or says nothing in it"));
  }

  void judge_objects() {
    const ObjectRules& rules = policy_.objects;
    const ObjectFacts& facts = candidate_.objects;
    if (facts.alias_count > 0) {
      fail("paths", "path_alias",
           str_cat("would bring ", first_of(facts.aliases, facts.alias_count),
                   ": rename what is not a plain path (no empty, \".\" or \"..\" segment, no "
                   "backslash, no control character) or differs from another path only by case or "
                   "Unicode normalisation"));
    } else if (!facts.complete) {
      judge_paths("paths", 0, "", "", "");
    }
    for (const Glob& pattern : rules.required) {
      const bool missing = std::find(facts.missing.begin(), facts.missing.end(),
                                     pattern.pattern()) != facts.missing.end();
      const std::string id = str_cat("objects.required[", pattern.pattern(), "]");
      if (!missing && contains(facts.too_small, pattern.pattern())) {
        fail(id, "object_too_small",
             str_cat("what matches ", pattern.pattern(), " has less than ", rules.min_bytes,
                     " bytes: objects.min_bytes says how small it may be"));
        continue;
      }
      judge_bound(id, !missing, "object_missing",
                  str_cat(missing ? "no object matches " : "there is ", pattern.pattern()));
    }
    if (!rules.unchanged.empty()) {
      judge_paths("objects.unchanged", facts.changed_count, "object_changed",
                  str_cat("would change ", first_of(facts.changed, facts.changed_count)),
                  "touches none of them");
    }
    if (!rules.forbid.empty()) {
      judge_paths("objects.forbid", facts.forbidden_count, "object_forbidden",
                  str_cat("would bring ", first_of(facts.forbidden, facts.forbidden_count)),
                  "brings none of them");
    }
    if (!rules.keep.empty()) {
      judge_paths("objects.keep", facts.removed_kept_count, "object_removed",
                  str_cat("would remove ", first_of({facts.first_kept}, facts.removed_kept_count)),
                  "removes none of them");
    }
    if (facts.removed_count > 0) {
      verdict_.warnings.push_back(
          str_cat("would remove ", first_of(facts.removed, facts.removed_count)));
    }
    if (rules.max_total_bytes) {
      judge_bound("objects.max_total_bytes", facts.total_bytes <= *rules.max_total_bytes,
                  "too_large",
                  str_cat("the objects have ", facts.total_bytes, " bytes, wanted at most ",
                          *rules.max_total_bytes));
    }
  }

  void judge_paths(std::string id, uint64_t count, std::string_view code, std::string found,
                   std::string_view none) {
    if (count > 0) {
      fail(std::move(id), code, std::move(found));
    } else if (!candidate_.objects.complete) {
      fail(std::move(id), "too_many_changes", "there are more changes than a gate looks at");
    } else {
      pass(std::move(id), std::string(none));
    }
  }

  void judge_check(const std::string& name) {
    const std::string id = "checks." + name;
    const CheckResult* check = find_check(candidate_, name);
    if (check == nullptr) {
      return pending(id, "check_missing", str_cat("nobody has reported ", name, " of this commit"));
    }
    switch (check->status) {
      case CheckStatus::kPending:
        return pending(id, "check_pending", str_cat(name, " has not ended"));
      case CheckStatus::kSuccess:
        return pass(id, str_cat(name, " succeeded"));
      case CheckStatus::kFailure:
        return fail(id, "check_failed",
                    str_cat(name, " failed", check->url.empty() ? "" : ": ", check->url));
    }
  }

  void judge_attempts() {
    if (policy_.attempts.max == 0) return;
    judge_bound("attempts", candidate_.recent_tries < policy_.attempts.max, "too_many_attempts",
                str_cat(candidate_.recent_tries, " of ", policy_.attempts.max,
                        " tries were used; the evidence lists them"));
  }

  void judge_rejection() {
    if (candidate_.rejection.empty()) return;
    if (policy_.approvals.sticky_reject) {
      fail("approvals.sticky_reject", "rejected_before", candidate_.rejection);
    } else {
      verdict_.warnings.push_back(candidate_.rejection);
    }
  }

  const GatePolicy& policy_;
  const GateCandidate& candidate_;
};

}  // namespace

std::string_view name_of(RuleOutcome outcome) {
  return kRuleOutcomes[static_cast<size_t>(outcome)];
}
std::string_view name_of(GateOutcome outcome) {
  return kGateOutcomes[static_cast<size_t>(outcome)];
}

std::string wants_of(const Verdict& verdict) {
  std::string out;
  for (const RuleResult& rule : verdict.rules) {
    if (rule.outcome == RuleOutcome::kPending)
      out += str_cat(out.empty() ? "" : "; ", rule.rule, ": ", rule.reason);
  }
  return out;
}

bool waits_for_check(const RuleResult& rule) {
  return rule.outcome == RuleOutcome::kPending &&
         (rule.code.starts_with("check_") || rule.code == "evaluation_pending");
}

bool waits_for_checks(const Verdict& verdict) {
  return std::any_of(verdict.rules.begin(), verdict.rules.end(), waits_for_check);
}

Verdict evaluate(const GatePolicy& policy, const GateCandidate& candidate,
                 const CommitFacts* champion, std::span<const CommitFacts> recent) {
  Verdict out;
  RuleEvaluation(policy, candidate, out).run({champion, recent});
  return out;
}

}  // namespace tarn::promotion
