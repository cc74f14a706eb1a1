#include "core/events/hook_runs.h"

#include "core/base/acting_user.h"
#include "core/base/error.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "core/branch/refs.h"
#include "core/branch/repositories.h"
#include "core/meta/commits.h"
#include "core/objects/objects.h"

namespace tarn::events {
namespace {

[[noreturn]] void throw_not_found() {
  throw Error(ErrorCode::kNotFound, reason::kRunNotFound, "not found");
}

HookRunStore runs_of(branch::Engine& engine) { return HookRunStore(engine.pool); }

/// The action files that a reader of the ref sees, including staged ones of a branch.
std::vector<branch::ActionEntry> files_at(branch::Engine& engine, const Repository& repository,
                                          const std::string& ref) {
  std::vector<branch::ActionEntry> out;
  for (std::string after;;) {
    const Page<objects::ListItem> page =
        objects::list_objects(engine, repository.name, ref,
                              {.prefix = std::string(kActionFilesPrefix),
                               .after = after,
                               .delimiter = "/",
                               .limit = branch::kActionFilesMax + 1});
    for (const objects::ListItem& item : page.items) {
      if (item.entry && is_action_file(item.path)) out.push_back({item.path, *item.entry});
    }
    if (out.size() > branch::kActionFilesMax) {
      throw_invalid(str_cat("reading ", kActionFilesPrefix, ": more than ", branch::kActionFilesMax,
                            " action files"));
    }
    if (!page.has_more) return out;
    after = page.next;
  }
}

struct Prepared {
  branch::HookContext context;
  branch::ActionFiles files;
};

Prepared prepare(branch::Engine& engine, const Repository& repository, const HandRun& given) {
  const branch::ResolvedRef at = branch::resolve(engine, repository, given.ref);
  Prepared out;
  if (engine.hooks == nullptr) {
    throw Error(ErrorCode::kInvalidArgument, reason::kHooksOff,
                "running hooks: this server runs none");
  }
  branch::check_writable(engine, repository, /*force=*/false);
  const std::string id = to_text(at.commit.id);
  branch::HookContext& context = out.context;
  context.event = given.event;
  context.repository = repository.name;
  context.source_ref = id;
  context.commit = id;
  context.message = at.commit.message;
  context.committer = at.commit.committer;
  context.metadata = at.commit.metadata;
  context.time = engine.clock.now();
  context.user = ActingUser::name();
  context.limits = ActingUser::limits();
  out.files.ref = at.staged ? given.ref : id;
  out.files.files = files_at(engine, repository, out.files.ref);
  if (is_about_tag(given.event)) {
    if (given.tag.empty()) throw_invalid(str_cat("tag: is needed for ", name_of(given.event)));
    context.tag = given.tag;
    return out;
  }
  context.branch = given.branch;
  if (context.branch.empty() && at.branch && !is_about_merge(given.event)) {
    context.branch = at.branch->name.str();
  }
  if (context.branch.empty()) {
    throw_invalid(str_cat("branch: is needed for ", name_of(given.event), " of ", given.ref));
  }
  if (is_about_merge(given.event)) {
    const Branch destination =
        branch::get_branch(engine, repository, parse_branch_name(given.branch));
    context.merge_source = given.ref;
    out.files.destination_ref = to_text(destination.head);
    out.files.destination = branch::action_files_of(engine, destination.root);
  }
  return out;
}

HookRun run_or_throw(branch::Engine& engine, RepositoryId repository, const std::string& id,
                     bool running) {
  auto run = runs_of(engine).find(repository, id);
  if (!run || (!run->ended && !running)) throw_not_found();
  return *std::move(run);
}

}  // namespace

Page<HookRun> list_hook_runs(branch::Engine& engine, const Repository& repository,
                             const RunListing& listing) {
  if (!listing.branch.empty() && !listing.commit.empty()) {
    throw_invalid("listing runs by branch and by commit at once: parameters conflict");
  }
  HookRunStore::Filter filter{.running = listing.running};
  if (!listing.branch.empty()) filter.branch = listing.branch;
  if (!listing.commit.empty())
    filter.commit = branch::resolve_commit(engine, repository, listing.commit).id;
  return branch::existing(
      engine, repository,
      runs_of(engine).list(repository.id, filter, listing.after, listing.limit));
}

HookRun get_hook_run(branch::Engine& engine, const Repository& repository, const std::string& id,
                     bool running) {
  return run_or_throw(engine, repository.id, id, running);
}

Page<HookStep> list_hook_steps(branch::Engine& engine, const Repository& repository,
                               const std::string& run, std::string_view after, uint32_t limit,
                               bool running) {
  const RepositoryId id = repository.id;
  run_or_throw(engine, id, run, running);
  return runs_of(engine).steps(id, run, after, limit);
}

std::string get_hook_output(branch::Engine& engine, const Repository& repository,
                            const std::string& run, const std::string& step) {
  auto found = runs_of(engine).step(repository.id, run, step);
  if (!found) throw_not_found();
  return std::move(found->output);
}

HookRun run_hooks(branch::Engine& engine, const Repository& repository, const HandRun& given) {
  const Prepared ready = prepare(engine, repository, given);
  return engine.hooks->run_by_hand(repository, ready.context, ready.files, given.action);
}

std::vector<branch::PlannedHook> plan_hooks(branch::Engine& engine, const Repository& repository,
                                            const HandRun& given) {
  const Prepared ready = prepare(engine, repository, given);
  std::vector<branch::PlannedHook> plan =
      engine.hooks->plan(repository, ready.context, ready.files);
  if (!given.action.empty()) {
    std::erase_if(plan,
                  [&](const branch::PlannedHook& hook) { return hook.action != given.action; });
  }
  return plan;
}

}  // namespace tarn::events
