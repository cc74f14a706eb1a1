#include "core/branch/hook_files.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "core/base/acting_user.h"
#include "core/base/error.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "core/base/text.h"
#include "core/branch/changes.h"
#include "core/branch/hooks.h"
#include "core/branch/overlay.h"
#include "core/meta/branches.h"
#include "core/meta/node_store.h"
#include "core/tree/cursor.h"
#include "core/tree/entry_fields.h"

namespace tarn::branch {
namespace {

/// The paths that a change concerns, limited to the number that an error message shows.
class Concerned {
 public:
  /// false: the limit is reached.
  bool add(std::string path) {
    more_ = paths_.size() == kHookFilesShownMax;
    if (!more_) paths_.push_back(std::move(path));
    return !more_;
  }
  void refuse_unless_allowed(Engine& engine, const RepositoryName& repository) const {
    if (paths_.empty() || may_change_hook_files(engine, repository)) return;
    throw Error(ErrorCode::kPermissionDenied, reason::kHooksForbidden,
                str_cat("changing ", joined(paths_, ", "), more_ ? " and more" : "",
                        ": hooks run with the rights of others, so that changing their files needs "
                        "the permission fs:WriteHooks on arn:lakefs:fs:::repository/",
                        repository.str()));
  }

 private:
  std::vector<std::string> paths_;
  bool more_ = false;
};

/// The key at the cursor if it is before `end`.
template <typename Cursor>
std::optional<std::string> key_before(const Cursor& cursor, std::string_view end) {
  if (!cursor.valid() || cursor.key() >= end) return std::nullopt;
  return std::string(cursor.key());
}

}  // namespace

bool may_change_hook_files(Engine& engine, const RepositoryName& repository) {
  return !engine.rights || engine.rights({.right = Right::kWriteHooks,
                                          .user = ActingUser::name(),
                                          .address = ActingUser::address(),
                                          .limits = ActingUser::limits(),
                                          .repository = repository});
}

void check_hook_file(Engine& engine, const RepositoryName& repository, std::string_view key) {
  if (!key.starts_with(kActionFilesPrefix)) return;
  Concerned concerned;
  concerned.add(std::string(key));
  concerned.refuse_unless_allowed(engine, repository);
}

void check_hook_files(Engine& engine, const RepositoryName& repository, const TreeRoot& before,
                      const TreeRoot& after) {
  if (!engine.rights || before == after) return;
  const auto changes = tree_changes(engine.nodes, before, after);
  changes->seek(kActionFilesPrefix);
  Concerned concerned;
  for (auto change = changes->next(); change && change->key.str().starts_with(kActionFilesPrefix);
       change = changes->next()) {
    if (!concerned.add(change->key.str())) break;
  }
  concerned.refuse_unless_allowed(engine, repository);
}

bool same_hook_files(Engine& engine, const TreeRoot& one, const TreeRoot& other) {
  const auto changes = tree_changes(engine.nodes, one, other);
  changes->seek(kActionFilesPrefix);
  const auto change = changes->next();
  return !change || !change->key.str().starts_with(kActionFilesPrefix);
}

void check_staged_hook_files(Engine& engine, const RepositoryName& repository,
                             const meta::BranchLease& lease, std::string_view begin,
                             std::string_view end) {
  const std::string first = std::max(std::string(kActionFilesPrefix), std::string(begin));
  std::string last = prefix_end(kActionFilesPrefix);
  if (!end.empty()) last = std::min(last, std::string(end));
  OverlayCursor shown = frozen_view(engine, lease);
  tree::Cursor head(engine.nodes, lease.root);
  shown.seek(first);
  head.seek(first);
  Concerned concerned;
  for (;;) {
    const auto ours = key_before(shown, last);
    const auto theirs = key_before(head, last);
    if (!ours && !theirs) break;
    const bool is_ours = ours && (!theirs || *ours <= *theirs);
    const bool is_theirs = theirs && (!ours || *theirs <= *ours);
    const bool same = is_ours && is_theirs && tree::same_content(shown.entry(), head.entry());
    if (!same && !concerned.add(is_ours ? *ours : *theirs)) break;
    if (is_ours) shown.next();
    if (is_theirs) head.next();
  }
  concerned.refuse_unless_allowed(engine, repository);
}

}  // namespace tarn::branch
