#include "core/promotion/promotion_run.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <thread>

#include "core/base/acting_user.h"
#include "core/base/cancellation.h"
#include "core/base/error.h"
#include "core/base/fault_point.h"
#include "core/base/lease.h"
#include "core/base/log.h"
#include "core/base/pause.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "core/branch/hooks.h"
#include "core/branch/protection.h"
#include "core/branch/refs.h"
#include "core/branch/repositories.h"
#include "core/meta/branches.h"
#include "core/meta/repositories.h"
#include "core/meta/writer.h"
#include "core/promotion/gate_facts.h"
#include "core/promotion/gate_policy_store.h"
#include "core/promotion/judgement.h"
#include "core/promotion/promotion_merge.h"
#include "core/promotion/promotion_publication.h"
#include "core/promotion/promotion_store.h"
#include "core/promotion/ranking.h"
#include "core/promotion/rollback.h"
#include "core/promotion/stages.h"
#include "core/promotion/verdict.h"
#include "core/versioning/merge.h"

namespace tarn::promotion {
namespace {

// The text of a verdict on a candidate.

/// Reasons that one message has.
constexpr size_t kVerdictReasonsShownMax = 20;

/// The rules that fail, with their reasons.
std::string refusals_of(const Verdict& verdict) {
  std::string out;
  size_t shown = 0;
  for (const RuleResult& rule : verdict.rules) {
    if (rule.outcome != RuleOutcome::kFail) continue;
    if (shown++ == kVerdictReasonsShownMax) break;
    out += str_cat(out.empty() ? "" : "; ", rule.rule, ": ", rule.reason);
  }
  return out;
}

/// "metric_missing" when all that fails are values that are missing or not trusted, which is mended
/// by measuring; else "gate_failed".
std::string code_of(const Verdict& verdict) {
  const bool all_missing =
      std::all_of(verdict.rules.begin(), verdict.rules.end(), [](const RuleResult& rule) {
        return rule.outcome != RuleOutcome::kFail || rule.code == "metric_missing" ||
               rule.code == "untrusted_origin" || rule.code == "replicates_missing" ||
               rule.code == "slices_missing";
      });
  return all_missing ? "metric_missing" : "gate_failed";
}

/// Why a promotion waits that waits for no check: for approvals, else for the first rule.
std::string wait_code_of(const Verdict& verdict) {
  std::string code;
  for (const RuleResult& rule : verdict.rules) {
    if (rule.outcome != RuleOutcome::kPending) continue;
    if (rule.code == "approval_required") return rule.code;
    if (code.empty()) code = rule.code;
  }
  return code;
}

/// How long the promotion waits for checks and evaluations that are pending; 0 = for ever.
std::chrono::milliseconds patience_of(const GatePolicy& policy, const Verdict& verdict) {
  std::chrono::milliseconds out{0};
  for (const RuleResult& rule : verdict.rules) {
    if (!waits_for_check(rule)) continue;
    if (rule.code != "evaluation_pending") {
      if (policy.checks.timeout.count() == 0) return policy.checks.timeout;
      out = std::max(out, policy.checks.timeout);
      continue;
    }
    for (const EvaluationRules& rules : policy.evaluations) out = std::max(out, rules.wait);
  }
  return out;
}

using std::chrono::milliseconds;

constexpr size_t kConflictsShownMax = 20;
/// Number of names to try for a tag: the template's, and with the suffixes -2, -3 ...
constexpr int32_t kTagNumberMax = 100;

/// A terminal state other than `promoted`, with its code and message.
struct Ended {
  PromotionState state;
  std::string code;
  std::string message;
};

/// Renews the lease while another thread works.
class LeaseKeeper {
 public:
  LeaseKeeper(PromotionStore& rows, const LeasedPromotion& leased, int64_t owner)
      : thread_([&rows, repository = leased.repository, id = leased.promotion.id,
                 owner](std::stop_token stop) {
          while (!stop.stop_requested()) {
            pause(stop, promotion_lease() / 5);
            if (stop.stop_requested()) return;
            try {
              if (!rows.renew(repository, id, owner, promotion_lease())) return;
            } catch (const Error& error) {
              log::warn("promotion lease was not renewed", {{"error", error.message()}});
            }
          }
        }) {}

 private:
  std::jthread thread_;
};

/// One promotion, held by this thread.
class PromotionRun {
 public:
  PromotionRun(branch::Engine& engine, PromotionStore& rows, LeasedPromotion leased, int64_t owner)
      : engine_(engine),
        rows_(rows),
        owner_(owner),
        leased_(std::move(leased)),
        promotion_(leased_.promotion),
        stored_(promotion_),
        repository_(engine.repositories.current(leased_.repository)) {}

  /// Runs until the promotion has ended, waits, or was taken away.
  void run() {
    try {
      while (advance_or_judge_again()) throw_if_cancelled();
    } catch (const Error& error) {
      if (!is_final(error)) throw;
      forget_judgement();
      mark_ended({PromotionState::kFailed, std::string(error.reason()), error.message()});
      rows_.finish(repository_.id, promotion_, owner_);
    }
  }

 private:
  using FinishOutcome = PromotionStore::FinishOutcome;
  static constexpr bool kAgain = true;
  static constexpr bool kLeave = false;

  /// True for errors that a retry cannot fix; all others are retried by the next holder of the
  /// lease.
  static bool is_final(const Error& error) {
    // Another server has taken the store over, or this one does so in a moment.
    if (error.reason() == reason::kOwnedByAnotherDatabase) return false;
    switch (error.code()) {
      case ErrorCode::kInvalidArgument:
      case ErrorCode::kNotFound:
      case ErrorCode::kPermissionDenied:
      case ErrorCode::kAlreadyExists:
      case ErrorCode::kResourceExhausted:
      case ErrorCode::kGone:
      case ErrorCode::kDataLoss:
      case ErrorCode::kUnimplemented:
      case ErrorCode::kPreconditionFailed:
        return true;
      case ErrorCode::kConflict:
        return error.reason() != reason::kBranchLocked &&
               error.reason() != reason::kOperationCancelled;
      default:
        return false;
    }
  }

  bool advance_or_judge_again() {
    try {
      return advance();
    } catch (const Error& error) {
      if (error.reason() != reason::kPromotionJudgedAnew) throw;
      forget_judgement();
      return judge_again("candidate_gone", error.message());
    }
  }

  bool advance() {
    if (promotion_.undoes) return take_back();
    // A promotion that waits keeps its state during a round, so that readers do not see it go back.
    if (promotion_.state == PromotionState::kDraft) {
      promotion_.state = PromotionState::kComparing;
      if (!begin_round()) return kLeave;
    }
    fault_point("promotion.comparing");
    const Judgement judgement = judge(engine_, repository_, promotion_,
                                      rows_.approvals(repository_.id, promotion_.id), refused_);
    promotion_.candidates = judgement.pinned;
    promotion_.champion = judgement.champion;
    promotion_.policy_version = judgement.version.version;
    promotion_.evidence = judgement.evidence;
    promotion_.judged = judgement.commits;
    promotion_.mentioned = judgement.mentioned;
    if (const auto moved = unexpected(judgement)) return end(*moved);
    const size_t stages =
        judgement.winner ? judgement.candidates[*judgement.winner].candidate.stages.size() : 0;
    if (judgement.open_stages.size() != stages && !leave_stages(judgement.open_stages.front()))
      return kLeave;
    if (!judgement.winner) return reject(judgement);
    if (const std::vector<size_t> unranked = unranked_of(judgement);
        stages == 0 && !unranked.empty())
      return wait_for_ranking(judgement, unranked);
    const RankedCandidate& winner = judgement.candidates[*judgement.winner];
    if (const std::string problem =
            lost_right(engine_, repository_, promotion_, branch::Right::kPromote, "fs:Promote");
        !problem.empty()) {
      return end({PromotionState::kFailed, "promoter_lost_right", problem});
    }
    promotion_.winner_ref = winner.candidate.ref;
    promotion_.winner = winner.candidate.facts.commit;
    promotion_.review = winner.candidate.review;
    fault_point("promotion.compared");
    if (winner.verdict.outcome == GateOutcome::kPassed) return merge(judgement, winner);
    if (may_enter_stage(winner.verdict)) return enter_stage(judgement, winner);
    return wait_for_others(judgement, winner);
  }

  /// Advances a rollback that waits for approvals.
  bool take_back() {
    try {
      if (advance_rollback(engine_, repository_, leased_,
                           rows_.approvals(repository_.id, promotion_.id), owner_))
        return kLeave;
    } catch (const Error& error) {
      if (error.reason() != reason::kPromotionTaken) throw;
      // Somebody ended it, or said more: then it is looked at again.
    }
    rows_.wait(leased_, owner_, kPromotionRevisit);
    return kLeave;
  }

  std::optional<Ended> unexpected(const Judgement& judgement) const {
    const PromotionRequest& asked = promotion_.request;
    if (asked.expect_destination && *asked.expect_destination != judgement.destination.head) {
      return Ended{PromotionState::kFailed, "destination_moved",
                   str_cat("the head of '", judgement.destination.name.str(), "' is ",
                           to_text(judgement.destination.head), ", not ",
                           to_text(*asked.expect_destination))};
    }
    if (asked.expect_alias && *asked.expect_alias != judgement.champion) {
      const auto text = [](const std::optional<CommitId>& id) {
        return id ? to_text(*id) : std::string("nothing");
      };
      return Ended{PromotionState::kFailed, "destination_moved",
                   str_cat("@", promotion_.alias, " is ", text(judgement.champion), ", not ",
                           text(*asked.expect_alias))};
    }
    return std::nullopt;
  }

  bool reject(const Judgement& judgement) {
    std::string message;
    std::string code = "gate_failed";
    size_t shown = 0;
    bool all_missing = true;
    for (const RankedCandidate& judged : judgement.candidates) {
      all_missing = all_missing && code_of(judged.verdict) == "metric_missing";
      if (shown++ < kVerdictReasonsShownMax)
        message += str_cat(message.empty() ? "" : "\n", judged.candidate.ref, ": ",
                           refusals_of(judged.verdict));
    }
    // The record shows the values that were judged, not those of an earlier round.
    for (const RankedCandidate& judged : judgement.candidates) {
      if (judged.candidate.ref == promotion_.winner_ref &&
          judged.candidate.facts.commit == promotion_.winner)
        promotion_.review = judged.candidate.review;
    }
    if (all_missing) code = "metric_missing";
    if (!judgement.left_out.empty()) message += str_cat("\n", describe(judgement.left_out));
    // The best candidate that passed every rule gives the reason why nothing was promoted.
    if (!first_refused_.empty()) {
      const GateRefusal& refusal = refused_.at(first_refused_).refusal;
      const bool late = refusal.code == "check_timeout";
      if (judgement.candidates.size() == 1) message = refusal.reason;
      return end({late ? PromotionState::kRejected : PromotionState::kFailed, refusal.code,
                  std::move(message)});
    }
    return end({PromotionState::kRejected, std::move(code), std::move(message)});
  }

  /// Rejects this candidate as champion; the next one may be accepted.
  bool refuse(const RankedCandidate& candidate, GateRefusal refusal) {
    const std::string& ref = candidate.candidate.ref;
    if (first_refused_.empty()) first_refused_ = ref;
    refused_.insert_or_assign(
        ref, RefusedCandidate{candidate.candidate.facts.commit, std::move(refusal)});
    return kAgain;
  }

  /// The candidates that have passed so far, but lack a metric for the ranking that a check has to
  /// report.
  static std::vector<size_t> unranked_of(const Judgement& judgement) {
    std::vector<size_t> out;
    for (size_t i = 0; i < judgement.candidates.size(); ++i) {
      const RankedCandidate& candidate = judgement.candidates[i];
      if (candidate.verdict.outcome != GateOutcome::kFailed &&
          ranking_waits(judgement.policy, candidate.candidate))
        out.push_back(i);
    }
    return out;
  }

  /// Waits for all of them: being measured first must not be an advantage.
  bool wait_for_ranking(const Judgement& judgement, const std::vector<size_t>& unranked) {
    milliseconds delay = kPromotionRevisit;
    std::string missing;
    size_t shown = 0;
    for (const size_t i : unranked) {
      const RankedCandidate& candidate = judgement.candidates[i];
      const milliseconds timeout = patience_of(judgement.policy, candidate.verdict);
      const milliseconds waited = engine_.clock.now() - judgement.pinned[i].since;
      if (timeout.count() > 0 && waited >= timeout) {
        return refuse(candidate, {.rule = "checks",
                                  .code = "check_timeout",
                                  .reason = str_cat("checks did not come in time: ",
                                                    wants_of(candidate.verdict))});
      }
      if (timeout.count() > 0) delay = std::min(delay, timeout - waited);
      if (shown++ < kVerdictReasonsShownMax) {
        missing +=
            str_cat(missing.empty() ? "" : "\n", candidate.candidate.ref, " ",
                    to_text(candidate.candidate.facts.commit), ": ", wants_of(candidate.verdict));
      }
    }
    promotion_.winner_ref.clear();
    promotion_.winner.reset();
    promotion_.review.clear();
    promotion_.state = PromotionState::kGatesRunning;
    promotion_.code = "check_pending";
    promotion_.message = str_cat("the ranking waits for checks or evaluations of ", unranked.size(),
                                 " candidates\n", missing);
    rows_.wait(leased_, owner_, delay);
    return kLeave;
  }

  /// Takes all aliases of stages back. false: the lease was lost.
  bool leave_stages(const StageEntry& first) {
    const std::string why = str_cat(first.ref, " ", to_text(first.commit),
                                    " left its stages: it does not pass any more, it has another "
                                    "commit, or the policy has other stages");
    const Instant now = engine_.clock.now();
    const bool held = engine_.pool.transaction([&](db::Connection& connection) {
      if (!PromotionStore::store(connection, repository_.id, promotion_, owner_, now)) return false;
      StageStore::take_back(connection, repository_.id, promotion_.id, promotion_, why, now);
      return true;
    });
    if (held) note_stored();
    return held;
  }

  /// Gives the winner the alias of its next stage.
  bool enter_stage(const Judgement& judgement, const RankedCandidate& winner) {
    // A conflict is worth knowing before the first stage, not after the last.
    if (winner.candidate.stages.empty() &&
        promotion_.request.method != PromotionMethod::kReplacePaths) {
      const auto refusal =
          merge_refusal(engine_, repository_, judgement.policy, judgement.head,
                        {.ref = winner.candidate.ref,
                         .commit = engine_.commits.get(repository_.id, *promotion_.winner)});
      if (refusal) return refuse(winner, *refusal);
    }
    StageEntry entry = next_stage(judgement.policy, winner.candidate);
    entry.since = engine_.clock.now();
    promotion_.state = PromotionState::kAwaitingApproval;
    promotion_.code = "stage_entered";
    promotion_.message = str_cat(winner.candidate.ref, " is @", entry.alias);
    const auto anew = [&](std::string_view what) {
      return Error(ErrorCode::kConflict, reason::kPromotionJudgedAnew,
                   str_cat("promotion ", promotion_.id, ": ", what));
    };
    bool held = false;
    try {
      held = engine_.pool.transaction([&](db::Connection& connection) {
        const auto reports =
            PromotionStore::store(connection, repository_.id, promotion_, owner_, entry.since);
        if (!reports) return false;
        if (*reports != leased_.reports) throw anew("more was said of it");
        const GatePolicyVersion& policy = judgement.version;
        if (!GatePolicyStore::hold(connection, repository_.id, policy.name, policy.version))
          throw anew("the policy changed");
        StageStore::enter(connection, repository_.id, promotion_, entry);
        fault_point("promotion.stage_entered");
        return true;
      });
    } catch (const Error& error) {
      if (error.reason() != reason::kStageOccupied) throw;
      promotion_.code = error.reason();
      promotion_.message = error.message();
      rows_.wait(leased_, owner_, kStaleRevisit);
      return kLeave;
    }
    if (!held) return kLeave;
    note_stored();
    return kAgain;
  }

  bool wait_for_others(const Judgement& judgement, const RankedCandidate& winner) {
    const bool checks = waits_for_checks(winner.verdict);
    milliseconds delay = kPromotionRevisit;
    for (const TimeHold& hold : winner.candidate.holds)
      delay = std::min(delay, hold.until - engine_.clock.now());
    if (const auto end = soaks_until(judgement.policy, winner.candidate))
      delay = std::min(delay, *end - engine_.clock.now());
    // Nobody tells a promotion of a run.
    if (wait_code_of(winner.verdict) == "champion_stale") delay = std::min(delay, kStaleRevisit);
    // Servers' estimates of the database's clock differ by a few milliseconds.
    delay = std::max<milliseconds>(delay, kPromotionLookPause);
    if (checks) {
      const milliseconds timeout = patience_of(judgement.policy, winner.verdict);
      const milliseconds waited = engine_.clock.now() - checks_wanted_since(judgement);
      if (timeout.count() > 0 && waited >= timeout) {
        return end({PromotionState::kRejected, "check_timeout",
                    str_cat("checks did not come in time: ", wants_of(winner.verdict))});
      }
      if (timeout.count() > 0) delay = std::min(delay, timeout - waited);
    }
    promotion_.state = checks ? PromotionState::kGatesRunning : PromotionState::kAwaitingApproval;
    promotion_.code = checks ? "check_pending" : wait_code_of(winner.verdict);
    promotion_.message = wants_of(winner.verdict);
    rows_.wait(leased_, owner_, delay);
    return kLeave;
  }

  /// The time when the wait for checks of this commit began. Excludes earlier waits, such as for
  /// people or for checks of an older commit.
  Instant checks_wanted_since(const Judgement& judgement) {
    Instant since = engine_.clock.now();
    const std::vector<PromotionStep> steps = rows_.steps(repository_.id, promotion_.id);
    for (auto step = steps.rbegin();
         step != steps.rend() && step->state == PromotionState::kGatesRunning; ++step) {
      since = step->at;
    }
    return std::max(since, judgement.pinned[*judgement.winner].since);
  }

  bool merge(const Judgement& judgement, const RankedCandidate& winner) {
    promotion_.state = PromotionState::kMerging;
    promotion_.code.clear();
    promotion_.message.clear();
    // The number that store() returns is left unread: leased_.reports stays the number of this
    // round, so that an approval or a check from here on undoes the publication.
    if (!store()) return kLeave;
    fault_point("promotion.merging");
    const versioning::MergeRequest request = merge_request_of(
        engine_, rows_, repository_, promotion_, judgement, winner.candidate.facts.commit);
    const PromotionPublication publication{
        .engine = engine_,
        .repository = repository_,
        .judgement = judgement,
        .refused = refused_,
        .leased = leased_,
        .owner = owner_,
        .losers = expiring_losers(engine_, repository_, judgement, promotion_),
        .tag_number = tag_number_};
    PromotionTerms gated(publication, promotion_.request.method == PromotionMethod::kReplacePaths);
    OneOffTerms one_off(publication);
    versioning::MergeTerms& terms =
        promotion_.request.metrics.empty() ? static_cast<versioning::MergeTerms&>(gated) : one_off;
    std::variant<Commit, versioning::MergeConflicts> outcome;
    try {
      outcome =
          versioning::merge_on_terms(engine_, repository_, to_text(winner.candidate.facts.commit),
                                     judgement.destination, request, terms);
    } catch (const Error& error) {
      return failed_to_merge(winner, error);
    }
    if (const auto* conflicts = std::get_if<versioning::MergeConflicts>(&outcome)) {
      std::vector<std::string> paths;
      for (const MergeConflict& conflict : conflicts->first) {
        if (paths.size() < kConflictsShownMax) paths.push_back(conflict.key.str());
      }
      return refuse(winner, conflict_refusal(judgement.policy, winner.candidate.ref, paths,
                                             conflicts->count));
    }
    rows_.wake_all(repository_.id, promotion_.request.destination);
    fault_point("promotion.promoted");
    log::info("promoted", {{"promotion", promotion_.id},
                           {"repository", repository_.name.str()},
                           {"candidate", promotion_.winner_ref},
                           {"destination", promotion_.request.destination.str()}});
    return kLeave;
  }

  /// Whether the error concerns only this candidate, so that the next one may be merged.
  static bool is_of_the_candidate(const Error& error) {
    for (const std::string_view reason :
         {reason::kHookFailed, reason::kHooksForbidden, reason::kObjectMissing,
          reason::kNotWhatWasMeasured, reason::kTooLarge}) {
      if (error.reason() == reason) return true;
    }
    return false;
  }

  bool failed_to_merge(const RankedCandidate& winner, const Error& error) {
    const PromotionRequest& asked = promotion_.request;
    if (error.reason() == reason::kPromotionTaken) return kLeave;
    // The next round says what moved if there is an expectation; else the candidates are compared
    // with the new champion.
    if (error.reason() == reason::kDestinationMoved ||
        error.reason() == reason::kPromotionJudgedAnew) {
      return judge_again("destination_moved", error.message());
    }
    if (error.reason() == reason::kTagExists && tag_number_ < kTagNumberMax) {
      ++tag_number_;
      return kAgain;
    }
    if (is_of_the_candidate(error)) {
      return refuse(
          winner,
          {.rule = "merge", .code = std::string(error.reason()), .reason = error.message()});
    }
    if (error.reason() == reason::kNoChanges) {
      // A better candidate that could not be merged is the reason, not that the rest is there.
      if (!first_refused_.empty()) {
        const GateRefusal& refusal = refused_.at(first_refused_).refusal;
        return end(
            {PromotionState::kFailed, refusal.code, str_cat(first_refused_, ": ", refusal.reason)});
      }
      return end({PromotionState::kFailed, "no_changes",
                  str_cat("'", asked.destination.str(), "' has everything that '",
                          promotion_.winner_ref, "' would bring",
                          promotion_.alias.empty() ? "" : str_cat(", and is @", promotion_.alias),
                          " already: there is nothing to promote")});
    }
    if (error.reason() == reason::kDirtyBranch) {
      GateRefusal dirty = dirty_refusal(asked.destination);
      return end({PromotionState::kFailed, std::move(dirty.code), std::move(dirty.reason)});
    }
    throw error;
  }

  bool judge_again(std::string_view code, std::string message) {
    if (++promotion_.rounds > kPromotionRoundsMax) {
      mark_ended({PromotionState::kFailed, "destination_moved",
                  str_cat("the destination, the champion, the policy or what is said of the winner "
                          "changed ",
                          kPromotionRoundsMax, " times meanwhile")});
      rows_.finish(repository_.id, promotion_, owner_);
      return kLeave;
    }
    promotion_.message = std::move(message);
    promotion_.code = code;
    promotion_.state = PromotionState::kComparing;
    return begin_round() ? kAgain : kLeave;
  }

  /// Stores the promotion before it is judged; later reports then cause another round. Returns
  /// false if the lease was lost.
  bool begin_round() {
    const auto reports = store();
    if (reports) leased_.reports = *reports;
    return reports.has_value();
  }

  std::optional<int64_t> store() {
    const auto reports = rows_.store(repository_.id, promotion_, owner_);
    note_stored();
    return reports;
  }

  void note_stored() {
    promotion_.judged.clear();  // they are roots by now
    promotion_.mentioned.clear();
    stored_ = promotion_;
  }

  /// Takes the promotion back to what is stored of it: a commit of the judgement may be gone.
  void forget_judgement() {
    const int32_t rounds = promotion_.rounds;
    promotion_ = stored_;
    promotion_.rounds = rounds;
  }

  void mark_ended(Ended ended) {
    promotion_.state = ended.state;
    promotion_.code = std::move(ended.code);
    promotion_.message = std::move(ended.message);
  }

  /// Ends the promotion with the judgement's result.
  bool end(Ended ended) {
    mark_ended(std::move(ended));
    if (rows_.finish_judged(leased_, owner_) != FinishOutcome::kReportedMore) return kLeave;
    return judge_again("check_pending", "a check or an approval came while it was judged");
  }

  branch::Engine& engine_;
  PromotionStore& rows_;
  const int64_t owner_;
  LeasedPromotion leased_;
  Promotion& promotion_;
  Promotion stored_;  ///< as its row is
  const Repository repository_;
  RefusedCandidates refused_;
  std::string first_refused_;  ///< the ref; "" = none was
  int32_t tag_number_ = 1;
};

}  // namespace

void note_branch_moves(branch::Engine& engine) {
  PromotionStore(engine.pool, engine.clock).note_moves();
}

void tell_expired_champions(branch::Engine& engine) {
  GatePolicyStore(engine.pool).tell_expired_champions(engine.clock.now());
}

bool run_one_promotion(branch::Engine& engine, std::stop_token stop, OwnerTurns& turns) {
  PromotionStore rows(engine.pool, engine.clock);
  // Unique for this run: two workers of one process must not share an expired lease.
  const int64_t owner = new_lease_owner();
  std::optional<LeasedPromotion> leased;
  const auto turn =
      turns.begin([&](const std::vector<std::string>& full) -> std::optional<std::string> {
        leased = rows.take(owner, promotion_lease(), full);
        if (!leased) return std::nullopt;
        return leased->promotion.actor;
      });
  if (!turn) return false;
  const CancellationScope scope(stop);
  const ActingUser user(leased->promotion.actor, {}, leased->promotion.limits);
  const LeaseKeeper keeper(rows, *leased, owner);
  PromotionRun(engine, rows, *std::move(leased), owner).run();
  return true;
}

}  // namespace tarn::promotion
