// Execution of one hook.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "core/actions/action_file.h"
#include "core/actions/grants.h"
#include "core/actions/script_slots.h"
#include "core/actions/variables.h"
#include "core/base/mutex.h"
#include "core/branch/hooks.h"
#include "core/http/outbound.h"
#include "core/model/repository.h"

namespace tarn::actions {

// Events as JSON: for receivers of hooks and for rows of queued runs.

/// Hooks that hooks' own calls set off: each further turn is one deeper. Deeper ones are refused.
constexpr int kHookDepthMax = 4;

/// The event of a queued run. `depth`: nesting of the hooks that triggered it; 0 = none.
struct QueuedRun {
  branch::HookContext context;
  std::string ref;              ///< where the action files are
  std::string destination_ref;  ///< of a merge
  int depth = 0;
};
std::string to_json(const QueuedRun& run);
/// The commits that the run's refs name by their ids.
std::vector<CommitId> commits_of(const QueuedRun& run);
/// Throws data_loss.
QueuedRun queued_run_from(std::string_view json);

/// The part of an event that describes the hook itself.
struct HookIdentity {
  std::string action;
  std::string hook;
  std::string run;
  std::string step;
};

/// The body of a webhook: a JSON object.
std::string event_body(const branch::HookContext& context, const HookIdentity& identity);
/// The same with the ids of the run, for scripts.
std::string script_action(const branch::HookContext& context, const HookIdentity& identity,
                          std::string_view storage_namespace);

/// The answer to a script's call of the service's own API.
struct ApiAnswer {
  int status = 0;
  bool json = false;
  std::string body;
};
struct ApiCall {
  std::string user{};    ///< the user whose rights the call has; "" = no user
  std::string limits{};  ///< of the key with which the user asked (ActingUser::limits)
  std::string method{};
  std::string target{};
  std::string body{};
};
using Api = std::function<ApiAnswer(const ApiCall&)>;

/// The text that a hook leaves: the first and the last of it up to events::kHookOutputBytesMax,
/// with the values of variables taken out. The thread of the hook adds; any thread may read
/// meanwhile.
class HookOutput {
 public:
  explicit HookOutput(const Variables& variables) : masking_(variables) {}
  void add(std::string_view text);
  /// Nothing is added any more.
  void end();
  /// The output so far.
  std::string text() const;
  /// The size of the output so far, with the bytes that were left out.
  size_t bytes() const;

 private:
  void keep(const std::string& shown);

  Masking masking_;  // of the hook's thread
  mutable Mutex mutex_;
  std::string first_ TARN_GUARDED_BY(mutex_);
  std::string last_ TARN_GUARDED_BY(mutex_);
  size_t left_out_ TARN_GUARDED_BY(mutex_) = 0;
};

/// Everything a hook may use. Of one hook of one run.
struct HookWork {
  const Repository& repository;
  const branch::HookContext& context;
  const HookIdentity& identity;
  std::chrono::milliseconds timeout{};
  Variables& variables;
  HookOutput& output;
  const http::Outbound& outbound;
  const Api& api;
  const std::string& script_program;
  ScriptSlots& script_slots;
  bool script_http = false;
  const Grants& repositories;  ///< that scripts reach, in addition to their own
  /// The bytes of an object at the ref of the action file.
  const std::function<std::string(const std::string& path)>& read_object;
};

// Each throws the reason why the hook failed.

/// POST of the event as JSON; any 2xx is success. What a retry may cure (no connection, 429, 502,
/// 503, 504) is tried again, kWebhookAttemptsMax times in all, inside the hook's timeout and not
/// before a Retry-After has passed.
constexpr int kWebhookAttemptsMax = 3;
void run_webhook(const WebhookHook& hook, const HookWork& work);
/// Starts a run of a DAG, and waits for its end when asked to.
void run_airflow(const AirflowHook& hook, const HookWork& work);
void run_lua(const LuaHook& hook, const HookWork& work);

}  // namespace tarn::actions
