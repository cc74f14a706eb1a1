#include "core/branch/hooks.h"

#include <algorithm>
#include <map>
#include <utility>

#include "core/base/acting_user.h"
#include "core/base/error.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "core/meta/node_store.h"
#include "core/tree/cursor.h"

namespace tarn::branch {
namespace {

[[noreturn]] void throw_too_many() {
  throw Error(
      ErrorCode::kPreconditionFailed, reason::kActionFileInvalid,
      str_cat("reading ", kActionFilesPrefix, ": more than ", kActionFilesMax, " action files"));
}

}  // namespace

std::vector<ActionEntry> action_files_of(Engine& engine, const TreeRoot& root) {
  std::vector<ActionEntry> out;
  if (root.empty()) return out;
  tree::Cursor cursor(engine.nodes, root);
  cursor.seek(kActionFilesPrefix);
  while (cursor.valid() && cursor.key().starts_with(kActionFilesPrefix)) {
    if (is_action_file(cursor.key())) {
      if (out.size() == kActionFilesMax) throw_too_many();
      out.push_back({cursor.key(), cursor.entry()});
      cursor.next();
      continue;
    }
    // Skips subdirectories as a whole.
    const size_t slash = cursor.key().find('/', kActionFilesPrefix.size());
    if (slash == std::string::npos) {
      cursor.next();
    } else {
      cursor.seek(cursor.key().substr(0, slash) + static_cast<char>('/' + 1));
    }
  }
  return out;
}

void ActionFileChanges::add(const tree::Change& change) {
  if (is_action_file(change.key) && seen_.size() <= 2 * kActionFilesMax) {
    seen_.emplace_back(change.key, change.entry);
  }
}

std::vector<ActionEntry> ActionFileChanges::action_files(
    Engine& engine, const TreeRoot& root, const std::vector<tree::RangeDelete>& deletes) const {
  if (seen_.size() > 2 * kActionFilesMax) throw_too_many();
  std::vector<ActionEntry> base = action_files_of(engine, root);
  std::erase_if(base, [&](const ActionEntry& file) {
    return std::any_of(deletes.begin(), deletes.end(), [&](const tree::RangeDelete& range) {
      return range.begin <= file.path && (range.end.empty() || file.path < range.end);
    });
  });
  if (seen_.empty()) return base;
  std::map<std::string, Entry> files;
  for (ActionEntry& file : base) files[file.path] = std::move(file.entry);
  for (const auto& [path, entry] : seen_) {
    if (entry) {
      files[path] = *entry;
    } else {
      files.erase(path);
    }
  }
  if (files.size() > kActionFilesMax) throw_too_many();
  std::vector<ActionEntry> out;
  for (auto& [path, entry] : files) out.push_back({path, std::move(entry)});
  return out;
}

bool has_hooks(const Engine& engine, const Repository& repository) {
  return engine.hooks != nullptr && !repository.read_only;
}

HookedChange::HookedChange(Engine& engine, const Repository& repository, HookContext context,
                           HookEvent after, ActionFiles files)
    : engine_(engine),
      repository_(repository),
      context_(std::move(context)),
      after_(after),
      files_(std::move(files)) {
  context_.repository = repository.name;
  context_.time = engine.clock.now();
  context_.user = ActingUser::name();
  context_.limits = ActingUser::limits();
}

void HookedChange::before(const std::function<void()>& tick) {
  if (!has_hooks(engine_, repository_) || files_.empty()) return;
  Hooks& hooks = *engine_.hooks;
  if (hooks.wanted(repository_, context_, files_)) {
    run_ = hooks.run(repository_, context_, files_, tick);
  }
  after_wanted_ = hooks.wanted(repository_, after_context(nullptr), files_);
}

HookContext HookedChange::after_context(const Commit* made) const {
  HookContext after = context_;
  after.event = after_;
  after.time = engine_.clock.now();
  if (made != nullptr) {
    after.commit = to_text(made->id);
    after.source_ref = after.commit;
  }
  return after;
}

void HookedChange::within(db::Connection& connection, const Commit* made) const {
  if (!run_.empty() && made != nullptr) {
    engine_.hooks->set_commit(connection, repository_.id, run_, made->id);
  }
  if (after_wanted_) {
    ActionFiles files = files_;
    // Use the commit id: the branch may have changed since.
    if (made != nullptr && files.ref == context_.branch) files.ref = to_text(made->id);
    engine_.hooks->queue(connection, repository_, after_context(made), files);
  }
}

std::function<void(db::Connection&)> HookedChange::step() const {
  if (!after_wanted_) return {};
  return [this](db::Connection& connection) { within(connection); };
}

}  // namespace tarn::branch
