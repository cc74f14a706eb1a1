// Searches by pattern in a branch of many objects: with nothing known, after a restart, and again.
// search_bench OBJECTS [ROUNDS], on a database of its own (TARN_TEST_DSN, or a server that it
// starts). Ten objects of each million match the rare pattern. Processor times are those of this
// program and of PostgreSQL on this machine; unlike times, a busy machine changes them little.
#include <algorithm>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bench/micro/filled_branch.h"
#include "core/base/error.h"
#include "core/db/connection.h"
#include "core/objects/range_summaries.h"
#include "core/objects/search.h"
#include "tests/support/engine_fixture.h"

namespace tarn {
namespace {

constexpr uint64_t kObjectsPerRareOne = 100'000;

/// Objects in folders of 1,000, in key order.
class Objects final : public tree::ChangeSource {
 public:
  Objects(uint64_t count, std::function<void()> tick) : count_(count), tick_(std::move(tick)) {}

  std::optional<tree::Change> next() override {
    if (at_ >= count_) return std::nullopt;
    if (at_ % 10'000 == 0) tick_();
    const bool rare = at_ % kObjectsPerRareOne == kObjectsPerRareOne / 2;
    char key[64];
    std::snprintf(key, sizeof(key), "data/d%06llu/f%03llu%s",
                  static_cast<unsigned long long>(at_ / 1000),
                  static_cast<unsigned long long>(at_ % 1000), rare ? "-zebra.png" : ".parquet");
    Entry entry;
    entry.size_bytes = 1000 + at_ % 5000;
    char etag[33];
    std::snprintf(etag, sizeof(etag), "%016" PRIx64 "%016" PRIx64, at_ * 0x9e3779b97f4a7c15,
                  at_ * 0xc2b2ae3d27d4eb4f);
    entry.etag = etag;
    entry.content_type = "application/octet-stream";
    entry.mtime = from_millis(1'700'000'000'000 + static_cast<int64_t>(at_));
    entry.address = new_own_address(entry.mtime);
    ++at_;
    return tree::Change{key, std::move(entry)};
  }

 private:
  const uint64_t count_;
  const std::function<void()> tick_;
  uint64_t at_ = 0;
};

void fill(testing::TestEngine& engine, const Repository& repository, uint64_t count) {
  bench::fill_branch(engine, repository, "main",
                     [&](std::function<void()> tick) { return Objects(count, std::move(tick)); });
}

struct Measured {
  const char* what;
  std::string pattern;
  uint64_t hits;
  std::vector<double> times_ms{};
  std::vector<double> processor_ms{};
  std::vector<double> database_ms{};
  uint64_t pages = 0;
};

double processor_ms() {
  timespec used{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) * 1e3 + static_cast<double>(used.tv_nsec) / 1e6;
}

/// Processor time of the backends of this database that still run.
double database_ms(db::Connection& connection) {
  const db::Rows rows = connection.run({"bench_select_backends", R"sql(
    SELECT pid FROM pg_stat_activity WHERE datname = current_database())sql"});
  double total = 0;
  for (size_t row = 0; row < rows.size(); ++row) {
    std::ifstream file("/proc/" + std::to_string(rows.integer(row, 0)) + "/schedstat");
    double used_ns = 0;
    file >> used_ns;
    total += used_ns / 1e6;
  }
  return total;
}

/// All pages.
void measure(db::Connection& connection, testing::TestEngine& engine, const Repository& repository,
             Measured& into) {
  objects::SearchOptions options;
  options.query.glob = Glob(into.pattern);
  options.limit = 1000;
  uint64_t found = 0;
  into.pages = 0;
  const double database = database_ms(connection);
  const double processor = processor_ms();
  const auto start = std::chrono::steady_clock::now();
  for (bool more = true; more;) {
    const auto page = objects::search_objects(*engine, repository.name, "main", options).page;
    found += page.items.size();
    options.after = page.next;
    more = page.has_more;
    ++into.pages;
  }
  into.times_ms.push_back(
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
  into.processor_ms.push_back(processor_ms() - processor);
  into.database_ms.push_back(database_ms(connection) - database);
  TARN_CHECK(found == into.hits);
}

double median(std::vector<double>& values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void report(Measured& measured) {
  const double time = median(measured.times_ms);
  std::printf(
      R"({"op":"%s","pattern":"%s","pages":%llu,"median_ms":%.1f,"min_ms":%.1f,"max_ms":%.1f,)"
      R"("processor_ms":%.1f,"database_ms":%.1f})"
      "\n",
      measured.what, measured.pattern.c_str(), static_cast<unsigned long long>(measured.pages),
      time, measured.times_ms.front(), measured.times_ms.back(), median(measured.processor_ms),
      median(measured.database_ms));
}

int run(uint64_t count, int rounds) {
  const testing::TestDatabase database;
  auto engine = std::make_unique<testing::TestEngine>(database.url());
  const Repository repository = engine->make_repository("bench");
  fill(*engine, repository, count);
  const auto connection = db::Connection::open(database.url());
  const uint64_t rare = count / kObjectsPerRareOne;
  Measured first{"rare, nothing known", "**/*-zebra.png", rare};
  Measured again{"rare, again", "**/*-zebra.png", rare};
  Measured restarted{"rare, after a restart", "**/*-zebra.png", rare};
  Measured all{"without a summary's help, first", "**/*z*", rare};
  Measured all_again{"without a summary's help, again", "**/*z*", rare};
  for (int round = 0; round < rounds; ++round) {
    connection->run({"bench_delete_summaries", "DELETE FROM range_summaries"});
    engine = std::make_unique<testing::TestEngine>(database.url());
    measure(*connection, *engine, repository, first);
    measure(*connection, *engine, repository, again);
    (**engine).summaries.flush();
    engine = std::make_unique<testing::TestEngine>(database.url());
    measure(*connection, *engine, repository, restarted);
    engine = std::make_unique<testing::TestEngine>(database.url());
    measure(*connection, *engine, repository, all);
    measure(*connection, *engine, repository, all_again);
  }
  for (Measured* one : {&first, &again, &restarted, &all, &all_again}) report(*one);
  return 0;
}

}  // namespace
}  // namespace tarn

int main(int argc, char** argv) {
  if (argc < 2) return std::fprintf(stderr, "usage: search_bench OBJECTS [ROUNDS]\n"), 2;
  return tarn::run(std::strtoull(argv[1], nullptr, 10), argc > 2 ? std::atoi(argv[2]) : 5);
}
