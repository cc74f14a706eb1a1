// Sizes of a branch of many objects: logical, stored, and what deleting it would free; and the
// verification of its structure.
// usage_bench OBJECTS, on a database of its own (TARN_TEST_DSN, or a server that it starts).
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>

#include <sys/resource.h>

#include "bench/micro/filled_branch.h"
#include "core/accounting/logical_size.h"
#include "core/accounting/stored_usage.h"
#include "core/base/error.h"
#include "core/base/str_cat.h"
#include "core/verify/verify.h"
#include "tests/support/engine_fixture.h"

namespace tarn {
namespace {

struct Change {
  uint64_t end;   ///< of the numbers of objects that change
  uint64_t step;  ///< one of so many changes
  char etag;
};

/// Objects in 1,000 folders, in key order, each with bytes of its own.
class Objects final : public tree::ChangeSource {
 public:
  Objects(uint64_t count, const Change& change, std::function<void()> tick)
      : count_(count), change_(change), tick_(std::move(tick)) {}

  std::optional<tree::Change> next() override {
    if (at_ >= change_.end) return std::nullopt;
    if (++made_ % 10'000 == 0) tick_();
    char key[64];
    std::snprintf(key, sizeof(key), "folder-%04llu/object-%09llu.parquet",
                  static_cast<unsigned long long>(at_ * 1000 / count_),
                  static_cast<unsigned long long>(at_));
    Entry entry;
    entry.size_bytes = 1000 + at_ % 5000;
    entry.etag = std::string(32, change_.etag);
    entry.content_type = "application/octet-stream";
    entry.address = new_own_address(from_millis(1'700'000'000'000 + static_cast<int64_t>(at_)));
    at_ += change_.step;
    return tree::Change{key, std::move(entry)};
  }

 private:
  const uint64_t count_;
  const Change change_;
  const std::function<void()> tick_;
  uint64_t at_ = 0;
  uint64_t made_ = 0;
};

void fill(testing::TestEngine& engine, const Repository& repository, const std::string& name,
          uint64_t count, const Change& change) {
  bench::fill_branch(engine, repository, name, [&](std::function<void()> tick) {
    return Objects(count, change, std::move(tick));
  });
}

double seconds_of(const auto& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

long peak_mib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss / 1024;
}

void report(const char* what, double seconds, const accounting::Amount& amount) {
  std::printf(
      R"({"measured":"%s","seconds":%.3f,"objects":%llu,"bytes":%llu,"peak_memory_mib":%ld})"
      "\n",
      what, seconds, static_cast<unsigned long long>(amount.objects),
      static_cast<unsigned long long>(amount.bytes), peak_mib());
  std::fflush(stdout);
}

void measure(testing::TestEngine& engine, const Repository& repository, const std::string& ref) {
  accounting::Amount amount;
  const auto logical = [&](const char* prefix) {
    return seconds_of([&] { amount = accounting::logical_size(*engine, repository, ref, prefix); });
  };
  const double all = logical("");
  report(str_cat(ref, " logical").c_str(), all, amount);
  const double folder = logical("folder-0500/");
  report(str_cat(ref, " logical of a folder").c_str(), folder, amount);
  const double folders = seconds_of([&] {
    amount = {};
    for (const auto& item :
         accounting::usage_by_prefix(*engine, repository, ref, "", "", 1000).items) {
      amount.objects += item.logical.objects;
      amount.bytes += item.logical.bytes;
    }
  });
  report(str_cat(ref, " logical by 1000 folders").c_str(), folders, amount);
  accounting::StoredUsage stored;
  const double exact =
      seconds_of([&] { stored = accounting::stored_usage(*engine, repository, ref, ""); });
  report(str_cat(ref, " exact, stored").c_str(), exact, stored.stored);
  report(str_cat(ref, " exact, shared").c_str(), exact, stored.shared);
  if (stored.freed) report(str_cat(ref, " exact, freed").c_str(), exact, *stored.freed);
}

/// Hashes, counts and order of all nodes, and the ids of commits; no store is asked.
void verify_structure(testing::TestEngine& engine, const Repository& repository) {
  verify::RepositoryVerification options;
  options.objects.mode = verify::ObjectMode::kNone;
  verify::VerifyReport found;
  const double seconds = seconds_of([&] {
    found =
        verify::verify_repository(*engine, repository, options, [](const verify::VerifyReport&) {});
  });
  TARN_CHECK(found.findings.empty());
  report("verify structure of all branches", seconds, {found.entries, 0});
}

int run(uint64_t count) {
  const testing::TestDatabase database;
  testing::TestEngine engine(database.url());
  const Repository repository = engine.make_repository("bench");
  const double built = seconds_of([&] {
    fill(engine, repository, "main", count, {count, 1, 'a'});
  });
  report("building main", built, {count, 0});
  measure(engine, repository, "main");
  engine.branch(repository.name, "dev", "main");
  fill(engine, repository, "dev", count, {count / 100, 1, 'b'});
  measure(engine, repository, "dev");
  engine.branch(repository.name, "spread", "main");
  fill(engine, repository, "spread", count, {count, 100, 'c'});
  measure(engine, repository, "spread");
  verify_structure(engine, repository);
  return 0;
}

}  // namespace
}  // namespace tarn

int main(int argc, char** argv) {
  if (argc != 2) return std::fprintf(stderr, "usage: usage_bench OBJECTS\n"), 2;
  return tarn::run(std::strtoull(argv[1], nullptr, 10));
}
