#include "core/accounting/logical_size.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "core/base/cancellation.h"
#include "core/base/error.h"
#include "core/branch/overlay.h"
#include "core/branch/refs.h"
#include "core/tree/cursor.h"

namespace tarn::accounting {
namespace {

using branch::RefSnapshot;
using branch::StagedReading;
using branch::StagedRows;

constexpr branch::ReadingPlan kPlan{.reading = StagedReading::kAll, .rows_hint = 2'000};
constexpr uint32_t kCommitPrefixDigitsMin = 1;

/// The earlier of two ends of ranges, of which "" is the latest.
std::string_view earlier_end(std::string_view a, std::string_view b) {
  if (a.empty() || b.empty()) return a.empty() ? b : a;
  return std::min(a, b);
}

/// Sizes of ranges of keys of one state, asked for in ascending order. One thread at a time.
class Sizes {
 public:
  explicit Sizes(RefSnapshot& snapshot)
      : nodes_(snapshot.nodes()),
        root_(snapshot.root()),
        tree_(snapshot.nodes(), root_),
        rows_(snapshot.take_rows()) {}

  /// Size of the keys in [begin, end); end "" = no end.
  Amount of(std::string_view begin, std::string_view end) {
    const tree::Totals totals = tree::count_range(nodes_, root_, begin, end);
    Amount amount{totals.entries, totals.bytes};
    for (const meta::StagedRange& range : rows_.deletes()) subtract(range, begin, end, amount);
    rows_.seek(begin);
    for (const meta::StagedRow* row = rows_.current();
         row != nullptr && (end.empty() || row->key < end); row = rows_.current()) {
      apply(*row, amount);
      rows_.next();
    }
    return amount;
  }

  /// The first key at or after `from` that the tree shows or a staged row has.
  std::optional<std::string> next_key(const std::string& from) {
    std::optional<std::string> key = next_in_tree(from);
    rows_.seek(from);
    const meta::StagedRow* row = rows_.current();
    if (row != nullptr && (!key || row->key < *key)) key = row->key;
    return key;
  }

 private:
  /// The first key of the tree from `from` on that no range hides.
  std::optional<std::string> next_in_tree(const std::string& from) {
    tree_.seek(from);
    while (tree_.valid()) {
      const meta::StagedRange* range = rows_.hiding(tree_.key());
      if (range == nullptr) return tree_.key();
      if (range->end.empty()) break;
      tree_.seek(range->end);
    }
    return std::nullopt;
  }

  void subtract(const meta::StagedRange& range, std::string_view begin, std::string_view end,
                Amount& amount) {
    const std::string_view from = std::max<std::string_view>(range.begin, begin);
    const tree::Totals hidden = tree::count_range(nodes_, root_, from, earlier_end(range.end, end));
    amount.objects -= hidden.entries;
    amount.bytes -= hidden.bytes;
  }

  /// Adds the change that the row makes to what the tree shows.
  void apply(const meta::StagedRow& row, Amount& amount) {
    throw_if_cancelled();
    tree_.seek(row.key);
    if (tree_.valid() && tree_.key() == row.key && rows_.hiding(row.key) == nullptr) {
      --amount.objects;
      amount.bytes -= tree_.entry().size_bytes;
    }
    if (!row.entry) return;
    ++amount.objects;
    amount.bytes += row.entry->size_bytes;
  }

  tree::NodeSource& nodes_;
  const TreeRoot root_;
  tree::Cursor tree_;
  StagedRows rows_;
};

std::string just_after(std::string_view key) { return std::string(key) + '\0'; }

/// The item below `prefix` that has `key`, and the first key after the item ("" = none).
struct Segment {
  UsageItem item;
  std::string end;
};
Segment segment_of(std::string_view prefix, const std::string& key) {
  const size_t slash = key.find('/', prefix.size());
  if (slash == std::string::npos) return {{.path = key, .logical = {}}, just_after(key)};
  const std::string path = key.substr(0, slash + 1);
  return {{.path = path, .is_prefix = true, .logical = {}}, prefix_end(path)};
}

/// The key at which a page begins: never inside an item.
std::string start_of(std::string_view prefix, std::string_view after) {
  if (after.empty() || after < prefix) return std::string(prefix);
  if (!after.starts_with(prefix)) return just_after(after);
  return segment_of(prefix, std::string(after)).end;
}

std::unique_ptr<RefSnapshot> open(branch::Engine& engine, const Repository& repository,
                                  std::string_view ref, std::string_view begin) {
  return RefSnapshot::open(engine, repository.name, ref, begin, kPlan, kCommitPrefixDigitsMin);
}

}  // namespace

Amount logical_size(branch::Engine& engine, const Repository& repository, std::string_view ref,
                    std::string_view prefix) {
  const auto snapshot = open(engine, repository, ref, prefix);
  return Sizes(*snapshot).of(prefix, prefix_end(prefix));
}

Page<UsageItem> usage_by_prefix(branch::Engine& engine, const Repository& repository,
                                std::string_view ref, std::string_view prefix,
                                std::string_view after, uint32_t limit) {
  std::string from = start_of(prefix, after);
  const auto snapshot = open(engine, repository, ref, from);
  Sizes sizes(*snapshot);
  Page<UsageItem> page{.next_of = std::mem_fn(&UsageItem::path)};
  for (;;) {
    throw_if_cancelled();
    const auto key = sizes.next_key(from);
    if (!key || !key->starts_with(prefix)) break;
    Segment segment = segment_of(prefix, *key);
    segment.item.logical = sizes.of(segment.item.path, segment.end);
    from = std::move(segment.end);
    if (segment.item.logical.objects == 0) continue;
    if (page.items.size() == limit) {
      page.end_here();
      break;
    }
    page.items.push_back(std::move(segment.item));
  }
  return page;
}

Page<UsageItem> usage_by_branch(branch::Engine& engine, const Repository& repository,
                                std::string_view after, uint32_t limit) {
  const Page<Branch> branches =
      branch::list_branches(engine, repository, "", after, limit, /*show_hidden=*/true);
  Page<UsageItem> page{.items = {},
                       .has_more = branches.has_more,
                       .next = branches.next,
                       .next_of = std::mem_fn(&UsageItem::path)};
  for (const Branch& branch : branches.items) {
    try {
      const Amount amount = logical_size(engine, repository, branch.name.str(), "");
      page.items.push_back({branch.name.str(), false, amount});
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kNotFound) throw;
    }
  }
  return page;
}

}  // namespace tarn::accounting
