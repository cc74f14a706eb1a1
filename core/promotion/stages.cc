#include "core/promotion/stages.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "core/base/text.h"
#include "core/branch/alias_store.h"
#include "core/meta/commit_column.h"

namespace tarn::promotion {
namespace {

constexpr std::string_view kNext = "stage_next";
constexpr std::string_view kLater = "stage_later";
constexpr std::string_view kSoaking = "stage_soaking";

std::string id_of(const StageRules& stage) { return str_cat("stages[", stage.alias, "]"); }

/// Why a check of the stage has not succeeded since the candidate entered it; "" = it has.
std::string missing_check(const GateCandidate& candidate, const std::string& name, Instant since) {
  const CheckResult* check = find_check(candidate, name);
  if (check == nullptr || check->at < since)
    return str_cat("nobody has reported ", name, " of this commit since then");
  return check->status == CheckStatus::kSuccess ? "" : str_cat(name, " has not ended");
}

/// A check of the stage whose failure stands, also one from before the candidate entered it.
const CheckResult* failed_check(const GateCandidate& candidate, const StageRules& stage) {
  for (const std::string& name : stage.checks) {
    const CheckResult* check = find_check(candidate, name);
    if (check != nullptr && check->status == CheckStatus::kFailure) return check;
  }
  return nullptr;
}

/// Judges the stage that the candidate entered last; true = it may go on.
bool judge_present(const StageRules& stage, const GateCandidate& candidate, RuleWriter& out) {
  const Instant since = candidate.stages.back().since;
  std::string reason = str_cat("is @", stage.alias, " since ", to_rfc3339(since));
  if (candidate.now < since + stage.soak) {
    out.pending(id_of(stage), kSoaking,
                str_cat(reason, ", until ", to_rfc3339(since + stage.soak), " at least"));
    return false;
  }
  std::string missing;
  for (const std::string& name : stage.checks) {
    const std::string why = missing_check(candidate, name, since);
    if (!why.empty()) missing += str_cat("; ", why);
  }
  if (!missing.empty()) {
    out.pending(id_of(stage), "stage_check_missing", reason + missing);
    return false;
  }
  out.pass(id_of(stage), std::move(reason));
  return true;
}

}  // namespace

void judge_stages(const GatePolicy& policy, const GateCandidate& candidate,
                  const CountedApprovals& approvals, RuleWriter& out) {
  const size_t entered = candidate.stages.size();
  bool goes_on = true;
  for (size_t i = 0; i < policy.stages.size(); ++i) {
    const StageRules& stage = policy.stages[i];
    const bool last = i + 1 == policy.stages.size();
    if (const CheckResult* failed = failed_check(candidate, stage)) {
      out.fail(id_of(stage), "check_failed",
               str_cat(failed->name, " failed", failed->url.empty() ? "" : ": ", failed->url));
      continue;
    }
    if (i < entered) {
      const StageEntry& entry = candidate.stages[i];
      if (!entry.approved_by.empty())
        out.pass(id_of(stage) + ".approvals",
                 str_cat("was approved by ", joined(entry.approved_by, ", ")));
      if (i + 1 == entered) {
        goes_on = judge_present(stage, candidate, out);
      } else {
        out.pass(id_of(stage), str_cat("is @", stage.alias, " since ", to_rfc3339(entry.since)));
      }
      continue;
    }
    if (i == entered) {
      approvals.judge(stage.approvals, id_of(stage) + ".approvals",
                      i == 0 ? Instant{} : candidate.stages.back().since, out);
    }
    if (last) continue;
    if (i == entered && goes_on) {
      out.pending(id_of(stage), kNext, str_cat("becomes @", stage.alias, " next"));
    } else {
      out.pending(id_of(stage), kLater, str_cat("becomes @", stage.alias, " later"));
    }
  }
}

bool may_enter_stage(const Verdict& verdict) {
  bool next = false;
  for (const RuleResult& rule : verdict.rules) {
    if (rule.outcome != RuleOutcome::kPending || rule.code == kLater) continue;
    if (rule.code != kNext) return false;
    next = true;
  }
  return next;
}

std::optional<Instant> soaks_until(const GatePolicy& policy, const GateCandidate& candidate) {
  if (candidate.stages.empty()) return std::nullopt;
  const Instant end =
      candidate.stages.back().since + policy.stages[candidate.stages.size() - 1].soak;
  return end > candidate.now ? std::optional(end) : std::nullopt;
}

StageEntry next_stage(const GatePolicy& policy, const GateCandidate& candidate) {
  const StageRules& stage = policy.stages.at(candidate.stages.size());
  StageEntry out{
      .alias = stage.alias, .ref = candidate.ref, .commit = candidate.facts.commit, .since = {}};
  if (stage.approvals.count == 0) return out;
  const std::vector<Metric> metrics = metrics_of(policy, candidate);
  out.approved_by =
      CountedApprovals(policy, candidate, metrics)
          .users(candidate.stages.empty() ? Instant{} : candidate.stages.back().since);
  return out;
}

std::vector<StageEntry> stages_of(const GatePolicy& policy, const std::string& ref,
                                  const CommitId& commit, const std::vector<StageEntry>& open) {
  if (open.size() >= policy.stages.size()) return {};
  for (size_t i = 0; i < open.size(); ++i) {
    if (open[i].alias != policy.stages[i].alias || open[i].ref != ref || open[i].commit != commit)
      return {};
  }
  return open;
}

namespace {

constexpr db::Query kSelect{"promotion_stages_select_all", R"sql(
  SELECT alias, ref, commit_id, before, approved_by, checks, entered_ms, until_ms, left_ms, coalesce(outcome, '')
  FROM promotion_stages WHERE repo_id = $1 AND promotion_id = $2 ORDER BY number)sql"};

constexpr db::Query kInsert{"promotion_stages_insert_row", R"sql(
  INSERT INTO promotion_stages (repo_id, promotion_id, number, alias, ref, commit_id, before, approved_by, checks,
                                entered_ms, until_ms)
  SELECT $1, $2, coalesce(max(number), 0) + 1, $3, $4, $5, $6, $7, $8, $9, $10
  FROM promotion_stages WHERE repo_id = $1 AND promotion_id = $2
  ON CONFLICT (repo_id, alias) WHERE left_ms IS NULL AND until_ms IS NULL DO NOTHING)sql"};

constexpr db::Query kTakeBack{"promotion_stages_take_back",
                              "SELECT take_back_stages($1, $2, $3, $4, $5, $6)"};

// Locked, so that one of two reports begins the rollback. The promotion must be the champion's.
constexpr db::Query kWatch{"promotion_stages_watch", R"sql(
  SELECT s.rollback IS NOT NULL FROM promotion_stages s
    JOIN promotions p USING (repo_id, promotion_id)
    JOIN aliases a ON a.repo_id = s.repo_id AND a.name = s.alias AND a.commit_id = s.commit_id
  WHERE s.repo_id = $1 AND s.promotion_id = $2 AND $3 = ANY (s.checks) AND s.until_ms > $4 AND p.state = 'promoted'
  FOR UPDATE OF s)sql"};

constexpr db::Query kNoteRollback{"promotion_stages_note_rollback", R"sql(
  UPDATE promotion_stages SET rollback = $3 WHERE repo_id = $1 AND promotion_id = $2 AND until_ms IS NOT NULL)sql"};

constexpr db::Query kBegan{"promotion_stages_began_rollback", R"sql(
  SELECT 1 FROM promotion_stages WHERE repo_id = $1 AND promotion_id = $2 AND rollback = $3)sql"};

bool insert(db::Connection& connection, RepositoryId repository, const Promotion& promotion,
            const StageEntry& entry) {
  std::optional<int64_t> until;
  if (entry.until) until = to_millis(*entry.until);
  return connection
             .run(kInsert, {static_cast<int32_t>(repository), promotion.id, entry.alias, entry.ref,
                            db::Bytes{view_of(entry.commit)}, meta::bytes_or_null(entry.before),
                            entry.approved_by, entry.checks, to_millis(entry.since), until})
             .affected() == 1;
}

}  // namespace

std::vector<StageEntry> StageStore::all(RepositoryId repository, std::string_view promotion) {
  struct Column {
    enum : int {
      kAlias,
      kRef,
      kCommitId,
      kBefore,
      kApprovedBy,
      kChecks,
      kEnteredMs,
      kUntilMs,
      kLeftMs,
      kOutcome
    };
  };
  const db::Rows rows =
      pool_.run(kSelect, {static_cast<int32_t>(repository), promotion}, db::Pool::Retry::kRead);
  std::vector<StageEntry> out;
  for (size_t row = 0; row < rows.size(); ++row) {
    const auto moment = [&](int column) -> std::optional<Instant> {
      if (rows.null(row, column)) return std::nullopt;
      return from_millis(rows.integer(row, column));
    };
    out.push_back({.alias = std::string(rows.text(row, Column::kAlias)),
                   .ref = std::string(rows.text(row, Column::kRef)),
                   .commit = commit_id_from_bytes(rows.bytes(row, Column::kCommitId)),
                   .before = meta::commit_or_none(rows, row, Column::kBefore),
                   .approved_by = rows.strings(row, Column::kApprovedBy),
                   .checks = rows.strings(row, Column::kChecks),
                   .since = from_millis(rows.integer(row, Column::kEnteredMs)),
                   .until = moment(Column::kUntilMs),
                   .left = moment(Column::kLeftMs),
                   .outcome = std::string(rows.text(row, Column::kOutcome))});
  }
  return out;
}

void StageStore::enter(db::Connection& connection, RepositoryId repository,
                       const Promotion& promotion, const StageEntry& entry) {
  const AliasName name(entry.alias);
  StageEntry noted = entry;
  const auto present = branch::AliasStore::find_locked(connection, repository, name);
  if (present) noted.before = present->commit;
  const auto occupied = [&] {
    return Error(ErrorCode::kConflict, reason::kStageOccupied,
                 str_cat("another promotion has @", entry.alias));
  };
  if (!insert(connection, repository, promotion, noted)) throw occupied();
  branch::AliasMove move;
  move.name = name;
  move.expected = {.any = false, .commit = noted.before};
  move.to = entry.commit;
  move.actor = promotion.actor;
  move.reason = promotion.request.reason;
  move.promotion = promotion.id;
  move.at = entry.since;
  // Where there was no alias, another promotion may have made it meanwhile.
  if (!branch::AliasStore::move(connection, repository, move)) throw occupied();
}

void StageStore::take_back(db::Connection& connection, RepositoryId repository,
                           std::string_view promotion, const Promotion& by, std::string_view reason,
                           Instant now) {
  connection.run(kTakeBack, {static_cast<int32_t>(repository), promotion, by.id, by.actor, reason,
                             to_millis(now)});
}

void StageStore::begin_last(db::Connection& connection, RepositoryId repository,
                            const Promotion& promotion, const StageEntry& entry) {
  insert(connection, repository, promotion, entry);
}

std::optional<StageStore::Watch> StageStore::watch(db::Connection& connection,
                                                   RepositoryId repository,
                                                   std::string_view promotion,
                                                   const std::string& check, Instant now) {
  const db::Rows rows =
      connection.run(kWatch, {static_cast<int32_t>(repository), promotion, check, to_millis(now)});
  if (rows.empty()) return std::nullopt;
  return Watch{.failed = rows.boolean(0, 0)};
}

void StageStore::note_rollback(db::Connection& connection, RepositoryId repository,
                               std::string_view promotion, std::string_view rollback) {
  connection.run(kNoteRollback, {static_cast<int32_t>(repository), promotion, rollback});
}

bool StageStore::began(RepositoryId repository, std::string_view promotion,
                       std::string_view rollback) {
  return !pool_
              .run(kBegan, {static_cast<int32_t>(repository), promotion, rollback},
                   db::Pool::Retry::kRead)
              .empty();
}

}  // namespace tarn::promotion
