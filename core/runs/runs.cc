#include "core/runs/runs.h"

#include <algorithm>
#include <bit>
#include <set>

#include "core/base/acting_user.h"
#include "core/base/digest.h"
#include "core/base/encoding.h"
#include "core/base/error.h"
#include "core/base/glob.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "core/base/wire.h"
#include "core/branch/history.h"
#include "core/branch/refs.h"
#include "core/branch/repositories.h"
#include "core/meta/branches.h"
#include "core/meta/commits.h"
#include "core/runs/extraction.h"
#include "core/runs/extraction_store.h"
#include "core/runs/live_run_store.h"

namespace tarn::runs {
namespace {

/// A hash of everything the client sent.
std::string hash_of(const Run& run, std::string_view branch) {
  std::string text;
  put_bytes(text, view_of(run.commit));
  put_bytes(text, to_text(run.state));
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
  put_bytes(text, run.labels.name);
  put_bytes(text, run.labels.notes);
  put_varint(text, run.labels.tags.size());
  for (const std::string& tag : run.labels.tags) put_bytes(text, tag);
  put_varint(text, run.objects.size());
  for (const auto& [path, digest] : run.objects) {
    put_bytes(text, path);
    put_bytes(text, digest);
  }
  if (!branch.empty()) put_bytes(text, branch);
  return sha256(text);
}

Run find_run(branch::Engine& engine, RepositoryId repository, std::string_view id) {
  auto run = RunStore(engine.pool).find(repository, id);
  if (!run)
    throw Error(ErrorCode::kNotFound, reason::kRunNotFound, str_cat("run ", id, ": not found"));
  return *std::move(run);
}

std::vector<std::string> matching_branches(branch::Engine& engine, RepositoryId repository,
                                           std::string_view pattern) {
  const Glob glob(pattern);
  auto names = RunStore(engine.pool).branches(repository, glob.prefix(), kRunBranchesMax + 1);
  if (names.size() > kRunBranchesMax) {
    throw_invalid(str_cat("branch \"", pattern, "\": begins like more than ", kRunBranchesMax,
                          " branches, name more of it"));
  }
  std::erase_if(names, [&](const std::string& name) { return !glob.matches(name); });
  return names;
}

std::string branch_of(branch::Engine& engine, RunStore& runs, RepositoryId repository,
                      const Commit& commit, const std::string& given) {
  if (given.empty()) return runs.only_branch_at(repository, commit.id);
  const BranchName name = parse_branch_name(given);
  const auto branch = engine.branches.find(repository, name);
  if (branch && !branch::is_ancestor(engine, repository, commit,
                                     engine.commits.get(repository, branch->head))) {
    throw_invalid(
        str_cat("branch \"", given, "\": commit ", to_text(commit.id), " is not in its history"));
  }
  return name.str();
}

/// Whether the user may record runs of every branch, so of the commits of others.
bool may_record_all(branch::Engine& engine, const Repository& repository, const std::string& user,
                    const std::string& address) {
  return engine.rights({.right = branch::Right::kCreateRun,
                        .user = user,
                        .address = address,
                        .limits = ActingUser::limits(),
                        .repository = repository.name,
                        .all_branches = true});
}

/// Measuring another user's commit decides whether it wins, so it needs permission. Permission on
/// one branch is not enough: anybody can create a branch at another user's commit.
void check_reporter(branch::Engine& engine, const Repository& repository, const CommitId& commit,
                    const RunRecording& recording) {
  const auto makers = engine.commits.makers(repository.id, {&commit, 1});
  const auto maker = makers.find(commit);
  if (!engine.rights || (maker != makers.end() && maker->second.user == recording.owner)) return;
  if (may_record_all(engine, repository, recording.owner, recording.address)) return;
  throw Error(ErrorCode::kPermissionDenied, reason::kNotAuthor,
              str_cat("run of commit ", to_text(commit), ": ",
                      maker == makers.end() || maker->second.user.empty() ? "it is not known who"
                                                                          : maker->second.user,
                      " made it; runs of the commits of others need the permission fs:CreateRun on "
                      "arn:lakefs:fs:::repository/",
                      repository.name.str(), "/branch/*"));
}

RecordedRun complete_run(branch::Engine& engine, const Repository& repository, const Run& run,
                         std::string_view branch) {
  const auto made = RunStore(engine.pool).complete(repository.id, run, hash_of(run, branch));
  switch (made.outcome) {
    case RunStore::Outcome::kMade:
    case RunStore::Outcome::kKnown:
      return {find_run(engine, repository.id, run.id), made.outcome == RunStore::Outcome::kMade};
    case RunStore::Outcome::kMissing:
      throw Error(ErrorCode::kNotFound, reason::kRunNotFound,
                  str_cat("run ", run.id, ": not found in experiment ", run.experiment));
    case RunStore::Outcome::kForeign:
      throw Error(ErrorCode::kPermissionDenied, reason::kNotRunOwner,
                  str_cat("run ", run.id, ": another user started it"));
    case RunStore::Outcome::kOther:
      break;
  }
  throw Error(ErrorCode::kConflict, reason::kRunEnded,
              str_cat("run ", run.id, ": has ended with other values, start another one"));
}

/// `all`: there are no other unread commits.
void warn_of_unread(const UnreadCommits& left, bool all, std::vector<std::string>& warnings) {
  if (left.count == 0) return;
  warnings.push_back(str_cat(all ? "" : "at least ", left.count,
                             " commits are not read yet, so what their files and metadata say is "
                             "left out; ask again",
                             left.why.empty() ? "" : str_cat(" (", left.why, ")")));
}

/// Commits of the runs that were not read under these rules.
std::vector<CommitId> unread_of(branch::Engine& engine, RepositoryId repository,
                                const std::vector<Run>& runs, const std::string& rules_hash) {
  std::set<CommitId> commits;
  for (const Run& run : runs) {
    if (run.has_commit()) commits.insert(run.commit);
  }
  const std::vector<CommitId> all(commits.begin(), commits.end());
  for (const CommitId& done : ExtractionStore(engine.pool).done(repository, all, rules_hash)) {
    commits.erase(done);
  }
  return {commits.begin(), commits.end()};
}

void warn_of_cut(RunList& list, size_t commit_max) {
  const auto cut = std::count_if(list.page.items.begin(), list.page.items.end(),
                                 [](const ListedRun& listed) { return !listed.complete; });
  if (cut == 0) return;
  list.warnings.push_back(str_cat(cut, " runs are of commits with more than ", commit_max,
                                  " metrics or parameters, of which the others are not shown"));
}

RunCurve curve_of(const Run& run, const LiveCurve& curve) {
  RunCurve out{.run = run.id, .commit = run.commit, .points = {}};
  out.sampled = static_cast<int64_t>(curve.shown.size()) < curve.points;
  for (const Point& point : curve.shown) {
    out.points.items.push_back({out.points.items.size(), point});
  }
  return out;
}

std::vector<std::string> names_in(const RunQuery& query) {
  std::vector<std::string> names;
  for (const RunCondition& condition : query.where) names.push_back(condition.name);
  if (!query.order.metric.empty()) names.push_back(query.order.metric);
  return names;
}

}  // namespace

RecordedRun record_run(branch::Engine& engine, const Repository& repository,
                       const RunRecording& recording) {
  check_idempotency_key(recording.idempotency_key);
  const Instant now = engine.clock.now();
  Run run{.id = recording.run.empty() ? make_run_id(now) : parse_run_id(recording.run),
          .experiment = parse_experiment_name(recording.experiment),
          .commit = recording.commit,
          .branch = {},
          .params = recording.params,
          .metrics = recording.metrics,
          .artifacts = recording.artifacts,
          .objects = recording.objects,
          .source = recording.source,
          .labels = recording.labels,
          .state = recording.state,
          .owner = recording.owner,
          .created = now,
          .seen = now};
  std::sort(run.metrics.begin(), run.metrics.end(), [](const RunMetric& a, const RunMetric& b) {
    return std::tie(a.name, a.split) < std::tie(b.name, b.split);
  });
  check_run(run);
  branch::check_writable(engine, repository, /*force=*/false);
  RunStore runs(engine.pool);
  const std::string id = to_text(run.commit);
  const Commit commit = branch::resolve_commit(engine, repository, id);
  if (commit.id != run.commit) {  // a ref has the name
    throw Error(ErrorCode::kNotFound, reason::kCommitNotFound,
                str_cat("commit ", id, ": not found"));
  }
  check_reporter(engine, repository, run.commit, recording);
  branch::check_objects(engine.nodes, commit.root, run.objects);
  run.branch = branch_of(engine, runs, repository.id, commit, recording.branch);
  if (!recording.run.empty()) return complete_run(engine, repository, run, recording.branch);
  return create_run(engine, repository, std::move(run), recording.idempotency_key,
                    recording.branch);
}

void check_idempotency_key(const std::optional<std::string>& key) {
  if (!key) return;
  if (key->empty() || key->size() > kIdempotencyKeyBytesMax || !is_utf8(*key) ||
      key->find('\0') != std::string::npos) {
    throw_invalid(str_cat("idempotency_key: must be 1 to ", kIdempotencyKeyBytesMax,
                          " bytes of UTF-8 without NUL"));
  }
}

RecordedRun create_run(branch::Engine& engine, const Repository& repository, Run run,
                       const std::optional<std::string>& key, std::string_view branch) {
  RunStore runs(engine.pool);
  const auto made = runs.create(repository.id, run, {key, hash_of(run, branch)});
  switch (made.outcome) {
    case RunStore::Outcome::kMade:
      run.seen = made.seen;
      return {std::move(run), true};
    case RunStore::Outcome::kKnown:
      return {find_run(engine, repository.id, made.id), false};
    default:
      if (run.state == RunState::kRunning) return {find_run(engine, repository.id, made.id), false};
  }
  throw Error(ErrorCode::kConflict, reason::kIdempotencyKeyReused,
              str_cat("idempotency_key \"", key.value_or(""), "\": run ", made.id,
                      " of another request has it, take another key"));
}

Run relabel_run(branch::Engine& engine, const Repository& repository, std::string_view id,
                const RunRelabelling& relabelling) {
  const RunLabelsChange& change = relabelling.change;
  check_run_labels({.name = change.name.value_or(""),
                    .notes = change.notes.value_or(""),
                    .tags = change.tags.value_or(std::set<std::string>())});
  branch::check_writable(engine, repository, /*force=*/false);
  RunStore runs(engine.pool);
  const auto owned = runs.owned(repository.id, id, relabelling.user);
  if (owned && !*owned && engine.rights &&
      !may_record_all(engine, repository, relabelling.user, relabelling.address)) {
    throw Error(ErrorCode::kPermissionDenied, reason::kNotRunOwner,
                str_cat("run ", id,
                        ": another user recorded it; to change its labels, a user "
                        "needs the permission fs:CreateRun on arn:lakefs:fs:::repository/",
                        repository.name.str(), "/branch/*"));
  }
  runs.relabel(repository.id, id, change);
  return find_run(engine, repository.id, id);
}

Run get_run(branch::Engine& engine, const Repository& repository, std::string_view id) {
  return find_run(engine, repository.id, id);
}

RunList list_runs(branch::Engine& engine, const Repository& repository, const RunQuery& query) {
  if (query.where.size() > kRunConditionsMax) {
    throw_invalid(str_cat("where: may be given at most ", kRunConditionsMax, " times"));
  }
  RunStore runs(engine.pool);
  RunFilter filter{.experiment = query.experiment,
                   .branches = std::nullopt,
                   .git_sha = query.git_sha,
                   .name = query.name,
                   .state = query.state ? std::string(to_text(*query.state)) : "",
                   .tags = query.tags,
                   .where = query.where};
  if (!query.branch.empty())
    filter.branches = matching_branches(engine, repository.id, query.branch);
  if (!query.after.empty() && !runs.find(repository.id, parse_run_id(query.after))) {
    throw_invalid(str_cat("after: run ", query.after, " is not there"));
  }
  const ExtractionRules rules = extraction_rules(engine, repository.id);
  const bool judges = !query.where.empty() || !query.order.metric.empty();
  RunList out;
  const auto read = [&](const std::vector<CommitId>& unread) {
    warn_of_unread(read_ahead(engine, repository.id, rules, unread),
                   unread.size() <= kReadAheadCommitsMax, out.warnings);
  };
  if (judges)
    read(runs.unread_commits(repository.id, filter, rules.hash, kReadAheadCommitsMax + 1));
  Page<Run> page = branch::existing(engine, repository,
                                    runs.list(repository.id, filter, query.order, query.columns,
                                              rules.hash, query.after, query.limit));
  if (!judges) read(unread_of(engine, repository.id, page.items, rules.hash));
  out.page.has_more = page.has_more;
  out.page.next = std::move(page.next);
  out.page.next_of = [](const ListedRun& listed) { return listed.run.id; };
  out.page.items = runs.with_commits(repository.id, std::move(page.items), rules.hash,
                                     names_in(query), query.columns, kListedCommitMetricsMax);
  warn_of_cut(out, kListedCommitMetricsMax);
  return out;
}

RunList named_runs(branch::Engine& engine, const Repository& repository,
                   const std::vector<std::string>& ids, const std::optional<RunColumns>& columns) {
  if (ids.size() > kNamedRunsMax) {
    throw_invalid(str_cat("id: may be given at most ", kNamedRunsMax, " times"));
  }
  std::vector<std::string> wanted;
  std::set<std::string> missing;
  for (const std::string& id : ids) {
    if (missing.insert(parse_run_id(id)).second) wanted.push_back(id);
  }
  RunStore runs(engine.pool);
  std::vector<Run> found = runs.find_all(repository.id, wanted, columns);
  if (found.empty()) branch::check_exists(engine, repository);
  for (const Run& run : found) missing.erase(run.id);
  RunList out;
  for (const std::string& id : missing) out.warnings.push_back(str_cat("run ", id, ": not found"));
  const ExtractionRules rules = extraction_rules(engine, repository.id);
  const auto unread = unread_of(engine, repository.id, found, rules.hash);
  warn_of_unread(read_ahead(engine, repository.id, rules, unread), true, out.warnings);
  out.page.items = runs.with_commits(repository.id, std::move(found), rules.hash, {}, columns,
                                     kNamedCommitMetricsMax);
  warn_of_cut(out, kNamedCommitMetricsMax);
  return out;
}

std::vector<std::string> run_columns(branch::Engine& engine, const Repository& repository) {
  auto columns =
      RunStore(engine.pool)
          .columns(repository.id, kColumnRunsMax, kColumnCommitsMax, kRunColumnsListedMax);
  if (columns.empty()) branch::check_exists(engine, repository);
  return columns;
}

std::vector<RunCurve> run_curves(branch::Engine& engine, const Repository& repository,
                                 const std::vector<std::string>& ids, std::string_view name,
                                 std::string_view split, uint32_t limit) {
  if (ids.size() > kNamedCurvesMax) {
    throw_invalid(str_cat("run: may be given at most ", kNamedCurvesMax, " times"));
  }
  for (const std::string& id : ids) parse_run_id(id);
  const std::vector<Run> runs = RunStore(engine.pool).find_all(repository.id, ids, RunColumns{});
  if (runs.empty()) branch::check_exists(engine, repository);
  std::vector<CommitId> commits;
  auto live = split.empty() ? LiveRunStore(engine.pool).curves(repository.id, ids, name, limit)
                            : std::map<std::string, LiveCurve>();
  for (const Run& run : runs) {
    if (run.has_commit() && !live.contains(run.id)) commits.push_back(run.commit);
  }
  commit_facts(engine, repository.id, commits, {.names = {std::string(name)}});
  const auto curves =
      ExtractionStore(engine.pool).first_points(repository.id, commits, name, split, limit);
  std::vector<RunCurve> out;
  for (const Run& run : runs) {
    if (const auto written = live.find(run.id); written != live.end()) {
      out.push_back(curve_of(run, written->second));
    } else if (const auto found = curves.find(run.commit); found != curves.end()) {
      out.push_back({run.id, run.commit, found->second});
    }
  }
  return out;
}

}  // namespace tarn::runs
