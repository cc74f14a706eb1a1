// Execution of the hooks of one run.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "core/actions/action_file.h"
#include "core/actions/grants.h"
#include "core/actions/hook_work.h"
#include "core/actions/live_steps.h"
#include "core/base/mutex.h"

namespace tarn::actions {

/// Where this thread is among hooks that set off hooks.
struct HookNesting {
  int depth = 0;           ///< 0 = none
  bool in_script = false;  ///< a script waits for the work of this thread
};
HookNesting hook_nesting();
class NestedHooks {
 public:
  explicit NestedHooks(HookNesting nesting);
  ~NestedHooks();
  NestedHooks(const NestedHooks&) = delete;
  NestedHooks& operator=(const NestedHooks&) = delete;

 private:
  const HookNesting outer_;
};

struct ExecutionOptions {
  const Clock& clock;
  const Repository& repository;
  const branch::HookContext& context;
  std::string run;  ///< its id
  const http::Outbound& outbound;
  const Api& api;
  const std::string& script_program;
  ScriptSlots& script_slots;
  bool script_http = false;
  const Environment& environment;
  const Grants& variables;     ///< of the environment, to repositories
  const Grants& repositories;  ///< that scripts reach, in addition to their own
  /// Whether the files of hooks at a ref are those of the default branch.
  std::function<bool(const std::string& ref)> of_default_branch;
  std::function<std::string(const std::string& ref, const std::string& path)> read_object;
};

/// Runs actions in parallel on their own threads, at most kActionsAtOnceMax; the hooks of one
/// action run in order. After a failure, hooks whose condition does not hold are skipped. One
/// thread calls it: add(), wait(), then the results.
class Execution {
 public:
  explicit Execution(ExecutionOptions options) : options_(std::move(options)) {}

  /// `of_changed_branch`: the file is one of the branch that changes. Others are given variables
  /// only when the default branch has the same files.
  void add(const ActionFile& action, const std::string& ref, bool of_changed_branch);
  /// Returns when every hook has ended; calls `tick` about once a second until then. When it
  /// throws, stop() must be called. Throws precondition_failed (reason "hooks_too_deep").
  void wait(const std::function<void()>& tick);
  /// Ends running hooks soon and skips the rest.
  void stop();

  LiveSteps& steps() { return steps_; }
  /// "hook run id '0000_0000' failed on action 'a' hook 'h': ..." for each that did.
  std::vector<std::string> failures() const;

 private:
  struct Job {
    const ActionFile* action;
    std::string ref;
    bool of_changed_branch;
    std::vector<std::string> failures;
  };

  void run_jobs(std::stop_token stop, HookNesting nesting);
  void run_action(size_t index);
  std::optional<std::string> variable(const Job& job, const std::string& name) const;
  void run_hook(Job& job, const Hook& hook, HookStep step);

  const ExecutionOptions options_;
  std::vector<Job> jobs_;
  LiveSteps steps_;
  Mutex mutex_;
  CondVar ended_;
  size_t next_ TARN_GUARDED_BY(mutex_) = 0;
  size_t done_ TARN_GUARDED_BY(mutex_) = 0;
  std::vector<std::jthread> threads_;
};

}  // namespace tarn::actions
