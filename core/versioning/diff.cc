#include "core/versioning/diff.h"

#include <algorithm>
#include <optional>

#include "core/base/error.h"
#include "core/base/reasons.h"
#include "core/branch/changes.h"
#include "core/branch/history.h"
#include "core/branch/overlay.h"
#include "core/branch/refs.h"
#include "core/meta/writer.h"

namespace tarn::versioning {
namespace {

constexpr uint32_t kStagedRowsHintMin = 256;

std::optional<std::string> fold_of(const std::string& key, const DiffOptions& options) {
  if (options.delimiter.empty()) return std::nullopt;
  const size_t at = key.find(options.delimiter, options.prefix.size());
  if (at == std::string::npos) return std::nullopt;
  return key.substr(0, at + options.delimiter.size());
}

Page<Change> collect(branch::Changes& changes, const DiffOptions& options) {
  Page<Change> page{.next_of = [](const Change& change) { return change.key.str(); }};
  size_t bytes = 0;
  std::string start =
      std::max(options.prefix, options.after.empty() ? std::string() : options.after + '\0');
  // A common prefix as `after` skips everything below it.
  if (!options.after.empty() && options.after >= options.prefix &&
      fold_of(options.after, options) == options.after) {
    start = prefix_end(options.after);
    if (start.empty()) return page;
  }
  changes.seek(start);
  while (auto change = changes.next()) {
    if (!change->key.str().starts_with(options.prefix)) break;
    if (page.items.size() == options.limit || bytes >= kPageBytesMax) {
      page.end_here();
      break;
    }
    const auto fold = fold_of(change->key.str(), options);
    if (!fold) {
      bytes += change->key.str().size() + bytes_of(change->left) + bytes_of(change->right);
      page.items.push_back(*std::move(change));
      continue;
    }
    page.items.push_back({ChangeType::kPrefixChanged, Key(*fold), std::nullopt, std::nullopt});
    const std::string behind = prefix_end(*fold);
    if (behind.empty()) break;
    changes.seek(behind);
  }
  return page;
}

/// Compares with the current state of the branch `right`; `left` is a tree, or absent for that
/// branch's head.
Page<Change> diff_to_staged(branch::Engine& engine, const RepositoryName& repository,
                            const std::optional<TreeRoot>& left, std::string_view right,
                            const DiffOptions& options) {
  const auto snapshot = branch::RefSnapshot::open(
      engine, repository, right, options.prefix,
      {branch::StagedReading::kAll, std::max(options.limit + 1, kStagedRowsHintMin)},
      kNoCommitPrefix);
  if (snapshot->commit())
    throw Error(ErrorCode::kNotFound, reason::kBranchNotFound, "branch not found");
  const auto changes = branch::staged_changes(snapshot->nodes(), left.value_or(snapshot->root()),
                                              snapshot->root(), snapshot->take_rows());
  return collect(*changes, options);
}

}  // namespace

Page<Change> diff_refs(branch::Engine& engine, const Repository& repository, std::string_view left,
                       std::string_view right, DiffKind kind, const DiffOptions& options) {
  const Commit from = branch::resolve_commit(engine, repository, left);
  const bool staged = parse_ref(right).view == RefExpression::View::kStaged;
  if (staged && kind == DiffKind::kTwoDot) {
    return diff_to_staged(engine, repository.name, from.root, right, options);
  }
  const Commit to = branch::resolve_commit(engine, repository, right);
  if (kind == DiffKind::kTwoDot) {
    return collect(*branch::tree_changes(engine.nodes, from.root, to.root), options);
  }
  const meta::Writer::Operation operation(engine.writer);
  const TreeRoot base = branch::merge_base_to_read(engine, repository, to, from).root;
  return collect(*branch::merge_changes(engine.nodes, base, from.root, to.root), options);
}

Page<Change> diff_branch(branch::Engine& engine, const RepositoryName& repository,
                         const BranchName& branch, const DiffOptions& options) {
  return diff_to_staged(engine, repository, std::nullopt, branch.str(), options);
}

}  // namespace tarn::versioning
