// A candidate of a gate, as frozen facts: its metrics, its changes, its checks and approvals.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/metrics/commit_facts.h"
#include "core/promotion/policy.h"

namespace tarn::promotion {

enum class CheckStatus : uint8_t { kPending, kSuccess, kFailure };
std::string_view name_of(CheckStatus status);  ///< for example "success"
std::optional<CheckStatus> parse_check_status(std::string_view name);

/// A report of a check about one commit.
struct CheckResult {
  std::string name;
  CommitId commit;
  CheckStatus status = CheckStatus::kPending;
  std::string url{};
  std::vector<Metric> metrics{};  ///< origin and source do not matter; they count on success
  std::string reporter{};
  std::string supersedes{};  ///< why an earlier failure of the reporter does not stand
  std::string objects{};     ///< ObjectFacts::required_digest of the commit
  std::string promotion{};   ///< id of the promotion that it was reported to
  Instant at{};
};

struct GateApproval {
  std::string user;
  std::string candidate;  ///< the ref that was approved
  CommitId commit;
  std::string review{};  ///< the approved one; see review.h
  std::string reason{};
  Instant at{};
  std::string void_reason{};      ///< why it never counts; "" = it may
  std::vector<int64_t> groups{};  ///< ids of the user's groups
};

/// A value that does not count, and why.
struct UnmeasuredValue {
  Metric metric;
  std::string why;
  std::optional<CommitId> of{};  ///< the commit that has it, if that is another
};

/// An object that a policy requires.
struct RequiredObject {
  std::string path;
  uint64_t size_bytes = 0;
  std::string checksum;   ///< the ETag
  std::string content{};  ///< equal for equal bytes: the content digest, else the address
};
/// Required objects that a verdict names.
constexpr size_t kRequiredObjectsShownMax = 100;

/// Facts about a candidate's objects, for the rules of a policy.
struct ObjectFacts {
  std::vector<std::string> missing{};      ///< patterns of `required` that match nothing
  std::vector<std::string> too_small{};    ///< patterns that match an object below `min_bytes`
  std::vector<RequiredObject> required{};  ///< the first that match `required`, by path
  uint64_t required_count = 0;             ///< all that match `required`
  std::string required_digest{};  ///< SHA-256 in hex of their paths and contents; "" = none match
  std::vector<std::string> changed{};  ///< the first paths that match `unchanged`
  uint64_t changed_count = 0;
  std::vector<std::string> forbidden{};  ///< the first paths that match `forbid`
  uint64_t forbidden_count = 0;
  std::vector<std::string> removed{};  ///< the first paths that would be removed
  uint64_t removed_count = 0;
  uint64_t removed_kept_count = 0;  ///< of those that match `keep`
  std::string first_kept{};         ///< the first of them
  std::vector<std::string>
      differing{};  ///< the first paths that `unchanged_since` names and differ
  uint64_t differing_count = 0;
  std::vector<std::string> aliases{};  ///< the first paths that a disk has under another path
  uint64_t alias_count = 0;
  uint64_t total_bytes = 0;
  uint64_t model_bytes = 0;  ///< of the objects that match `required`
  /// False: there are more than the limit, and the rest was not examined.
  bool complete = true;
};

/// Facts about a candidate's model card.
struct CardFacts {
  bool exists = true;
  std::string problem{};               ///< why it cannot be read; "" = it can
  std::vector<std::string> missing{};  ///< required fields that it lacks, or that are empty
};

/// An earlier promotion of a candidate that ended without success.
struct EarlierTry {
  std::string promotion;  ///< id
  std::string ref;        ///< of its winner, or of a candidate that the gate rejected
  CommitId commit;
  bool chosen = true;     ///< it was the winner
  std::string objects{};  ///< ObjectFacts::required_digest of the winner; "" = none
  std::string state;
  std::string code;
  Instant at{};  ///< when it ended
};

/// A stage that a candidate is in, or has been in; see stages.h.
struct StageEntry {
  std::string alias;
  std::string ref;                         ///< the candidate
  CommitId commit;                         ///< where the alias is
  std::optional<CommitId> before{};        ///< where it was; nullopt = it was not there
  std::vector<std::string> approved_by{};  ///< users whose approvals of the stage counted
  std::vector<std::string> checks{};       ///< of the last stage: those that take it back
  Instant since{};
  std::optional<Instant> until{};  ///< of the last stage: until then checks take it back
  std::optional<Instant> left{};
  std::string outcome{};  ///< "promoted", "taken_back"; "" while it has not left
};

/// A refusal that does not come from a rule of the policy.
struct GateRefusal {
  std::string rule;  ///< "merge", "checks" or "candidates"
  std::string code;
  std::string reason;
};

/// The comparison of a candidate's replicates with the champion's; see DistinctionRule.
struct Distinction {
  bool varies = false;  ///< false: nothing can be told, and `problem` says why
  std::string_view problem = "no value varies, so nothing says how much of it is chance";
  DistinctionTest test = DistinctionTest::kWelch;
  uint64_t seed = 0;         ///< of a bootstrap
  double improvement = 0;    ///< of the mean
  double lower_bound = 0;    ///< of the improvement, of this comparison alone
  double p = 1;              ///< that the improvement is not above the wanted one
  double adjusted_p = 1;     ///< for all comparisons of the judgement, and for earlier tries
  uint32_t comparisons = 0;  ///< commits that were compared
  uint32_t tries = 0;        ///< earlier ones of this candidate
};

/// One candidate, frozen: everything is of the commit `facts.commit`.
struct GateCandidate {
  std::string ref;       ///< as the caller named it
  std::string branch{};  ///< "" = it was not named by a branch
  CommitFacts facts;
  std::vector<UnmeasuredValue> unmeasured{};  ///< values of the commit that do not count
  std::optional<CommitId> values_of{};  ///< another commit whose values count; see carried_values.h
  std::string author{};                 ///< the committer that the commit shows
  /// Authors of the candidate's changes, and the promoter; see `not_author`.
  std::set<std::string> authors{};
  std::string promoter{};     ///< who wants it promoted
  Instant recorded{};         ///< when the server stored the commit
  bool has_ancestor = false;  ///< of `require_ancestor`, when the policy has one
  bool up_to_date = true;     ///< the destination's head is in its history
  ObjectFacts objects{};
  CardFacts card{};
  std::vector<EarlierTry> tries{};  ///< the newest first
  uint32_t recent_tries = 0;        ///< those in `attempts.per`
  /// By name and split of the metric.
  std::map<std::pair<std::string, std::string>, Distinction> distinctions{};
  std::vector<CheckResult> checks{};      ///< those of other commits do not count
  std::string review{};                   ///< what approvals consent to; "" in a dry run
  std::vector<GateApproval> approvals{};  ///< those of other reviews do not count
  std::vector<TimeHold> holds{};          ///< of the moment of the judgement
  std::vector<StageEntry> stages{};       ///< those that it is in, in the policy's order
  Instant now{};                          ///< the moment of the judgement, for `stages`
  std::optional<GateRefusal> refusal{};
  /// An earlier rejection of this commit: its user, time and reason; "" = none.
  std::string rejection{};
};

/// The values of a candidate including those of its required checks, and those that the policy
/// computes. Other checks do not count,
/// because anybody may report them.
std::vector<Metric> metrics_of(const GatePolicy& policy, const GateCandidate& candidate);
/// The report under this name that counts: a failure that its reporter has not superseded, about
/// the candidate's commit or about another with the same required objects, else the latest about
/// the commit; nullptr when there is none.
const CheckResult* find_check(const GateCandidate& candidate, const std::string& name);
/// Whether a required check that may report the metric, or the evaluation that it is of, has not
/// ended.
bool check_may_bring(const GatePolicy& policy, const GateCandidate& candidate,
                     const MetricRule& rule);

}  // namespace tarn::promotion
