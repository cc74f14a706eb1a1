#include "core/branch/staged_edits.h"

#include <utility>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/meta/node_store.h"
#include "core/meta/staging.h"
#include "core/tree/cursor.h"
#include "core/tree/entry_fields.h"

namespace tarn::branch {
namespace {

constexpr uint32_t kRowsPerPage = 10'000;

}  // namespace

StagedEdits::StagedEdits(Engine& engine, std::vector<int64_t> tokens, bool has_ranges,
                         std::function<void()> on_page,
                         std::function<void(const tree::Change&)> on_change)
    : engine_(engine),
      tokens_(std::move(tokens)),
      has_ranges_(has_ranges),
      on_page_(std::move(on_page)),
      on_change_(std::move(on_change)),
      last_page_(tokens_.empty()) {}

std::optional<tree::Change> StagedEdits::next() {
  while (at_ == page_.size()) {
    if (last_page_) return std::nullopt;
    if (on_page_) on_page_();
    page_ = engine_.staging.drain(tokens_, has_ranges_, &begin_, kRowsPerPage);
    at_ = 0;
    last_page_ = begin_.empty();
  }
  meta::StagedRow& row = page_[at_++];
  tree::Change change{std::move(row.key), std::move(row.entry)};
  if (on_change_) on_change_(change);
  return change;
}

std::vector<tree::RangeDelete> StagedEdits::range_deletes() {
  std::vector<tree::RangeDelete> out;
  if (!has_ranges_) return out;
  for (meta::StagedRange& range : engine_.staging.delete_ranges(tokens_)) {
    out.push_back({std::move(range.begin), std::move(range.end)});
  }
  return out;
}

bool has_effect(Engine& engine, const std::vector<int64_t>& tokens, bool has_ranges,
                const TreeRoot& root) {
  StagedEdits edits(engine, tokens, has_ranges, nullptr);
  for (const tree::RangeDelete& range : edits.range_deletes()) {
    if (tree::count_range(engine.nodes, root, range.begin, range.end).entries > 0) return true;
  }
  tree::Cursor cursor(engine.nodes, root);
  while (const auto edit = edits.next()) {
    cursor.seek(edit->key);
    const bool present = cursor.valid() && cursor.key() == edit->key;
    if (present != edit->entry.has_value()) return true;
    if (present && !tree::same_content(cursor.entry(), *edit->entry)) return true;
  }
  return false;
}

void fold_if_long(Engine& engine, BranchId branch, BranchHold& hold) {
  if (hold.lease().sealed.size() < kSealedTokensMax) return;
  try {
    engine.staging.fold(branch, hold.lease().owner, [&hold] { hold.keep_alive(); });
  } catch (const Error& error) {
    // The verb itself has succeeded; the next one folds.
    log::warn("fold_failed",
              {{"branch", static_cast<int32_t>(branch)}, {"error", error.message()}});
  }
}

}  // namespace tarn::branch
