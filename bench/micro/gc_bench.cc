// Marking of garbage collection: many objects in many commits that share their trees.
// gc_bench OBJECTS COMMITS, on a database of its own (TARN_TEST_DSN, or a server that it starts).
// Then half of the history is deleted and collected: the space of the database before and after.
//
// gc_bench OBJECTS own|imported: every second of so many objects is deleted and collected; then the
// space of the database, compared with one that never had them.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <string>

#include "core/branch/publish.h"
#include "core/branch/refs.h"
#include "core/branch/settings.h"
#include "core/db/connection.h"
#include "core/gc/collection.h"
#include "core/gc/collection_requests.h"
#include "core/gc/marking.h"
#include "core/tree/edit.h"
#include "tests/support/engine_fixture.h"

namespace tarn {
namespace {

std::string key_of(uint64_t at, uint64_t count) {
  char key[64];
  std::snprintf(key, sizeof(key), "folder-%04llu/object-%09llu.parquet",
                static_cast<unsigned long long>(at * 1000 / count),
                static_cast<unsigned long long>(at));
  return key;
}

/// `changed` objects from number `first` on, of `count` in 1,000 folders.
class Objects final : public tree::ChangeSource {
 public:
  Objects(uint64_t count, uint64_t first, uint64_t changed, int64_t time,
          std::function<void()> tick)
      : count_(count), at_(first), end_(first + changed), time_(time), tick_(std::move(tick)) {}

  std::optional<tree::Change> next() override {
    if (at_ >= end_ || at_ >= count_) return std::nullopt;
    if (++made_ % 10'000 == 0) tick_();
    const std::string key = key_of(at_, count_);
    Entry entry;
    entry.size_bytes = 1000 + at_ % 5000;
    // Another one for each change: an entry with the same content would be no change.
    char etag[33];
    std::snprintf(etag, sizeof(etag), "%032llx", static_cast<unsigned long long>(time_));
    entry.etag = etag;
    entry.content_type = "application/octet-stream";
    entry.address = new_own_address(from_millis(time_ + static_cast<int64_t>(at_)));
    ++at_;
    return tree::Change{key, std::move(entry)};
  }

 private:
  const uint64_t count_;
  uint64_t at_;
  const uint64_t end_;
  const int64_t time_;
  const std::function<void()> tick_;
  uint64_t made_ = 0;
};

void change(testing::TestEngine& engine, const Repository& repository, uint64_t count,
            uint64_t first, uint64_t changed, int64_t number, const std::string& name = "main") {
  const BranchName branch(name);
  branch::build_and_publish(
      *engine, repository, branch::get_branch(*engine, repository, branch), /*rotate=*/true, {},
      [&](branch::BranchHold& hold, meta::NodeWriter& writer) {
        Objects objects(count, first, changed, 1'700'000'000'000 + number * 1'000'000, [&] {
          hold.keep_alive();
          engine.parts().heartbeat();
        });
        branch::BuiltCommit built;
        built.root = tree::edit_tree((*engine).nodes, writer, {repository.salt}, hold.lease().root,
                                     {}, objects)
                         .root;
        built.parents = {hold.lease().head};
        built.drained = hold.lease().sealed;
        built.committer = "bench";
        built.message = "change " + std::to_string(number);
        return std::optional(std::move(built));
      });
}

void reset_peak() { std::ofstream("/proc/self/clear_refs") << "5"; }

long memory_kib(const std::string& name) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(name)) return std::strtol(line.c_str() + name.size(), nullptr, 10);
  }
  return 0;
}

void measure_mark(testing::TestEngine& engine, const Repository& repository, const char* what,
                  uint64_t commits) {
  reset_peak();
  const long before = memory_kib("VmRSS:");
  const auto start = std::chrono::steady_clock::now();
  const auto marked = gc::mark(*engine, {.repository = repository.id, .on_progress = [] {}});
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  std::printf(
      R"({"measured":"mark %s","commits":%llu,"nodes":%llu,"seconds":%.2f,"memory_mib":%ld})"
      "\n",
      what, static_cast<unsigned long long>(commits),
      static_cast<unsigned long long>(marked.nodes.size()), seconds,
      (memory_kib("VmHWM:") - before) / 1024);
  std::fflush(stdout);
}

struct Space {
  int64_t rows = 0;
  int64_t bytes = 0;
};

Space space_of_nodes(const std::string& url) {
  const auto connection = db::Connection::open(url);
  const db::Query query{"bench_space",
                        "SELECT (SELECT count(*) FROM nodes), pg_total_relation_size('nodes')"};
  const db::Rows rows = connection->run(query);
  return {rows.integer(0, 0), rows.integer(0, 1)};
}

void report_space(const std::string& url, const char* what, double seconds) {
  const Space space = space_of_nodes(url);
  std::printf(R"({"measured":"space of nodes %s","seconds":%.2f,"rows":%lld,"mib":%lld})"
              "\n",
              what, seconds, static_cast<long long>(space.rows),
              static_cast<long long>(space.bytes >> 20));
  std::fflush(stdout);
}

double seconds_of(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// A branch whose commits rewrite every object: as much history again.
void measure_space(testing::TestEngine& engine, const std::string& url,
                   const Repository& repository, uint64_t count) {
  const auto grow = [&](int64_t number) {
    engine.branch(repository.name, "old", "main");
    for (uint64_t part = 0; part < 10; ++part) {
      change(engine, repository, count, part * (count / 10), count / 10,
             number + static_cast<int64_t>(part), "old");
    }
  };
  const auto collect = [&] {
    gc::CollectionOptions options;
    options.interval = options.grace = options.unreachable_kept = std::chrono::seconds{0};
    options.share_max = 100;
    gc::request_collection(*engine, repository, "bench", 0);
    engine.parts().heartbeat();
    gc::run_one_collection(*engine, options, {});
  };
  report_space(url, "of main", 0);
  const double grown = seconds_of([&] { grow(10'000); });
  report_space(url, "with the branch", grown);
  branch::delete_branch(*engine, repository, BranchName("old"), false);
  report_space(url, "branch deleted and collected", seconds_of(collect));
  report_space(url, "vacuumed",
               seconds_of([&] { db::Connection::open(url)->run_script("VACUUM nodes"); }));
  grow(20'000);
  report_space(url, "with another branch", 0);
}

/// Every second object from number `first` on: imported, stored, or deleted.
class Half final : public tree::ChangeSource {
 public:
  enum class Kind { kOwn, kImported, kDeleted };
  Half(testing::TestEngine& engine, const Repository& repository, uint64_t count, uint64_t first,
       Kind kind, branch::BranchHold& hold)
      : engine_(engine),
        repository_(repository),
        count_(count),
        at_(first),
        kind_(kind),
        hold_(hold) {}

  std::optional<tree::Change> next() override {
    if (at_ >= count_) return std::nullopt;
    if (at_ % 20'000 < 2) {
      hold_.keep_alive();
      engine_.parts().heartbeat();
    }
    tree::Change edit{key_of(at_, count_), std::nullopt};
    if (kind_ != Kind::kDeleted) edit.entry = entry();
    at_ += 2;
    return edit;
  }

 private:
  Entry entry() {
    Entry out;
    out.size_bytes = 7;
    char etag[33];
    std::snprintf(etag, sizeof(etag), "%032llx", static_cast<unsigned long long>(at_ * 2654435761));
    out.etag = etag;
    out.content_type = "application/octet-stream";
    if (kind_ == Kind::kImported) {
      out.address = ExternalAddress{"s3://bucket/data/" + key_of(at_, count_)};
      return out;
    }
    const OwnAddress address =
        new_own_address(from_millis(1'700'000'000'000 + static_cast<int64_t>(at_)));
    const auto writer =
        engine_.store->create(repository_.storage_namespace.substr(std::string("local://").size()) +
                                  "/" + relative_path(address),
                              7);
    writer->write("garbage");
    writer->finish();
    out.address = address;
    return out;
  }

  testing::TestEngine& engine_;
  const Repository& repository_;
  const uint64_t count_;
  uint64_t at_;
  const Kind kind_;
  branch::BranchHold& hold_;
};

void change_half(testing::TestEngine& engine, const Repository& repository, uint64_t count,
                 uint64_t first, Half::Kind kind) {
  const BranchName branch("main");
  branch::build_and_publish(
      *engine, repository, branch::get_branch(*engine, repository, branch), /*rotate=*/true, {},
      [&](branch::BranchHold& hold, meta::NodeWriter& writer) {
        Half half(engine, repository, count, first, kind, hold);
        branch::BuiltCommit built;
        built.root =
            tree::edit_tree((*engine).nodes, writer, {repository.salt}, hold.lease().root, {}, half)
                .root;
        built.parents = {hold.lease().head};
        built.drained = hold.lease().sealed;
        built.committer = "bench";
        built.message = "half";
        return std::optional(std::move(built));
      });
}

int64_t bytes_of_tables(const std::string& url) {
  const db::Query query{"bench_tables", R"sql(
    SELECT sum(pg_total_relation_size(oid))::bigint FROM pg_class
    WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace)sql"};
  return db::Connection::open(url)->run(query).integer(0, 0);
}

int run_half(uint64_t count, Half::Kind kind) {
  const char* name = kind == Half::Kind::kOwn ? "own" : "imported";
  const auto show = [&](const char* what, double seconds, int64_t bytes, double ratio) {
    std::printf(
        R"({"measured":"space of the database, %s","kind":"%s","objects":%llu,"seconds":%.1f,"mib":%.1f,"ratio":%.3f})"
        "\n",
        what, name, static_cast<unsigned long long>(count), seconds,
        static_cast<double>(bytes) / (1 << 20), ratio);
    std::fflush(stdout);
  };
  int64_t fresh = 0;
  {
    const testing::TestDatabase database;
    testing::TestEngine engine(database.url());
    const Repository repository = engine.make_repository("bench");
    const double seconds = seconds_of([&] { change_half(engine, repository, count, 0, kind); });
    db::Connection::open(database.url())->run_script("VACUUM");
    fresh = bytes_of_tables(database.url());
    show("half of the objects alone", seconds, fresh, 1);
  }
  const testing::TestDatabase database;
  testing::TestEngine engine(database.url());
  const Repository repository = engine.make_repository("bench");
  const double seconds = seconds_of([&] {
    for (const uint64_t first : {0, 1}) change_half(engine, repository, count, first, kind);
  });
  const auto ratio = [&](int64_t bytes) {
    return static_cast<double>(bytes) / static_cast<double>(fresh);
  };
  int64_t bytes = bytes_of_tables(database.url());
  show("all objects", seconds, bytes, ratio(bytes));
  branch::set_collection_rules(*engine, repository,
                               {.default_retention_days = 0, .retention_days = {}});
  change_half(engine, repository, count, 1, Half::Kind::kDeleted);
  gc::CollectionOptions options;
  options.interval = options.grace = options.unreachable_kept = std::chrono::seconds{0};
  options.share_max = 100;
  options.busy_percent = 100;
  for (const char* what :
       {"the other half deleted and collected", "collected again", "collected a third time"}) {
    const double taken = seconds_of([&] {
      gc::request_collection(*engine, repository, "bench", 0);
      engine.parts().heartbeat();
      gc::run_one_collection(*engine, options, {});
    });
    bytes = bytes_of_tables(database.url());
    show(what, taken, bytes, ratio(bytes));
  }
  return 0;
}

int run(uint64_t count, uint64_t commits) {
  const testing::TestDatabase database;
  testing::TestEngine engine(database.url());
  const Repository repository = engine.make_repository("bench");
  change(engine, repository, count, 0, count, 0);
  measure_mark(engine, repository, "one commit", 1);
  // Each changes a hundred neighbours somewhere.
  for (uint64_t i = 1; i < commits; ++i) {
    change(engine, repository, count, i * (count / commits), 100, static_cast<int64_t>(i));
    if (i % 100 == 0) engine.parts().heartbeat();
  }
  measure_mark(engine, repository, "many commits", commits);
  change(engine, repository, count, count / 2, count / 100, static_cast<int64_t>(commits));
  measure_mark(engine, repository, "after a change of 1 %", commits + 1);
  measure_space(engine, database.url(), repository, count);
  return 0;
}

}  // namespace
}  // namespace tarn

int main(int argc, char** argv) {
  const std::string what = argc == 3 ? argv[2] : "";
  if (what == "own" || what == "imported") {
    return tarn::run_half(std::strtoull(argv[1], nullptr, 10),
                          what == "own" ? tarn::Half::Kind::kOwn : tarn::Half::Kind::kImported);
  }
  if (argc != 3) {
    return std::fprintf(stderr, "usage: gc_bench OBJECTS COMMITS | own | imported\n"), 2;
  }
  return tarn::run(std::strtoull(argv[1], nullptr, 10), std::strtoull(argv[2], nullptr, 10));
}
