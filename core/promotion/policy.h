// The gate policy: the requirements of a destination on its candidates.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/glob.h"
#include "core/base/time.h"
#include "core/evaluation/evaluation.h"
#include "core/metrics/metric.h"
#include "core/model/commit.h"
#include "core/model/names.h"
#include "core/promotion/time_rules.h"

namespace tarn::promotion {

constexpr size_t kPolicyBytesMax = 64 * 1024;
constexpr size_t kPolicyMetricsMax = 64;
constexpr size_t kPolicyNameBytesMax = 64;
constexpr size_t kPolicyTextBytesMax = 255;
constexpr size_t kPolicyGlobBytesMax = 255;
constexpr uint32_t kGateApprovalsMax = 100;
constexpr uint32_t kGateAttemptsMax = 100;
constexpr std::chrono::days kPolicyTimeMax{365};

enum class MetricGoal : uint8_t { kMax, kMin };
std::string_view name_of(MetricGoal goal);  ///< "max", "min"
std::optional<MetricGoal> parse_metric_goal(std::string_view name);

/// The measure of a bound on the distance from the champion. "Better" is in the direction of the
/// goal, increase and decrease are those of the number; relative = as a share of the champion's.
enum class ChampionBound : uint8_t {
  kMinDelta,          ///< better by at least; negative: worse by at most
  kMaxDelta,          ///< better by at most
  kMinRelativeDelta,  ///< better by at least this share
  kMaxIncrease,
  kMaxDecrease,
  kMaxRelativeIncrease,
  kMaxRelativeDecrease,
};
constexpr size_t kChampionBounds = 7;
std::string_view name_of(ChampionBound bound);  ///< as in the document: "min_delta"

/// A bound on drift: by how much a value may be worse than the best of the last champions.
struct ChampionFloor {
  uint32_t of_last = 0;  ///< how many champions, 1 to kFloorChampionsMax
  double max_drop = 0;
  bool operator==(const ChampionFloor&) const = default;
};
constexpr uint32_t kFloorChampionsMax = 200;

/// A bound on the value of one champion that claimed too much: while it is compared with, the value
/// counts as no better than this.
struct ChampionCap {
  CommitId commit{};  ///< the promotion's, or the candidate's that it promoted
  double value = 0;
  std::string reason{};
  bool operator==(const ChampionCap&) const = default;
};
constexpr size_t kCapReasonBytesMax = 500;

/// A user that a policy names.
struct PolicyUser {
  std::string name{};
  int32_t id = 0;  ///< when the policy was set; 0 = there was no such user
  bool operator==(const PolicyUser&) const = default;

  /// Whether the metric is of a run of this user, and not of another one with the name.
  bool recorded(const Metric& metric) const {
    return metric.reporter == name && metric.reporter_id == id;
  }
};

/// Whose values of a metric count.
struct MetricSource {
  MetricOrigin origin = MetricOrigin::kApi;
  std::string check{};         ///< the one check, or any when empty; the evaluation
  PolicyUser reporter{};       ///< of runs: the user who recorded them; without a name any user
  std::optional<Glob> file{};  ///< files that match, or any
  bool operator==(const MetricSource&) const = default;

  /// Whether it names the user whose values count. Of such a source the newest value counts; values
  /// of any other source must agree.
  bool names_one() const;
};

constexpr uint32_t kReplicatesMax = 100;

/// Repeated measurements of a commit, one for each value of a parameter. The first run of a value
/// counts, and the first `max` values: who measures again, or more often until the mean is good,
/// changes nothing.
struct ReplicateRules {
  uint32_t min = 0;       ///< 1 to kReplicatesMax
  uint32_t max = 0;       ///< `min` to kReplicatesMax
  std::string by{};       ///< name of the parameter of runs
  PolicyUser reporter{};  ///< whose runs count; without a name those of any user
  bool operator==(const ReplicateRules&) const = default;
};

/// The test that tells two models apart; see docs/statistics.md.
enum class DistinctionTest : uint8_t {
  kWelch,            ///< of replicates
  kPairedBootstrap,  ///< of the examples of an evaluation
  kMcNemar,          ///< of the examples of an evaluation, whose values are 0 or 1
};
std::string_view name_of(DistinctionTest test);  ///< for example "paired_bootstrap"
std::optional<DistinctionTest> parse_distinction_test(std::string_view name);

/// A bound on the improvement over the champion that chance does not explain: the lower confidence
/// bound must be above it.
struct DistinctionRule {
  DistinctionTest test = DistinctionTest::kWelch;
  double lower_bound = 0;
  double confidence = 0.95;  ///< one-sided, kConfidenceMin to kConfidenceMax
  bool operator==(const DistinctionRule&) const = default;
};
constexpr double kConfidenceMin = 0.5;
constexpr double kConfidenceMax = 0.9999;

/// How several values become one.
enum class Aggregate : uint8_t { kMin, kMean, kMax };
std::string_view name_of(Aggregate aggregate);  ///< "min", "mean", "max"
std::optional<Aggregate> parse_aggregate(std::string_view name);

/// The metrics of a rule whose names match a pattern.
struct SliceRules {
  Glob match;
  std::optional<Aggregate> aggregate{};  ///< of their values; nullopt: the rule holds for each
  uint32_t min_count = 1;                ///< how many must match at least
  bool operator==(const SliceRules&) const = default;
};
/// Metrics that all patterns of a policy may match together; more fail the candidate.
constexpr size_t kSlicesMax = 256;

/// A part of a score: a weight, and the rule whose value it weighs.
struct ScoreTerm {
  std::string rule;  ///< its label
  double weight = 0;
  bool operator==(const ScoreTerm&) const = default;
};
constexpr size_t kPolicyScoresMax = 16;
constexpr size_t kScoreTermsMax = 16;

struct MetricRule {
  /// The metric; a rule with a pattern has the pattern, an aggregate for example "min(slice.*)".
  std::string name;
  std::string split{};
  std::optional<MetricGoal> goal{};
  std::optional<double> min{};                                       ///< inclusive
  std::optional<double> max{};                                       ///< inclusive
  std::array<std::optional<double>, kChampionBounds> vs_champion{};  ///< by ChampionBound
  std::optional<ChampionFloor> floor{};                              ///< of vs_champion
  bool primary = false;  ///< on at most one rule; the primary sort key of candidates
  /// The first that has a value counts; empty: api, commit metadata, files.
  std::vector<MetricSource> trusted{};
  std::optional<ReplicateRules> runs{};  ///< excludes `trusted`
  std::optional<ChampionCap> cap{};      ///< needs a goal
  /// Needs a goal, and `runs` of two or more, or values of an evaluation.
  std::optional<DistinctionRule> distinction{};
  std::optional<SliceRules> slices{};  ///< excludes `runs`, `cap` and `distinction`
  bool optional = false;         ///< named in `any`: it does not fail by itself, and ranks nobody
  std::vector<ScoreTerm> sum{};  ///< of a score; it has no sources, `runs`, `cap` or `distinction`
  bool operator==(const MetricRule&) const = default;

  std::string label() const;  ///< "name", or "name@split"
  bool is_score() const { return !sum.empty(); }
  bool sums(const MetricRule& other) const;  ///< whether the other one is part of this score
  bool is_each() const { return slices && !slices->aggregate; }
  /// Whether the policy computes its value from those of other rules.
  bool is_computed() const { return is_score() || (slices && slices->aggregate); }
  bool compares() const;  ///< with the champion, or the last ones
  bool ranks() const { return goal && !is_each() && !optional; }
};

/// Rules of which some must hold.
struct AnyRules {
  uint32_t of = 0;                   ///< so many, 1 to the number of rules
  std::vector<std::string> rules{};  ///< their labels
  bool operator==(const AnyRules&) const = default;
};
constexpr size_t kPolicyAnyMax = 16;

struct TieBreak {
  enum class Kind : uint8_t { kMetric, kModelBytes, kCreatedAt };
  Kind kind = Kind::kMetric;
  std::string metric{};  ///< of kMetric: the name of a rule with a goal
  bool operator==(const TieBreak&) const = default;
};

struct ObjectRules {
  std::vector<Glob> required{};  ///< each must match an object of the candidate
  /// Patterns of `required` that values depend on; changes of others make no value old. Empty: all.
  std::vector<Glob> measured{};
  uint64_t min_bytes = 1;                     ///< of each object that `required` names
  std::vector<Glob> unchanged{};              ///< paths that the promotion must not touch
  std::vector<Glob> forbid{};                 ///< paths that the promotion must not add or change
  std::vector<Glob> keep{};                   ///< paths that the promotion must not remove
  std::optional<uint64_t> max_total_bytes{};  ///< of the candidate's objects, and of the result's
  bool operator==(const ObjectRules&) const = default;
};

/// The model card that a candidate needs; see model_card.h.
struct CardRules {
  std::string path{};                   ///< "" = no such rule
  std::vector<std::string> required{};  ///< its fields
  bool operator==(const CardRules&) const = default;
};
constexpr size_t kCardFieldBytesMax = 128;

struct CheckRules {
  std::vector<std::string> required{};
  std::chrono::milliseconds timeout{};  ///< how long a promotion waits for them
  bool operator==(const CheckRules&) const = default;
};

/// An evaluation that the server has run, and the limits on asking for it.
struct EvaluationRules {
  std::string name{};
  std::string repository{};  ///< of the data
  std::string ref{};         ///< of the data, as the document has it
  evaluation::Spec spec{};   ///< with its commit and its runners when the policy was set
  std::vector<PolicyUser> runners{};
  uint32_t budget_per_author = 0;  ///< 0 = no limit
  std::chrono::milliseconds budget_period{};
  std::chrono::milliseconds wait{};  ///< how long a promotion waits for results
  bool operator==(const EvaluationRules&) const = default;
};
constexpr size_t kPolicyEvaluationsMax = 8;
constexpr uint32_t kEvaluationBudgetMax = 1'000;

/// Promotions of one candidate that may end without success. A try counts for a candidate of its
/// ref, of a commit that contains its winner, or with the same required objects.
struct AttemptRules {
  uint32_t max = 0;                 ///< 0 = no limit
  std::chrono::milliseconds per{};  ///< counted since
  bool operator==(const AttemptRules&) const = default;
};

/// A group that a policy names: so many of its members must approve.
struct GroupApprovals {
  std::string name{};
  uint32_t count = 0;  ///< 1 to kGateApprovalsMax
  int32_t id = 0;      ///< when the policy was set; 0 = there was no such group
  bool operator==(const GroupApprovals&) const = default;
};

struct ApprovalRules {
  uint32_t count = 0;  ///< at least those of the groups together
  std::vector<GroupApprovals> groups{};
  bool not_author = true;
  bool not_promoter = true;
  bool sticky_reject = false;  ///< a rejected commit is not promoted later either
  bool stale_on_new_commit = true;
  bool operator==(const ApprovalRules&) const = default;
};

/// A stage of a promotion: an alias that the winner has before the next one; see stages.h.
struct StageRules {
  std::string alias{};
  std::chrono::milliseconds soak{};   ///< how long it has the alias at least
  std::vector<std::string> checks{};  ///< each must succeed while it has the alias
  ApprovalRules approvals{};          ///< to enter it
  bool operator==(const StageRules&) const = default;
};
constexpr size_t kPolicyStagesMax = 8;

/// How long a champion's values may be compared with.
struct ChampionRules {
  std::chrono::milliseconds expires{};     ///< since it was promoted; 0 = for ever
  std::chrono::milliseconds reevaluate{};  ///< then: since it was measured again
  bool operator==(const ChampionRules&) const = default;
};

/// How a promotion may take a candidate in. Numbers are stored: add at the end.
enum class PromotionMethod : uint8_t { kMerge, kSquash, kReplacePaths };
std::string_view name_of(PromotionMethod method);  ///< for example "replace-paths"
std::optional<PromotionMethod> parse_promotion_method(std::string_view name);

/// Paths that must equal those of another commit.
struct UnchangedSince {
  std::string ref{};  ///< "" = no such rule
  std::vector<Glob> paths{};
  std::optional<CommitId> commit{};  ///< the commit of the ref when the policy was set
  bool operator==(const UnchangedSince&) const = default;
};

/// The baseline of comparisons if the alias does not exist, or points to a worse commit than
/// before.
enum class Baseline : uint8_t {
  kLast,      ///< the champion; after a rollback to none, the one promoted last
  kBestEver,  ///< the best value that was ever promoted under the policy
  kNone,      ///< the champion, or nothing
  /// The newest commit of the destination that was measured. Only for promotions without a policy:
  /// users who may merge into the destination choose its commits.
  kDestination,
};
std::string_view name_of(Baseline baseline);  ///< for example "best_ever"
std::optional<Baseline> parse_baseline(std::string_view name);

struct AfterPromotion {
  std::string tag{};  ///< a template, see tag_from; "" = none
  std::vector<std::string> webhooks{};
  std::optional<std::chrono::milliseconds> losers_expire{};
  bool operator==(const AfterPromotion&) const = default;
};

/// Immutable once read. Absent members require nothing, except `objects.unchanged`.
struct GatePolicy {
  std::string name;
  BranchName destination;
  std::string alias{};  ///< its commit is the champion; moved by promotion and rollback only
  std::optional<Glob> candidates{};    ///< branches that may be candidates
  bool compete_all = false;            ///< all those branches are compared, also unnamed ones
  std::string require_ancestor{};      ///< a ref expression; "" = none
  std::optional<CommitId> ancestor{};  ///< its commit when the policy was set
  UnchangedSince unchanged_since{};
  bool require_up_to_date = false;  ///< the destination's head is in the history
  bool confirm_changes = false;     ///< a second user must ask for the same change of the policy
  Baseline baseline = Baseline::kLast;
  /// Users whose runs of the champion's commit replace the values that it was promoted with.
  std::vector<PolicyUser> remeasure{};
  std::vector<PromotionMethod> methods{};  ///< empty = all
  std::vector<std::string> paths{};        ///< that replace-paths may name; empty = any
  std::vector<EvaluationRules> evaluations{};
  std::vector<MetricRule> metrics{};  ///< and the scores, which follow them
  bool promoted_values = false;       ///< see carried_values.h
  std::vector<AnyRules> any{};
  std::vector<TieBreak> tie_break{};
  ObjectRules objects{};
  CardRules card{};
  CheckRules checks{};
  AttemptRules attempts{};
  ApprovalRules approvals{};
  std::optional<ApprovalRules> rollback{};  ///< of rollbacks; nullopt = `approvals`
  /// The last one's alias is the policy's; its soak and checks are about the time afterwards.
  std::vector<StageRules> stages{};
  AfterPromotion after{};
  ChampionRules champion{};
  std::vector<FreezeWindow> freeze{};
  std::chrono::milliseconds cooldown{};  ///< since the last promotion that stands; 0 = none

  bool permits(PromotionMethod method) const;
  /// Whether it needs facts that belong to one commit only.
  bool measures() const { return !metrics.empty() || !checks.required.empty(); }
  /// Whether people must agree to anything under it: a promotion, a stage or a rollback.
  bool wants_approvals() const;
  const MetricRule* find_metric(std::string_view name) const;  ///< the first of that name
  const EvaluationRules* find_evaluation(std::string_view name) const;
  /// The metric that ranks: the primary one, else the first that ranks; nullptr = none.
  const MetricRule* leading_rule() const;
  std::vector<PolicyUser*> users();       ///< all that it names
  std::vector<GroupApprovals*> groups();  ///< all that it names
  bool operator==(const GatePolicy&) const = default;
};

bool is_policy_name(std::string_view text);  ///< \w[-\w.]*, at most kPolicyNameBytesMax bytes

/// Reads YAML or JSON. Strict: unknown keys, repeated keys and values of another type are refused.
/// Throws invalid_argument, reason "policy_invalid": each problem with its line and column.
GatePolicy parse_gate_policy(const std::string& text);

/// Rules that demand less than they seem to, and users who do not exist, one sentence each. Users
/// are as the policy's version has them.
std::vector<std::string> warnings_of(GatePolicy policy);

/// Variables of a tag's template.
struct TagFacts {
  Instant now{};
  std::string commit;     ///< the promoted commit's id
  std::string candidate;  ///< branch or ref
  std::string policy;
};
/// `{date}` = 20261120, `{time}` = 081542 (UTC), `{short}` = 12 digits of the commit's id, `{name}`
/// = the candidate, `{policy}`. The result may be an invalid tag name if the candidate's is.
std::string tag_from(std::string_view tag_template, const TagFacts& facts);

}  // namespace tarn::promotion
