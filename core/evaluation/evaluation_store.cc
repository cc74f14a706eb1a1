#include "core/evaluation/evaluation_store.h"

#include <algorithm>
#include <bit>

#include "core/base/digest.h"
#include "core/base/error.h"
#include "core/base/text.h"
#include "core/base/wire.h"
#include "core/model/listing.h"

namespace tarn::evaluation {
namespace {

constexpr size_t kTokenBytes = 16;
constexpr int64_t kWaitingRepositoriesMax = 1'000;

#define TARN_EVALUATION_COLUMNS                                                              \
  "key, repo_id, policy, name, commit_id, data_repo, data_commit, folder, inputs, predict, " \
  "score, reads, digits, "                                                                   \
  "timeout_ms, memory_bytes, labels, runners, asked_by, (extract(epoch FROM asked_at) * "    \
  "1000)::bigint, state, runner, "                                                           \
  "runner_id, (extract(epoch FROM ended_at) * 1000)::bigint, phase, code, detail, examples, seed"

constexpr db::Query kSelect{"evaluations_select", "SELECT " TARN_EVALUATION_COLUMNS R"sql(
  FROM evaluations WHERE key = ANY ($1))sql"};

constexpr db::Query kSelectMeans{"evaluations_select_means", R"sql(
  SELECT key, metric, slice, mean, n FROM evaluation_values WHERE key = ANY ($1) ORDER BY key, slice, metric)sql"};

// One at a time for each repository, so that two judgements do not spend one budget twice.
constexpr db::Query kLockAsking{"evaluations_lock_asking", R"sql(
  SELECT pg_advisory_xact_lock(hashtext('tarn evaluations'), $1))sql"};

constexpr db::Query kCountOpen{"evaluations_count_open", R"sql(
  SELECT count(*) FROM evaluations WHERE repo_id = $1 AND state IN ('queued', 'measuring'))sql"};

// Indexes evaluations_asked and evaluations_by_repository.
constexpr db::Query kSpent{"evaluations_who_spent", R"sql(
  SELECT who FROM unnest($3::text[]) AS who
  WHERE (SELECT count(*) FROM evaluations WHERE repo_id = $1 AND name = $2 AND asked_by @> ARRAY[who]
           AND asked_at > clock_timestamp() - make_interval(secs => $4::double precision)) >= $5
  ORDER BY who LIMIT 1)sql"};

constexpr db::Query kInsert{"evaluations_insert", R"sql(
  INSERT INTO evaluations (key, repo_id, policy, name, commit_id, definition, data_repo, data_commit, folder, inputs,
                           predict, score, reads, digits, timeout_ms, memory_bytes, labels, runners, asked_by)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19)
  ON CONFLICT (key) DO NOTHING)sql"};

constexpr db::Query kExists{"evaluations_exists", "SELECT 1 FROM evaluations WHERE key = $1"};

// Index evaluations_open.
constexpr db::Query kWaiting{"evaluations_waiting", R"sql(
  SELECT DISTINCT e.repo_id, r.name FROM evaluations e JOIN repositories r USING (repo_id)
  WHERE r.deleted_ms IS NULL AND (e.state = 'queued' OR e.state = 'measuring' AND e.lease_until < clock_timestamp())
  ORDER BY e.repo_id LIMIT $1)sql"};

constexpr db::Query kReturnLost{"evaluations_return_lost", R"sql(
  WITH gone AS (
    SELECT key FROM evaluations
    WHERE repo_id = ANY ($1) AND state = 'measuring' AND lease_until < clock_timestamp() FOR UPDATE SKIP LOCKED)
  UPDATE evaluations e SET token = NULL, lease_until = NULL, lost = lost + 1,
    state = CASE WHEN lost + 1 >= $2 THEN 'failed' ELSE 'queued' END,
    ended_at = CASE WHEN lost + 1 >= $2 THEN clock_timestamp() END,
    phase = CASE WHEN lost + 1 >= $2 THEN 'runner' ELSE '' END,
    code = CASE WHEN lost + 1 >= $2 THEN 'runner_lost' ELSE '' END
  FROM gone WHERE e.key = gone.key RETURNING e.repo_id, e.state)sql"};

constexpr db::Query kTake{"evaluations_take", R"sql(
  WITH runner AS (SELECT user_id FROM users WHERE name = $4),
  next AS (
    SELECT key FROM evaluations
    WHERE repo_id = ANY ($1) AND state = 'queued' AND labels <@ $2
      AND (runners = '{}' OR (SELECT user_id FROM runner) = ANY (runners))
    ORDER BY asked_at, key LIMIT 1 FOR UPDATE SKIP LOCKED)
  UPDATE evaluations e SET state = 'measuring', token = $3, runner = $4,
    runner_id = coalesce((SELECT user_id FROM runner), 0),
    lease_until = clock_timestamp() + make_interval(secs => $5::double precision)
  FROM next WHERE e.key = next.key RETURNING e.key)sql"};

constexpr db::Query kHeld{"evaluations_held", R"sql(
  SELECT 1 FROM evaluations WHERE key = $1 AND token = $2 AND lease_until >= clock_timestamp())sql"};

constexpr db::Query kLockHeld{"evaluations_lock_held", R"sql(
  SELECT repo_id, definition FROM evaluations
  WHERE key = $1 AND token = $2 AND lease_until >= clock_timestamp() FOR UPDATE)sql"};

constexpr db::Query kRenew{"evaluations_renew", R"sql(
  UPDATE evaluations SET lease_until = clock_timestamp() + make_interval(secs => $3::double precision)
  WHERE key = $1 AND token = $2 AND lease_until >= clock_timestamp())sql"};

constexpr db::Query kRelease{"evaluations_release", R"sql(
  UPDATE evaluations SET state = 'queued', token = NULL, lease_until = NULL
  WHERE key = $1 AND token = $2 AND lease_until >= clock_timestamp())sql"};

constexpr db::Query kPutExamples{"evaluations_put_examples", R"sql(
  INSERT INTO evaluation_examples (repo_id, definition, digest, ids) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING)sql"};

constexpr db::Query kSameExamples{"evaluations_same_examples", R"sql(
  SELECT digest = $3 FROM evaluation_examples WHERE repo_id = $1 AND definition = $2)sql"};

constexpr db::Query kPutValues{"evaluations_put_values", R"sql(
  INSERT INTO evaluation_values (key, metric, slice, mean, n, numbers, repo_id) VALUES ($1, $2, $3, $4, $5, $6, $7))sql"};

constexpr db::Query kFinish{"evaluations_finish", R"sql(
  UPDATE evaluations SET state = 'measured', token = NULL, lease_until = NULL, ended_at = clock_timestamp(),
    examples = $2, seed = $3
  WHERE key = $1)sql"};

constexpr db::Query kFail{"evaluations_fail", R"sql(
  UPDATE evaluations SET state = 'failed', token = NULL, lease_until = NULL, ended_at = clock_timestamp(),
    phase = $3, code = $4, detail = $5
  WHERE key = $1 AND token = $2 AND lease_until >= clock_timestamp() RETURNING repo_id)sql"};

constexpr db::Query kRetry{"evaluations_retry", R"sql(
  UPDATE evaluations SET state = 'queued', lost = 0, ended_at = NULL, phase = '', code = '', detail = ''
  WHERE repo_id = $1 AND key = $2 AND state = 'failed' RETURNING repo_id)sql"};

// In a fixed order, as reports wake them.
constexpr db::Query kWake{"evaluations_wake_promotions", R"sql(
  WITH open AS (
    SELECT repo_id, promotion_id FROM promotions WHERE repo_id = $1 AND due_at IS NOT NULL
    ORDER BY promotion_id FOR UPDATE)
  UPDATE promotions p SET reports = reports + 1, due_at = clock_timestamp()
  FROM open WHERE p.repo_id = open.repo_id AND p.promotion_id = open.promotion_id)sql"};

constexpr db::Query kList{"evaluations_list", "SELECT " TARN_EVALUATION_COLUMNS R"sql(
  FROM evaluations e
  WHERE repo_id = $1 AND ($2::bytea IS NULL OR
    (asked_at, key) < (SELECT asked_at, key FROM evaluations WHERE key = $2 AND repo_id = $1))
  ORDER BY asked_at DESC, key DESC LIMIT $3)sql"};

constexpr db::Query kSelectNumbers{"evaluations_select_numbers", R"sql(
  SELECT numbers FROM evaluation_values WHERE key = $1 AND metric = $2 AND slice = $3)sql"};

constexpr db::Query kSelectIds{"evaluations_select_ids", R"sql(
  SELECT x.ids FROM evaluations e JOIN evaluation_examples x USING (repo_id, definition) WHERE e.key = $1)sql"};

std::vector<std::string> patterns_of(const std::vector<Glob>& globs) {
  std::vector<std::string> out;
  for (const Glob& glob : globs) out.push_back(glob.pattern());
  return out;
}

Evaluation evaluation_from(const db::Rows& rows, size_t row) {
  struct Column {
    enum : int {
      kKey,
      kRepoId,
      kPolicy,
      kName,
      kCommitId,
      kDataRepo,
      kDataCommit,
      kFolder,
      kInputs,
      kPredict,
      kScore,
      kReads,
      kDigits,
      kTimeoutMs,
      kMemoryBytes,
      kLabels,
      kRunners,
      kAskedBy,
      kAskedMs,
      kState,
      kRunner,
      kRunnerId,
      kEndedMs,
      kPhase,
      kCode,
      kDetail,
      kExamples,
      kSeed
    };
  };
  Evaluation out;
  out.key = rows.bytes(row, Column::kKey);
  out.repository = static_cast<RepositoryId>(rows.integer(row, Column::kRepoId));
  out.policy = rows.text(row, Column::kPolicy);
  out.name = rows.text(row, Column::kName);
  out.commit = commit_id_from_bytes(rows.bytes(row, Column::kCommitId));
  Spec& spec = out.spec;
  spec.data = static_cast<RepositoryId>(rows.integer(row, Column::kDataRepo));
  spec.commit = commit_id_from_bytes(rows.bytes(row, Column::kDataCommit));
  spec.folder = rows.text(row, Column::kFolder);
  spec.inputs = rows.text(row, Column::kInputs);
  spec.predict = rows.text(row, Column::kPredict);
  spec.score = rows.text(row, Column::kScore);
  for (std::string& pattern : rows.strings(row, Column::kReads))
    spec.reads.emplace_back(std::move(pattern));
  spec.digits = static_cast<uint32_t>(rows.integer(row, Column::kDigits));
  spec.timeout = std::chrono::milliseconds(rows.integer(row, Column::kTimeoutMs));
  spec.memory_bytes = static_cast<uint64_t>(rows.integer(row, Column::kMemoryBytes));
  spec.labels = rows.strings(row, Column::kLabels);
  for (const int64_t id : rows.integers(row, Column::kRunners))
    spec.runners.push_back(static_cast<int32_t>(id));
  out.asked_by = rows.strings(row, Column::kAskedBy);
  out.asked = from_millis(rows.integer(row, Column::kAskedMs));
  const auto state = parse_state(rows.text(row, Column::kState));
  if (!state) throw Error(ErrorCode::kDataLoss, "evaluation: has an unknown state");
  out.state = *state;
  out.runner = rows.text(row, Column::kRunner);
  out.runner_id = static_cast<int32_t>(rows.integer(row, Column::kRunnerId));
  if (!rows.null(row, Column::kEndedMs))
    out.ended = from_millis(rows.integer(row, Column::kEndedMs));
  out.phase = rows.text(row, Column::kPhase);
  out.code = rows.text(row, Column::kCode);
  out.detail = rows.text(row, Column::kDetail);
  out.examples = static_cast<uint64_t>(rows.integer(row, Column::kExamples));
  out.seed = rows.integer(row, Column::kSeed);
  return out;
}

std::vector<db::Bytes> bytes_of(std::span<const std::string> keys) {
  std::vector<db::Bytes> out;
  for (const std::string& key : keys) out.push_back({key});
  return out;
}

std::string packed(const std::vector<double>& numbers) {
  std::string out;
  out.reserve(numbers.size() * sizeof(uint64_t));
  for (const double number : numbers) put_u64be(out, std::bit_cast<uint64_t>(number));
  return out;
}

double seconds(std::chrono::milliseconds time) { return static_cast<double>(time.count()) / 1000; }

}  // namespace

std::map<std::string, Evaluation> EvaluationStore::find(std::span<const std::string> keys) {
  struct Column {
    enum : int { kKey, kMetric, kSlice, kMean, kN };
  };
  std::map<std::string, Evaluation> out;
  if (keys.empty()) return out;
  const std::vector<db::Bytes> wanted = bytes_of(keys);
  const db::Rows rows = pool_.run(kSelect, {wanted}, db::Pool::Retry::kRead);
  for (size_t row = 0; row < rows.size(); ++row) {
    Evaluation one = evaluation_from(rows, row);
    std::string key = one.key;
    out.emplace(std::move(key), std::move(one));
  }
  if (out.empty()) return out;
  const db::Rows means = pool_.run(kSelectMeans, {wanted}, db::Pool::Retry::kRead);
  for (size_t row = 0; row < means.size(); ++row) {
    const auto at = out.find(std::string(means.bytes(row, Column::kKey)));
    // A result that came between the two statements is read by the next judgement.
    if (at == out.end() || at->second.state != State::kMeasured) continue;
    at->second.means.push_back({.metric = std::string(means.text(row, Column::kMetric)),
                                .slice = std::string(means.text(row, Column::kSlice)),
                                .mean = means.real(row, Column::kMean),
                                .n = static_cast<uint64_t>(means.integer(row, Column::kN))});
  }
  return out;
}

EvaluationStore::Answer EvaluationStore::ask(const Evaluation& wanted, std::string_view definition,
                                             const Budget& budget) {
  const int32_t repo = static_cast<int32_t>(wanted.repository);
  const Spec& spec = wanted.spec;
  return pool_.transaction([&](db::Connection& connection) -> Answer {
    connection.run(kLockAsking, {repo});
    if (!connection.run(kExists, {db::Bytes{wanted.key}}).empty()) return {};
    if (connection.run(kCountOpen, {repo}).integer(0, 0) >= kEvaluationsOpenMax)
      return {Asked::kQueueFull};
    if (budget.per_author > 0 && !wanted.asked_by.empty()) {
      const db::Rows spent =
          connection.run(kSpent, {repo, wanted.name, wanted.asked_by, seconds(budget.period),
                                  static_cast<int64_t>(budget.per_author)});
      if (!spent.empty()) return {Asked::kBudgetSpent, std::string(spent.text(0, 0))};
    }
    connection.run(
        kInsert,
        {db::Bytes{wanted.key}, repo, wanted.policy, wanted.name, db::Bytes{view_of(wanted.commit)},
         db::Bytes{definition}, static_cast<int32_t>(spec.data), db::Bytes{view_of(spec.commit)},
         spec.folder, spec.inputs, spec.predict, spec.score, patterns_of(spec.reads),
         static_cast<int32_t>(spec.digits), static_cast<int64_t>(spec.timeout.count()),
         static_cast<int64_t>(spec.memory_bytes), spec.labels, spec.runners, wanted.asked_by});
    return {};
  });
}

std::vector<std::pair<RepositoryId, RepositoryName>> EvaluationStore::waiting() {
  struct Column {
    enum : int { kRepoId, kName };
  };
  const db::Rows rows = pool_.run(kWaiting, {kWaitingRepositoriesMax}, db::Pool::Retry::kRead);
  std::vector<std::pair<RepositoryId, RepositoryName>> out;
  for (size_t row = 0; row < rows.size(); ++row) {
    out.emplace_back(static_cast<RepositoryId>(rows.integer(row, Column::kRepoId)),
                     RepositoryName(std::string(rows.text(row, Column::kName))));
  }
  return out;
}

std::optional<EvaluationStore::Lease> EvaluationStore::take(
    const std::vector<RepositoryId>& repositories, const std::vector<std::string>& labels,
    std::string_view runner) {
  struct Column {
    enum : int { kRepoId, kState };
  };
  std::vector<int32_t> repos;
  for (const RepositoryId id : repositories) repos.push_back(static_cast<int32_t>(id));
  const std::string token = random_bytes(kTokenBytes);
  std::string key;
  pool_.transaction([&](db::Connection& connection) {
    key.clear();
    const db::Rows lost = connection.run(kReturnLost, {repos, kRunnersLostMax});
    for (size_t row = 0; row < lost.size(); ++row) {
      if (lost.text(row, Column::kState) == name_of(State::kFailed))
        connection.run(kWake, {static_cast<int32_t>(lost.integer(row, Column::kRepoId))});
    }
    const db::Rows taken =
        connection.run(kTake, {repos, labels, db::Bytes{token}, runner, seconds(kRunnerLease)});
    if (!taken.empty()) key = taken.bytes(0, 0);
  });
  if (key.empty()) return std::nullopt;
  const auto found = find(std::span(&key, 1));
  if (found.empty()) return std::nullopt;
  return Lease{found.begin()->second, token};
}

std::optional<Evaluation> EvaluationStore::held(std::string_view key, std::string_view token) {
  if (pool_.run(kHeld, {db::Bytes{key}, db::Bytes{token}}, db::Pool::Retry::kRead).empty())
    return std::nullopt;
  const std::string wanted(key);
  auto found = find(std::span(&wanted, 1));
  if (found.empty()) return std::nullopt;
  return std::move(found.begin()->second);
}

bool EvaluationStore::renew(std::string_view key, std::string_view token) {
  return pool_
             .run(kRenew, {db::Bytes{key}, db::Bytes{token}, seconds(kRunnerLease)},
                  db::Pool::Retry::kRepeatable)
             .affected() == 1;
}

bool EvaluationStore::release(std::string_view key, std::string_view token) {
  return pool_.run(kRelease, {db::Bytes{key}, db::Bytes{token}}, db::Pool::Retry::kWrite)
             .affected() == 1;
}

EvaluationStore::Ended EvaluationStore::finish(std::string_view key, std::string_view token,
                                               const Result& result, int64_t seed) {
  struct Column {
    enum : int { kRepoId, kDefinition };
  };
  return pool_.transaction([&](db::Connection& connection) -> Ended {
    const db::Rows held = connection.run(kLockHeld, {db::Bytes{key}, db::Bytes{token}});
    if (held.empty()) return Ended::kLeaseLost;
    const int32_t repo = static_cast<int32_t>(held.integer(0, Column::kRepoId));
    const std::string definition(held.bytes(0, Column::kDefinition));
    connection.run(kPutExamples,
                   {repo, db::Bytes{definition}, db::Bytes{result.digest}, db::Bytes{result.ids}});
    if (!connection.run(kSameExamples, {repo, db::Bytes{definition}, db::Bytes{result.digest}})
             .boolean(0, 0))
      return Ended::kExamplesDiffer;
    for (const ResultValues& values : result.values) {
      connection.run(kPutValues, {db::Bytes{key}, values.mean.metric, values.mean.slice,
                                  values.mean.mean, static_cast<int64_t>(values.mean.n),
                                  db::Bytes{packed(values.numbers)}, repo});
    }
    connection.run(kFinish, {db::Bytes{key}, static_cast<int64_t>(result.examples), seed});
    connection.run(kWake, {repo});
    return Ended::kDone;
  });
}

bool EvaluationStore::fail(std::string_view key, std::string_view token, std::string_view phase,
                           std::string_view code, std::string_view detail) {
  return pool_.transaction([&](db::Connection& connection) {
    const db::Rows failed =
        connection.run(kFail, {db::Bytes{key}, db::Bytes{token}, phase, code, detail});
    if (failed.empty()) return false;
    connection.run(kWake, {static_cast<int32_t>(failed.integer(0, 0))});
    return true;
  });
}

bool EvaluationStore::retry(RepositoryId repository, std::string_view key) {
  return pool_.transaction([&](db::Connection& connection) {
    const int32_t repo = static_cast<int32_t>(repository);
    if (connection.run(kRetry, {repo, db::Bytes{key}}).empty()) return false;
    connection.run(kWake, {repo});
    return true;
  });
}

Page<Evaluation> EvaluationStore::list(RepositoryId repository, std::string_view after,
                                       uint32_t limit) {
  const std::optional<db::Bytes> from =
      after.empty() ? std::nullopt : std::optional(db::Bytes{after});
  const db::Rows rows = pool_.run(kList, {static_cast<int32_t>(repository), from, row_limit(limit)},
                                  db::Pool::Retry::kRead);
  auto page = page_of<Evaluation>(rows, limit, evaluation_from, &Evaluation::key);
  std::vector<std::string> keys;
  for (const Evaluation& one : page.items) keys.push_back(one.key);
  const auto found = find(keys);
  for (Evaluation& one : page.items) {
    if (const auto at = found.find(one.key); at != found.end()) one = at->second;
  }
  return page;
}

std::optional<Evaluation> EvaluationStore::find(RepositoryId repository, std::string_view key) {
  const std::string wanted(key);
  auto found = find(std::span(&wanted, 1));
  if (found.empty() || found.begin()->second.repository != repository) return std::nullopt;
  return std::move(found.begin()->second);
}

std::vector<double> EvaluationStore::numbers(std::string_view key, std::string_view metric,
                                             std::string_view slice) {
  const db::Rows rows =
      pool_.run(kSelectNumbers, {db::Bytes{key}, metric, slice}, db::Pool::Retry::kRead);
  std::vector<double> out;
  if (rows.empty()) return out;
  WireReader reader(rows.bytes(0, 0), "values of an evaluation");
  while (!reader.done()) out.push_back(std::bit_cast<double>(reader.u64be()));
  return out;
}

std::vector<std::string> EvaluationStore::ids(std::string_view key) {
  const db::Rows rows = pool_.run(kSelectIds, {db::Bytes{key}}, db::Pool::Retry::kRead);
  return rows.empty() ? std::vector<std::string>() : ids_from(rows.bytes(0, 0));
}

}  // namespace tarn::evaluation
