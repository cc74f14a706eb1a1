#include "core/versioning/promotion_run.h"

#include <algorithm>
#include <thread>

#include "core/base/cancellation.h"
#include "core/base/digest.h"
#include "core/base/error.h"
#include "core/base/fault_point.h"
#include "core/base/log.h"
#include "core/base/pause.h"
#include "core/base/str_cat.h"
#include "core/meta/aliases.h"
#include "core/meta/branches.h"
#include "core/meta/commits.h"
#include "core/meta/gate_policies.h"
#include "core/meta/promotions.h"
#include "core/meta/repositories.h"
#include "core/meta/tags.h"
#include "core/meta/writer.h"
#include "core/versioning/gate.h"
#include "core/versioning/history.h"
#include "core/versioning/hooks.h"
#include "core/versioning/judgement.h"
#include "core/versioning/merge.h"
#include "core/versioning/protection.h"
#include "core/versioning/refs.h"
#include "core/versioning/repositories.h"

namespace tarn::versioning {
namespace {

using std::chrono::milliseconds;

constexpr std::chrono::seconds kRenewEvery{2};
constexpr size_t kReasonsShownMax = 20;
constexpr size_t kConflictsShownMax = 20;

/// Ends the promotion as something else than promoted.
struct Ended {
  PromotionState state;
  std::string code;
  std::string message;
};

/// Keeps the lease while another thread works.
class LeaseKeeper {
 public:
  LeaseKeeper(meta::Promotions& rows, const meta::LeasedPromotion& leased, int64_t owner)
      : thread_([&rows, repository = leased.repository, id = leased.promotion.id,
                 owner](std::stop_token stop) {
          while (!stop.stop_requested()) {
            pause(stop, kRenewEvery);
            if (stop.stop_requested()) return;
            try {
              if (!rows.renew(repository, id, owner, kPromotionLease)) return;
            } catch (const Error& error) {
              log::warn("promotion lease was not renewed", {{"error", error.message()}});
            }
          }
        }) {}

 private:
  std::jthread thread_;
};

std::string refusals_of(const Verdict& verdict) {
  std::string out;
  size_t shown = 0;
  for (const RuleResult& rule : verdict.rules) {
    if (rule.outcome != RuleOutcome::kFail) continue;
    if (shown++ == kReasonsShownMax) break;
    out += str_cat(out.empty() ? "" : "; ", rule.rule, ": ", rule.reason);
  }
  return out;
}

/// A missing metric is told apart, as whoever runs the pipeline mends it otherwise.
std::string code_of(const Verdict& verdict) {
  const bool all_missing =
      std::all_of(verdict.rules.begin(), verdict.rules.end(), [](const RuleResult& rule) {
        return rule.outcome != RuleOutcome::kFail || rule.code == "metric_missing";
      });
  return all_missing ? "metric_missing" : "gate_failed";
}

bool waits_for(const Verdict& verdict, bool approvals) {
  return std::any_of(verdict.rules.begin(), verdict.rules.end(), [&](const RuleResult& rule) {
    return rule.outcome == RuleOutcome::kPending && (rule.code == "approval_required") == approvals;
  });
}

std::string wants_of(const Verdict& verdict) {
  std::string out;
  for (const RuleResult& rule : verdict.rules) {
    if (rule.outcome == RuleOutcome::kPending)
      out += str_cat(out.empty() ? "" : "; ", rule.rule, ": ", rule.reason);
  }
  return out;
}

/// One promotion, held by this thread.
class PromotionRun {
 public:
  PromotionRun(Engine& engine, meta::Promotions& rows, meta::LeasedPromotion leased, int64_t owner)
      : engine_(engine),
        rows_(rows),
        owner_(owner),
        leased_(std::move(leased)),
        promotion_(leased_.promotion),
        repository_(engine.repositories.get(leased_.repository)) {}

  /// Until it has ended, waits, or was taken away.
  void run() {
    try {
      while (advance()) throw_if_cancelled();
    } catch (const Error& error) {
      if (!is_final(error)) throw;
      mark_ended({PromotionState::kFailed, std::string(error.reason()), error.message()});
      rows_.finish(repository_.id, promotion_, owner_);
    }
  }

 private:
  using FinishOutcome = meta::Promotions::FinishOutcome;
  static constexpr bool kAgain = true;
  static constexpr bool kLeave = false;

  /// What trying again does not mend; everything else is tried again by whoever holds the lease
  /// next.
  static bool is_final(const Error& error) {
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
        return error.reason() != "branch_locked" && error.reason() != "operation_cancelled";
      default:
        return false;
    }
  }

  bool advance() {
    // One that waits keeps its state while it is looked at, so that nobody sees it go back.
    if (promotion_.state == PromotionState::kDraft) {
      promotion_.state = PromotionState::kComparing;
      if (!begin_round()) return kLeave;
    }
    fault_point("promotion.comparing");
    const Judgement judgement =
        judge(engine_, repository_, promotion_, rows_.checks(repository_.id, promotion_.id),
              rows_.approvals(repository_.id, promotion_.id));
    promotion_.candidates = judgement.pinned;
    promotion_.champion = judgement.champion;
    promotion_.policy_version = judgement.version.version;
    promotion_.evidence = judgement.evidence;
    if (const auto moved = unexpected(judgement)) return end(*moved);
    if (!judgement.winner) return reject(judgement);
    const RankedCandidate& winner = judgement.candidates[*judgement.winner];
    promotion_.winner_ref = winner.candidate.ref;
    promotion_.winner = winner.candidate.facts.commit;
    fault_point("promotion.compared");
    if (winner.verdict.outcome == GateOutcome::kPending) return wait_for_others(judgement, winner);
    return merge(judgement, winner);
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
      if (shown++ < kReasonsShownMax)
        message += str_cat(message.empty() ? "" : "\n", judged.candidate.ref, ": ",
                           refusals_of(judged.verdict));
    }
    if (all_missing) code = "metric_missing";
    return end({PromotionState::kRejected, std::move(code), std::move(message)});
  }

  bool wait_for_others(const Judgement& judgement, const RankedCandidate& winner) {
    const bool checks = waits_for(winner.verdict, /*approvals=*/false);
    milliseconds delay = kPromotionRevisit;
    if (checks) {
      const milliseconds timeout = judgement.policy.checks.timeout;
      const milliseconds waited = engine_.clock.now() - checks_wanted_since(winner);
      if (timeout.count() > 0 && waited >= timeout) {
        return end({PromotionState::kRejected, "check_timeout",
                    str_cat("checks did not come in time: ", wants_of(winner.verdict))});
      }
      if (timeout.count() > 0) delay = std::min(delay, timeout - waited);
    }
    promotion_.state = checks ? PromotionState::kGatesRunning : PromotionState::kAwaitingApproval;
    promotion_.code = checks ? "check_pending" : "approval_required";
    promotion_.message = wants_of(winner.verdict);
    rows_.wait(leased_, owner_, delay);
    return kLeave;
  }

  /// When the waiting for checks of this commit began: what was done before, such as waiting for
  /// people or for checks of an older commit, is not their delay.
  Instant checks_wanted_since(const RankedCandidate& winner) {
    const Instant now = engine_.clock.now();
    Instant since = now;
    const std::vector<PromotionStep> steps = rows_.steps(repository_.id, promotion_.id);
    for (auto step = steps.rbegin();
         step != steps.rend() && step->state == PromotionState::kGatesRunning; ++step) {
      since = step->at;
    }
    return std::max(since, std::min(winner.candidate.created, now));
  }

  bool merge(const Judgement& judgement, const RankedCandidate& winner) {
    promotion_.state = PromotionState::kMerging;
    promotion_.code.clear();
    promotion_.message.clear();
    if (!rows_.store(repository_.id, promotion_, owner_)) return kLeave;
    fault_point("promotion.merging");
    const MergeRequest request = merge_request(judgement, winner.candidate.facts.commit);
    PromotionTerms terms;
    terms.expected_head = judgement.destination.head;
    terms.replace_paths = promotion_.request.method == PromotionMethod::kReplacePaths;
    terms.check = [&](const TreeRoot& tree) { require_objects(judgement.policy, tree); };
    terms.within = [&](db::Connection& connection, const Commit& made) {
      complete(connection, judgement, made);
    };
    std::variant<Commit, MergeConflicts> outcome;
    try {
      outcome = merge_for_promotion(engine_, repository_, judgement.destination,
                                    winner.candidate.facts.commit, request, terms);
    } catch (const Error& error) {
      return failed_to_merge(error);
    }
    if (const auto* conflicts = std::get_if<MergeConflicts>(&outcome)) return refuse(*conflicts);
    fault_point("promotion.promoted");
    log::info("promoted", {{"promotion", promotion_.id},
                           {"repository", repository_.name.str()},
                           {"candidate", promotion_.winner_ref},
                           {"destination", promotion_.request.destination.str()}});
    return kLeave;
  }

  /// The candidate had them when it was judged; what reaches the destination must have them too.
  void require_objects(const GatePolicy& policy, const TreeRoot& tree) const {
    const std::vector<std::string> missing = missing_objects(engine_, policy.objects, tree);
    if (missing.empty()) return;
    throw Error(ErrorCode::kPreconditionFailed, "object_missing",
                str_cat("after the merge '", promotion_.request.destination.str(), "' would lack ",
                        missing.front(), ", which the policy requires"));
  }

  /// Whether the alias stands at the head already, with all that the winner could bring.
  bool is_champion(const Judgement& judgement, const CommitId& winner) const {
    const CommitId& head = judgement.destination.head;
    if (judgement.champion != head) return false;
    const auto made = rows_.find_by_result(repository_.id, head);
    if (made && made->winner == winner) return true;
    return is_ancestor(engine_, repository_.id, engine_.commits.get(repository_.id, winner),
                       engine_.commits.get(repository_.id, head));
  }

  MergeRequest merge_request(const Judgement& judgement, const CommitId& winner) const {
    MergeRequest request;
    request.committer = promotion_.actor;
    request.message = str_cat("Promote '", promotion_.winner_ref, "' to '",
                              promotion_.request.destination.str(), "'");
    request.metadata[".tarn.promotion"] = promotion_.id;
    request.metadata[".tarn.policy"] =
        str_cat(judgement.policy.name, "@", judgement.version.version);
    // What the destination has already, or what came out the same to the byte, may still become the
    // champion.
    request.allow_empty = !promotion_.alias.empty() && !is_champion(judgement, winner);
    request.squash = promotion_.request.method == PromotionMethod::kSquash;
    if (!promotion_.request.paths.empty()) request.paths.emplace(promotion_.request.paths);
    return request;
  }

  /// Everything that becomes true with the commit.
  void complete(db::Connection& connection, const Judgement& judgement, const Commit& made) {
    require_policy(connection, judgement);
    meta::LeasedPromotion judged = leased_;
    Promotion& done = judged.promotion;
    done.state = PromotionState::kPromoted;
    done.result = made.id;
    done.tag = tag_name(judgement, made);
    const Instant now = engine_.clock.now();
    if (!done.alias.empty()) move_alias(connection, made, now);
    fault_point("promotion.alias_moved");
    expire_losers(connection, judgement, now);
    if (!judgement.policy.after.webhooks.empty()) {
      meta::Promotions::tell(connection, repository_.id, done.id, judgement.policy.after.webhooks);
    }
    fault_point("promotion.before_record");
    switch (meta::Promotions::finish_judged(connection, judged, owner_, now)) {
      case FinishOutcome::kDone:
        break;
      case FinishOutcome::kTaken:
        throw Error(ErrorCode::kConflict, "promotion_taken",
                    str_cat("promotion ", done.id, ": was ended or taken over meanwhile"));
      case FinishOutcome::kSaidMore:
        throw Error(ErrorCode::kConflict, "promotion_judged_anew",
                    "a check or an approval came while the winner was merged");
    }
    // Behind the record, which says whose run the tag's commit has.
    if (!done.tag.empty()) make_tag(connection, done.tag, made);
    fault_point("promotion.before_commit");
  }

  bool failed_to_merge(const Error& error) {
    const PromotionRequest& asked = promotion_.request;
    if (error.reason() == "promotion_taken") return kLeave;
    // With an expectation the next round says what moved; without, the candidates are compared with
    // the new champion.
    if (error.reason() == "destination_moved" || error.reason() == "promotion_judged_anew") {
      return judge_again("destination_moved", error.message());
    }
    if (error.reason() == "no_changes") {
      return end({PromotionState::kFailed, "no_changes",
                  str_cat("'", asked.destination.str(), "' has everything that '",
                          promotion_.winner_ref, "' would bring",
                          promotion_.alias.empty() ? "" : str_cat(", and is @", promotion_.alias),
                          " already: there is nothing to promote")});
    }
    if (error.reason() == "dirty_branch") {
      return end({PromotionState::kFailed, "destination_dirty",
                  str_cat("branch '", asked.destination.str(),
                          "' has staged changes, which a promotion would mix with its own: remove "
                          "the policy, then commit or reset them, then apply it again")});
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

  bool refuse(const MergeConflicts& conflicts) {
    std::string message = str_cat(conflicts.count, " paths were changed on both sides:");
    for (size_t i = 0; i < conflicts.first.size() && i < kConflictsShownMax; ++i)
      message += str_cat(" \"", conflicts.first[i].key.str(), "\"");
    message += "; the method replace-paths takes named paths as they are";
    return end({PromotionState::kFailed, "merge_conflict", std::move(message)});
  }

  /// First in the transaction, before the alias: who sets a policy locks them in this order.
  void require_policy(db::Connection& connection, const Judgement& judgement) const {
    const int64_t version = judgement.version.version;
    if (meta::GatePolicies::hold(connection, repository_.id, judgement.version.name, version))
      return;
    throw Error(ErrorCode::kConflict, "destination_moved",
                str_cat("policy \"", judgement.version.name, "\" is no longer version ", version,
                        ", by which the candidates were judged"));
  }

  std::string tag_name(const Judgement& judgement, const Commit& made) const {
    const std::string& tag_template = judgement.policy.after.tag;
    if (tag_template.empty()) return "";
    return parse_new_tag_name(tag_from(tag_template, {.now = engine_.clock.now(),
                                                      .commit = to_text(made.id),
                                                      .candidate = promotion_.winner_ref,
                                                      .policy = judgement.policy.name}))
        .str();
  }

  void move_alias(db::Connection& connection, const Commit& made, Instant now) {
    meta::AliasMove move;
    move.name = AliasName(promotion_.alias);
    move.expected = {.any = false, .commit = promotion_.champion};
    move.to = made.id;
    move.actor = promotion_.actor;
    move.reason = promotion_.request.reason;
    move.promotion = promotion_.id;
    move.evidence = sha256(promotion_.evidence);
    move.at = now;
    if (meta::Aliases::move(connection, repository_.id, move)) return;
    throw Error(ErrorCode::kConflict, "destination_moved",
                str_cat("@", promotion_.alias, " was moved meanwhile"));
  }

  void make_tag(db::Connection& connection, const std::string& tag, const Commit& made) {
    switch (meta::Tags::create(connection, repository_.id, TagName(tag), made.id)) {
      case meta::Tags::CreateOutcome::kDone:
        return;
      case meta::Tags::CreateOutcome::kBranchHasName:
        throw Error(
            ErrorCode::kConflict, "branch_has_name",
            str_cat("tag '", tag, "': a branch has that name; change the policy's template"));
      case meta::Tags::CreateOutcome::kCommitGone:
      case meta::Tags::CreateOutcome::kExists:
        throw Error(ErrorCode::kAlreadyExists, "tag_exists",
                    str_cat("tag '", tag,
                            "': exists already; let the policy's template name "
                            "{short} or {time}"));
    }
  }

  /// Branches that lost, passed and have not moved on expire: a request can name any branch.
  void expire_losers(db::Connection& connection, const Judgement& judgement, Instant now) {
    const auto& lifetime = judgement.policy.after.losers_expire;
    if (!lifetime) return;
    for (size_t i = 0; i < judgement.pinned.size(); ++i) {
      const PinnedCandidate& candidate = judgement.pinned[i];
      if (candidate.ref == promotion_.winner_ref ||
          candidate.ref == repository_.default_branch.str() ||
          judgement.candidates[i].verdict.outcome == GateOutcome::kFailed)
        continue;
      meta::Branches::expire(connection, repository_.id, BranchName(candidate.ref),
                             candidate.commit, now + *lifetime);
    }
  }

  /// Stores the promotion before it is judged; what is said later makes it go round again. false:
  /// the lease was lost.
  bool begin_round() {
    const auto said = rows_.store(repository_.id, promotion_, owner_);
    if (said) leased_.said = *said;
    return said.has_value();
  }

  void mark_ended(Ended ended) {
    promotion_.state = ended.state;
    promotion_.code = std::move(ended.code);
    promotion_.message = std::move(ended.message);
  }

  /// Ends it as it was judged.
  bool end(Ended ended) {
    mark_ended(std::move(ended));
    if (rows_.finish_judged(leased_, owner_) != FinishOutcome::kSaidMore) return kLeave;
    return judge_again("check_pending", "a check or an approval came while it was judged");
  }

  Engine& engine_;
  meta::Promotions& rows_;
  const int64_t owner_;
  meta::LeasedPromotion leased_;
  Promotion& promotion_;
  const Repository repository_;
};

}  // namespace

bool run_one_promotion(Engine& engine, std::stop_token stop, OwnerTurns& turns) {
  meta::Promotions rows(engine.pool, engine.clock);
  // Of this run: two workers of one process must not share a lease that ran out.
  const int64_t owner = static_cast<int64_t>(random_u64() >> 1);
  std::optional<meta::LeasedPromotion> leased;
  const auto turn =
      turns.begin([&](const std::vector<std::string>& full) -> std::optional<std::string> {
        leased = rows.take(owner, kPromotionLease, full);
        if (!leased) return std::nullopt;
        return leased->promotion.actor;
      });
  if (!turn) return false;
  const CancellationScope scope(stop);
  const ActingUser user(leased->promotion.actor);
  const LeaseKeeper keeper(rows, *leased, owner);
  PromotionRun(engine, rows, *std::move(leased), owner).run();
  return true;
}

}  // namespace tarn::versioning
