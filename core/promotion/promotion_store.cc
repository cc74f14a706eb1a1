#include "core/promotion/promotion_store.h"

#include "core/base/error.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "core/meta/commit_column.h"
#include "core/model/listing.h"

namespace tarn::promotion {
namespace {

#define TARN_PROMOTION_COLUMNS(evidence)                                                      \
  "promotion_id, state, request, policy, policy_version, alias, actor, winner_ref, winner, "  \
  "champion, result, tag, " evidence                                                          \
  ", code, message, undoes, undone_by, rounds, created_ms, updated_ms, candidates, address, " \
  "review, limits"

struct PromotionColumn {
  enum : int {
    kPromotionId,
    kState,
    kRequest,
    kPolicy,
    kPolicyVersion,
    kAlias,
    kActor,
    kWinnerRef,
    kWinner,
    kChampion,
    kResult,
    kTag,
    kEvidence,
    kCode,
    kMessage,
    kUndoes,
    kUndoneBy,
    kRounds,
    kCreatedMs,
    kUpdatedMs,
    kCandidates,
    kAddress,
    kReview,
    kLimits,
    kEnd
  };
};

#define TARN_INSERT_PROMOTION                                                                   \
  "INSERT INTO promotions (repo_id, promotion_id, state, request, destination, alias, policy, " \
  "policy_version, actor, request_key, winner_ref, winner, champion, result, tag, code, "       \
  "message, undoes, created_ms, updated_ms, due_at, address, commits, review, limits) "         \
  "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, nullif($10, ''), $11, $12, $13, $14, $15, $16, " \
  "$17, $18, $19, $19, CASE WHEN $20 THEN NULL ELSE clock_timestamp() END, $21, $22, $23, $24) "

#define TARN_INSERT_FIRST_STEP                                                            \
  "INSERT INTO promotion_log (repo_id, promotion_id, step, state, actor, code, message, " \
  "at_ms) SELECT $1, promotion_id, 1, $3, $9, $16, $17, $19 FROM made"

// A rollback begins with its review ($23).
constexpr db::Query kInsert{"promotions_insert_row", "WITH made AS (" TARN_INSERT_PROMOTION R"sql(
  ON CONFLICT (repo_id, actor, request_key) WHERE request_key IS NOT NULL DO NOTHING
  RETURNING promotion_id),
  reviewed AS (
    INSERT INTO promotion_reviews (repo_id, promotion_id, digest, document)
    SELECT $1, promotion_id, sha256(convert_to($23, 'UTF8')), $23 FROM made WHERE $23 <> '')
  )sql" TARN_INSERT_FIRST_STEP};

constexpr db::Query kSelectByKey{"promotions_select_by_key", R"sql(
  SELECT promotion_id FROM promotions WHERE repo_id = $1 AND actor = $2 AND request_key = $3)sql"};

constexpr db::Query kSelect{
    "promotions_select_by_id",
    "SELECT " TARN_PROMOTION_COLUMNS(
        "evidence") " FROM promotions WHERE repo_id = $1 AND promotion_id = $2"};

constexpr db::Query kSelectByResult{"promotions_select_by_result",
                                    "SELECT " TARN_PROMOTION_COLUMNS("evidence") R"sql(
  FROM promotions WHERE repo_id = $1 AND result = $2 AND state = 'promoted' AND undoes IS NULL
  ORDER BY promotion_id LIMIT 1)sql"};

// Index promotions_latest.
constexpr db::Query kSelectLatest{"promotions_select_latest_into",
                                  "SELECT " TARN_PROMOTION_COLUMNS("''") R"sql(
  FROM promotions WHERE repo_id = $1 AND destination = $2 AND result IS NOT NULL AND undone_by IS NULL
  ORDER BY updated_ms DESC, promotion_id LIMIT 1)sql"};

// Index promotions_latest.
constexpr db::Query kSelectLastPromoted{"promotions_select_last_promoted", R"sql(
  SELECT updated_ms FROM promotions
  WHERE repo_id = $1 AND destination = $2 AND policy = $3 AND result IS NOT NULL AND state = 'promoted' AND undoes IS NULL
  ORDER BY updated_ms DESC LIMIT 1)sql"};

// Index promotions_by_result.
constexpr db::Query kSelectPromoted{"promotions_select_promoted",
                                    "SELECT " TARN_PROMOTION_COLUMNS("evidence") R"sql(
  FROM promotions p WHERE repo_id = $1 AND result IS NOT NULL AND undoes IS NULL AND alias = $2
    AND (NOT $4 OR state = 'promoted')
  ORDER BY (SELECT generation FROM commits c WHERE c.repo_id = p.repo_id AND c.commit_id = p.result) DESC
  LIMIT $3)sql"};

// Index promotions_undoing. Ordered by the position of their commits in the branch's history,
// because the times in ids come from servers' clocks.
constexpr db::Query kSelectUndone{"promotions_select_undone", R"sql(
  SELECT u.winner, u.result, r.result
  FROM promotions r JOIN promotions u ON u.repo_id = r.repo_id AND u.promotion_id = r.undoes
    JOIN commits c ON c.repo_id = r.repo_id AND c.commit_id = r.result
  WHERE r.repo_id = $1 AND r.destination = $2 AND r.undoes IS NOT NULL
  ORDER BY c.generation DESC LIMIT $3)sql"};

constexpr db::Query kSelectPage{"promotions_select_page",
                                "SELECT " TARN_PROMOTION_COLUMNS("''") R"sql(
  FROM promotions
  WHERE repo_id = $1 AND promotion_id > $2 AND ($4 = '' OR destination = $4) AND ($5 = '' OR alias = $5)
    AND (NOT $6 OR due_at IS NOT NULL)
  ORDER BY promotion_id LIMIT $3)sql"};

constexpr db::Query kSelectSteps{"promotions_select_steps", R"sql(
  SELECT step, state, actor, code, message, at_ms FROM promotion_log
  WHERE repo_id = $1 AND promotion_id = $2 ORDER BY step LIMIT $3)sql"};

// Index promotions_due.
constexpr db::Query kTake{"promotions_take_due", R"sql(
  UPDATE promotions SET lease_owner = $1, lease_until = clock_timestamp() + $2 * interval '1 millisecond'
  WHERE (repo_id, promotion_id) = (
    WITH running AS (
      SELECT actor, count(*) AS promotions FROM promotions
      WHERE due_at IS NOT NULL AND lease_until >= clock_timestamp() GROUP BY actor)
    SELECT repo_id, promotion_id FROM promotions p LEFT JOIN running USING (actor)
    WHERE due_at <= clock_timestamp() AND (lease_until IS NULL OR lease_until < clock_timestamp())
      AND actor <> ALL ($3)
    ORDER BY coalesce(running.promotions, 0), due_at LIMIT 1 FOR UPDATE OF p SKIP LOCKED)
  RETURNING )sql" TARN_PROMOTION_COLUMNS("evidence") ", repo_id, reports, moved"};

// An item of `candidates` starts with its ref. In a fixed order: two servers may note moves
// concurrently.
constexpr db::Query kNoteMoves{"promotions_note_moves", R"sql(
  WITH gone AS (
    DELETE FROM branch_moves
    WHERE ctid = ANY (ARRAY(SELECT ctid FROM branch_moves LIMIT $1 FOR UPDATE SKIP LOCKED))
    RETURNING repo_id, name),
  waiting AS (
    SELECT p.repo_id, p.promotion_id FROM promotions p
    WHERE p.due_at IS NOT NULL AND EXISTS (
      SELECT 1 FROM gone g WHERE g.repo_id = p.repo_id AND strpos(p.candidates, '["' || g.name || '",') > 0)
    ORDER BY p.repo_id, p.promotion_id FOR UPDATE)
  UPDATE promotions p SET moved = p.moved + 1,
    due_at = least(p.due_at, clock_timestamp() + $2 * interval '1 millisecond',
                   greatest(clock_timestamp(), to_timestamp((p.updated_ms + $2) / 1000.0)))
  FROM waiting w WHERE p.repo_id = w.repo_id AND p.promotion_id = w.promotion_id)sql"};

constexpr db::Query kRenew{"promotions_renew_lease", R"sql(
  UPDATE promotions SET lease_until = clock_timestamp() + $4 * interval '1 millisecond'
  WHERE repo_id = $1 AND promotion_id = $2 AND lease_owner = $3 AND due_at IS NOT NULL)sql"};

// The commits that were judged ($24) must be there, and become roots of garbage collection by this
// row: they are locked first, so that a collection sees the row or this statement sees that they
// are gone. $25 are others that the request and the evidence name.
// $18: 0 = the lease is kept, 1 = it waits $19 ms or until something is reported, at most $23 ms if
// a candidate moved, 2 = it has ended, 3 = it has ended unless something was reported.
constexpr db::Query kStore{"promotions_store_row", R"sql(
  WITH before AS (
    SELECT state, code, message, reports FROM promotions
    WHERE repo_id = $1 AND promotion_id = $2 AND lease_owner = $3 AND due_at IS NOT NULL FOR UPDATE),
  kept AS MATERIALIZED (SELECT require_kept_commits($1, $24) = cardinality($24) AS all_there),
  stored AS (
    UPDATE promotions p SET
      state = $4, policy = $5, policy_version = $6, alias = $7, winner_ref = $8, winner = $9, champion = $10,
      result = $11, tag = $12, evidence = $13, code = $14, message = $15, rounds = $16, updated_ms = $17,
      candidates = $21, review = $26,
      commits = CASE WHEN cardinality($24::bytea[]) > 0 THEN $24 || $25 ELSE p.commits END,
      lease_owner = CASE WHEN $18 = 0 THEN p.lease_owner END,
      lease_until = CASE WHEN $18 = 0 THEN p.lease_until END,
      due_at = CASE WHEN $18 = 0 THEN p.due_at
                    WHEN $18 = 1 AND p.reports <> $20 THEN clock_timestamp()
                    WHEN $18 = 1 AND p.moved <> $22 THEN clock_timestamp() + least($19::float8, $23::float8) * interval '1 millisecond'
                    WHEN $18 = 1 THEN clock_timestamp() + $19 * interval '1 millisecond' END,
      steps = p.steps + ((b.state, b.code, b.message) IS DISTINCT FROM ($4, $14, $15))::int
    FROM before b, kept k
    WHERE p.repo_id = $1 AND p.promotion_id = $2 AND ($18 <> 3 OR b.reports = $20) AND k.all_there
    RETURNING p.steps, (b.state, b.code, b.message) IS DISTINCT FROM ($4, $14, $15) AS changed),
  logged AS (
    INSERT INTO promotion_log (repo_id, promotion_id, step, state, actor, code, message, at_ms)
    SELECT $1, $2, steps, $4, '', $14, $15, $17 FROM stored WHERE changed),
  reviewed AS (
    INSERT INTO promotion_reviews (repo_id, promotion_id, digest, document)
    SELECT $1, $2, sha256(convert_to($26, 'UTF8')), $26 FROM stored WHERE $26 <> ''
    ON CONFLICT DO NOTHING)
  SELECT (SELECT count(*) FROM stored), (SELECT reports FROM before), (SELECT all_there FROM kept))sql"};

constexpr db::Query kEndByUser{"promotions_end_by_user", R"sql(
  WITH ended AS (
    UPDATE promotions SET state = $3, code = $5, message = $6, updated_ms = $7, due_at = NULL, lease_owner = NULL,
      lease_until = NULL, steps = steps + 1
    WHERE repo_id = $1 AND promotion_id = $2 AND due_at IS NOT NULL RETURNING steps)
  INSERT INTO promotion_log (repo_id, promotion_id, step, state, actor, code, message, at_ms)
  SELECT $1, $2, steps, $3, $4, $5, $6, $7 FROM ended)sql"};

constexpr db::Query kMarkRolledBack{"promotions_mark_rolled_back", R"sql(
  WITH ended AS (
    UPDATE promotions SET state = $3, code = $5, message = $6, updated_ms = $7, due_at = NULL, lease_owner = NULL,
      lease_until = NULL, steps = steps + 1, undone_by = $8
    WHERE repo_id = $1 AND promotion_id = $2 AND state = 'promoted' RETURNING steps)
  INSERT INTO promotion_log (repo_id, promotion_id, step, state, actor, code, message, at_ms)
  SELECT $1, $2, steps, $3, $4, $5, $6, $7 FROM ended)sql"};

constexpr db::Query kSetTells{
    "promotions_set_tells",
    "UPDATE promotions SET tells = $3 WHERE repo_id = $1 AND promotion_id = $2"};

constexpr int16_t kKeepLease = 0;
constexpr int16_t kWait = 1;
constexpr int16_t kEnd = 2;
constexpr int16_t kEndAsJudged = 3;
constexpr int64_t kStepsShownMax = 1000;
constexpr int64_t kLookPauseMs = std::chrono::milliseconds{kPromotionLookPause}.count();

template <typename Enum>
Enum known(std::optional<Enum> value) {
  if (!value) throw Error(ErrorCode::kDataLoss, "promotion row: has an unknown state");
  return *value;
}

Promotion promotion_from(const db::Rows& rows, size_t row) {
  using Column = PromotionColumn;
  Promotion out;
  out.id = rows.text(row, Column::kPromotionId);
  out.state = known(parse_promotion_state(rows.text(row, Column::kState)));
  out.request = promotion_request_from_json(rows.text(row, Column::kRequest));
  out.policy = rows.text(row, Column::kPolicy);
  out.policy_version = rows.integer(row, Column::kPolicyVersion);
  out.alias = rows.text(row, Column::kAlias);
  out.actor = rows.text(row, Column::kActor);
  out.winner_ref = rows.text(row, Column::kWinnerRef);
  out.winner = meta::commit_or_none(rows, row, Column::kWinner);
  out.champion = meta::commit_or_none(rows, row, Column::kChampion);
  out.result = meta::commit_or_none(rows, row, Column::kResult);
  out.tag = rows.text(row, Column::kTag);
  out.evidence = rows.text(row, Column::kEvidence);
  out.code = rows.text(row, Column::kCode);
  out.message = rows.text(row, Column::kMessage);
  if (!rows.null(row, Column::kUndoes)) out.undoes = rows.text(row, Column::kUndoes);
  if (!rows.null(row, Column::kUndoneBy)) out.undone_by = rows.text(row, Column::kUndoneBy);
  out.rounds = static_cast<int32_t>(rows.integer(row, Column::kRounds));
  out.created = from_millis(rows.integer(row, Column::kCreatedMs));
  out.updated = from_millis(rows.integer(row, Column::kUpdatedMs));
  out.candidates = pinned_candidates_from_json(rows.text(row, Column::kCandidates));
  out.address = rows.text(row, Column::kAddress);
  out.review = rows.text(row, Column::kReview);
  out.limits = rows.bytes(row, Column::kLimits);
  return out;
}

struct Stored {
  bool done = false;
  std::optional<int64_t> reports;  ///< absent: the lease was lost
};

[[noreturn]] void throw_judged_gone(const Promotion& p, std::string_view why) {
  throw Error(ErrorCode::kConflict, reason::kPromotionJudgedAnew,
              str_cat("promotion ", p.id, ": ", why));
}

/// Commits that the request names by their ids.
std::vector<CommitId> requested_commits(const PromotionRequest& request) {
  std::vector<CommitId> out;
  for (const std::string& ref : request.candidates) {
    if (const auto commit = parse_commit_id(ref)) out.push_back(*commit);
  }
  if (request.expect_destination) out.push_back(*request.expect_destination);
  if (const auto alias = request.expect_alias.value_or(std::nullopt)) out.push_back(*alias);
  return out;
}

/// Throws conflict (reason "promotion_judged_anew") if a commit that was judged has been removed,
/// or its data has expired.
template <typename Runner>
Stored store_row(Runner&& run, RepositoryId repository, const Promotion& p, int64_t owner,
                 Instant now, int16_t mode, int64_t delay_ms = 0, int64_t reports = 0,
                 int64_t moved = 0) {
  struct Column {
    enum : int { kStored, kReports, kAllThere };
  };
  std::vector<CommitId> others = requested_commits(p.request);
  others.insert(others.end(), p.mentioned.begin(), p.mentioned.end());
  const db::Rows rows = [&] {
    try {
      return run(kStore, {static_cast<int32_t>(repository),
                          p.id,
                          owner,
                          name_of(p.state),
                          p.policy,
                          p.policy_version,
                          p.alias,
                          p.winner_ref,
                          meta::bytes_or_null(p.winner),
                          meta::bytes_or_null(p.champion),
                          meta::bytes_or_null(p.result),
                          p.tag,
                          p.evidence,
                          p.code,
                          p.message,
                          p.rounds,
                          to_millis(now),
                          mode,
                          delay_ms,
                          reports,
                          to_json(p.candidates),
                          moved,
                          kLookPauseMs,
                          meta::bytes_of(p.judged),
                          meta::bytes_of(others),
                          p.review});
    } catch (const Error& error) {
      if (error.reason() != reason::kExpired) throw;
      throw_judged_gone(p, error.message());
    }
  }();
  if (!rows.boolean(0, Column::kAllThere))
    throw_judged_gone(p, "a commit was removed while it was judged");
  Stored out{.done = rows.integer(0, Column::kStored) == 1, .reports = {}};
  if (!rows.null(0, Column::kReports)) out.reports = rows.integer(0, Column::kReports);
  return out;
}

PromotionStore::FinishOutcome finish_outcome(const Stored& stored) {
  if (stored.done) return PromotionStore::FinishOutcome::kDone;
  return stored.reports ? PromotionStore::FinishOutcome::kReportedMore
                        : PromotionStore::FinishOutcome::kTaken;
}

/// Runs each statement in its own transaction.
auto alone(db::Pool& pool) {
  return [&pool](const db::Query& query, std::initializer_list<db::Param> params) {
    return pool.run(query, params, db::Pool::Retry::kWrite);
  };
}

auto within(db::Connection& connection) {
  return [&connection](const db::Query& query, std::initializer_list<db::Param> params) {
    return connection.run(query, params);
  };
}

template <typename Runner>
bool insert_row(Runner&& run, RepositoryId repository, const Promotion& p, std::string_view key) {
  const std::vector<CommitId> commits = requested_commits(p.request);
  return run(kInsert, {static_cast<int32_t>(repository),
                       p.id,
                       name_of(p.state),
                       to_json(p.request),
                       p.request.destination.str(),
                       p.alias,
                       p.policy,
                       p.policy_version,
                       p.actor,
                       key,
                       p.winner_ref,
                       meta::bytes_or_null(p.winner),
                       meta::bytes_or_null(p.champion),
                       meta::bytes_or_null(p.result),
                       p.tag,
                       p.code,
                       p.message,
                       p.undoes,
                       to_millis(p.created),
                       has_ended(p.state),
                       p.address,
                       meta::bytes_of(commits),
                       p.review,
                       db::Bytes{p.limits}})
             .affected() == 1;
}

}  // namespace

PromotionStore::Created PromotionStore::create(RepositoryId repository, const Promotion& promotion,
                                               std::string_view key) {
  if (insert_row(alone(pool_), repository, promotion, key)) return {promotion.id};
  auto existing = find_by_key(repository, promotion.actor, key);
  if (!existing) throw Error(ErrorCode::kUnavailable, "promotion: try again");
  return {*std::move(existing), true};
}

std::optional<std::string> PromotionStore::find_by_key(RepositoryId repository,
                                                       std::string_view actor,
                                                       std::string_view key) {
  const db::Rows rows = pool_.run(kSelectByKey, {static_cast<int32_t>(repository), actor, key},
                                  db::Pool::Retry::kRead);
  if (rows.empty()) return std::nullopt;
  return std::string(rows.text(0, 0));
}

Promotion PromotionStore::insert(db::Connection& connection, RepositoryId repository,
                                 const Promotion& promotion) {
  insert_row(within(connection), repository, promotion, "");
  return promotion_from(connection.run(kSelect, {static_cast<int32_t>(repository), promotion.id}),
                        0);
}

std::optional<Promotion> PromotionStore::find(RepositoryId repository, std::string_view id) {
  const db::Rows rows =
      pool_.run(kSelect, {static_cast<int32_t>(repository), id}, db::Pool::Retry::kRead);
  if (rows.empty()) return std::nullopt;
  return promotion_from(rows, 0);
}

std::optional<Promotion> PromotionStore::find_by_result(RepositoryId repository,
                                                        const CommitId& result) {
  const db::Rows rows =
      pool_.run(kSelectByResult, {static_cast<int32_t>(repository), db::Bytes{view_of(result)}},
                db::Pool::Retry::kRead);
  if (rows.empty()) return std::nullopt;
  return promotion_from(rows, 0);
}

std::optional<Promotion> PromotionStore::latest_into(RepositoryId repository,
                                                     const BranchName& destination) {
  const db::Rows rows = pool_.run(
      kSelectLatest, {static_cast<int32_t>(repository), destination.str()}, db::Pool::Retry::kRead);
  if (rows.empty()) return std::nullopt;
  return promotion_from(rows, 0);
}

std::optional<Instant> PromotionStore::last_promoted(RepositoryId repository,
                                                     const BranchName& destination,
                                                     std::string_view policy) {
  const db::Rows rows =
      pool_.run(kSelectLastPromoted, {static_cast<int32_t>(repository), destination.str(), policy},
                db::Pool::Retry::kRead);
  if (rows.empty()) return std::nullopt;
  return from_millis(rows.integer(0, 0));
}

std::vector<Promotion> PromotionStore::promoted(RepositoryId repository, std::string_view alias,
                                                int64_t limit, bool standing_only) {
  const db::Rows rows =
      pool_.run(kSelectPromoted, {static_cast<int32_t>(repository), alias, limit, standing_only},
                db::Pool::Retry::kRead);
  std::vector<Promotion> out;
  for (size_t row = 0; row < rows.size(); ++row) out.push_back(promotion_from(rows, row));
  return out;
}

std::vector<PromotionStore::Undone> PromotionStore::undone(RepositoryId repository,
                                                           const BranchName& destination) {
  struct Column {
    enum : int { kUndoneWinner, kUndoneResult, kResult };
  };
  const db::Rows rows =
      pool_.run(kSelectUndone, {static_cast<int32_t>(repository), destination.str(), kUndoneMax},
                db::Pool::Retry::kRead);
  std::vector<Undone> out;
  for (size_t row = rows.size(); row-- > 0;) {
    out.push_back({.winner = commit_id_from_bytes(rows.bytes(row, Column::kUndoneWinner)),
                   .result = commit_id_from_bytes(rows.bytes(row, Column::kUndoneResult)),
                   .undo = commit_id_from_bytes(rows.bytes(row, Column::kResult))});
  }
  return out;
}

Page<Promotion> PromotionStore::list(RepositoryId repository, const PromotionFilter& filter,
                                     const PageStart& start) {
  const db::Rows rows =
      pool_.run(kSelectPage,
                {static_cast<int32_t>(repository), start.after, row_limit(start.limit),
                 filter.destination, filter.alias, filter.open_only},
                db::Pool::Retry::kRead);
  return page_of<Promotion>(rows, start.limit, promotion_from, &Promotion::id);
}

std::vector<PromotionStep> PromotionStore::steps(RepositoryId repository, std::string_view id) {
  struct Column {
    enum : int { kStep, kState, kActor, kCode, kMessage, kAtMs };
  };
  const db::Rows rows = pool_.run(
      kSelectSteps, {static_cast<int32_t>(repository), id, kStepsShownMax}, db::Pool::Retry::kRead);
  std::vector<PromotionStep> out;
  for (size_t row = 0; row < rows.size(); ++row) {
    out.push_back({.number = static_cast<int32_t>(rows.integer(row, Column::kStep)),
                   .state = known(parse_promotion_state(rows.text(row, Column::kState))),
                   .actor = std::string(rows.text(row, Column::kActor)),
                   .code = std::string(rows.text(row, Column::kCode)),
                   .message = std::string(rows.text(row, Column::kMessage)),
                   .at = from_millis(rows.integer(row, Column::kAtMs))});
  }
  return out;
}

void PromotionStore::note_moves() {
  pool_.run(kNoteMoves, {kMovesMax, kLookPauseMs}, db::Pool::Retry::kWrite);
}

std::optional<LeasedPromotion> PromotionStore::take(int64_t owner, std::chrono::milliseconds ttl,
                                                    const std::vector<std::string>& actors_not) {
  struct Column {
    enum : int { kRepoId = PromotionColumn::kEnd, kReports, kMoved };
  };
  const db::Rows rows = pool_.run(kTake, {owner, static_cast<int64_t>(ttl.count()), actors_not},
                                  db::Pool::Retry::kWrite);
  if (rows.empty()) return std::nullopt;
  return LeasedPromotion{static_cast<RepositoryId>(rows.integer(0, Column::kRepoId)),
                         promotion_from(rows, 0), rows.integer(0, Column::kReports),
                         rows.integer(0, Column::kMoved)};
}

bool PromotionStore::renew(RepositoryId repository, std::string_view id, int64_t owner,
                           std::chrono::milliseconds ttl) {
  return pool_
             .run(kRenew,
                  {static_cast<int32_t>(repository), id, owner, static_cast<int64_t>(ttl.count())},
                  db::Pool::Retry::kRepeatable)
             .affected() == 1;
}

std::optional<int64_t> PromotionStore::store(RepositoryId repository, const Promotion& promotion,
                                             int64_t owner) {
  return store_row(alone(pool_), repository, promotion, owner, clock_.now(), kKeepLease).reports;
}

std::optional<int64_t> PromotionStore::store(db::Connection& connection, RepositoryId repository,
                                             const Promotion& promotion, int64_t owner,
                                             Instant now) {
  return store_row(within(connection), repository, promotion, owner, now, kKeepLease).reports;
}

bool PromotionStore::wait(const LeasedPromotion& leased, int64_t owner,
                          std::chrono::milliseconds delay) {
  return store_row(alone(pool_), leased.repository, leased.promotion, owner, clock_.now(), kWait,
                   delay.count(), leased.reports, leased.moved)
      .done;
}

PromotionStore::FinishOutcome PromotionStore::finish_judged(db::Connection& connection,
                                                            const LeasedPromotion& judged,
                                                            int64_t owner, Instant now) {
  return finish_outcome(store_row(within(connection), judged.repository, judged.promotion, owner,
                                  now, kEndAsJudged, 0, judged.reports));
}

PromotionStore::FinishOutcome PromotionStore::finish_judged(const LeasedPromotion& judged,
                                                            int64_t owner) {
  return finish_outcome(store_row(alone(pool_), judged.repository, judged.promotion, owner,
                                  clock_.now(), kEndAsJudged, 0, judged.reports));
}

bool PromotionStore::finish(RepositoryId repository, const Promotion& promotion, int64_t owner) {
  return store_row(alone(pool_), repository, promotion, owner, clock_.now(), kEnd).done;
}

void PromotionStore::tell(db::Connection& connection, RepositoryId repository, std::string_view id,
                          const std::vector<std::string>& webhooks) {
  connection.run(kSetTells, {static_cast<int32_t>(repository), id, webhooks});
}

bool PromotionStore::end_by_user(RepositoryId repository, std::string_view id,
                                 const PromotionStep& step) {
  return pool_
             .run(kEndByUser,
                  {static_cast<int32_t>(repository), id, name_of(step.state), step.actor, step.code,
                   step.message, to_millis(step.at)},
                  db::Pool::Retry::kWrite)
             .affected() == 1;
}

bool PromotionStore::mark_rolled_back(db::Connection& connection, RepositoryId repository,
                                      std::string_view id, std::string_view by,
                                      const PromotionStep& step) {
  return connection
             .run(kMarkRolledBack, {static_cast<int32_t>(repository), id, name_of(step.state),
                                    step.actor, step.code, step.message, to_millis(step.at), by})
             .affected() == 1;
}

}  // namespace tarn::promotion
