#include "core/imports/import.h"

#include <charconv>
#include <chrono>

#include "core/base/acting_user.h"
#include "core/base/error.h"
#include "core/base/lease.h"
#include "core/base/log.h"
#include "core/base/pause.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "core/blob/stores.h"
#include "core/branch/hook_files.h"
#include "core/branch/protection.h"
#include "core/branch/publish.h"
#include "core/branch/refs.h"
#include "core/branch/repositories.h"
#include "core/imports/import_job.h"
#include "core/imports/import_source.h"
#include "core/jobs/jobs.h"
#include "core/meta/branches.h"
#include "core/meta/commits.h"
#include "core/meta/repositories.h"
#include "core/meta/writer.h"
#include "core/tree/cursor.h"
#include "core/tree/entry_fields.h"

namespace tarn::imports {
namespace {

constexpr std::string_view kKind = "import";
constexpr std::chrono::milliseconds kReportEvery{500};
// After this many objects the tree is finished and recorded as a checkpoint, from which another
// process can continue.
constexpr uint64_t kObjectsPerCheckpoint = 200'000;
// Attempts after transient errors of database or store.
constexpr int kAttemptsMax = 5;
constexpr std::string_view kLastImportKey = ".lakefs.last.import.timestamp";
// Suffix after the head's id in the result of an import that found no changes.
constexpr std::string_view kUnchanged = " unchanged";
// Precede numbers of objects, after the commit's id.
constexpr std::string_view kAdded = " added ";
constexpr std::string_view kReplaced = " replaced ";
constexpr std::string_view kRemoved = " removed ";
constexpr std::string_view kStrategyKey = ".lakefs.merge.strategy";

/// Ends the run without an error: the job was cancelled or taken over, or the server stops.
struct Stopped {};

/// One run of one job.
class ImportRun {
 public:
  ImportRun(branch::Engine& engine, jobs::Job job, int64_t owner, std::stop_token stop)
      : engine_(engine),
        job_(std::move(job)),
        owner_(owner),
        stop_(std::move(stop)),
        request_(decode_import_request(job_.spec)),
        repository_(engine.repositories.current(job_.repository)) {}

  void run() {
    ImportCheckpoint at = decode_import_checkpoint(job_.checkpoint);
    job_.progress = static_cast<int64_t>(at.objects);
    const meta::Writer::Operation operation(engine_.writer);
    if (request_.if_changed && job_.checkpoint.empty() && finish_unchanged()) return;
    while (at.path < request_.paths.size()) build_chunk(at);
    publish(at);
  }

 private:
  /// Compares the sources with the branch's head. If nothing differs, the job is done and nothing
  /// was written. Stops at the first difference.
  bool finish_unchanged() {
    const Branch branch = current_branch();
    std::vector<tree::RangeDelete> ranges;
    for (const ImportPath& path : request_.paths) ranges.push_back(destination_range(path));
    if (joined(ranges).size() != ranges.size()) return false;  // publish() compares the whole
    for (const ImportPath& path : request_.paths) {
      if (!is_same(path, branch.root)) return false;
    }
    job_.progress = 0;
    end_without_commit(branch.head, kUnchanged);
    return true;
  }

  bool is_same(const ImportPath& path, const TreeRoot& head) {
    const tree::RangeDelete range = destination_range(path);
    tree::Cursor there(engine_.nodes, head);
    there.seek(range.begin);
    const auto at_end = [&] {
      return !there.valid() || (!range.end.empty() && there.key() >= range.end);
    };
    ImportSource source(engine_, repository_, path, "", UINT64_MAX, [this] { tick(0); });
    for (auto edit = source.next(); edit; edit = source.next()) {
      if (at_end() || there.key() != edit->key || there.entry() != edit->entry) return false;
      there.next();
    }
    return at_end();
  }

  void end_without_commit(const CommitId& head, std::string_view mark) {
    job_.result = str_cat(view_of(head), mark);
    engine_.jobs.finish(job_, owner_, jobs::JobState::kDone);
  }

  Branch current_branch() {
    auto branch = engine_.branches.find_by_id(job_.branch);
    if (!branch) throw Error(ErrorCode::kNotFound, reason::kBranchNotFound, "branch not found");
    return *std::move(branch);
  }

  /// Applies up to kObjectsPerCheckpoint objects of the current path to the imported tree and
  /// records the checkpoint.
  void build_chunk(ImportCheckpoint& at) {
    const ImportPath& path = request_.paths[at.path];
    ImportSource source(engine_, repository_, path, at.after, kObjectsPerCheckpoint,
                        [this] { tick(1); });
    meta::NodeWriter nodes(engine_.pool, engine_.nodes, repository_.id);
    const tree::EditResult result =
        tree::edit_tree(engine_.nodes, nodes, {repository_.salt}, at.root, {}, source);
    nodes.flush();
    at.root = result.root;
    at.objects = static_cast<uint64_t>(job_.progress);
    if (source.exhausted()) {
      ++at.path;
      at.after.clear();
    } else {
      at.after = source.last_key();
    }
    job_.checkpoint = encode_import_checkpoint(at);
    report();
  }

  void publish(const ImportCheckpoint& at) {
    const Branch branch = current_branch();
    const branch::BranchPermit permit =
        branch::permit_of(engine_, repository_.id, BranchAction::kImport);
    permit(branch);
    CommitId head;
    const auto commit = branch::build_and_publish(
        engine_, repository_, branch, /*rotate=*/true, permit,
        [&](branch::BranchHold& hold,
            meta::NodeWriter& nodes) -> std::optional<branch::BuiltCommit> {
          branch::BuiltCommit built;
          built.drained = clean_tokens(hold);
          built.clean = true;
          built.root = splice(hold, nodes, at.root);
          head = hold.lease().head;
          if (request_.if_changed && built.root.hash == hold.lease().root.hash) return std::nullopt;
          built.parents = {hold.lease().head};
          built.committer = request_.commit.committer;
          built.message =
              request_.commit.message.empty() ? "Import objects" : request_.commit.message;
          built.metadata = request_.commit.metadata;
          built.metadata[std::string(kStrategyKey)] = "source-wins";
          built.date = request_.commit.date;
          // In the same transaction: otherwise a run that died after the publication would leave a
          // job that runs again, over later commits.
          built.within = [this](db::Connection& connection, const Commit& made) {
            job_.result = std::string(view_of(made.id));
            job_.result += str_cat(kAdded, counts_.added, kReplaced, counts_.changed, kRemoved,
                                   counts_.removed);
            if (!engine_.jobs.finish(connection, job_, owner_, jobs::JobState::kDone)) {
              throw Stopped{};
            }
          };
          built.hooks = branch::CommitHooks{.before = HookEvent::kPreCommit,
                                            .after = HookEvent::kPostCommit,
                                            .branch = branch.name.str(),
                                            .tick = [this] { tick(0); }};
          if (branch::has_hooks(engine_, repository_)) {
            built.hooks->files = {.files = branch::action_files_of(engine_, hold.lease().root),
                                  .ref = to_text(hold.lease().head)};
          }
          reported_ = std::chrono::steady_clock::now();
          if (!report_lease()) throw Stopped{};
          return built;
        });
    if (!commit) return end_without_commit(head, kUnchanged);
    note_import(*commit);
  }

  /// Only logs a failure: the import itself has succeeded.
  void note_import(const Commit& commit) {
    try {
      engine_.repositories.set_metadata(
          repository_.id,
          {{std::string(kLastImportKey), std::to_string(to_seconds(commit.created))}}, {});
    } catch (const Error& error) {
      log::warn("import_not_noted", {{"job", job_.id}, {"error", error.message()}});
    }
  }

  std::vector<int64_t> clean_tokens(branch::BranchHold& hold) {
    try {
      return branch::require_clean(engine_, hold);
    } catch (const Error& error) {
      throw Error(error.code(), error.reason(), str_cat("merge import: ", error.message()));
    }
  }

  /// Replaces the head's ranges by the imported ones; the head may have moved since the listing
  /// began.
  TreeRoot splice(branch::BranchHold& hold, meta::NodeWriter& nodes, const TreeRoot& imported) {
    TreeRoot root = hold.lease().root;
    counts_ = {};
    counts_.added = static_cast<uint64_t>(job_.progress);
    if (root.empty()) return imported;
    if (request_.paths.empty()) return root;
    std::vector<tree::RangeDelete> ranges;
    for (const ImportPath& path : request_.paths) ranges.push_back(destination_range(path));
    ranges = joined(std::move(ranges));
    ImportedRanges edits(engine_.nodes, imported, [&hold] { hold.keep_alive(); });
    const tree::EditResult result =
        tree::edit_tree(engine_.nodes, nodes, {repository_.salt}, root, ranges, edits);
    counts_ = result;
    return result.root;
  }

  void tick(int64_t objects) {
    job_.progress += objects;
    if (std::chrono::steady_clock::now() - reported_ >= kReportEvery) report();
  }

  void report() {
    reported_ = std::chrono::steady_clock::now();
    if (stop_.stop_requested() || !report_lease()) throw Stopped{};
  }

  bool report_lease() {
    return engine_.jobs.report(job_, owner_, lease_time(), engine_.writer.id());
  }

  branch::Engine& engine_;
  jobs::Job job_;
  const int64_t owner_;
  const std::stop_token stop_;
  const ImportRequest request_;
  const Repository repository_;
  tree::EditResult counts_;  ///< of the last splice()
  std::chrono::steady_clock::time_point reported_ = std::chrono::steady_clock::now();
};

[[noreturn]] void refuse_source(const ImportPath& path, std::string_view namespace_url) {
  throw Error(ErrorCode::kInvalidArgument, reason::kInvalidImportSource,
              str_cat("import path (", path.url, ") in repository namespace (", namespace_url,
                      ") is prohibited: invalid import source"));
}

/// The prefix of all URLs that an import reads: a bucket is listed as a whole, a single object is
/// exactly its key. Repeated slashes count as one, as in a store over a file system.
std::string taken_prefix(const ImportPath& path) {
  const size_t scheme = path.url.find("://");
  const size_t rest = scheme == std::string::npos ? 0 : scheme + 3;
  std::string out = path.url.substr(0, rest);
  for (size_t i = rest; i < path.url.size(); ++i) {
    if (path.url[i] != '/' || i == rest || path.url[i - 1] != '/') out += path.url[i];
  }
  const bool whole_bucket = out.find('/', rest) == std::string::npos;
  if (whole_bucket || path.kind == ImportPath::Kind::kObject) out += '/';
  return out;
}

void check_source(branch::Engine& engine, const ImportPath& path) {
  blob::check_no_dots(path.url);
  // All namespaces, and nothing else, lie below the local root.
  if (path.url.starts_with("local://") && !path.url.starts_with("local:///")) {
    refuse_source(path, "local://");
  }
  const auto inside = engine.repositories.overlapping_namespaces(taken_prefix(path));
  if (!inside.empty()) refuse_source(path, inside.front());
  if (!path.destination.empty() || path.kind == ImportPath::Kind::kObject)
    parse_key(path.destination);
}

/// The branch, if the request may be run on it.
Branch check_import(branch::Engine& engine, const Repository& repository, const BranchName& branch,
                    const ImportRequest& request) {
  branch::check_writable(engine, repository, request.force);
  const Branch target = branch::get_branch(engine, repository, branch);
  branch::check_branch_action(engine, repository.id, target, BranchAction::kImport);
  for (const ImportPath& path : request.paths) {
    check_source(engine, path);
    // Hook files below the destination are found when the commit is published.
    branch::check_hook_file(engine, repository.name, path.destination);
  }
  return target;
}

jobs::Job get_job(branch::Engine& engine, const Repository& repository, const BranchName& branch,
                  std::string_view id) {
  const Branch target = branch::get_branch(engine, repository, branch);
  const auto job = engine.jobs.find(id);
  if (!job || job->branch != target.id || job->kind != kKind) {
    throw Error(ErrorCode::kNotFound, reason::kImportNotFound, "not found");
  }
  return *job;
}

}  // namespace

std::string start_import(branch::Engine& engine, const Repository& repository,
                         const BranchName& branch, const ImportRequest& request,
                         std::string_view idempotency_key) {
  const Branch target = check_import(engine, repository, branch, request);
  const std::string spec = encode_import_request(request);
  const std::string id = engine.jobs.create(kKind, repository.id, target.id, spec,
                                            ActingUser::name(), idempotency_key);
  if (!idempotency_key.empty()) {
    const auto job = engine.jobs.find(id);
    if (job && job->spec != spec) {
      throw Error(ErrorCode::kConflict, reason::kIdempotencyKeyReused,
                  str_cat("this Idempotency-Key came with another import before (", id,
                          "): use a new key for a new request"));
    }
  }
  return id;
}

namespace {

/// Notes what a prefix without a slash at the end may mean besides a directory.
void look_at_name(branch::Engine& engine, const ImportPath& path, ImportPreview& preview) {
  const blob::Located at = engine.stores.locate(path.url);
  if (path.kind != ImportPath::Kind::kPrefix || at.key.empty() || at.key.ends_with('/')) return;
  const std::string below = at.key + '/';
  preview.names_object = preview.names_object || at.store->stat(at.key).has_value();
  // Keys after the name sort before or after those below it.
  for (const std::string& after : {at.key, str_cat(below, "\U0010FFFF")}) {
    at.store->walk(at.key, after, [&](const blob::BlobStat& stat) {
      const bool is_other = stat.key != at.key && !stat.key.starts_with(below);
      if (is_other) preview.also_matches = str_cat(path.url, stat.key.substr(at.key.size()));
      return false;
    });
  }
}

}  // namespace

ImportPreview preview_import(branch::Engine& engine, const Repository& repository,
                             const BranchName& branch, const ImportRequest& request, size_t limit) {
  const TreeRoot head = check_import(engine, repository, branch, request).root;
  ImportPreview preview;
  std::vector<tree::RangeDelete> ranges;
  for (const ImportPath& path : request.paths) ranges.push_back(destination_range(path));
  const std::vector<tree::RangeDelete> replaced = joined(ranges);
  for (const tree::RangeDelete& range : replaced) {
    preview.at_destination += tree::count_range(engine.nodes, head, range.begin, range.end).entries;
  }
  bool compares = preview.at_destination > 0 && replaced.size() == ranges.size();
  const auto note = [limit](std::vector<std::string>& paths, const std::string& path) {
    if (paths.size() < limit) paths.push_back(path);
  };
  uint64_t listed = 0;
  uint64_t found = 0;
  uint64_t changed = 0;
  tree::Cursor there(engine.nodes, head);
  const auto note_removed_before = [&](const std::string& end) {
    for (; preview.removed_paths.size() < limit && there.valid(); there.next()) {
      if (!end.empty() && there.key() >= end) break;
      preview.removed_paths.push_back(there.key());
    }
  };
  for (const ImportPath& path : request.paths) {
    look_at_name(engine, path, preview);
    ImportSource source(engine, repository, path, "", UINT64_MAX, [] {});
    const tree::RangeDelete range = destination_range(path);
    if (compares) there.seek(range.begin);
    while (auto edit = source.next()) {
      compares = compares && ++listed <= kPreviewComparedMax;
      if (compares) {
        note_removed_before(edit->key);
        there.seek(edit->key);
        if (!there.valid() || there.key() != edit->key) {
          note(preview.added_paths, edit->key);
        } else {
          ++found;
          const bool same = tree::same_content(there.entry(), *edit->entry);
          if (!same) note(preview.changed_paths, edit->key);
          changed += same ? 0 : 1;
          there.next();
        }
      }
      preview.has_more = preview.objects.size() == limit;
      if (!preview.has_more) {
        preview.objects.push_back(
            {std::move(edit->key), edit->entry->size_bytes, edit->entry->mtime});
      } else if (!compares) {
        break;
      }
    }
    if (compares) note_removed_before(range.end);
    if (preview.has_more && !compares) break;
  }
  if (!compares) {
    preview.added_paths.clear();
    preview.changed_paths.clear();
    preview.removed_paths.clear();
  }
  if (compares) {
    preview.added = listed - found;
  } else if (preview.at_destination == 0 && !preview.has_more) {
    preview.added = preview.objects.size();
  }
  if (compares || preview.at_destination == 0) {
    preview.changed = changed;
    preview.removed = preview.at_destination - found;
  }
  return preview;
}

ImportStatus import_status(branch::Engine& engine, const Repository& repository,
                           const BranchName& branch, std::string_view id) {
  const jobs::Job job = get_job(engine, repository, branch, id);
  ImportStatus status;
  status.id = job.id;
  status.completed = job.state == jobs::JobState::kDone;
  status.updated = job.updated;
  status.ingested_objects = job.progress;
  if (status.completed) {
    std::string_view result = job.result;
    if (result.ends_with(kUnchanged)) {
      status.changed = false;
      result.remove_suffix(kUnchanged.size());
    }
    for (const auto& [name, number] :
         {std::pair(kRemoved, &status.removed), std::pair(kReplaced, &status.replaced),
          std::pair(kAdded, &status.added)}) {
      const size_t at = result.rfind(name);
      if (at == std::string_view::npos) continue;
      std::from_chars(result.data() + at + name.size(), result.data() + result.size(), *number);
      result = result.substr(0, at);
    }
    status.commit = engine.commits.get(job.repository, commit_id_from_bytes(result));
  }
  status.error = job.error;
  // The current time while the job is open: clients give up an import whose time stands still, and
  // a source may be slow.
  const bool open = job.state == jobs::JobState::kQueued || job.state == jobs::JobState::kRunning;
  if (open) status.updated = std::max(status.updated, engine.clock.now());
  return status;
}

void cancel_import(branch::Engine& engine, const Repository& repository, const BranchName& branch,
                   std::string_view id) {
  const jobs::Job job = get_job(engine, repository, branch, id);
  if (!engine.jobs.cancel(job.id))
    throw Error(ErrorCode::kConflict, reason::kImportEnded, "conflict found");
}

bool run_one_import(branch::Engine& engine, std::stop_token stop, OwnerTurns& turns,
                    std::chrono::milliseconds first_pause) {
  const int64_t owner = new_lease_owner();
  std::optional<jobs::Job> job;
  const auto turn =
      turns.begin([&](const std::vector<std::string>& full) -> std::optional<std::string> {
        job = engine.jobs.take(kKind, owner, lease_time(), full);
        if (!job) return std::nullopt;
        return job->owner;
      });
  if (!turn) return false;
  for (int attempt = 1;; ++attempt) {
    try {
      // Retries from the last checkpoint, unless another process has taken the lease.
      if (attempt > 1) job = engine.jobs.find(job->id);
      if (job && job->state == jobs::JobState::kRunning) {
        const ActingUser user(job->owner, {}, job->limits);
        ImportRun(engine, *job, owner, stop).run();
      }
      return true;
    } catch (const Stopped&) {
      return true;  // cancelled, or another process continues
    } catch (const Error& error) {
      log::warn("import failed",
                {{"job", job->id}, {"attempt", attempt}, {"error", error.message()}});
      const bool passes = error.code() == ErrorCode::kUnavailable ||
                          error.reason() == reason::kOwnedByAnotherDatabase;
      if (!passes || attempt == kAttemptsMax) {
        job->error = str_cat("import error: ", error.message());
        engine.jobs.finish(*job, owner, jobs::JobState::kFailed);
        return true;
      }
    }
    pause(stop, first_pause * (1 << (attempt - 1)));
    if (stop.stop_requested()) return true;  // another process continues
  }
}

}  // namespace tarn::imports
