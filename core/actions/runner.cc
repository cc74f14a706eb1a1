#include "core/actions/runner.h"

#include <algorithm>

#include "core/actions/execution.h"
#include "core/base/cancellation.h"
#include "core/base/error.h"
#include "core/base/lease.h"
#include "core/base/log.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "core/branch/hook_files.h"
#include "core/branch/refs.h"
#include "core/meta/branches.h"
#include "core/meta/commits.h"
#include "core/meta/repositories.h"
#include "core/model/descending_id.h"
#include "core/objects/objects.h"

namespace tarn::actions {
namespace {

using branch::ActionEntry;
using branch::ActionFiles;
using branch::HookContext;

constexpr std::string_view kAbandoned = "the server that ran it ended";

/// "1 error occurred: ...", the format of lakeFS.
std::string report(const std::vector<std::string>& failures) {
  std::string out =
      str_cat(failures.size(), failures.size() == 1 ? " error" : " errors", " occurred:\n");
  for (const std::string& failure : failures) out += str_cat("\t* ", failure, "\n");
  return out + "\n";
}

/// Whether the event's action files come from the branch that changes; otherwise they come from the
/// ref that the request names.
bool is_of_changed_branch(HookEvent event) {
  switch (event) {
    case HookEvent::kPrepareCommit:
    case HookEvent::kPreCommit:
    case HookEvent::kPostCommit:
    case HookEvent::kPreDeleteBranch:
    case HookEvent::kPostDeleteBranch:
    case HookEvent::kPreRevert:
    case HookEvent::kPostRevert:
    case HookEvent::kPreCherryPick:
    case HookEvent::kPostCherryPick:
      return true;
    case HookEvent::kPreMerge:
    case HookEvent::kPostMerge:
    case HookEvent::kPreCreateTag:
    case HookEvent::kPostCreateTag:
    case HookEvent::kPreDeleteTag:
    case HookEvent::kPostDeleteTag:
    case HookEvent::kPreCreateBranch:
    case HookEvent::kPostCreateBranch:
      return false;
  }
  check_failed("HookEvent", __FILE__, __LINE__);
}

[[noreturn]] void throw_run_lost() {
  throw Error(ErrorCode::kConflict, reason::kRunLost, "the run was taken over");
}

[[noreturn]] void throw_aborted(const HookRun& run, std::string_view reason,
                                std::string_view report) {
  throw Error(ErrorCode::kPreconditionFailed, reason,
              str_cat(name_of(run.event), " hook aborted, run id '", run.id, "': ", report));
}

}  // namespace

Runner::Runner(branch::Engine& engine, const http::Outbound& outbound, RunnerOptions options)
    : engine_(engine), outbound_(outbound), options_(std::move(options)), runs_(engine.pool) {}

void Runner::serve_calls(Api api) {
  MutexLock lock(api_mutex_);
  api_ = std::move(api);
  api_idle_.wait(lock, [&]() TARN_REQUIRES(api_mutex_) { return api_ || api_calls_ == 0; });
}

std::string Runner::read(const Repository& repository, const Entry& entry, uint64_t bytes_max) {
  if (entry.size_bytes > bytes_max) throw_invalid(str_cat("is longer than ", bytes_max, " bytes"));
  std::string bytes(entry.size_bytes, '\0');
  if (bytes.empty()) return bytes;
  const auto reader = objects::open_object(engine_, repository, entry, {0, entry.size_bytes});
  size_t at = 0;
  while (at < bytes.size()) {
    const size_t got = reader->read(std::span(bytes).subspan(at));
    if (got == 0) throw Error(ErrorCode::kUnavailable, "its bytes ended early");
    at += got;
  }
  return bytes;
}

std::shared_ptr<const ActionFile> Runner::parse(const Repository& repository,
                                                const ActionEntry& file) {
  // Objects in our store never change; external ones get another etag when they do.
  const std::string key = str_cat(static_cast<int64_t>(repository.id), "/", file.entry.etag, "/",
                                  encode_address(file.entry.address));
  if (auto remembered = parsed_.find(key)) return remembered;
  auto parsed = std::make_shared<const ActionFile>(
      parse_action_file(read(repository, file.entry, kActionFileBytesMax)));
  parsed_.put(key, parsed);
  return parsed;
}

/// Throws invalid_argument naming the file.
std::vector<Runner::Action> Runner::load(const Repository& repository, const ActionFiles& files) {
  std::vector<Action> actions;
  std::map<std::string, std::pair<size_t, bool>> by_name;  // index, of the destination
  const auto add = [&](const std::vector<ActionEntry>& entries, const std::string& ref,
                       bool destination) {
    for (const ActionEntry& entry : entries) {
      try {
        Action action{parse(repository, entry), entry.path, ref, destination};
        const auto [at, is_new] =
            by_name.try_emplace(action.file->name, actions.size(), destination);
        if (is_new) {
          actions.push_back(std::move(action));
        } else if (at->second.second == destination) {
          throw_invalid(str_cat("action name \"", action.file->name, "\" is that of ",
                                actions[at->second.first].path, " too"));
        } else {
          actions[at->second.first] = std::move(action);
          at->second.second = destination;
        }
      } catch (const Error& error) {
        if (error.code() != ErrorCode::kInvalidArgument) throw;
        throw_invalid(str_cat("parsing file ", entry.path,
                              destination ? " of the destination: " : ": ", error.message()));
      }
    }
  };
  add(files.files, files.ref, false);
  add(files.destination, files.destination_ref, true);
  return actions;
}

std::vector<Runner::Action> Runner::matching(const Repository& repository,
                                             const HookContext& context, const ActionFiles& files) {
  std::vector<Action> actions = load(repository, files);
  std::erase_if(actions, [&](const Action& action) {
    return !action.file->wants(context.event, context.branch);
  });
  return actions;
}

bool Runner::wanted(const Repository& repository, const HookContext& context,
                    const ActionFiles& files) {
  std::string problem;
  try {
    return !matching(repository, context, files).empty();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kInvalidArgument) throw;
    problem = error.message();
  }
  // Record the failure as a run, so that the client can look it up by its id.
  const int64_t owner = new_lease_owner();
  const HookRun run = begin(repository, context, owner);
  finish_failed(repository.id, run, owner, problem);
  throw_aborted(run, "action_file_invalid", report({problem}));
}

HookRun Runner::begin(const Repository& repository, const HookContext& context, int64_t owner) {
  HookRun run;
  run.event = context.event;
  run.branch = context.branch;
  // The merge commit does not exist yet.
  if (context.event != HookEvent::kPreMerge) run.commit = parse_commit_id(context.commit);
  run.started = engine_.clock.now();
  run.id = make_descending_id(run.started);
  runs_.begin(repository.id, run, owner, kRunLease);
  return run;
}

void Runner::finish_failed(RepositoryId repository, HookRun run, int64_t owner, std::string error) {
  run.state = HookRunState::kFailed;
  run.error = std::move(error);
  run.ended = engine_.clock.now();
  runs_.finish(repository, run, owner, {});
}

std::string Runner::run(const Repository& repository, const HookContext& context,
                        const ActionFiles& files, const std::function<void()>& tick) {
  const std::vector<Action> actions = matching(repository, context, files);
  const int64_t owner = new_lease_owner();
  HookRun run = begin(repository, context, owner);
  const auto failures = execute(repository, context, actions, run, owner, tick);
  if (!failures.empty()) throw_aborted(run, "hook_failed", report(failures));
  return run.id;
}

HookRun Runner::run_by_hand(const Repository& repository, const HookContext& context,
                            const ActionFiles& files, const std::string& wanted_action) {
  std::vector<Action> actions = matching(repository, context, files);
  if (!wanted_action.empty()) {
    std::erase_if(actions,
                  [&](const Action& action) { return action.file->name != wanted_action; });
  }
  if (actions.empty()) {
    throw Error(ErrorCode::kNotFound, reason::kActionNotFound,
                str_cat("running hooks: no ", wanted_action.empty() ? "action" : "such action",
                        " waits for ", name_of(context.event),
                        context.branch.empty() ? "" : str_cat(" of branch ", context.branch)));
  }
  const int64_t owner = new_lease_owner();
  HookRun run = begin(repository, context, owner);
  execute(repository, context, actions, run, owner, {}, /*by_hand=*/true);
  return run;
}

std::vector<branch::PlannedHook> Runner::plan(const Repository& repository,
                                              const HookContext& context,
                                              const ActionFiles& files) {
  std::vector<branch::PlannedHook> out;
  for (const Action& action : matching(repository, context, files)) {
    for (const Hook& hook : action.file->hooks) {
      out.push_back({.action = action.file->name,
                     .file = action.path,
                     .ref = action.ref,
                     .hook = hook.id,
                     .type = std::string(type_of(hook)),
                     .condition = hook.condition.empty() ? "success()" : hook.condition});
    }
  }
  return out;
}

bool Runner::of_default_branch(const Repository& repository, const std::string& ref) {
  if (ref == repository.default_branch.str()) return true;
  const auto id = parse_commit_id(ref);
  const auto commit = id ? engine_.commits.find(repository.id, *id) : std::nullopt;
  const auto branch = engine_.branches.find(repository.id, repository.default_branch);
  return commit && branch && branch::same_hook_files(engine_, commit->root, branch->root);
}

/// Stores live output. A database that is gone for a moment fails no hook: the end of the run
/// stores the rest.
void Runner::store_live(RepositoryId repository, const std::string& run, int64_t owner,
                        LiveSteps& steps) {
  try {
    steps.store(std::chrono::steady_clock::now(), [&](const auto& changed) {
      if (!runs_.store_steps(repository, run, owner, changed)) throw_run_lost();
    });
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kUnavailable) throw;
  }
}

std::vector<std::string> Runner::execute(const Repository& repository, const HookContext& context,
                                         const std::vector<Action>& actions, HookRun& run,
                                         int64_t owner, const std::function<void()>& tick,
                                         bool by_hand) {
  const Api api = [this](const ApiCall& call) {
    Api serving;
    {
      MutexLock lock(api_mutex_);
      if (!api_) throw Error(ErrorCode::kUnavailable, "the server is starting or stopping");
      serving = api_;
      ++api_calls_;
    }
    const auto done = [this] {
      MutexLock lock(api_mutex_);
      --api_calls_;
      api_idle_.notify_all();
    };
    try {
      ApiAnswer answer = serving(call);
      done();
      return answer;
    } catch (...) {
      done();
      throw;
    }
  };
  Execution execution(
      {.clock = engine_.clock,
       .repository = repository,
       .context = context,
       .run = run.id,
       .outbound = outbound_,
       .api = api,
       .script_program = options_.script_program,
       .script_slots = script_slots_,
       .script_http = options_.script_http,
       .environment = options_.environment,
       .variables = options_.variables,
       .repositories = options_.repositories,
       .of_default_branch =
           [&](const std::string& ref) { return of_default_branch(repository, ref); },
       .read_object =
           [&](const std::string& ref, const std::string& path) {
             const auto found =
                 objects::find_object(engine_, repository.name, ref, parse_key(path));
             if (!found) throw_invalid(str_cat("object \"", path, "\" at ", ref, ": not found"));
             return read(repository, found->entry, kScriptBytesMax);
           }});
  for (const Action& action : actions) {
    const bool of_changed_branch =
        action.destination || (!by_hand && is_of_changed_branch(context.event));
    execution.add(*action.file, action.ref, of_changed_branch);
  }

  std::exception_ptr stopped;
  auto renewed = std::chrono::steady_clock::now();
  try {
    execution.wait([&] {
      throw_if_cancelled();
      if (tick) tick();
      store_live(repository.id, run.id, owner, execution.steps());
      if (std::chrono::steady_clock::now() - renewed < kRunLease / 3) return;
      renewed = std::chrono::steady_clock::now();
      if (!runs_.renew(repository.id, run.id, owner, kRunLease)) throw_run_lost();
    });
  } catch (...) {
    stopped = std::current_exception();
    execution.stop();
  }
  const std::vector<events::HookStepOutput> steps = execution.steps().unstored();
  std::vector<std::string> failures = execution.failures();
  run.state = failures.empty() && !stopped ? HookRunState::kCompleted : HookRunState::kFailed;
  run.ended = engine_.clock.now();
  if (stopped) {
    // After a change, another server restarts the run; a run inside a request ends here.
    if (!is_after(run.event)) runs_.finish(repository.id, run, owner, steps);
    std::rethrow_exception(stopped);
  }
  runs_.finish(repository.id, run, owner, steps);
  return failures;
}

void Runner::queue(db::Connection& connection, const Repository& repository,
                   const HookContext& context, const ActionFiles& files) {
  HookRun run;
  run.event = context.event;
  run.branch = context.branch;
  run.commit = parse_commit_id(context.commit);
  run.started = engine_.clock.now();
  run.id = make_descending_id(run.started);
  const QueuedRun queued{.context = context,
                         .ref = files.ref,
                         .destination_ref = files.destination_ref,
                         .depth = hook_nesting().depth};
  events::HookRunStore::queue(connection, repository.id, run, to_json(queued), commits_of(queued));
}

void Runner::set_commit(db::Connection& connection, RepositoryId repository, const std::string& run,
                        const CommitId& commit) {
  events::HookRunStore::set_commit(connection, repository, run, commit);
}

bool Runner::run_queued(std::stop_token stop) {
  const int64_t owner = new_lease_owner();
  std::optional<events::HookRunStore::Taken> taken;
  const auto turn =
      turns_.begin([&](const std::vector<std::string>& full) -> std::optional<std::string> {
        taken = runs_.take(owner, kRunLease, full);
        if (!taken) return std::nullopt;
        return taken->user;
      });
  if (!turn) return false;
  const CancellationScope cancellable(stop);
  try {
    take_up(*taken, owner);
  } catch (const Error& error) {
    if (stop.stop_requested()) {
      runs_.give_back(taken->repository, taken->run.id, owner);
    } else if (error.reason() != reason::kRunLost) {
      finish_failed(taken->repository, taken->run, owner, error.message());
    }
  }
  return true;
}

void Runner::take_up(const events::HookRunStore::Taken& taken, int64_t owner) {
  if (taken.attempts > kRunAttemptsMax) {
    throw Error(ErrorCode::kUnavailable,
                str_cat("given up: ", kRunAttemptsMax, " servers ended while they ran it"));
  }
  const QueuedRun queued = queued_run_from(taken.occasion);
  const Repository repository = engine_.repositories.current(taken.repository);
  const auto files_at = [&](const std::string& ref) {
    if (ref.empty()) return std::vector<ActionEntry>();
    const auto id = parse_commit_id(ref);
    const auto commit = id ? engine_.commits.find(repository.id, *id) : std::nullopt;
    if (!commit) throw Error(ErrorCode::kNotFound, str_cat("commit ", ref, ": not found"));
    return branch::action_files_of(engine_, commit->root);
  };
  const ActionFiles files{.files = files_at(queued.ref),
                          .destination = files_at(queued.destination_ref),
                          .ref = queued.ref,
                          .destination_ref = queued.destination_ref};
  HookRun run = taken.run;
  const NestedHooks inside({.depth = queued.depth});
  execute(repository, queued.context, matching(repository, queued.context, files), run, owner, {});
}

bool Runner::sweep() {
  const Instant now = engine_.clock.now();
  runs_.fail_abandoned(now, kAbandoned);
  return runs_.sweep(now - kRunsKept, kSweptRunsMax) == kSweptRunsMax;
}

}  // namespace tarn::actions
