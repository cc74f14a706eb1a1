#include "core/branch/history.h"

#include <algorithm>
#include <map>
#include <queue>
#include <set>

#include "core/base/error.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "core/meta/commits.h"
#include "core/meta/expiry.h"
#include "core/tree/merge.h"

namespace tarn::branch {
namespace {

// Flags of commits during the walk.
constexpr uint8_t kFromA = 1;
constexpr uint8_t kFromB = 2;
constexpr uint8_t kStale = 4;  // below a common ancestor that was already found
constexpr uint8_t kCommon = kFromA | kFromB;

struct ByGeneration {
  bool operator()(const Commit& x, const Commit& y) const {
    return x.generation != y.generation ? x.generation < y.generation : x.id < y.id;
  }
};

/// Walks from both commits at once, greatest generation first, and flags the commits that each side
/// reaches.
class MergeBaseWalk {
 public:
  MergeBaseWalk(Engine& engine, RepositoryId repository)
      : engine_(engine), repository_(repository) {}

  std::vector<Commit> run(const Commit& a, const Commit& b) {
    paint(a, kFromA);
    paint(b, kFromB);
    std::vector<Commit> found;
    while (interesting_ > 0) {
      const Commit commit = queue_.top();
      queue_.pop();
      const uint8_t flags = flags_[commit.id];
      queued_.erase(commit.id);
      if ((flags & kStale) == 0) --interesting_;
      if (flags == kFromA) from_a_.push_back(commit.id);
      uint8_t pass_on = flags;
      if ((flags & kCommon) == kCommon && (flags & kStale) == 0) {
        found.push_back(commit);
        pass_on |= kStale;
      }
      for (const CommitId& parent : commit.parents)
        paint(engine_.commits.get(repository_, parent), pass_on);
    }
    std::erase_if(found, [this](const Commit& c) { return (flags_[c.id] & kStale) != 0; });
    return found;
  }

  /// Call after run(): the commits that only `a` reaches. A commit is visited after all its
  /// descendants, so its flags are final then; unvisited commits are below a common ancestor.
  std::vector<CommitId>& only_from_a() { return from_a_; }

 private:
  void paint(const Commit& commit, uint8_t flags) {
    uint8_t& have = flags_[commit.id];
    if ((have | flags) == have) return;
    const bool was_interesting = queued_.contains(commit.id) && (have & kStale) == 0;
    have |= flags;
    if (queued_.insert(commit.id).second) queue_.push(commit);
    const bool interesting = (have & kStale) == 0;
    interesting_ += static_cast<int>(interesting) - static_cast<int>(was_interesting);
  }

  Engine& engine_;
  const RepositoryId repository_;
  std::map<CommitId, uint8_t> flags_;
  std::set<CommitId> queued_;
  std::vector<CommitId> from_a_;
  std::priority_queue<Commit, std::vector<Commit>, ByGeneration> queue_;
  int interesting_ = 0;  ///< queued commits that are not stale
};

}  // namespace

std::vector<Commit> best_common_ancestors(Engine& engine, RepositoryId repository, const Commit& a,
                                          const Commit& b) {
  if (a.id == b.id) return {a};
  return MergeBaseWalk(engine, repository).run(a, b);
}

namespace {

[[noreturn]] void throw_base_expired(Engine& engine, const Commit& base) {
  try {
    meta::require_kept(engine.pool, base.root);
  } catch (const Error& error) {
    if (error.reason() != reason::kExpired) throw;
    throw Error(ErrorCode::kGone, reason::kExpired,
                str_cat("the merge base has expired, so the changes since it are unknown: ",
                        error.message()));
  }
  throw Error(ErrorCode::kInternal, "merge base: is not expired");
}

}  // namespace

std::optional<MergeBaseTree> merge_base_tree(Engine& engine, const Repository& repository,
                                             meta::NodeWriter& nodes, const Commit& a,
                                             const Commit& b) {
  const std::vector<Commit> bases = best_common_ancestors(engine, repository.id, a, b);
  if (bases.empty()) return std::nullopt;
  if (bases.size() == 1 && is_expired(bases[0].root)) {
    // The same content, in a tree that is there.
    if (bases[0].root == a.root) return MergeBaseTree{a.root, {a.id}};
    if (bases[0].root == b.root) return MergeBaseTree{b.root, {b.id}};
  }
  for (const Commit& base : bases) {
    if (is_expired(base.root)) throw_base_expired(engine, base);
  }
  MergeBaseTree out{bases[0].root, {bases[0].id}};
  for (size_t i = 1; i < bases.size(); ++i) {
    const std::vector<Commit> below =
        best_common_ancestors(engine, repository.id, bases[0], bases[i]);
    tree::MergeInput input;
    if (!below.empty()) input.base = below[0].root;
    input.source = bases[i].root;
    input.destination = out.root;
    input.resolve = [](const MergeConflict&) { return tree::Resolution::kTakeDestination; };
    out.root = tree::merge_trees(engine.nodes, nodes, {repository.salt}, input).result.root;
    out.read.push_back(bases[i].id);
    nodes.flush();  // the merge reads this tree next
  }
  return out;
}

MergeBaseTree merge_base_to_read(Engine& engine, const Repository& repository, const Commit& a,
                                 const Commit& b) {
  meta::NodeWriter nodes(engine.pool, engine.nodes, repository.id);
  auto base = merge_base_tree(engine, repository, nodes, a, b);
  if (!base) {
    throw Error(ErrorCode::kInvalidArgument, reason::kNoMergeBase,
                str_cat("comparing commits ", to_text(a.id), " and ", to_text(b.id),
                        ": no common ancestor"));
  }
  return *std::move(base);
}

std::vector<CommitId> commits_without(Engine& engine, RepositoryId repository, const Commit& of,
                                      const Commit& without) {
  if (of.id == without.id) return {};
  MergeBaseWalk walk(engine, repository);
  walk.run(of, without);
  return std::move(walk.only_from_a());
}

bool is_ancestor(Engine& engine, RepositoryId repository, const Commit& ancestor,
                 const Commit& of) {
  const std::vector<Commit> common = best_common_ancestors(engine, repository, ancestor, of);
  return common.size() == 1 && common[0].id == ancestor.id;
}

}  // namespace tarn::branch
