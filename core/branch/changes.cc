#include "core/branch/changes.h"

#include <array>
#include <string>
#include <utility>

#include "core/tree/cursor.h"
#include "core/tree/entry_fields.h"

namespace tarn::branch {
namespace {

std::optional<Change> change_of(std::string key, std::optional<Entry> left,
                                std::optional<Entry> right) {
  if (!left && !right) return std::nullopt;
  if (left && right && tree::same_content(*left, *right)) return std::nullopt;
  const ChangeType type = !left    ? ChangeType::kAdded
                          : !right ? ChangeType::kRemoved
                                   : ChangeType::kChanged;
  return Change{type, Key(std::move(key)), std::move(left), std::move(right)};
}

/// Differences between two trees.
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
  StagedChanges(tree::NodeSource& nodes, const TreeRoot& left, const TreeRoot& right,
                StagedRows rows)
      : rows_(std::move(rows)),
        diff_(nodes, left, right),
        left_(nodes, left),
        hidden_(nodes, left) {}

  void seek(std::string_view key) override {
    // An entry that was read ahead may already be past the key and must not be skipped.
    if (!read_ahead_ || (pending_ && pending_->key < key)) {
      diff_.seek(key);
      pending_ = diff_.next();
      read_ahead_ = true;
    }
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
  /// The change at the smallest key, if there is one; advances every source past the key.
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

  /// Advances to the next key of the left tree that a range row hides.
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

  StagedRows rows_;
  tree::Diff diff_;
  std::optional<tree::Difference> pending_;  ///< read ahead
  bool read_ahead_ = false;
  tree::Cursor left_;    ///< looks up entries that staged rows replace
  tree::Cursor hidden_;  ///< walks entries that range rows hide
  bool hidden_valid_ = false;
};

/// The changes that a merge of `right` into `left` would make.
class MergeChanges final : public Changes {
 public:
  MergeChanges(tree::NodeSource& nodes, const TreeRoot& base, const TreeRoot& left,
               const TreeRoot& right)
      : theirs_(nodes, base, right), ours_(nodes, base, left) {}

  void seek(std::string_view key) override {
    theirs_.seek(key);
    catch_up(key);
  }

  std::optional<Change> next() override {
    while (auto theirs = theirs_.next()) {
      catch_up(theirs->key);
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
  /// Advances our side to its first change of a key >= `key`, unless it is already there or past
  /// it.
  void catch_up(std::string_view key) {
    if (read_ahead_ && (!our_next_ || our_next_->key >= key)) return;
    ours_.seek(key);
    our_next_ = ours_.next();
    read_ahead_ = true;
  }

  tree::Diff theirs_;
  tree::Diff ours_;
  std::optional<tree::Difference> our_next_;  ///< read ahead
  bool read_ahead_ = false;
};

class ScopedChanges final : public Changes {
 public:
  ScopedChanges(std::unique_ptr<Changes> all, const PathScope& scope)
      : all_(std::move(all)), scope_(scope) {}

  void seek(std::string_view key) override { all_->seek(key); }
  std::optional<Change> next() override {
    std::optional<Change> change = all_->next();
    while (change && !scope_.contains(change->key.str())) change = all_->next();
    return change;
  }

 private:
  const std::unique_ptr<Changes> all_;
  const PathScope& scope_;
};

}  // namespace

std::unique_ptr<Changes> tree_changes(tree::NodeSource& nodes, const TreeRoot& left,
                                      const TreeRoot& right) {
  return std::make_unique<TreeChanges>(nodes, left, right);
}

std::unique_ptr<Changes> staged_changes(tree::NodeSource& nodes, const TreeRoot& left,
                                        const TreeRoot& right, StagedRows rows) {
  return std::make_unique<StagedChanges>(nodes, left, right, std::move(rows));
}

std::unique_ptr<Changes> merge_changes(tree::NodeSource& nodes, const TreeRoot& base,
                                       const TreeRoot& left, const TreeRoot& right) {
  return std::make_unique<MergeChanges>(nodes, base, left, right);
}

std::unique_ptr<Changes> scoped_changes(std::unique_ptr<Changes> changes, const PathScope& scope) {
  return std::make_unique<ScopedChanges>(std::move(changes), scope);
}

void ConflictSource::seek(std::string_view key) {
  theirs_.seek(key);
  ours_.seek(key);
}

std::optional<MergeConflict> ConflictSource::next() {
  auto theirs = theirs_.next();
  auto ours = ours_.next();
  while (theirs && ours) {
    if (theirs->key < ours->key) {
      theirs_.seek(ours->key);
      theirs = theirs_.next();
    } else if (ours->key < theirs->key) {
      ours_.seek(theirs->key);
      ours = ours_.next();
    } else if (auto differ = change_of(theirs->key, ours->right, theirs->right)) {
      return MergeConflict{std::move(differ->key), std::move(theirs->left),
                           std::move(differ->right), std::move(differ->left)};
    } else {  // the same change on both sides
      theirs = theirs_.next();
      ours = ours_.next();
    }
  }
  return std::nullopt;
}

}  // namespace tarn::branch
