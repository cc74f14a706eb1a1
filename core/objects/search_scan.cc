#include "core/objects/search_scan.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/metrics.h"
#include "core/base/parallel.h"
#include "core/branch/overlay.h"
#include "core/meta/node_store.h"
#include "core/objects/range_summaries.h"
#include "core/search/sieve.h"
#include "core/tree/inner_node.h"
#include "core/tree/leaf_node.h"

namespace tarn::objects {
namespace {

constexpr uint32_t kStagedRowsHint = 1'000;
// Number of summaries per load: few for a search that finds results at once, many for one that must
// go far.
constexpr size_t kWindowRangesMin = 16;
constexpr size_t kWindowRangesMax = 1'024;
// Ranges without a summary that are read together.
constexpr size_t kRangesPerLoad = 32;
// Threads that make summaries: while one waits for the database, the others decode what they read.
constexpr size_t kSummaryThreads = 3;
constexpr uint64_t kEntriesPerClockRead = 64;
/// The same for searches with conditions, whose patterns and values may be long.
constexpr uint64_t kConditionedEntriesPerClockRead = 8;

/// Ignores the limits of ranges and summaries, which look_ahead() enforces.
bool out_of_time(const SearchBudget& budget) {
  return budget.cost.entries_seen >= budget.limits.objects ||
         std::chrono::steady_clock::now() >= budget.deadline;
}

/// Reads summaries ahead of a cursor, creates missing ones, and ends the cursor when the budget is
/// spent. One thread at a time.
class SummaryFilter final : public tree::LeafFilter {
 public:
  SummaryFilter(branch::Engine& engine, branch::RefSnapshot& snapshot, const search::Query& query,
                SearchBudget& budget)
      : engine_(engine),
        snapshot_(snapshot),
        nodes_(engine.nodes, snapshot.connection()),
        sieve_(query),
        end_(prefix_end(query.key_prefix())),
        budget_(budget) {}

  void entered(std::vector<Nid> following) override { following_ = std::move(following); }

  uint32_t next_wanted(const tree::InnerNode& parent, uint32_t index) override {
    if (sieve_.empty()) return index;
    const Known& known = known_[parent.nid(0)];
    for (uint32_t i = index; i < parent.count(); ++i) {
      if (!known.has(i) && !look_ahead(parent, i)) return kNoMore;
      if (known.wanted[i - known.first]) return i;
    }
    return parent.count();
  }

  /// Set if the search must end: nothing after this key was examined.
  const std::optional<std::string>& stopped_at() const { return stopped_at_; }
  std::vector<RangeSummaries::Made> take_made() { return std::move(made_); }

 private:
  /// The answers of the summaries of one node's children, from `first` on.
  struct Known {
    bool has(uint32_t index) const { return index >= first && index - first < wanted.size(); }
    uint32_t first = 0;
    std::vector<bool> wanted{};
  };
  /// Successive children whose summaries are loaded together, and where their answers are kept.
  struct Window {
    std::vector<Nid> ranges{};
    std::vector<Known*> kept{};
  };

  /// Loads the summaries of the ranges from `index` on; false = the cursor must end before them.
  bool look_ahead(const tree::InnerNode& parent, uint32_t index) {
    if (index > 0) seen_through_ = parent.last_key(index - 1);
    if (past_end()) return false;
    if (stopped_at_ || spent()) {
      if (!stopped_at_) stopped_at_ = seen_through_;
      return false;
    }
    Window window;
    add(window, parent, index);
    add_following(window, parent.count());
    window_ = std::min(window_ * 2, kWindowRangesMax);
    auto summaries =
        engine_.summaries.load(snapshot_.connection(), snapshot_.repository().id, window.ranges);
    make_missing(window.ranges, summaries);
    for (size_t i = 0; i < summaries.size(); ++i) {
      const bool wanted = sieve_.passes(*summaries[i]);
      window.kept[i]->wanted.push_back(wanted);
      budget_.cost.ranges_wanted += wanted;
    }
    budget_.cost.ranges_seen += summaries.size();
    looked_ = true;
    return true;
  }

  bool past_end() const { return !end_.empty() && seen_through_ >= end_; }

  void add(Window& window, const tree::InnerNode& parent, uint32_t index) {
    Known& known = known_[parent.nid(0)];
    // Earlier results are kept, because the cursor asks ahead of its position.
    if (index != known.first + known.wanted.size()) known = {.first = index};
    for (uint32_t i = index; i < parent.count() && window.ranges.size() < window_; ++i) {
      window.ranges.push_back(parent.nid(i));
      window.kept.push_back(&known);
      seen_through_ = parent.last_key(i);
      if (past_end()) return;
    }
  }

  /// Fills the window with children of the nodes that follow, which have about `children` each.
  void add_following(Window& window, size_t children) {
    if (window.ranges.size() == window_ || past_end()) return;
    const size_t parents = (window_ - window.ranges.size()) / children + 1;
    const auto nodes =
        nodes_.load(std::span<const Nid>(following_).first(std::min(parents, following_.size())));
    for (size_t i = 0; i < nodes.size() && !past_end(); ++i) {
      add(window, static_cast<const tree::InnerNode&>(*nodes[i]), 0);
    }
  }

  /// The first window is always examined, so that every scan makes progress.
  bool spent() const { return looked_ && budget_.spent(); }

  void make_missing(const std::vector<Nid>& ranges,
                    std::vector<RangeSummaries::Summary>& summaries) {
    std::vector<size_t> missing;
    std::vector<Nid> nids;
    for (size_t i = 0; i < ranges.size(); ++i) {
      if (summaries[i]) continue;
      missing.push_back(i);
      nids.push_back(ranges[i]);
    }
    const size_t loads = (nids.size() + kRangesPerLoad - 1) / kRangesPerLoad;
    for_each_parallel(loads, kSummaryThreads, [&](size_t load) {
      const size_t first = load * kRangesPerLoad;
      const auto nodes = nodes_.look_at(
          std::span<const Nid>(nids).subspan(first, std::min(kRangesPerLoad, nids.size() - first)));
      for (size_t n = 0; n < nodes.size(); ++n) {
        auto& summary = summaries[missing[first + n]];
        summary = std::make_shared<const search::RangeSummary>(
            search::RangeSummary::of(static_cast<const tree::LeafNode&>(*nodes[n])));
        // The cursor reads it next. The others would only push out what is in use.
        if (sieve_.passes(*summary)) engine_.nodes.remember(nids[first + n], nodes[n]);
      }
    });
    for (size_t n = 0; n < nids.size(); ++n) made_.push_back({nids[n], summaries[missing[n]]});
    budget_.cost.summaries_made += missing.size();
  }

  branch::Engine& engine_;
  branch::RefSnapshot& snapshot_;
  meta::NodesThrough nodes_;
  const search::Sieve sieve_;
  const std::string end_;  ///< end of the requested keys, exclusive; "" = no end
  SearchBudget& budget_;
  bool looked_ = false;
  std::vector<RangeSummaries::Made> made_;
  size_t window_ = kWindowRangesMin;
  std::string seen_through_;  ///< the last key of the examined ranges
  std::optional<std::string> stopped_at_;
  std::vector<Nid> following_;            ///< siblings of the node that the cursor is in
  std::unordered_map<Nid, Known> known_;  ///< by the node's first child
};

/// The first key of the query after `after`.
std::string first_key(const ScanPlan& plan) {
  const std::string& prefix = plan.query.key_prefix();
  return plan.after.empty() || plan.after < prefix ? prefix : plan.after + '\0';
}

/// Cheap checks first: most objects do not match.
std::optional<Entry> match_at(const branch::OverlayCursor& cursor, const ScanPlan& plan) {
  if (!plan.query.matches_path(cursor.key())) return std::nullopt;
  Entry entry = cursor.entry();
  if (!plan.query.matches_entry(entry) || !plan.query.matches_where(cursor.key(), entry) ||
      (plan.shows && !plan.shows(cursor.key()))) {
    return std::nullopt;
  }
  return entry;
}

/// Scans from the cursor on.
ScanEnd walk(branch::OverlayCursor& cursor, const SummaryFilter& filter, const ScanPlan& plan,
             SearchBudget& budget,
             const std::function<bool(const std::string& path, Entry entry)>& take) {
  const std::string& prefix = plan.query.key_prefix();
  const uint64_t per_clock_read =
      plan.query.where ? kConditionedEntriesPerClockRead : kEntriesPerClockRead;
  uint64_t seen = 0;
  for (; cursor.valid() && cursor.key().starts_with(prefix); cursor.next()) {
    const auto& stop = filter.stopped_at();
    if (stop && cursor.key() > *stop) break;
    ++seen;
    ++budget.cost.entries_seen;
    auto entry = match_at(cursor, plan);
    if (entry && !take(cursor.key(), *std::move(entry))) return {.seen_through = cursor.key()};
    if (seen % per_clock_read == 0 && out_of_time(budget)) return {.seen_through = cursor.key()};
  }
  if (filter.stopped_at()) return {.seen_through = *filter.stopped_at()};
  return {.complete = true};
}

void count(const SearchCost& before, const SearchCost& after) {
  static metrics::Counter& passed = metrics::counter("tarn_search_ranges_passed_over_total",
                                                     "Ranges that a search did not have to read");
  static metrics::Counter& made =
      metrics::counter("tarn_search_summaries_made_total", "Range summaries made by searches");
  const uint64_t seen = after.ranges_seen - before.ranges_seen;
  passed.add(static_cast<double>(seen - (after.ranges_wanted - before.ranges_wanted)));
  made.add(static_cast<double>(after.summaries_made - before.summaries_made));
}

}  // namespace

ScanEnd scan_ref(branch::Engine& engine, const RepositoryName& repository, std::string_view ref,
                 const ScanPlan& plan, SearchBudget& budget,
                 const std::function<bool(const std::string& path, Entry entry)>& take) {
  const SearchCost before = budget.cost;
  const std::string start = first_key(plan);
  auto snapshot = branch::RefSnapshot::open(engine, repository, ref, start,
                                            {branch::StagedReading::kAll, kStagedRowsHint},
                                            plan.prefix_digits_min);
  SummaryFilter filter(engine, *snapshot, plan.query, budget);
  ScanEnd end;
  {
    branch::OverlayCursor cursor(snapshot->nodes(), snapshot->root(), snapshot->take_rows(),
                                 &filter);
    cursor.seek(start);
    end = walk(cursor, filter, plan, budget, take);
  }
  const RepositoryId id = snapshot->repository().id;
  snapshot.reset();  // storing may need a connection
  engine.summaries.keep(id, filter.take_made());
  count(before, budget.cost);
  return end;
}

}  // namespace tarn::objects
