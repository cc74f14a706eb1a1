// Stages of a promotion: aliases that the winner has one after the other before it is promoted.
//
// A policy lists them, for example shadow, canary, champion. A winner that passes every other rule
// enters the first: its commit becomes the alias, in one transaction with a row that says so. It
// stays for the stage's `soak`, and its `checks` must succeed in that time; then it enters the
// next. The last stage has the policy's alias, and to enter it is the promotion itself.
//
//       passes the rules      soak, checks, approvals    soak, checks, approvals
//   ... ----------------> @shadow ----------------> @canary ----------------> promoted
//                            |  a rule fails, ended     |                        |  a check fails
//                            v  or cancelled            v                        v  within the soak
//                         taken back                 taken back                rolled back
//
// The judgement is made again all the time, so whatever fails meanwhile takes all aliases back, the
// last first; so does the end of the promotion, whichever statement ends it (end_stages in
// migrations/V0001/16_promotions.sql). A winner in a stage stays the winner while it passes: a
// better candidate that comes later is for the next promotion. One promotion at a time has an
// alias.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/db/pool.h"
#include "core/promotion/approval_rules.h"
#include "core/promotion/promotion.h"

namespace tarn::promotion {

/// Judges the stages of the policy by the candidate's facts.
void judge_stages(const GatePolicy& policy, const GateCandidate& candidate,
                  const CountedApprovals& approvals, RuleWriter& out);
/// Whether the candidate waits for nothing but to enter its next stage.
bool may_enter_stage(const Verdict& verdict);
/// When the stage that the candidate is in may end; nullopt: it is in none, or that is past.
std::optional<Instant> soaks_until(const GatePolicy& policy, const GateCandidate& candidate);
/// The entry into the candidate's next stage, at its moment, without `before`. There must be one.
StageEntry next_stage(const GatePolicy& policy, const GateCandidate& candidate);
/// The entries of a candidate that hold: all or none. They must be of this ref and commit, and of
/// the first stages of the policy.
std::vector<StageEntry> stages_of(const GatePolicy& policy, const std::string& ref,
                                  const CommitId& commit, const std::vector<StageEntry>& open);

/// Safe from any thread.
class StageStore {
 public:
  explicit StageStore(db::Pool& pool) : pool_(pool) {}

  /// All that the promotion entered, in order.
  std::vector<StageEntry> all(RepositoryId repository, std::string_view promotion);

  // Inside a transaction of the caller, which holds the promotion's row.

  /// Moves the alias, and notes where it was. Throws conflict (reason "stage_occupied": another
  /// promotion has the alias).
  static void enter(db::Connection& connection, RepositoryId repository, const Promotion& promotion,
                    const StageEntry& entry);
  /// Moves the aliases of all stages back. `by`: the promotion itself, or the rollback.
  static void take_back(db::Connection& connection, RepositoryId repository,
                        std::string_view promotion, const Promotion& by, std::string_view reason,
                        Instant now);
  /// After the promotion: its last stage begins. `entry.until` is set.
  static void begin_last(db::Connection& connection, RepositoryId repository,
                         const Promotion& promotion, const StageEntry& entry);

  /// A promotion in its last stage.
  struct Watch {
    bool failed = false;  ///< a rollback was begun already
  };
  /// Set if the check can take the promotion back at `now`; locks the stage.
  static std::optional<Watch> watch(db::Connection& connection, RepositoryId repository,
                                    std::string_view promotion, const std::string& check,
                                    Instant now);
  /// Notes the rollback that a failed check begins.
  static void note_rollback(db::Connection& connection, RepositoryId repository,
                            std::string_view promotion, std::string_view rollback);
  /// Whether a failed check began this rollback.
  bool began(RepositoryId repository, std::string_view promotion, std::string_view rollback);

 private:
  db::Pool& pool_;
};

}  // namespace tarn::promotion
