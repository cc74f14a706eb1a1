#include "core/branch/alias_store.h"

#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "core/meta/commit_column.h"
#include "core/model/listing.h"

namespace tarn::branch {
namespace {

#define TARN_ALIAS_COLUMNS "name, commit_id, version, coalesce(policy, '') FROM aliases"

constexpr db::Query kSelect{"aliases_select_by_name", "SELECT " TARN_ALIAS_COLUMNS R"sql(
  WHERE repo_id = $1 AND name = $2 AND commit_id IS NOT NULL)sql"};

constexpr db::Query kLock{"aliases_lock_row", "SELECT " TARN_ALIAS_COLUMNS R"sql(
  WHERE repo_id = $1 AND name = $2 AND commit_id IS NOT NULL FOR UPDATE)sql"};

constexpr db::Query kSelectPage{"aliases_select_page", "SELECT " TARN_ALIAS_COLUMNS R"sql(
  WHERE repo_id = $1 AND name > $2 AND name >= $3 AND starts_with(name, $3) AND commit_id IS NOT NULL
  ORDER BY name LIMIT $4)sql"};

constexpr db::Query kSelectHistory{"aliases_select_history", R"sql(
  SELECT version, from_commit, to_commit, actor, reason, promotion_id, evidence, at_ms FROM alias_history
  WHERE repo_id = $1 AND name = $2 AND ($3 = 0 OR version < $3)
  ORDER BY version DESC LIMIT $4)sql"};

constexpr db::Query kSelectEvidence{"aliases_select_evidence", R"sql(
  SELECT evidence FROM alias_history
  WHERE repo_id = $1 AND name = $2 AND promotion_id = $3 AND evidence IS NOT NULL
  ORDER BY version DESC LIMIT 1)sql"};

constexpr db::Query kMove{"aliases_move_row",
                          "SELECT move_alias($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)"};

constexpr db::Query kSetPolicy{"aliases_set_policy", R"sql(
  INSERT INTO aliases AS a (repo_id, name, policy) VALUES ($1, $2, $3)
  ON CONFLICT (repo_id, name) DO UPDATE SET policy = excluded.policy
  WHERE a.policy IS NULL OR a.policy = excluded.policy)sql"};

constexpr db::Query kClearPolicy{"aliases_clear_policy", R"sql(
  UPDATE aliases SET policy = NULL WHERE repo_id = $1 AND policy = $2)sql"};

/// Results of move_alias.
enum class MoveStatus { kDone, kCommitGone, kElsewhere, kThereAlready, kProtected };

Alias alias_from(const db::Rows& rows, size_t row) {
  struct Column {
    enum : int { kName, kCommitId, kVersion, kPolicy };
  };
  return {.name = AliasName(std::string(rows.text(row, Column::kName))),
          .commit = commit_id_from_bytes(rows.bytes(row, Column::kCommitId)),
          .version = static_cast<uint64_t>(rows.integer(row, Column::kVersion)),
          .policy = std::string(rows.text(row, Column::kPolicy))};
}

AliasChange change_from(const db::Rows& rows, size_t row) {
  struct Column {
    enum : int {
      kVersion,
      kFromCommit,
      kToCommit,
      kActor,
      kReason,
      kPromotionId,
      kEvidence,
      kAtMs
    };
  };
  AliasChange change;
  change.version = static_cast<uint64_t>(rows.integer(row, Column::kVersion));
  change.from = meta::commit_or_none(rows, row, Column::kFromCommit);
  change.to = meta::commit_or_none(rows, row, Column::kToCommit);
  change.actor = rows.text(row, Column::kActor);
  change.reason = rows.text(row, Column::kReason);
  if (!rows.null(row, Column::kPromotionId))
    change.promotion = std::string(rows.text(row, Column::kPromotionId));
  if (!rows.null(row, Column::kEvidence))
    change.evidence = std::string(rows.bytes(row, Column::kEvidence));
  change.at = from_millis(rows.integer(row, Column::kAtMs));
  return change;
}

}  // namespace

std::optional<Alias> AliasStore::find(RepositoryId repository, const AliasName& name) {
  const db::Rows rows =
      pool_.run(kSelect, {static_cast<int32_t>(repository), name.str()}, db::Pool::Retry::kRead);
  if (rows.empty()) return std::nullopt;
  return alias_from(rows, 0);
}

std::optional<Alias> AliasStore::find_locked(db::Connection& connection, RepositoryId repository,
                                             const AliasName& name) {
  const db::Rows rows = connection.run(kLock, {static_cast<int32_t>(repository), name.str()});
  if (rows.empty()) return std::nullopt;
  return alias_from(rows, 0);
}

Page<Alias> AliasStore::list(RepositoryId repository, std::string_view prefix,
                             std::string_view after, uint32_t limit) {
  const db::Rows rows =
      pool_.run(kSelectPage, {static_cast<int32_t>(repository), after, prefix, row_limit(limit)},
                db::Pool::Retry::kRead);
  return page_of<Alias>(rows, limit, alias_from, [](const Alias& last) { return last.name.str(); });
}

std::optional<std::string> AliasStore::evidence_of(RepositoryId repository, const AliasName& name,
                                                   std::string_view promotion) {
  const db::Rows rows =
      pool_.run(kSelectEvidence, {static_cast<int32_t>(repository), name.str(), promotion},
                db::Pool::Retry::kRead);
  if (rows.empty()) return std::nullopt;
  return std::string(rows.bytes(0, 0));
}

Page<AliasChange> AliasStore::history(RepositoryId repository, const AliasName& name,
                                      uint64_t before, uint32_t limit) {
  const db::Rows rows = pool_.run(kSelectHistory,
                                  {static_cast<int32_t>(repository), name.str(),
                                   static_cast<int64_t>(before), row_limit(limit)},
                                  db::Pool::Retry::kRead);
  return page_of<AliasChange>(rows, limit, change_from,
                              [](const AliasChange& last) { return std::to_string(last.version); });
}

AliasStore::MoveOutcome AliasStore::try_move(db::Connection& connection, RepositoryId repository,
                                             const AliasMove& move) {
  std::optional<db::Bytes> evidence;
  if (move.evidence) evidence = db::Bytes{*move.evidence};
  const db::Rows rows = connection.run(
      kMove, {static_cast<int32_t>(repository), move.name.str(), move.expected.any,
              meta::bytes_or_null(move.expected.commit), meta::bytes_or_null(move.to), move.actor,
              move.reason, move.promotion, evidence, to_millis(move.at)});
  switch (static_cast<MoveStatus>(rows.integer(0, 0))) {
    case MoveStatus::kDone:
      return MoveOutcome::kMoved;
    case MoveStatus::kThereAlready:
      return MoveOutcome::kThereAlready;
    case MoveStatus::kElsewhere:
      return MoveOutcome::kElsewhere;
    case MoveStatus::kCommitGone:
      throw Error(ErrorCode::kNotFound, reason::kRefNotFound,
                  str_cat("moving alias @", move.name.str(), ": commit ", to_text(*move.to),
                          ": not found"));
    case MoveStatus::kProtected:
      throw Error(ErrorCode::kPermissionDenied, reason::kProtectedAlias,
                  str_cat("alias @", move.name.str(),
                          " belongs to a gate policy and moves by promotion only: use `tarn "
                          "promote`, or `tarn promote rollback @",
                          move.name.str(), "`"));
  }
  check_failed("MoveStatus", __FILE__, __LINE__);
}

bool AliasStore::set_policy(db::Connection& connection, RepositoryId repository,
                            const AliasName& name, std::string_view policy) {
  return connection.run(kSetPolicy, {static_cast<int32_t>(repository), name.str(), policy})
             .affected() == 1;
}

void AliasStore::clear_policy(db::Connection& connection, RepositoryId repository,
                              std::string_view policy) {
  connection.run(kClearPolicy, {static_cast<int32_t>(repository), policy});
}

}  // namespace tarn::branch
