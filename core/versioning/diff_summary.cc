#include "core/versioning/diff_summary.h"

#include <map>

#include "core/base/error.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "core/branch/changes.h"
#include "core/branch/history.h"
#include "core/branch/overlay.h"
#include "core/branch/refs.h"
#include "core/meta/node_store.h"
#include "core/meta/writer.h"
#include "core/tree/cursor.h"

namespace tarn::versioning {
namespace {

void add(ObjectTotals& totals, uint64_t objects, uint64_t bytes) {
  totals.objects += objects;
  totals.bytes += bytes;
}

void add(ChangeTotals& totals, const ChangeTotals& more) {
  add(totals.added, more.added.objects, more.added.bytes);
  add(totals.removed, more.removed.objects, more.removed.bytes);
  add(totals.changed, more.changed.objects, more.changed.bytes);
  totals.changed_bytes_before += more.changed_bytes_before;
  totals.conflicts += more.conflicts;
}

void add(ChangeTotals& totals, const Change& change) {
  const uint64_t before = change.left ? change.left->size_bytes : 0;
  const uint64_t after = change.right ? change.right->size_bytes : 0;
  switch (change.type) {
    case ChangeType::kAdded:
      return add(totals.added, 1, after);
    case ChangeType::kRemoved:
      return add(totals.removed, 1, before);
    case ChangeType::kChanged:
      totals.changed_bytes_before += before;
      return add(totals.changed, 1, after);
    case ChangeType::kConflict:
      ++totals.conflicts;
      return;
    case ChangeType::kPrefixChanged:
      break;
  }
  check_failed("ChangeType", __FILE__, __LINE__);
}

constexpr uint32_t kStagedRowsHint = 1000;

/// The trees of a diff; a two-dot diff has no base.
struct Sides {
  std::optional<TreeRoot> base;
  TreeRoot left;
  TreeRoot right;
  bool trees_only = true;  ///< false: staged rows lie over `right`
};

class Summary {
 public:
  Summary(tree::NodeSource& nodes, const Sides& sides, std::unique_ptr<branch::Changes> changes,
          const std::string& prefix, const std::string& delimiter)
      : nodes_(nodes),
        sides_(sides),
        prefix_(prefix),
        delimiter_(delimiter),
        changes_(std::move(changes)) {}

  DiffSummary run() {
    if (delimiter_.empty() && take_whole(prefix_, out_.totals)) return std::move(out_);
    changes_->seek(prefix_);
    std::map<std::string, ChangeTotals> prefixes;
    while (const auto change = changes_->next()) {
      const std::string& key = change->key.str();
      if (!key.starts_with(prefix_)) break;
      const size_t fold =
          delimiter_.empty() ? std::string::npos : key.find(delimiter_, prefix_.size());
      const std::string group =
          fold == std::string::npos ? prefix_ : key.substr(0, fold + delimiter_.size());
      const auto [at, fresh] = prefixes.try_emplace(group);
      if (fresh && prefixes.size() > kSummaryPrefixesMax) {
        throw_invalid(str_cat("summary of a diff: there are more than ", kSummaryPrefixesMax,
                              " prefixes, ask for a longer prefix"));
      }
      if (fresh && fold != std::string::npos && take_whole(group, at->second)) {
        const std::string behind = prefix_end(group);
        if (behind.empty()) break;
        changes_->seek(behind);
        continue;
      }
      add(at->second, *change);
    }
    for (auto& [group, totals] : prefixes) {
      add(out_.totals, totals);
      if (!delimiter_.empty()) out_.prefixes.push_back({group, totals});
    }
    return std::move(out_);
  }

 private:
  tree::Totals count(const TreeRoot& root, const std::string& group) {
    return tree::count_range(nodes_, root, group, prefix_end(group));
  }

  /// Counts a prefix that exists on one side only, as a whole. Returns false if it is on both.
  bool take_whole(const std::string& group, ChangeTotals& totals) {
    if (!sides_.trees_only) return false;
    const tree::Totals left = count(sides_.left, group);
    const tree::Totals right = count(sides_.right, group);
    const bool new_here =
        left.entries == 0 && (!sides_.base || count(*sides_.base, group).entries == 0);
    if (new_here) {
      add(totals.added, right.entries, right.bytes);
      return true;
    }
    // Three-dot: changes of the left side below the prefix would be conflicts.
    if (sides_.base || right.entries > 0) return false;
    add(totals.removed, left.entries, left.bytes);
    return true;
  }

  tree::NodeSource& nodes_;
  const Sides& sides_;
  const std::string& prefix_;
  const std::string& delimiter_;
  const std::unique_ptr<branch::Changes> changes_;
  DiffSummary out_;
};

DiffSummary summarise_staged(branch::Engine& engine, const RepositoryName& repository,
                             const TreeRoot& left, std::string_view right,
                             const std::string& prefix, const std::string& delimiter) {
  const auto snapshot =
      branch::RefSnapshot::open(engine, repository, right, prefix,
                                {branch::StagedReading::kAll, kStagedRowsHint}, kNoCommitPrefix);
  if (snapshot->commit())
    throw Error(ErrorCode::kNotFound, reason::kBranchNotFound, "branch not found");
  const Sides sides{std::nullopt, left, snapshot->root(), false};
  return Summary(
             snapshot->nodes(), sides,
             branch::staged_changes(snapshot->nodes(), left, sides.right, snapshot->take_rows()),
             prefix, delimiter)
      .run();
}

}  // namespace

DiffSummary summarise_diff(branch::Engine& engine, const Repository& repository,
                           std::string_view left, std::string_view right, DiffKind kind,
                           const std::string& prefix, const std::string& delimiter) {
  const Commit from = branch::resolve_commit(engine, repository, left);
  if (kind == DiffKind::kTwoDot && parse_ref(right).view == RefExpression::View::kStaged) {
    return summarise_staged(engine, repository.name, from.root, right, prefix, delimiter);
  }
  const Commit to = branch::resolve_commit(engine, repository, right);
  if (kind == DiffKind::kTwoDot) {
    const Sides sides{std::nullopt, from.root, to.root};
    return Summary(engine.nodes, sides, branch::tree_changes(engine.nodes, sides.left, sides.right),
                   prefix, delimiter)
        .run();
  }
  const meta::Writer::Operation operation(engine.writer);
  const Sides sides{branch::merge_base_to_read(engine, repository, to, from).root, from.root,
                    to.root};
  return Summary(engine.nodes, sides,
                 branch::merge_changes(engine.nodes, *sides.base, sides.left, sides.right), prefix,
                 delimiter)
      .run();
}

}  // namespace tarn::versioning
