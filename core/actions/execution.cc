#include "core/actions/execution.h"

#include <algorithm>
#include <cstdio>
#include <limits>
#include <utility>

#include "core/actions/condition.h"
#include "core/actions/runner.h"
#include "core/base/acting_user.h"
#include "core/base/cancellation.h"
#include "core/base/error.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"

namespace tarn::actions {
namespace {

/// Limit of one hook's part in the error message that refuses a change.
constexpr size_t kFailureBytesMax = 1'000;

HookNesting& nesting_here() {
  thread_local HookNesting nesting;
  return nesting;
}

std::string step_id(size_t action, size_t hook) {
  char text[2 * std::numeric_limits<size_t>::digits10 + 8];
  std::snprintf(text, sizeof text, "%04zu_%04zu", action, hook);
  return text;
}

template <typename... Cases>
struct Overloaded : Cases... {
  using Cases::operator()...;
};
template <typename... Cases>
Overloaded(Cases...) -> Overloaded<Cases...>;

}  // namespace

HookNesting hook_nesting() { return nesting_here(); }
NestedHooks::NestedHooks(HookNesting nesting) : outer_(std::exchange(nesting_here(), nesting)) {}
NestedHooks::~NestedHooks() { nesting_here() = outer_; }

void Execution::add(const ActionFile& action, const std::string& ref, bool of_changed_branch) {
  jobs_.push_back({&action, ref, of_changed_branch, {}});
}

void Execution::wait(const std::function<void()>& tick) {
  HookNesting nesting = hook_nesting();
  if (++nesting.depth > kHookDepthMax) {
    throw Error(ErrorCode::kPreconditionFailed, reason::kHooksTooDeep,
                str_cat("running hooks: hooks that set off hooks, ", kHookDepthMax, " deep"));
  }
  for (size_t i = 0; i < std::min(jobs_.size(), kActionsAtOnceMax); ++i) {
    threads_.emplace_back(
        [this, nesting](std::stop_token stop) { run_jobs(std::move(stop), nesting); });
  }
  for (;;) {
    {
      MutexLock lock(mutex_);
      if (ended_.wait_for(lock, std::chrono::seconds{1},
                          [this]() TARN_REQUIRES(mutex_) { return done_ == jobs_.size(); })) {
        break;
      }
    }
    if (tick) tick();
  }
  threads_.clear();
}

void Execution::stop() {
  for (std::jthread& thread : threads_) thread.request_stop();
  threads_.clear();
}

void Execution::run_jobs(std::stop_token stop, HookNesting nesting) {
  const CancellationScope cancellable(stop);
  const ActingUser user(options_.context.user, {}, options_.context.limits);
  const NestedHooks inside(nesting);
  for (;;) {
    size_t index = 0;
    {
      MutexLock lock(mutex_);
      if (next_ == jobs_.size()) return;
      index = next_++;
    }
    run_action(index);
    MutexLock lock(mutex_);
    ++done_;
    ended_.notify_all();
  }
}

void Execution::run_action(size_t index) {
  Job& job = jobs_[index];
  for (size_t i = 0; i < job.action->hooks.size(); ++i) {
    const Hook& hook = job.action->hooks[i];
    run_hook(job, hook,
             {.id = step_id(index, i),
              .action = job.action->name,
              .hook = hook.id,
              .started = options_.clock.now()});
  }
}

/// Masking hides a value from readers of the output, not from the hook, which may send it anywhere.
std::optional<std::string> Execution::variable(const Job& job, const std::string& name) const {
  const std::string& repository = options_.repository.name.str();
  if (!options_.variables.gives(name, repository)) {
    throw_invalid(str_cat("variable \"", name, "\": is not given to repository \"", repository,
                          "\"; the server's setting hooks.variables says which repositories have "
                          "which variables"));
  }
  if (!job.of_changed_branch && !options_.of_default_branch(job.ref)) {
    throw_invalid(
        str_cat("variable \"", name,
                "\": is given to action files of the branch that "
                "changes, and to others where the default branch has the same files below ",
                kActionFilesPrefix));
  }
  return options_.environment(name);
}

void Execution::run_hook(Job& job, const Hook& hook, HookStep step) {
  const Environment given = [&](const std::string& name) { return variable(job, name); };
  Variables variables(given);
  HookOutput output(variables);
  const HookIdentity identity{
      .action = job.action->name, .hook = hook.id, .run = options_.run, .step = step.id};
  const std::function<std::string(const std::string&)> read_object = [&](const std::string& path) {
    return options_.read_object(job.ref, path);
  };
  const HookWork work{.repository = options_.repository,
                      .context = options_.context,
                      .identity = identity,
                      .timeout = hook.timeout,
                      .variables = variables,
                      .output = output,
                      .outbound = options_.outbound,
                      .api = options_.api,
                      .script_program = options_.script_program,
                      .script_slots = options_.script_slots,
                      .script_http = options_.script_http,
                      .repositories = options_.repositories,
                      .read_object = read_object};
  steps_.begin(step, output);
  HookStatus status = HookStatus::kSkipped;
  try {
    const bool failed = !job.failures.empty();
    const bool runs = hook.condition.empty() ? !failed : holds(hook.condition, failed);
    if (!runs || cancellation_token().stop_requested()) {
      steps_.end(step.id, status, options_.clock.now());
      return;
    }
    std::visit(Overloaded{[&](const WebhookHook& it) { run_webhook(it, work); },
                          [&](const AirflowHook& it) { run_airflow(it, work); },
                          [&](const LuaHook& it) { run_lua(it, work); }},
               hook.work);
    status = HookStatus::kCompleted;
  } catch (const std::exception& error) {
    status = HookStatus::kFailed;
    const std::string why = variables.masked(error.what());
    output.add(str_cat("failed: ", why, "\n"));
    job.failures.push_back(str_cat("hook run id '", step.id, "' failed on action '",
                                   job.action->name, "' hook '", hook.id,
                                   "': ", std::string_view(why).substr(0, kFailureBytesMax)));
  }
  output.end();
  steps_.end(step.id, status, options_.clock.now());
}

std::vector<std::string> Execution::failures() const {
  std::vector<std::string> out;
  for (const Job& job : jobs_) out.insert(out.end(), job.failures.begin(), job.failures.end());
  return out;
}

}  // namespace tarn::actions
