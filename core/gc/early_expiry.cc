#include "core/gc/early_expiry.h"

#include <charconv>
#include <variant>

#include "core/base/cancellation.h"
#include "core/base/error.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "core/branch/refs.h"
#include "core/branch/repositories.h"
#include "core/gc/marking.h"
#include "core/gc/root_store.h"
#include "core/meta/commits.h"
#include "core/meta/expiry.h"
#include "core/meta/node_store.h"
#include "core/meta/repositories.h"
#include "core/tree/cursor.h"
#include "core/tree/diff.h"

namespace tarn::gc {
namespace {

constexpr size_t kNamedRootsMax = 10;

void check_reason(std::string_view reason) {
  if (reason.empty()) {
    throw Error(ErrorCode::kInvalidArgument,
                "expiring a commit: a reason is needed, for those who audit it later");
  }
  if (reason.size() > kExpiryReasonBytesMax) {
    throw Error(
        ErrorCode::kInvalidArgument,
        str_cat("expiring a commit: the reason is longer than ", kExpiryReasonBytesMax, " bytes"));
  }
}

void check_unused(db::Connection& connection, RepositoryId repository, const CommitId& commit) {
  const std::vector<std::string> roots = Roots(connection).keepers(repository, commit);
  if (roots.empty()) return;
  std::string names;
  for (size_t i = 0; i < roots.size() && i < kNamedRootsMax; ++i) {
    names += str_cat(i == 0 ? "" : ", ", roots[i]);
  }
  if (roots.size() > kNamedRootsMax)
    names += str_cat(" and ", roots.size() - kNamedRootsMax, " more");
  throw Error(ErrorCode::kConflict, reason::kCommitInUse,
              str_cat("expiring commit ", to_text(commit), ": in use by ", names));
}

/// Counts the objects of the commit, and those to which nothing else refers.
void measure(branch::Engine& engine, const Repository& repository, const Commit& commit,
             EarlyExpiryOutcome& out) {
  const Marked marked = mark(engine, {.repository = repository.id,
                                      .without = std::span(&commit.id, 1),
                                      .all_lists_die = true,
                                      .on_progress = [] { throw_if_cancelled(); }});
  UncachedNodes nodes(engine.pool);
  tree::Cursor at(nodes, commit.root);
  for (at.seek(""); at.valid(); at.next()) {
    const Entry entry = at.entry();
    ++out.objects;
    const auto* own = std::get_if<OwnAddress>(&entry.address);
    const auto* list = std::get_if<PartListAddress>(&entry.address);
    const bool freed = own != nullptr    ? !marked.objects.contains(*own)
                       : list != nullptr ? !marked.objects.has_part_list(list->id)
                                         : false;
    if (!freed) continue;
    ++out.freed_objects;
    out.freed_bytes += entry.size_bytes;
  }
}

/// Whether the two trees have an entry in common.
bool share_entries(branch::Engine& engine, const TreeRoot& a, const TreeRoot& b) {
  const uint64_t entries = tree::count_range(engine.nodes, a, "", "").entries;
  uint64_t differing = 0;
  tree::Diff diff(engine.nodes, a, b);
  diff.seek("");
  while (const auto difference = diff.next()) {
    if (difference->left && ++differing == entries) return false;
  }
  return differing < entries;
}

std::vector<std::string> branches_showing(branch::Engine& engine, const Repository& repository,
                                          const Commit& commit) {
  std::vector<std::string> out;
  const auto branches =
      branch::list_branches(engine, repository, "", "", kExaminedBranchesMax, /*show_hidden=*/true);
  for (const Branch& branch : branches.items) {
    if (out.size() == kShowingBranchesMax) break;
    const auto head = engine.commits.find(repository.id, branch.head);
    if (head && share_entries(engine, commit.root, head->root)) out.push_back(branch.name.str());
  }
  return out;
}

}  // namespace

EarlyExpiryOutcome expire_commit(branch::Engine& engine, const Repository& repository,
                                 const EarlyExpiryRequest& request) {
  check_reason(request.reason);
  branch::check_writable(engine, repository, /*force=*/false);
  const Commit commit = branch::resolve_commit(engine, repository, request.ref);
  meta::require_kept(engine.pool, commit.root);
  if (commit.root.empty()) {
    throw Error(ErrorCode::kInvalidArgument,
                str_cat("expiring commit ", to_text(commit.id), ": it has no objects"));
  }
  check_unused(*engine.pool.lease(), repository.id, commit.id);  // before the work
  EarlyExpiryOutcome out{.commit = commit.id, .shown_by = {}};
  measure(engine, repository, commit, out);
  out.shown_by = branches_showing(engine, repository, commit);
  const ExpiringCommit expiring{commit.id, str_cat("expired early by ", request.actor)};
  engine.pool.transaction([&](db::Connection& connection) {
    Roots roots(connection);
    const std::span<const CommitId> id(&commit.id, 1);
    roots.count_removal();  // locks the row of collections first, as they do
    meta::Repositories::hold(connection, repository.id);  // branches of deleted ones are put away
    roots.lock_commits(repository.id, id);
    check_unused(connection, repository.id, commit.id);
    if (!meta::Commits::hold(connection, repository.id, id)) {
      throw Error(ErrorCode::kNotFound, reason::kCommitNotFound, "commit not found");
    }
    roots.expire_commits(repository.id, std::span(&expiring, 1), request.actor, request.reason);
  });
  engine.commits.forget_all();
  return out;
}

Page<Expiry> list_expiries(branch::Engine& engine, const Repository& repository,
                           std::string_view after, uint32_t limit) {
  int64_t before = INT64_MAX;
  if (!after.empty()) {
    const auto [end, error] = std::from_chars(after.data(), after.data() + after.size(), before);
    if (error != std::errc() || end != after.data() + after.size()) {
      throw Error(ErrorCode::kInvalidArgument,
                  str_cat("listing expiries: \"", after, "\" is no number of an expiry"));
    }
  }
  Page<Expiry> page{.next_of = [](const Expiry& one) { return std::to_string(one.number); }};
  db::Pool::Lease lease = engine.pool.lease();
  page.items = Roots(*lease).expiries(repository.id, before, limit + 1);
  if (page.items.size() > limit) {
    page.items.resize(limit);
    page.end_here();
  }
  return page;
}

}  // namespace tarn::gc
