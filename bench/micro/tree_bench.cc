// The tree in memory: what encoding, building, editing, diffing and merging cost without a
// database.
#include <cstdio>
#include <map>
#include <random>

#include <benchmark/benchmark.h>

#include "core/tree/cursor.h"
#include "core/tree/diff.h"
#include "core/tree/edit.h"
#include "core/tree/merge.h"
#include "tests/support/memory_node_store.h"

namespace tarn::tree {
namespace {

constexpr TreeFormat kFormat{42};
constexpr int kEntries = 1'000'000;
constexpr int kChanges = 1'000;

std::string key_of(uint64_t number) {
  char out[64];
  std::snprintf(out, sizeof out, "data/d%03llu/part-%08llu.parquet",
                static_cast<unsigned long long>(number % 1000),
                static_cast<unsigned long long>(number));
  return out;
}

Entry entry_of(uint64_t number) {
  Entry entry;
  entry.size_bytes = number;
  entry.mtime = from_millis(1'700'000'000'000 + static_cast<int64_t>(number));
  char etag[33];
  std::snprintf(etag, sizeof etag, "%016llx%016llx",
                static_cast<unsigned long long>(number * 0x9E3779B97F4A7C15ull),
                static_cast<unsigned long long>(number * 0xC2B2AE3D27D4EB4Full));
  entry.etag = etag;
  entry.address = new_own_address(entry.mtime);
  entry.content_type = "application/octet-stream";
  return entry;
}

class MapEdits final : public ChangeSource {
 public:
  explicit MapEdits(std::map<std::string, std::optional<Entry>> edits)
      : edits_(std::move(edits)), at_(edits_.begin()) {}
  std::optional<Change> next() override {
    if (at_ == edits_.end()) return std::nullopt;
    Change edit{at_->first, at_->second};
    ++at_;
    return edit;
  }

 private:
  std::map<std::string, std::optional<Entry>> edits_;
  std::map<std::string, std::optional<Entry>>::iterator at_;
};

std::map<std::string, std::optional<Entry>> spread(uint64_t seed, int count) {
  std::mt19937_64 random(seed);
  std::map<std::string, std::optional<Entry>> out;
  while (static_cast<int>(out.size()) < count) {
    const uint64_t number = random() % kEntries;
    out[key_of(number) + "." + std::to_string(seed)] = entry_of(number);
  }
  return out;
}

struct Big {
  MemoryNodeStore store;
  TreeRoot root;
};

/// A tree of a million entries, built once; nodes stay decoded as in a server's cache.
Big& big() {
  static Big* const made = [] {
    auto* out = new Big;
    std::map<std::string, std::optional<Entry>> all;
    for (uint64_t i = 0; i < kEntries; ++i) all[key_of(i)] = entry_of(i);
    MapEdits edits(std::move(all));
    out->root = edit_tree(out->store, out->store, kFormat, {}, {}, edits).root;
    out->store.keep_decoded();
    return out;
  }();
  return *made;
}

TreeRoot edited(uint64_t seed, int count) {
  MapEdits edits(spread(seed, count));
  return edit_tree(big().store, big().store, kFormat, big().root, {}, edits).root;
}

void build(benchmark::State& state) {
  std::map<std::string, std::optional<Entry>> all;
  for (int64_t i = 0; i < state.range(0); ++i)
    all[key_of(static_cast<uint64_t>(i))] = entry_of(static_cast<uint64_t>(i));
  for (auto _ : state) {
    MemoryNodeStore store;
    MapEdits edits(all);
    benchmark::DoNotOptimize(edit_tree(store, store, kFormat, {}, {}, edits));
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(build)->Arg(100'000)->Unit(benchmark::kMillisecond);

void look_up(benchmark::State& state) {
  std::mt19937_64 random(1);
  for (auto _ : state) {
    benchmark::DoNotOptimize(find_entry(big().store, big().root, key_of(random() % kEntries)));
  }
}
BENCHMARK(look_up);

void scan_1000(benchmark::State& state) {
  std::mt19937_64 random(1);
  for (auto _ : state) {
    Cursor cursor(big().store, big().root);
    cursor.seek(key_of(random() % kEntries));
    for (int i = 0; i < 1000 && cursor.valid(); ++i, cursor.next())
      benchmark::DoNotOptimize(cursor.entry());
  }
}
BENCHMARK(scan_1000)->Unit(benchmark::kMicrosecond);

void edit_one(benchmark::State& state) {
  uint64_t seed = 0;
  big().store.reset_counts();
  for (auto _ : state) benchmark::DoNotOptimize(edited(++seed, 1));
  const auto rounds = static_cast<double>(state.iterations());
  state.counters["bytes_written"] = static_cast<double>(big().store.counts().put_bytes) / rounds;
  state.counters["nodes_read"] = static_cast<double>(big().store.counts().loads) / rounds;
}
BENCHMARK(edit_one)->Unit(benchmark::kMicrosecond);

void edit_1000_spread(benchmark::State& state) {
  uint64_t seed = 1'000'000;
  for (auto _ : state) benchmark::DoNotOptimize(edited(++seed, kChanges));
}
BENCHMARK(edit_1000_spread)->Unit(benchmark::kMillisecond);

void diff_1000_apart(benchmark::State& state) {
  static const TreeRoot other = edited(7, kChanges);
  for (auto _ : state) {
    Diff diff(big().store, big().root, other);
    int count = 0;
    while (diff.next()) ++count;
    if (count != kChanges) state.SkipWithError("the diff missed changes");
  }
}
BENCHMARK(diff_1000_apart)->Unit(benchmark::kMillisecond);

void merge_1000_and_1000(benchmark::State& state) {
  static const TreeRoot source = edited(8, kChanges);
  static const TreeRoot destination = edited(9, kChanges);
  for (auto _ : state) {
    MergeInput input;
    input.base = big().root;
    input.source = source;
    input.destination = destination;
    input.resolve = [](const MergeConflict&) { return Resolution::kConflict; };
    const MergeResult merged = merge_trees(big().store, big().store, kFormat, input);
    if (merged.result.added != kChanges) state.SkipWithError("the merge missed changes");
  }
}
BENCHMARK(merge_1000_and_1000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace tarn::tree

BENCHMARK_MAIN();
