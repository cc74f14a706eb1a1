// Promotions as values: request, state, checks and approvals.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/time.h"
#include "core/model/commit.h"
#include "core/model/names.h"
#include "core/promotion/policy.h"
#include "core/promotion/verdict.h"

namespace tarn::promotion {

enum class PromotionState : uint8_t {
  kDraft,             ///< no server has started it yet
  kComparing,         ///< candidates are evaluated and ranked
  kGatesRunning,      ///< waits for checks of the winner
  kAwaitingApproval,  ///< waits for people
  kMerging,
  kPromoted,
  kRejected,  ///< by the gate or by a user
  kFailed,
  kCancelled,
  kRolledBack,  ///< was promoted, and another promotion took it back
};
std::string_view name_of(PromotionState state);  ///< for example "awaiting_approval"
std::optional<PromotionState> parse_promotion_state(std::string_view name);
/// Whether nothing happens to it by itself any more.
bool has_ended(PromotionState state);

enum class PromotionSelect : uint8_t {
  kBest,  ///< of those that pass
  kOnly,  ///< there may be one candidate
};
std::string_view name_of(PromotionSelect select);
std::optional<PromotionSelect> parse_promotion_select(std::string_view name);

constexpr size_t kPromotionCandidatesMax = 1000;  ///< after globs were resolved
/// Branches that the globs of one promotion may match, those without commits of their own included.
constexpr size_t kPromotionBranchesSeenMax = 20'000;
constexpr size_t kPromotionPatternsMax = 100;  ///< of candidates, and of paths
constexpr size_t kPromotionReasonBytesMax = 10'000;
constexpr size_t kPromotionKeyBytesMax = 255;
constexpr size_t kPromotionChecksMax = 100;        ///< reports of one promotion
constexpr size_t kPromotionCheckMetricsMax = 100;  ///< of one report
constexpr size_t kPromotionUrlBytesMax = 2000;

/// A metric of a promotion without a policy: the candidate must not be worse than the destination.
struct OneOffMetric {
  std::string name;
  MetricGoal goal = MetricGoal::kMax;
  double min_delta = 0;  ///< better than the destination by at least
  bool operator==(const OneOffMetric&) const = default;
};
/// Where the name of a policy would be in a promotion without one; no policy can have this name.
constexpr std::string_view kOneOffPolicy = "(one-off)";

struct PromotionRequest {
  std::vector<std::string> candidates;  ///< refs, and globs of branches
  BranchName destination;
  std::string policy;              ///< "" = the policy that protects the destination
  std::string alias;               ///< "" = the policy's
  std::vector<std::string> paths;  ///< globs; empty = all
  PromotionMethod method = PromotionMethod::kMerge;
  PromotionSelect select = PromotionSelect::kBest;
  std::optional<CommitId> expect_destination;
  /// Empty inside: the alias must not exist.
  std::optional<std::optional<CommitId>> expect_alias;
  /// The refs in the request; "" if it has a commit or nothing. expect_destination and expect_alias
  /// have the commits of these refs when the promotion was created.
  std::string expect_destination_ref;
  std::string expect_alias_ref;
  std::string reason;
  /// Instead of a policy, where the destination has none; the first one ranks candidates.
  std::vector<OneOffMetric> metrics{};

  bool operator==(const PromotionRequest&) const = default;
};
/// Whether the requests are the same; refs are compared as text.
bool asks_the_same(const PromotionRequest& a, const PromotionRequest& b);
/// The document of the policy that applies to a request with `metrics`.
std::string one_off_document(const PromotionRequest& request);
/// Throws invalid_argument: nothing to promote, a limit passed, paths without "replace-paths" and
/// the other way round, globs that do not parse.
void check_promotion_request(const PromotionRequest& request);
/// One line of JSON; equal requests have equal text.
std::string to_json(const PromotionRequest& request);
/// The request that to_json made text of. Throws data_loss.
PromotionRequest promotion_request_from_json(std::string_view text);

/// The resolved ref of a candidate.
struct PinnedCandidate {
  std::string ref;
  CommitId commit;
  bool is_branch = false;  ///< a branch of that name that is made later is another ref
  Instant since{};         ///< when the promotion first examined this commit
  bool operator==(const PinnedCandidate&) const = default;
};
/// The text of candidates, as for requests.
std::string to_json(const std::vector<PinnedCandidate>& candidates);
std::vector<PinnedCandidate> pinned_candidates_from_json(std::string_view text);

/// The promotions of a listing.
struct PromotionFilter {
  std::string destination{};  ///< "" = all
  std::string alias{};        ///< "" = all
  bool open_only = false;
};

struct Promotion {
  std::string id;  ///< 20 characters of base32hex; falls with time
  PromotionState state = PromotionState::kDraft;
  PromotionRequest request;
  std::string policy;
  int64_t policy_version = 0;
  std::string alias;  ///< "" = none is moved
  std::string actor;
  std::string address;                      ///< IP of the actor's request; "" = unknown
  std::string limits;                       ///< of the key that asked for it (ActingUser::limits)
  std::vector<PinnedCandidate> candidates;  ///< empty until they were resolved
  /// Commits that were judged since the row was last stored: they must still be there.
  std::vector<CommitId> judged;
  /// Other commits that the evidence of this judgement names.
  std::vector<CommitId> mentioned;
  std::string winner_ref;
  std::optional<CommitId> winner;
  std::optional<CommitId> champion;  ///< where the alias was
  std::optional<CommitId> result;    ///< the new head of the destination
  std::string tag;
  std::string evidence;  ///< JSON; "" until candidates were compared
  std::string review{};  ///< what approvals consent to, see review.h; "" while there is no winner
  std::string code;      ///< the reason for its terminal state, or for waiting
  std::string message;
  std::optional<std::string> undoes;
  std::optional<std::string> undone_by;
  int32_t rounds = 0;
  Instant created{};
  Instant updated{};
};

/// One step of a promotion's history.
struct PromotionStep {
  int32_t number = 0;
  PromotionState state = PromotionState::kDraft;
  std::string actor;
  std::string code;
  std::string message;
  Instant at{};
};

/// The result of an external check of a commit.
struct PromotionCheck {
  std::string name;
  CommitId commit;
  CheckStatus status = CheckStatus::kPending;
  std::string url{};
  std::map<std::string, double> metrics{};
  std::string reporter{};
  Instant at{};
  std::string supersedes{};  ///< why an earlier failure no longer counts; "" = there was none
  std::string objects{};     ///< ObjectFacts::required_digest of the commit, set by the server
  std::string promotion{};   ///< id of the promotion that it was reported to, set by the server
};
/// Throws invalid_argument: name, url or metrics past their limits.
void check_promotion_check(const PromotionCheck& check);
/// Metrics of the check, with the check as their source.
std::vector<Metric> metrics_of(const PromotionCheck& check);

struct PromotionApproval {
  std::string user;
  CommitId commit;
  std::string reason;
  Instant at{};
  std::string candidate{};        ///< the ref
  std::string review{};           ///< the approved one; see review.h
  std::string address{};          ///< IP of the approving request; "" = unknown
  bool user_gone = false;         ///< the user was deleted since
  std::vector<int64_t> groups{};  ///< ids of the user's groups now
};

std::string make_promotion_id(Instant now);
/// Throws invalid_argument.
std::string parse_promotion_id(std::string_view text);

}  // namespace tarn::promotion
