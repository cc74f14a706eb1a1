#include "core/versioning/diff.h"

#include <algorithm>
#include <array>
#include <memory>

#include "core/base/error.h"
#include "core/base/str_cat.h"
#include "core/meta/node_store.h"
#include "core/tree/diff.h"
#include "core/versioning/history.h"
#include "core/versioning/overlay.h"
#include "core/versioning/refs.h"
#include "core/versioning/repositories.h"

namespace tarn::versioning {
namespace {

constexpr uint32_t kStagedRowsHintMin = 256;

/// Changes in key order. One thread.
class Changes {
 public:
  virtual ~Changes() = default;
  /// Called first and then forward only.
  virtual void seek(std::string_view key) = 0;
  virtual std::optional<Change> next() = 0;
};

std::optional<Change> change_of(std::string key, std::optional<Entry> left,
                                std::optional<Entry> right) {
  if (!left && !right) return std::nullopt;
  if (left && right && same_content(*left, *right)) return std::nullopt;
  const ChangeType type = !left    ? ChangeType::kAdded
                          : !right ? ChangeType::kRemoved
                                   : ChangeType::kChanged;
  return Change{type, Key(std::move(key)), std::move(left), std::move(right)};
}

/// Between two trees.
class TreeChanges final : public Changes {
 public:
  TreeChanges(tree::NodeSource& nodes, const TreeRoot& left, const TreeRoot& right)
      : diff_(nodes, left, right) {}
  void seek(std::string_view key) override { diff_.seek(key); }
  std::optional<Change> next() override {
    auto d = diff_.next();
    if (!d) return std::nullopt;
    return change_of(std::move(d->key), std::move(d->left), std::move(d->right));
  }

 private:
  tree::Diff diff_;
};

/// From a tree to a branch's staged view: the trees' differences where nothing is staged, staged
/// rows compared with the left tree, and keys of the left tree that staged range rows hide.
class StagedChanges final : public Changes {
 public:
  StagedChanges(std::unique_ptr<RefSnapshot> right, const TreeRoot& left)
      : snapshot_(std::move(right)),
        rows_(snapshot_->take_rows()),
        diff_(snapshot_->nodes(), left, snapshot_->root()),
        left_(snapshot_->nodes(), left),
        hidden_(snapshot_->nodes(), left) {}

  void seek(std::string_view key) override {
    diff_.seek(key);
    pending_ = diff_.next();
    rows_.seek(key);
    hidden_.seek(key);
    settle_hidden();
  }

  std::optional<Change> next() override {
    for (;;) {
      const meta::StagedRow* row = rows_.current();
      const std::string* key = nullptr;
      const std::array<const std::string*, 3> candidates = {
          row ? &row->key : nullptr, pending_ ? &pending_->key : nullptr,
          hidden_valid_ ? &hidden_.key() : nullptr};
      for (const std::string* candidate : candidates) {
        if (candidate && (!key || *candidate < *key)) key = candidate;
      }
      if (!key) return std::nullopt;
      if (auto change = take(*key, row)) return change;
    }
  }

 private:
  /// The change at the smallest key, if it is one; moves every source past the key.
  std::optional<Change> take(std::string key, const meta::StagedRow* row) {
    std::optional<Entry> left, right;
    if (pending_ && pending_->key == key) {
      left = std::move(pending_->left);
      right = std::move(pending_->right);
      pending_ = diff_.next();
    } else {
      left_.seek(key);
      if (left_.valid() && left_.key() == key) left = left_.entry();
      right = left;
    }
    const bool is_hidden = rows_.hiding(key) != nullptr;
    if (hidden_valid_ && hidden_.key() == key) {
      hidden_.next();
      settle_hidden();
    }
    if (row && row->key == key) {
      right = row->entry;
      rows_.next();
    } else if (is_hidden) {
      right = std::nullopt;
    }
    return change_of(std::move(key), std::move(left), std::move(right));
  }

  /// Moves to the next key of the left tree that a range row hides.
  void settle_hidden() {
    hidden_valid_ = false;
    for (const meta::StagedRange& range : rows_.deletes()) {
      if (!hidden_.valid()) return;
      if (!range.end.empty() && hidden_.key() >= range.end) continue;
      if (hidden_.key() < range.begin) hidden_.seek(range.begin);
      if (!hidden_.valid()) return;
      if (range.end.empty() || hidden_.key() < range.end) {
        hidden_valid_ = true;
        return;
      }
    }
  }

  std::unique_ptr<RefSnapshot> snapshot_;
  StagedRows rows_;
  tree::Diff diff_;
  std::optional<tree::Difference> pending_;
  tree::Cursor left_;    ///< looks up what staged rows replace
  tree::Cursor hidden_;  ///< walks what range rows hide
  bool hidden_valid_ = false;
};

/// What merging `right` into `left` would bring.
class MergeChanges final : public Changes {
 public:
  MergeChanges(tree::NodeSource& nodes, const TreeRoot& base, const TreeRoot& left,
               const TreeRoot& right)
      : theirs_(nodes, base, right), ours_(nodes, base, left) {}

  void seek(std::string_view key) override {
    theirs_.seek(key);
    ours_.seek(key);
    our_next_ = ours_.next();
  }

  std::optional<Change> next() override {
    while (auto theirs = theirs_.next()) {
      if (our_next_ && our_next_->key < theirs->key) {
        ours_.seek(theirs->key);
        our_next_ = ours_.next();
      }
      if (!our_next_ || our_next_->key != theirs->key) {
        return change_of(std::move(theirs->key), std::move(theirs->left), std::move(theirs->right));
      }
      auto conflict = change_of(std::move(theirs->key), our_next_->right, std::move(theirs->right));
      if (!conflict) continue;  // both sides made the same change
      conflict->type = ChangeType::kConflict;
      return conflict;
    }
    return std::nullopt;
  }

 private:
  tree::Diff theirs_;
  tree::Diff ours_;
  std::optional<tree::Difference> our_next_;
};

std::optional<std::string> fold_of(const std::string& key, const DiffOptions& options) {
  if (options.delimiter.empty()) return std::nullopt;
  const size_t at = key.find(options.delimiter, options.prefix.size());
  if (at == std::string::npos) return std::nullopt;
  return key.substr(0, at + options.delimiter.size());
}

Page<Change> collect(Changes& changes, const DiffOptions& options) {
  Page<Change> page;
  std::string start =
      std::max(options.prefix, options.after.empty() ? std::string() : options.after + '\0');
  // A folded prefix as `after` skips everything below it.
  if (!options.after.empty() && options.after >= options.prefix &&
      fold_of(options.after, options) == options.after) {
    start = prefix_end(options.after);
    if (start.empty()) return page;
  }
  changes.seek(start);
  while (auto change = changes.next()) {
    if (!change->key.str().starts_with(options.prefix)) break;
    if (page.items.size() == options.limit) {
      page.has_more = true;
      page.next = page.items.back().key.str();
      break;
    }
    const auto fold = fold_of(change->key.str(), options);
    if (!fold) {
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

Page<Change> diff_to_staged(Engine& engine, const RepositoryName& repository, const TreeRoot& left,
                            std::string_view right, const DiffOptions& options) {
  auto snapshot =
      RefSnapshot::open(engine, repository, right, options.prefix,
                        {StagedReading::kAll, std::max(options.limit + 1, kStagedRowsHintMin)}, 1);
  StagedChanges changes(std::move(snapshot), left);
  return collect(changes, options);
}

}  // namespace

Page<Change> diff_refs(Engine& engine, const RepositoryName& repository, std::string_view left,
                       std::string_view right, DiffKind kind, const DiffOptions& options) {
  const Commit from = resolve_commit(engine, repository, left);
  const bool staged = parse_ref(right).view == RefExpression::View::kStaged;
  if (staged && kind == DiffKind::kTwoDot) {
    return diff_to_staged(engine, repository, from.root, right, options);
  }
  const Commit to = resolve_commit(engine, repository, right);
  if (kind == DiffKind::kTwoDot) {
    TreeChanges changes(engine.nodes, from.root, to.root);
    return collect(changes, options);
  }
  const Repository repo = get_repository(engine, repository);
  const std::vector<Commit> bases = best_common_ancestors(engine, repo.id, from, to);
  if (bases.empty()) {
    throw Error(ErrorCode::kInvalidArgument, "no_merge_base",
                str_cat("comparing '", left, "' with '", right, "': no common ancestor"));
  }
  MergeChanges changes(engine.nodes, bases[0].root, from.root, to.root);
  return collect(changes, options);
}

Page<Change> diff_branch(Engine& engine, const RepositoryName& repository, const BranchName& branch,
                         const DiffOptions& options) {
  auto snapshot =
      RefSnapshot::open(engine, repository, branch.str(), options.prefix,
                        {StagedReading::kAll, std::max(options.limit + 1, kStagedRowsHintMin)}, 64);
  if (snapshot->commit()) throw Error(ErrorCode::kNotFound, "branch_not_found", "branch not found");
  const TreeRoot head = snapshot->root();
  StagedChanges changes(std::move(snapshot), head);
  return collect(changes, options);
}

}  // namespace tarn::versioning
