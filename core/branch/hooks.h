// The seam between verbs and hooks: events, action files, and when hooks run.
#pragma once

#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "core/branch/engine.h"
#include "core/model/entry.h"
#include "core/model/hook_event.h"
#include "core/model/hook_run.h"
#include "core/model/repository.h"
#include "core/tree/edit.h"

namespace tarn::db {
class Connection;
}

namespace tarn::branch {

/// Runs of hooks after changes that one server runs at once.
constexpr uint32_t kHookWorkers = 4;

/// Action files that one ref may have.
constexpr size_t kActionFilesMax = 500;

/// An event, as hooks receive it. Empty members are left out.
struct HookContext {
  HookEvent event{};
  RepositoryName repository{};
  std::string branch{};      ///< of a merge the destination
  std::string source_ref{};  ///< as the event has it: a branch, a commit or what was requested
  std::string tag{};
  std::string commit{};  ///< id in hex
  std::string merge_source{};
  std::string message{};  ///< of the commit
  std::string committer{};
  Metadata metadata{};
  Instant time{};
  std::string user{};    ///< on whose behalf
  std::string limits{};  ///< of the key with which the user asked (ActingUser::limits)
};

struct ActionEntry {
  std::string path;
  Entry entry;
};

/// The action files of a tree (is_action_file).
struct ActionFiles {
  std::vector<ActionEntry> files;
  /// The files of the destination's head, for a merge. Of two with one action name, this one
  /// counts.
  std::vector<ActionEntry> destination{};
  /// The ref of the files, at which files that they name are read. In stored runs it is a commit.
  std::string ref{};
  std::string destination_ref{};
  bool empty() const { return files.empty() && destination.empty(); }
};

/// The action files of a committed tree; from the node cache. Throws invalid_argument past
/// kActionFilesMax.
std::vector<ActionEntry> action_files_of(Engine& engine, const TreeRoot& root);

/// Changes of action files among those of a tree. One thread.
class ActionFileChanges {
 public:
  /// Keeps the change if it is of an action file.
  void add(const tree::Change& change);
  /// The action files of `root` with these changes and `deletes` applied.
  std::vector<ActionEntry> action_files(Engine& engine, const TreeRoot& root,
                                        const std::vector<tree::RangeDelete>& deletes) const;

 private:
  std::vector<std::pair<std::string, std::optional<Entry>>> seen_;  ///< path and entry
};

/// A hook that would run.
struct PlannedHook {
  std::string action;
  std::string file;
  std::string ref;  ///< where the file is
  std::string hook;
  std::string type;
  std::string condition;
};

/// The interface that runs hooks. Safe from any thread. No method but `queue` and `set_commit` may
/// be called inside a transaction or with a connection leased.
class Hooks {
 public:
  virtual ~Hooks() = default;

  /// Whether a hook waits for this. Throws precondition_failed (reason "action_file_invalid") for
  /// files that mean nothing.
  virtual bool wanted(const Repository& repository, const HookContext& context,
                      const ActionFiles& files) = 0;
  /// Runs the hooks of an event before its change and returns the id of the run. Calls `tick` at
  /// least every few seconds; its exceptions end the run. Throws precondition_failed (reason
  /// "hook_failed") if a hook refuses the change.
  virtual std::string run(const Repository& repository, const HookContext& context,
                          const ActionFiles& files, const std::function<void()>& tick) = 0;
  /// Runs the hooks of an event that did not occur, to their end; only those of `action` unless it
  /// is "". Throws not_found (reason "action_not_found": no such action for the event),
  /// invalid_argument (files).
  virtual HookRun run_by_hand(const Repository& repository, const HookContext& context,
                              const ActionFiles& files, const std::string& action) = 0;
  /// A dry run: the hooks that would run. Throws invalid_argument (files).
  virtual std::vector<PlannedHook> plan(const Repository& repository, const HookContext& context,
                                        const ActionFiles& files) = 0;
  /// The run of an event after its change is stored with the change.
  virtual void queue(db::Connection& connection, const Repository& repository,
                     const HookContext& context, const ActionFiles& files) = 0;
  /// The change that a run was for has made this commit.
  virtual void set_commit(db::Connection& connection, RepositoryId repository,
                          const std::string& run, const CommitId& commit) = 0;

  /// Runs one queued run to its end; false if there is none.
  virtual bool run_queued(std::stop_token stop) = 0;
  /// Deletes old runs and ends those whose server is gone; false = nothing left to do.
  virtual bool sweep() = 0;
};

/// The hooks around one change: `before` runs those that may refuse it, `within` stores those after
/// it. Does nothing without hooks, in a read-only repository, and without files. One thread.
class HookedChange {
 public:
  /// `context` has the event before the change. Time and user are filled in.
  HookedChange(Engine& engine, const Repository& repository, HookContext context, HookEvent after,
               ActionFiles files);

  void before(const std::function<void()>& tick = {});
  /// Whether there is something to do in the change's transaction; after before().
  bool has_within() const { return !run_.empty() || after_wanted_; }
  /// `made`: the commit that the change makes, if it makes one.
  void within(db::Connection& connection, const Commit* made = nullptr) const;
  /// within() for stores that take a step; empty if there are no hooks.
  std::function<void(db::Connection&)> step() const;

 private:
  HookContext after_context(const Commit* made) const;

  Engine& engine_;
  const Repository& repository_;
  HookContext context_;
  const HookEvent after_;
  const ActionFiles files_;
  bool after_wanted_ = false;
  std::string run_;
};

/// Whether changes of the repository are checked at all.
bool has_hooks(const Engine& engine, const Repository& repository);

}  // namespace tarn::branch
