// Frozen staging tokens as edits of a tree, and their folding, so that reads stay cheap.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/branch/branch_hold.h"
#include "core/branch/engine.h"
#include "core/meta/staging.h"
#include "core/tree/edit.h"

namespace tarn::branch {

/// Streams the effective rows of frozen tokens in key order, a page at a time, so memory stays
/// bounded and no transaction is open while they are applied. One thread.
class StagedEdits final : public tree::ChangeSource {
 public:
  /// `on_page` runs before each page is read (the verb renews its lease there), `on_change` before
  /// each change is returned.
  StagedEdits(Engine& engine, std::vector<int64_t> tokens, bool has_ranges,
              std::function<void()> on_page,
              std::function<void(const tree::Change&)> on_change = {});
  std::optional<tree::Change> next() override;

  /// Ranges of the tree that the tokens delete.
  std::vector<tree::RangeDelete> range_deletes();

 private:
  Engine& engine_;
  const std::vector<int64_t> tokens_;
  const bool has_ranges_;
  const std::function<void()> on_page_;
  const std::function<void(const tree::Change&)> on_change_;
  std::vector<meta::StagedRow> page_;
  size_t at_ = 0;
  std::string begin_;
  bool last_page_ = false;
};

/// Whether applying the tokens to the tree would change it.
bool has_effect(Engine& engine, const std::vector<int64_t>& tokens, bool has_ranges,
                const TreeRoot& root);

/// Every read asks each sealed token, so as many as this are folded into one.
constexpr size_t kSealedTokensMax = 8;

/// Folds the branch's sealed tokens when the lease saw as many as kSealedTokensMax. The branch must
/// be held.
void fold_if_long(Engine& engine, BranchId branch, BranchHold& hold);

}  // namespace tarn::branch
