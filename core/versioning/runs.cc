#include "core/versioning/runs.h"

#include <algorithm>
#include <bit>

#include "core/base/digest.h"
#include "core/base/encoding.h"
#include "core/base/error.h"
#include "core/base/glob.h"
#include "core/base/str_cat.h"
#include "core/base/wire.h"
#include "core/meta/runs.h"
#include "core/versioning/refs.h"
#include "core/versioning/repositories.h"

namespace tarn::versioning {
namespace {

/// Of all that a client says, the ref as it was given: repeated after the branch has moved it is
/// the same request.
std::string hash_of(const RunRecording& recording, const Run& run) {
  std::string text;
  put_bytes(text, recording.ref);
  put_varint(text, run.params.size());
  for (const auto& [name, value] : run.params) {
    put_bytes(text, name);
    put_bytes(text, value);
  }
  put_varint(text, run.metrics.size());
  for (const RunMetric& metric : run.metrics) {
    put_bytes(text, metric.name);
    put_bytes(text, metric.split);
    put_u64be(text, std::bit_cast<uint64_t>(metric.value));
  }
  put_varint(text, run.artifacts.size());
  for (const std::string& glob : run.artifacts) put_bytes(text, glob);
  put_bytes(text, run.source.git_sha);
  put_bytes(text, run.source.ci_url);
  put_bytes(text, run.source.user);
  return sha256(text);
}

void check_key(const std::optional<std::string>& key) {
  if (!key) return;
  if (key->empty() || key->size() > kIdempotencyKeyBytesMax || !is_utf8(*key) ||
      key->find('\0') != std::string::npos) {
    throw_invalid(str_cat("idempotency_key: must be 1 to ", kIdempotencyKeyBytesMax,
                          " bytes of UTF-8 without NUL"));
  }
}

Run find_run(Engine& engine, RepositoryId repository, std::string_view id) {
  auto run = meta::Runs(engine.pool).find(repository, id);
  if (!run) throw Error(ErrorCode::kNotFound, "run_not_found", str_cat("run ", id, ": not found"));
  return *std::move(run);
}

std::vector<std::string> matching_branches(Engine& engine, RepositoryId repository,
                                           std::string_view pattern) {
  const Glob glob(pattern);
  auto names = meta::Runs(engine.pool).branches(repository, glob.prefix(), kRunBranchesMax + 1);
  if (names.size() > kRunBranchesMax) {
    throw_invalid(str_cat("branch \"", pattern, "\": begins like more than ", kRunBranchesMax,
                          " branches, name more of it"));
  }
  std::erase_if(names, [&](const std::string& name) { return !glob.matches(name); });
  return names;
}

}  // namespace

RecordedRun record_run(Engine& engine, const RepositoryName& repository,
                       const RunRecording& recording) {
  check_key(recording.idempotency_key);
  const Instant now = engine.clock.now();
  Run run{.id = make_run_id(now),
          .experiment = parse_experiment_name(recording.experiment),
          .commit = {},
          .branch = {},
          .params = recording.params,
          .metrics = recording.metrics,
          .artifacts = recording.artifacts,
          .source = recording.source,
          .owner = recording.owner,
          .created = now};
  std::sort(run.metrics.begin(), run.metrics.end(), [](const RunMetric& a, const RunMetric& b) {
    return std::tie(a.name, a.split) < std::tie(b.name, b.split);
  });
  check_run(run);
  const Repository repo = get_repository(engine, repository);
  check_writable(repo, /*force=*/false);
  meta::Runs runs(engine.pool);
  const ResolvedRef resolved = resolve(engine, repository, recording.ref);
  run.commit = resolved.commit.id;
  if (resolved.branch) run.branch = resolved.branch->name.str();
  const auto made = runs.create(repo.id, run, {recording.idempotency_key, hash_of(recording, run)});
  switch (made.outcome) {
    case meta::Runs::Outcome::kMade:
      return {std::move(run), true};
    case meta::Runs::Outcome::kKnown:
      return {find_run(engine, repo.id, made.id), false};
    case meta::Runs::Outcome::kOther:
      break;
  }
  throw Error(ErrorCode::kConflict, "idempotency_key_reused",
              str_cat("idempotency_key \"", *recording.idempotency_key, "\": run ", made.id,
                      " of another request has it, take another key"));
}

Run get_run(Engine& engine, const RepositoryName& repository, std::string_view id) {
  return find_run(engine, get_repository(engine, repository).id, id);
}

Page<Run> list_runs(Engine& engine, const RepositoryName& repository, const RunQuery& query) {
  if (query.where.size() > kRunConditionsMax) {
    throw_invalid(str_cat("where: may be given at most ", kRunConditionsMax, " times"));
  }
  const RepositoryId repo = get_repository(engine, repository).id;
  meta::Runs runs(engine.pool);
  meta::RunFilter filter{.experiment = query.experiment,
                         .branches = std::nullopt,
                         .git_sha = query.git_sha,
                         .where = query.where};
  if (!query.branch.empty()) filter.branches = matching_branches(engine, repo, query.branch);
  if (!query.after.empty() && !runs.find(repo, parse_run_id(query.after))) {
    throw_invalid(str_cat("after: run ", query.after, " is not there"));
  }
  return runs.list(repo, filter, query.order, query.after, query.limit);
}

}  // namespace tarn::versioning
