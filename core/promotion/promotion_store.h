// Rows of promotions: the state machine, its history, checks and approvals.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/time.h"
#include "core/branch/pull_request_store.h"
#include "core/db/pool.h"
#include "core/model/page.h"
#include "core/promotion/promotion.h"

namespace tarn::promotion {

/// The least time between two rounds of a promotion because branches moved: who moves one all the
/// time keeps no worker busy.
constexpr std::chrono::seconds kPromotionLookPause{1};

/// A promotion that a worker holds.
struct LeasedPromotion {
  RepositoryId repository{};
  Promotion promotion;
  int64_t reports = 0;  ///< reports and approvals before it was taken
  int64_t moved = 0;    ///< moves of its candidates that were noted before
};

/// Safe from any thread.
class PromotionStore {
 public:
  PromotionStore(db::Pool& pool, const Clock& clock) : pool_(pool), clock_(clock) {}

  struct Created {
    std::string id;
    bool existed = false;
  };
  /// Stores it with its first step. With a key (not empty) that a promotion of this actor has
  /// already: that one's id.
  Created create(RepositoryId repository, const Promotion& promotion, std::string_view key);
  std::optional<Promotion> find(RepositoryId repository, std::string_view id);
  /// The id of the promotion that the actor requested with this key, not empty.
  std::optional<std::string> find_by_key(RepositoryId repository, std::string_view actor,
                                         std::string_view key);

  /// The newest first, without their evidence.
  Page<Promotion> list(RepositoryId repository, const PromotionFilter& filter,
                       const PageStart& start);
  std::vector<PromotionStep> steps(RepositoryId repository, std::string_view id);
  /// The promotion that made `result` and has not been rolled back.
  std::optional<Promotion> find_by_result(RepositoryId repository, const CommitId& result);

  /// The promotion or rollback that made a commit of the branch last.
  std::optional<Promotion> latest_into(RepositoryId repository, const BranchName& destination);

  /// When the last promotion to the branch under the policy was made that was not rolled back.
  std::optional<Instant> last_promoted(RepositoryId repository, const BranchName& destination,
                                       std::string_view policy);

  /// The latest that made a commit the champion under this alias, rolled back or not; no rollbacks.
  /// By the place of their commits in the history, the latest first.
  /// `standing_only`: without those that were rolled back.
  std::vector<Promotion> promoted(RepositoryId repository, std::string_view alias, int64_t limit,
                                  bool standing_only = false);

  /// Promotions to the branch that ended without success, the newest first, at most kTriesMax of
  /// those that had a winner, and of the candidates of those whose candidates all failed; no
  /// rollbacks.
  std::vector<EarlierTry> tries(RepositoryId repository, const BranchName& destination);
  static constexpr int64_t kTriesMax = 1000;

  /// For those of the commits that a user rejected: who, when and why, as text.
  std::map<CommitId, std::string> rejections(RepositoryId repository,
                                             std::span<const CommitId> commits);

  /// A promotion of the branch that was rolled back.
  struct Undone {
    CommitId winner;  ///< the candidate's commit
    CommitId result;  ///< the promoted commit
    CommitId undo;    ///< the commit of the rollback
  };
  static constexpr int64_t kUndoneMax = 1000;
  /// The latest kUndoneMax, the oldest of them first.
  std::vector<Undone> undone(RepositoryId repository, const BranchName& destination);

  /// The most moves that note_moves takes up in one call.
  static constexpr int64_t kMovesMax = 1000;
  /// Makes promotions due whose candidates' branches moved or were deleted: at once, or
  /// kPromotionLookPause after they were examined.
  void note_moves();
  /// Leases a due and free one of the actor with the fewest leased, except `actors_not`.
  std::optional<LeasedPromotion> take(int64_t owner, std::chrono::milliseconds ttl,
                                      const std::vector<std::string>& actors_not = {});
  /// false: it has ended or the lease was lost; stop.
  bool renew(RepositoryId repository, std::string_view id, int64_t owner,
             std::chrono::milliseconds ttl);
  /// Stores state, winner, evidence, code, message and rounds, and a step if the state, the
  /// code or the message changed; keeps the lease. This, wait and finish throw conflict (reason
  /// "promotion_judged_anew") if one of `promotion.judged` has been removed or has expired. Returns
  /// the current number of reports (LeasedPromotion::reports); nullopt if renew would return false.
  std::optional<int64_t> store(RepositoryId repository, const Promotion& promotion, int64_t owner);
  /// The same inside a transaction of the caller.
  static std::optional<int64_t> store(db::Connection& connection, RepositoryId repository,
                                      const Promotion& promotion, int64_t owner, Instant now);
  /// The same as store, and releases the lease: it is due after `delay`, as soon as something is
  /// reported that was unknown when it was taken, or kPromotionLookPause after a candidate moved.
  bool wait(const LeasedPromotion& leased, int64_t owner, std::chrono::milliseconds delay);
  enum class FinishOutcome {
    kDone,
    kTaken,         ///< it has ended or the lease was lost
    kReportedMore,  ///< a check or an approval came since `judged.reports`: judge again
  };
  /// The same as store, for one that has ended with the judgement's result, in the caller's
  /// transaction.
  static FinishOutcome finish_judged(db::Connection& connection, const LeasedPromotion& judged,
                                     int64_t owner, Instant now);
  FinishOutcome finish_judged(const LeasedPromotion& judged, int64_t owner);
  /// Ends one regardless of later checks and approvals. false as renew.
  bool finish(RepositoryId repository, const Promotion& promotion, int64_t owner);
  /// Inside a transaction of the caller, before finish: these webhooks receive the end too.
  static void tell(db::Connection& connection, RepositoryId repository, std::string_view id,
                   const std::vector<std::string>& webhooks);

  /// Ends one that is still open, whichever server holds its lease. false: it has ended.
  bool end_by_user(RepositoryId repository, std::string_view id, const PromotionStep& step);
  /// Inside the transaction that takes it back. false: it is not promoted (any more).
  static bool mark_rolled_back(db::Connection& connection, RepositoryId repository,
                               std::string_view id, std::string_view by, const PromotionStep& step);
  /// The same as create, without a key, inside a transaction of the caller; for rollbacks.
  static Promotion insert(db::Connection& connection, RepositoryId repository,
                          const Promotion& promotion);

  enum class ReportOutcome {
    kDone,
    kEnded,          ///< the promotion has, and it takes back no failure
    kFailureStands,  ///< only its reporter may supersede a failure, with a reason
    kTooMany,        ///< kPromotionChecksMax
  };
  /// Adds a report to those of the name and commit, unless it repeats the last of them, and makes
  /// all open promotions of the branch due. `rollback`: the record that a failure begins if the
  /// promotion is in its last stage.
  ReportOutcome report_check(RepositoryId repository, const Promotion& promotion,
                             const PromotionCheck& check, const Promotion& rollback);
  /// All reports to one promotion, by name, commit and number.
  std::vector<PromotionCheck> checks(RepositoryId repository, std::string_view id);
  /// All reports to promotions of the branch that may count in this one, by name and age: its own,
  /// and those about the commits or about commits with these required objects, the latest
  /// kReportsMax of them. find_check says which one counts.
  std::vector<PromotionCheck> reports(RepositoryId repository, const BranchName& destination,
                                      std::string_view id, std::span<const CommitId> commits,
                                      const std::vector<std::string>& objects);
  static constexpr int64_t kReportsMax = 10'000;
  /// Replaces an earlier approval of the user. false: the promotion has ended, or there is no such
  /// user.
  bool approve(RepositoryId repository, std::string_view id, const PromotionApproval& approval);
  std::vector<PromotionApproval> approvals(RepositoryId repository, std::string_view id);
  /// The review of the promotion that has this SHA-256 (32 bytes), if there was one.
  std::optional<std::string> find_review(RepositoryId repository, std::string_view id,
                                         std::string_view digest);
  /// Makes the open promotions of a branch due, whose champion or policy has changed. Without it
  /// they are judged again kPromotionRevisit later.
  void wake_all(RepositoryId repository, const BranchName& destination);
  /// Makes it due, as a report does. false: it has ended.
  bool wake(RepositoryId repository, std::string_view id);

 private:
  db::Pool& pool_;
  const Clock& clock_;
};

}  // namespace tarn::promotion
