#include "core/imports/refs_dump.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "core/base/acting_user.h"
#include "core/base/digest.h"
#include "core/base/encoding.h"
#include "core/base/error.h"
#include "core/base/lease.h"
#include "core/base/log.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "core/blob/stores.h"
#include "core/branch/alias_store.h"
#include "core/branch/hook_files.h"
#include "core/branch/hooks.h"
#include "core/branch/protection.h"
#include "core/branch/repositories.h"
#include "core/db/pool.h"
#include "core/imports/refs_dump_format.h"
#include "core/imports/refs_dump_store.h"
#include "core/jobs/jobs.h"
#include "core/meta/commits.h"
#include "core/meta/node_writer.h"
#include "core/meta/repositories.h"
#include "core/meta/writer.h"
#include "core/model/expiry.h"
#include "core/objects/foreign_copy.h"
#include "core/tree/diff.h"
#include "core/tree/edit.h"

namespace tarn::imports {
namespace {

constexpr std::string_view kFolder = "_tarn/refs/";
constexpr size_t kIdDigits = 32;
constexpr uint64_t kDumpBytesMax = uint64_t{1} << 30;
constexpr std::string_view kDumpKind = "refs_dump";
constexpr std::string_view kRestoreKind = "refs_restore";
constexpr int kPublishAttemptsMax = 5;

/// "<repository's id>-<32 hex digits>"
struct DumpId {
  RepositoryId repository{};
  std::string digits;
};

[[noreturn]] void throw_no_dump(std::string_view dump) {
  throw Error(ErrorCode::kNotFound, reason::kDumpNotFound,
              str_cat("dump of refs \"", dump, "\": not found"));
}

DumpId parse_dump_id(std::string_view dump) {
  constexpr size_t kNumberDigitsMax = 9;
  const size_t dash = dump.find('-');
  if (dash == std::string_view::npos || dash == 0 || dash > kNumberDigitsMax) throw_no_dump(dump);
  int32_t number = 0;
  for (const char c : dump.substr(0, dash)) {
    if (c < '0' || c > '9') throw_no_dump(dump);
    number = number * 10 + (c - '0');
  }
  const std::string digits(dump.substr(dash + 1));
  if (digits.size() != kIdDigits || !from_hex(digits)) throw_no_dump(dump);
  return {static_cast<RepositoryId>(number), digits};
}

blob::Located located(branch::Engine& engine, const Repository& repository,
                      std::string_view digits) {
  return engine.stores.locate(str_cat(repository.storage_namespace, "/", kFolder, digits));
}

std::vector<DumpedRef> read_refs(branch::Engine& engine, const Repository& source,
                                 std::string_view dump) {
  const blob::Located at = located(engine, source, parse_dump_id(dump).digits);
  const auto stat = at.store->stat(at.key);
  if (!stat || stat->size_bytes > kDumpBytesMax) throw_no_dump(dump);
  const auto reader = at.store->open(at.key, {0, stat->size_bytes}, "");
  std::string bytes(stat->size_bytes, '\0');
  size_t filled = 0;
  while (const size_t got = reader->read({bytes.data() + filled, bytes.size() - filled})) {
    filled += got;
  }
  bytes.resize(filled);
  return decode_refs(bytes);
}

/// Converts the changes between two trees of the source to edits of the target's trees.
class RestoredEdits final : public tree::ChangeSource {
 public:
  using Restore = std::function<Entry(Entry)>;
  RestoredEdits(tree::NodeSource& nodes, const TreeRoot& before, const TreeRoot& after,
                const Restore& restore)
      : diff_(nodes, before, after), restore_(restore) {
    diff_.seek("");
  }
  std::optional<tree::Change> next() override {
    auto difference = diff_.next();
    if (!difference) return std::nullopt;
    if (!difference->right) return tree::Change{std::move(difference->key), std::nullopt};
    return tree::Change{std::move(difference->key), restore_(*std::move(difference->right))};
  }

 private:
  tree::Diff diff_;
  const Restore& restore_;
};

/// Callbacks of a restore; each may throw to stop it, or be empty.
struct RestoreSteps {
  std::function<void()> on_commit{};                  ///< before each commit is made
  std::function<void(db::Connection&)> on_publish{};  ///< in the transaction that publishes
};

class RestoreRun {
 public:
  RestoreRun(branch::Engine& engine, const Repository& source, const Repository& target,
             std::vector<DumpedRef> refs, std::string_view user, RestoreSteps steps)
      : engine_(engine),
        source_(source),
        target_(target),
        refs_(std::move(refs)),
        user_(user),
        steps_(std::move(steps)),
        operation_(engine.writer),
        nodes_(engine.pool, engine.nodes, target.id) {}

  void run() {
    check_rules();
    for (const Commit& commit : history()) {
      if (steps_.on_commit) steps_.on_commit();
      make(commit);
    }
    for (int attempt = 0; attempt < kPublishAttemptsMax; ++attempt) {
      if (publish(check_rules())) return;
    }
    throw Error(ErrorCode::kConflict, reason::kTooManyAttempts,
                "restoring refs: rules of the repository changed again and again, try again later");
  }

 private:
  /// Returns the version of the repository's settings whose rules permit the restore.
  int64_t check_rules() {
    const int64_t version = RefsDumpStore(engine_.pool).settings_version(target_.id);
    std::vector<BranchName> branches;
    std::vector<TagName> tags;
    for (const DumpedRef& ref : refs_) {
      if (ref.kind == RefKind::kTag) tags.emplace_back(ref.name);
      if (ref.kind == RefKind::kBranch) branches.emplace_back(ref.name);
    }
    branch::check_restore(engine_, target_.id, version, branches, tags);
    return version;
  }

  /// All commits that the refs reach, parents first.
  std::vector<Commit> history() {
    std::map<CommitId, Commit> found;
    std::vector<CommitId> open;
    for (const DumpedRef& ref : refs_) open.push_back(ref.commit);
    while (!open.empty()) {
      const CommitId id = open.back();
      open.pop_back();
      if (found.contains(id)) continue;
      auto commit = engine_.commits.find(source_.id, id);
      if (!commit) {
        throw Error(
            ErrorCode::kNotFound, reason::kCommitNotFound,
            str_cat("restoring refs: commit ", to_text(id), " was collected since: not found"));
      }
      if (found.size() == kRestoredCommitsMax) {
        throw_invalid(
            str_cat("restoring refs: there are more than ", kRestoredCommitsMax, " commits"));
      }
      open.insert(open.end(), commit->parents.begin(), commit->parents.end());
      found.emplace(id, *std::move(commit));
    }
    std::vector<Commit> out;
    for (auto& [id, commit] : found) out.push_back(std::move(commit));
    std::stable_sort(out.begin(), out.end(),
                     [](const Commit& a, const Commit& b) { return a.generation < b.generation; });
    return out;
  }

  void make(const Commit& old) {
    Commit made = old;
    made.root = tree_of(old);
    for (CommitId& parent : made.parents) parent = made_.at(parent).id;
    made.id = compute_commit_id(made);
    made_.emplace(old.id, made);
    order_.push_back(old.id);
    if (!is_expired(old.root)) kept_.push_back(old.id);
  }

  TreeRoot tree_of(const Commit& old) {
    if (old.root.empty()) return {};
    if (is_expired(old.root)) return old.root;
    const auto known = roots_.find(old.root.hash);
    if (known != roots_.end()) return known->second;
    TreeRoot before, base;
    if (!old.parents.empty() && !is_expired(made_.at(old.parents[0]).root)) {
      before = engine_.commits.get(source_.id, old.parents[0]).root;
      base = made_.at(old.parents[0]).root;
    }
    branch::check_hook_files(engine_, target_.name, before, old.root);
    RestoredEdits edits(engine_.nodes, before, old.root, restore_);
    const TreeRoot root =
        tree::edit_tree(engine_.nodes, nodes_, {target_.salt}, base, {}, edits).root;
    nodes_.flush();  // the next commit's tree is based on it
    roots_.emplace(old.root.hash, root);
    return root;
  }

  Entry restored(Entry entry) {
    if (const auto* own = std::get_if<OwnAddress>(&entry.address)) {
      if (owners_.insert(source_.id).second) {
        engine_.repositories.record_reader(source_.id, target_.id);
      }
      entry.address = ForeignAddress{source_.id, *own};
    } else if (!std::holds_alternative<ForeignAddress>(entry.address) ||
               owners_.insert(std::get<ForeignAddress>(entry.address).repository).second ||
               std::get<ForeignAddress>(entry.address).repository == target_.id) {
      entry.address = objects::address_for_foreign_copy(engine_, source_, target_, entry);
    }
    return entry;
  }

  void insert(db::Connection& connection, const DumpedRef& ref, const CommitId& commit) {
    if (ref.kind != RefKind::kAlias) {
      RefsDumpStore::insert(connection, target_.id, ref, commit);
      return;
    }
    branch::AliasStore::move(connection, target_.id,
                             {.name = AliasName(ref.name),
                              .to = commit,
                              .actor = user_,
                              .reason = "restored from a dump of refs",
                              .at = engine_.clock.now()});
  }

  /// Returns false if the rules have changed.
  bool publish(int64_t settings_version) {
    const std::map<CommitId, meta::CommitMakers> makers =
        engine_.commits.makers(source_.id, order_);
    return engine_.pool.transaction([&](db::Connection& connection) {
      const auto locked = RefsDumpStore::lock(connection, target_.id, engine_.writer.id());
      if (!locked) {
        throw Error(ErrorCode::kNotFound, reason::kRepositoryNotFound, "repository not found");
      }
      if (!locked->writer_lives) {
        throw Error(ErrorCode::kUnavailable, reason::kWriterLost,
                    "restoring refs: this server lost its registration in the database, try again");
      }
      if (locked->settings_version != settings_version) return false;
      require_bare(RefsDumpStore::is_bare(connection, target_.id));
      // The copied trees refer to the objects of the source's: until here its commits kept them.
      if (!meta::Commits::hold(connection, source_.id, kept_)) {
        throw Error(ErrorCode::kUnavailable, reason::kBeingCollected,
                    "restoring refs: garbage collection removed commits of the dumped repository "
                    "that no ref of it leads to any more; dump its refs again");
      }
      for (const CommitId& id : order_) {
        meta::Commits::insert(connection, target_.id, made_.at(id), makers.at(id));
      }
      for (const DumpedRef& ref : refs_) {
        insert(connection, ref, made_.at(ref.commit).id);
      }
      if (steps_.on_publish) steps_.on_publish(connection);
      return true;
    });
  }

 public:
  static void require_bare(bool is_bare) {
    if (is_bare) return;
    throw Error(ErrorCode::kInvalidArgument, reason::kNotBare,
                "restoring refs: the repository is not bare; create one with bare=true");
  }

 private:
  branch::Engine& engine_;
  const Repository& source_;
  const Repository& target_;
  const std::vector<DumpedRef> refs_;
  const std::string user_;
  const RestoreSteps steps_;
  const meta::Writer::Operation operation_;
  meta::NodeWriter nodes_;
  const RestoredEdits::Restore restore_ = [this](Entry entry) {
    return restored(std::move(entry));
  };
  std::map<CommitId, Commit> made_;  ///< by the id in the source
  std::vector<CommitId> order_;      ///< ids in the source, parents first
  std::vector<CommitId> kept_;       ///< of them, those whose data has not expired
  std::map<Hash128, TreeRoot> roots_;
  std::set<RepositoryId> owners_;  ///< recorded as read by the target
};

void run_restore(branch::Engine& engine, const Repository& target, std::string_view dump,
                 std::string_view user, RestoreSteps steps) {
  const Repository source = dumped_repository(engine, dump);
  RestoreRun(engine, source, target, read_refs(engine, source, dump), user, std::move(steps)).run();
}

/// The checks before a restore begins.
Repository restore_target(branch::Engine& engine, const RepositoryName& repository, bool force) {
  const Repository target = branch::get_repository(engine, repository);
  branch::check_writable(engine, target, force);
  RestoreRun::require_bare(RefsDumpStore(engine.pool).is_bare(target.id));
  return target;
}

std::string dump_of(branch::Engine& engine, const Repository& repository) {
  const std::vector<DumpedRef> refs =
      RefsDumpStore(engine.pool).list(repository.id, kDumpedRefsMax + 1);
  if (refs.size() > kDumpedRefsMax) {
    throw_invalid(str_cat("dumping refs: there are more than ", kDumpedRefsMax));
  }
  const std::string digits = to_hex(random_bytes(kIdDigits / 2));
  const std::string bytes = encode_refs(refs);
  const blob::Located at = located(engine, repository, digits);
  const auto writer = at.store->create(at.key, bytes.size());
  writer->write(bytes);
  if (!writer->finish()) {
    throw Error(ErrorCode::kUnavailable, reason::kAddressTaken, "dumping refs: try again");
  }
  return str_cat(static_cast<int32_t>(repository.id), "-", digits);
}

struct DumpStopped {};

void run_task(branch::Engine& engine, jobs::Job& job, int64_t owner, const std::stop_token& stop) {
  const Repository repository = engine.repositories.get(job.repository);
  if (job.kind == kDumpKind) {
    job.result = dump_of(engine, repository);
    engine.jobs.finish(job, owner, jobs::JobState::kDone);
    return;
  }
  auto reported = std::chrono::steady_clock::now();
  RestoreSteps steps;
  steps.on_commit = [&] {
    ++job.progress;
    if (std::chrono::steady_clock::now() - reported < lease_time() / 6 && !stop.stop_requested()) {
      return;
    }
    reported = std::chrono::steady_clock::now();
    if (stop.stop_requested() || !engine.jobs.report(job, owner, lease_time())) throw DumpStopped{};
  };
  // In the same transaction: otherwise a process that died in between would leave a job that starts
  // over and finds the repository no longer empty.
  steps.on_publish = [&](db::Connection& connection) {
    if (!engine.jobs.finish(connection, job, owner, jobs::JobState::kDone)) throw DumpStopped{};
  };
  run_restore(engine, repository, job.spec, job.owner, std::move(steps));
}

}  // namespace

std::string dump_refs(branch::Engine& engine, const RepositoryName& repository) {
  return dump_of(engine, branch::get_repository(engine, repository));
}

Repository dumped_repository(branch::Engine& engine, std::string_view dump) {
  const DumpId id = parse_dump_id(dump);
  try {
    // The name of a deleted repository may belong to another one by now.
    const Repository repository = engine.repositories.get(id.repository);
    const auto living = engine.repositories.find(repository.name);
    if (living && living->id == id.repository) return repository;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kDataLoss) throw;
  }
  throw_no_dump(dump);
}

std::vector<AliasName> aliases_of_dump(branch::Engine& engine, std::string_view dump) {
  std::vector<AliasName> out;
  for (DumpedRef& ref : read_refs(engine, dumped_repository(engine, dump), dump)) {
    if (ref.kind == RefKind::kAlias) out.emplace_back(std::move(ref.name));
  }
  return out;
}

void restore_refs(branch::Engine& engine, const RepositoryName& repository, std::string_view dump,
                  bool force, std::string_view user) {
  run_restore(engine, restore_target(engine, repository, force), dump, user, {});
}

std::string start_dump(branch::Engine& engine, const RepositoryName& repository,
                       std::string_view user) {
  return engine.jobs.create(kDumpKind, branch::get_repository(engine, repository).id, BranchId{},
                            "", user);
}

std::string start_restore(branch::Engine& engine, const RepositoryName& repository,
                          std::string_view dump, bool force, std::string_view user) {
  const Repository target = restore_target(engine, repository, force);
  dumped_repository(engine, dump);
  return engine.jobs.create(kRestoreKind, target.id, BranchId{}, dump, user);
}

RefsTaskStatus refs_task_status(branch::Engine& engine, const RepositoryName& repository,
                                RefsTask task, std::string_view id) {
  const Repository repo = branch::get_repository(engine, repository);
  const auto job = engine.jobs.find(id);
  if (!job || job->repository != repo.id ||
      job->kind != (task == RefsTask::kDump ? kDumpKind : kRestoreKind)) {
    throw Error(ErrorCode::kNotFound, reason::kTaskNotFound, "task not found");
  }
  RefsTaskStatus status;
  status.id = job->id;
  status.done = job->state == jobs::JobState::kDone || job->state == jobs::JobState::kFailed;
  status.updated = job->updated;
  status.error = job->error;
  if (task == RefsTask::kDump && job->state == jobs::JobState::kDone) status.dump = job->result;
  return status;
}

bool run_one_refs_task(branch::Engine& engine, std::stop_token stop) {
  const int64_t owner = new_lease_owner();
  auto job = engine.jobs.take(kDumpKind, owner, lease_time());
  if (!job) job = engine.jobs.take(kRestoreKind, owner, lease_time());
  if (!job) return false;
  try {
    const ActingUser user(job->owner, {}, job->limits);
    run_task(engine, *job, owner, stop);
  } catch (const DumpStopped&) {
    // Another process starts the job again.
  } catch (const Error& error) {
    job->error = error.message();
    log::warn("refs task failed", {{"job", job->id}, {"error", error.message()}});
    engine.jobs.finish(*job, owner, jobs::JobState::kFailed);
  }
  return true;
}

}  // namespace tarn::imports
