// The runner of hooks: finds the actions of an event, runs them in parallel and the hooks of each
// in order, and stores their output.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/actions/action_file.h"
#include "core/actions/grants.h"
#include "core/actions/hook_work.h"
#include "core/actions/live_steps.h"
#include "core/actions/parsed_files.h"
#include "core/base/mutex.h"
#include "core/base/owner_turns.h"
#include "core/branch/hooks.h"
#include "core/events/hook_run_store.h"

namespace tarn::actions {

/// Actions of one run that run at once; the others wait for these.
constexpr size_t kActionsAtOnceMax = 8;
/// A run whose server has not been heard of for so long is taken over, or has failed.
constexpr std::chrono::seconds kRunLease{30};
/// A run after a change is begun so often; more than once only when servers end in the middle.
constexpr int kRunAttemptsMax = 5;
/// How long runs and the output of their hooks are kept.
constexpr std::chrono::hours kRunsKept{24 * 90};
constexpr uint32_t kSweptRunsMax = 1'000;
/// Maximum size of the object that `script_path` names.
constexpr uint64_t kScriptBytesMax = 1u << 20;

struct RunnerOptions {
  std::string script_program;  ///< see script_program()
  Environment environment;     ///< of the server
  bool script_http = false;    ///< whether scripts may require net/http and aws
  size_t script_processes = kScriptProcessesMax;
  /// Which repositories' hooks may use a variable of the environment, by its name.
  Grants variables{};
  /// Which other repositories the scripts of a repository may reach, by its name.
  Grants repositories{};
};

/// Safe from any thread.
class Runner final : public branch::Hooks {
 public:
  /// `engine` and `outbound` outlive it.
  Runner(branch::Engine& engine, const http::Outbound& outbound, RunnerOptions options);

  /// Sets the receiver of scripts' calls (empty = none); waits for running calls.
  void serve_calls(Api api);

  bool wanted(const Repository& repository, const branch::HookContext& context,
              const branch::ActionFiles& files) override;
  std::string run(const Repository& repository, const branch::HookContext& context,
                  const branch::ActionFiles& files, const std::function<void()>& tick) override;
  HookRun run_by_hand(const Repository& repository, const branch::HookContext& context,
                      const branch::ActionFiles& files, const std::string& action) override;
  std::vector<branch::PlannedHook> plan(const Repository& repository,
                                        const branch::HookContext& context,
                                        const branch::ActionFiles& files) override;
  void queue(db::Connection& connection, const Repository& repository,
             const branch::HookContext& context, const branch::ActionFiles& files) override;
  void set_commit(db::Connection& connection, RepositoryId repository, const std::string& run,
                  const CommitId& commit) override;
  bool run_queued(std::stop_token stop) override;
  bool sweep() override;

 private:
  struct Action {
    std::shared_ptr<const ActionFile> file;  // shared with the remembered ones
    std::string path;
    std::string ref;           ///< the ref at which the file, and files that it names, are read
    bool destination = false;  ///< it belongs to the destination of a merge
  };
  std::vector<Action> load(const Repository& repository, const branch::ActionFiles& files);
  std::vector<Action> matching(const Repository& repository, const branch::HookContext& context,
                               const branch::ActionFiles& files);
  std::shared_ptr<const ActionFile> parse(const Repository& repository,
                                          const branch::ActionEntry& entry);
  std::string read(const Repository& repository, const Entry& entry, uint64_t bytes_max);
  /// Runs the hooks and stores the run; the lease is `owner`'s. Returns the failures, one a hook,
  /// for the message. Exceptions of `tick` are thrown once the run is stored.
  std::vector<std::string> execute(const Repository& repository, const branch::HookContext& context,
                                   const std::vector<Action>& actions, HookRun& run, int64_t owner,
                                   const std::function<void()>& tick, bool by_hand = false);
  bool of_default_branch(const Repository& repository, const std::string& ref);
  HookRun begin(const Repository& repository, const branch::HookContext& context, int64_t owner);
  void store_live(RepositoryId repository, const std::string& run, int64_t owner, LiveSteps& steps);
  void finish_failed(RepositoryId repository, HookRun run, int64_t owner, std::string error);
  void take_up(const events::HookRunStore::Taken& taken, int64_t owner);

  branch::Engine& engine_;
  const http::Outbound& outbound_;
  const RunnerOptions options_;
  OwnerTurns turns_{branch::kHookWorkers};
  ScriptSlots script_slots_{options_.script_processes};
  events::HookRunStore runs_;
  ParsedFiles parsed_;
  Mutex api_mutex_;
  CondVar api_idle_;
  Api api_ TARN_GUARDED_BY(api_mutex_);
  int api_calls_ TARN_GUARDED_BY(api_mutex_) = 0;
};

}  // namespace tarn::actions
