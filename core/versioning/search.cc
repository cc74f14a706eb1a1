#include "core/versioning/search.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/base/error.h"
#include "core/base/metrics.h"
#include "core/meta/range_summaries.h"
#include "core/tree/inner_node.h"
#include "core/tree/leaf_node.h"
#include "core/versioning/overlay.h"

namespace tarn::versioning {
namespace {

constexpr uint32_t kStagedRowsHint = 1'000;
// Summaries looked at together: few for a search that finds at once, many for one that must go far.
constexpr size_t kWindowRangesMin = 16;
constexpr size_t kWindowRangesMax = 256;
// Of ranges without a summary, read together.
constexpr size_t kRangesPerLoad = 32;
constexpr uint64_t kEntriesPerClockRead = 64;

using SteadyClock = std::chrono::steady_clock;

/// Reads summaries ahead of a cursor, makes those that are missing, and ends the cursor when the
/// search has cost enough. One thread at a time.
class SummaryFilter final : public tree::LeafFilter {
 public:
  SummaryFilter(Engine& engine, RefSnapshot& snapshot, const SearchOptions& options,
                SteadyClock::time_point deadline)
      : engine_(engine),
        snapshot_(snapshot),
        demand_(options.query),
        end_(prefix_end(options.query.key_prefix())),
        limits_(options.limits),
        deadline_(deadline) {}

  uint32_t next_wanted(const tree::InnerNode& parent, uint32_t index) override {
    if (demand_.empty()) return index;
    for (uint32_t i = index; i < parent.count(); ++i) {
      if (!known(parent, i) && !look_ahead(parent, i)) return kNoMore;
      if (wanted_[i - first_]) return i;
    }
    return parent.count();
  }

  /// Set when the search must end: nothing behind this key was looked at.
  const std::optional<std::string>& stopped_at() const { return stopped_at_; }
  const SearchCost& cost() const { return cost_; }
  const std::vector<meta::RangeSummaries::Made>& made() const { return made_; }

 private:
  bool known(const tree::InnerNode& parent, uint32_t index) const {
    return parent.nid(0) == parent_ && index >= first_ && index - first_ < wanted_.size();
  }

  /// Learns about the ranges from `index` on; false = the cursor is to end before them.
  bool look_ahead(const tree::InnerNode& parent, uint32_t index) {
    if (index > 0) seen_through_ = parent.last_key(index - 1);
    if (!end_.empty() && seen_through_ >= end_) return false;
    if (stopped_at_ || spent()) {
      if (!stopped_at_) stopped_at_ = seen_through_;
      return false;
    }
    std::vector<Nid> ranges;
    for (uint32_t i = index; i < parent.count() && ranges.size() < window_; ++i) {
      ranges.push_back(parent.nid(i));
      seen_through_ = parent.last_key(i);
      if (!end_.empty() && seen_through_ >= end_) break;
    }
    window_ = std::min(window_ * 2, kWindowRangesMax);
    auto summaries =
        engine_.summaries.load(snapshot_.connection(), snapshot_.repository().id, ranges);
    make_missing(ranges, summaries);
    // Kept until the cursor is in another parent: it asks ahead of where it stands.
    if (parent.nid(0) != parent_ || index != first_ + wanted_.size()) {
      parent_ = parent.nid(0);
      first_ = index;
      wanted_.clear();
    }
    for (const auto& summary : summaries) {
      wanted_.push_back(summary->may_meet(demand_));
      cost_.ranges_wanted += wanted_.back();
    }
    cost_.ranges_seen += ranges.size();
    return true;
  }

  /// Nothing is spent before the first window, so that every page gets on.
  bool spent() const {
    return cost_.ranges_seen > 0 &&
           (cost_.ranges_seen >= limits_.ranges || cost_.summaries_made >= limits_.summaries ||
            SteadyClock::now() >= deadline_);
  }

  void make_missing(const std::vector<Nid>& ranges,
                    std::vector<meta::RangeSummaries::Summary>& summaries) {
    std::vector<size_t> missing;
    for (size_t i = 0; i < ranges.size(); ++i) {
      if (!summaries[i]) missing.push_back(i);
    }
    for (size_t at = 0; at < missing.size(); at += kRangesPerLoad) {
      const auto part =
          std::span(missing).subspan(at, std::min(kRangesPerLoad, missing.size() - at));
      std::vector<Nid> nids;
      for (const size_t i : part) nids.push_back(ranges[i]);
      const auto nodes = snapshot_.nodes().load(nids);
      for (size_t n = 0; n < part.size(); ++n) {
        summaries[part[n]] = std::make_shared<const search::RangeSummary>(
            search::RangeSummary::of(static_cast<const tree::LeafNode&>(*nodes[n])));
        made_.push_back({nids[n], summaries[part[n]]});
      }
    }
    cost_.summaries_made += missing.size();
  }

  Engine& engine_;
  RefSnapshot& snapshot_;
  const search::Demand demand_;
  const std::string end_;  ///< of the keys asked for, exclusive; "" = no end
  const SearchLimits limits_;
  const SteadyClock::time_point deadline_;
  SearchCost cost_;
  std::vector<meta::RangeSummaries::Made> made_;
  size_t window_ = kWindowRangesMin;
  std::string seen_through_;  ///< the last key of the ranges looked at
  std::optional<std::string> stopped_at_;
  // What is known: children from first_ on of the node whose first child is parent_.
  Nid parent_ = 0;
  uint32_t first_ = 0;
  std::vector<bool> wanted_;
};

/// Where the keys of the query that are behind `after` begin.
std::string first_key(const SearchOptions& options) {
  const std::string& prefix = options.query.key_prefix();
  return options.after.empty() || options.after < prefix ? prefix : options.after + '\0';
}

Page<ListItem> ended_at(Page<ListItem> page, std::string next) {
  page.has_more = true;
  page.next = std::move(next);
  return page;
}

/// Matches from the cursor on, until the page is full or has cost enough.
Page<ListItem> fill_page(OverlayCursor& cursor, const SummaryFilter& filter,
                         const SearchOptions& options, SteadyClock::time_point deadline,
                         uint64_t& entries_seen) {
  const std::string& prefix = options.query.key_prefix();
  Page<ListItem> page;
  for (; cursor.valid() && cursor.key().starts_with(prefix); cursor.next()) {
    const auto& stop = filter.stopped_at();
    if (stop && cursor.key() > *stop) break;
    ++entries_seen;
    if (options.query.matches_path(cursor.key())) {
      Entry entry = cursor.entry();
      if (options.query.matches_entry(entry)) {
        page.items.push_back({cursor.key(), std::move(entry)});
        if (page.items.size() == options.limit) return ended_at(std::move(page), cursor.key());
      }
    }
    if (entries_seen % kEntriesPerClockRead == 0 && SteadyClock::now() >= deadline) {
      return ended_at(std::move(page), cursor.key());
    }
  }
  if (filter.stopped_at()) return ended_at(std::move(page), *filter.stopped_at());
  return page;
}

void count(const SearchCost& cost) {
  static metrics::Counter& passed = metrics::counter("tarn_search_ranges_passed_over_total",
                                                     "Ranges that a search did not have to read");
  static metrics::Counter& made =
      metrics::counter("tarn_search_summaries_made_total", "Range summaries made by searches");
  passed.add(static_cast<double>(cost.ranges_seen - cost.ranges_wanted));
  made.add(static_cast<double>(cost.summaries_made));
}

}  // namespace

SearchPage search_objects(Engine& engine, const RepositoryName& repository, std::string_view ref,
                          const SearchOptions& options, uint32_t prefix_digits_min) {
  if (options.query.empty()) {
    throw_invalid("search: give at least one condition or a prefix");
  }
  const auto deadline = SteadyClock::now() + options.limits.time;
  const std::string start = first_key(options);
  auto snapshot = RefSnapshot::open(engine, repository, ref, start,
                                    {StagedReading::kAll, kStagedRowsHint}, prefix_digits_min);
  SummaryFilter filter(engine, *snapshot, options, deadline);
  SearchPage out;
  uint64_t entries_seen = 0;
  {
    OverlayCursor cursor(snapshot->nodes(), snapshot->root(), snapshot->take_rows(), &filter);
    cursor.seek(start);
    out.page = fill_page(cursor, filter, options, deadline, entries_seen);
  }
  out.cost = filter.cost();
  out.cost.entries_seen = entries_seen;
  const RepositoryId id = snapshot->repository().id;
  snapshot.reset();  // storing needs a connection of its own
  engine.summaries.store(id, filter.made());
  count(out.cost);
  return out;
}

}  // namespace tarn::versioning
