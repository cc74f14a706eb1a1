#include "core/objects/frozen_listing.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/base/error.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"

namespace tarn::objects {
namespace {

constexpr branch::ReadingPlan kPlan{.reading = branch::StagedReading::kAll, .rows_hint = 2'000};
constexpr uint32_t kCommitPrefixDigitsMin = 1;

/// All rows below the prefix.
branch::StagedRows read_rows(branch::StagedRows rows, std::string_view prefix) {
  meta::StagedPage all;
  rows.seek(prefix);
  for (; const meta::StagedRow* row = rows.current(); rows.next()) {
    if (!row->key.starts_with(prefix)) break;
    if (all.rows.size() == kFrozenRowsMax) {
      throw Error(
          ErrorCode::kPreconditionFailed, reason::kTooMuchStaged,
          str_cat("reading what is below \"", prefix, "\" at one moment: there are more than ",
                  kFrozenRowsMax, " uncommitted changes; commit them and name the commit"));
    }
    all.rows.push_back(*row);
  }
  all.deletes = rows.deletes();
  return {std::move(all), {}};
}

}  // namespace

std::unique_ptr<FrozenListing> FrozenListing::open(branch::Engine& engine,
                                                   const RepositoryName& repository,
                                                   std::string_view ref, std::string_view prefix) {
  const auto snapshot =
      branch::RefSnapshot::open(engine, repository, ref, prefix, kPlan, kCommitPrefixDigitsMin);
  branch::StagedRows rows = read_rows(snapshot->take_rows(), prefix);
  return std::unique_ptr<FrozenListing>(
      new FrozenListing(snapshot->repository(), std::string(prefix),
                        branch::OverlayCursor(engine.nodes, snapshot->root(), std::move(rows))));
}

std::optional<ListItem> FrozenListing::next() {
  if (!cursor_.valid() || !cursor_.key().starts_with(prefix_)) return std::nullopt;
  ListItem item{cursor_.key(), cursor_.entry()};
  cursor_.next();
  return item;
}

FoundObjects find_objects(branch::Engine& engine, const RepositoryName& repository,
                          std::string_view ref, std::span<const Key> keys) {
  std::vector<size_t> order(keys.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return keys[a] < keys[b]; });
  const std::string first = keys.empty() ? std::string() : keys[order.front()].str();
  const auto snapshot =
      branch::RefSnapshot::open(engine, repository, ref, first, kPlan, kCommitPrefixDigitsMin);
  FoundObjects out{snapshot->repository(), {}};
  out.entries.resize(keys.size());
  branch::OverlayCursor cursor(snapshot->nodes(), snapshot->root(), snapshot->take_rows());
  for (const size_t i : order) {
    cursor.seek(keys[i].str());
    if (cursor.valid() && cursor.key() == keys[i].str()) out.entries[i] = cursor.entry();
  }
  return out;
}

}  // namespace tarn::objects
