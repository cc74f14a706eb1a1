// Imports from a store that is away for a while.
#include <atomic>
#include <chrono>
#include <memory>
#include <stop_token>
#include <utility>

#include "core/base/error.h"
#include "core/imports/import_fixture.h"
#include "tests/support/forwarding_store.h"

namespace tarn::imports {
namespace {

/// Throws `error` for the first calls, then passes them on.
class AwayStore final : public testing::ForwardingStore {
 public:
  AwayStore(blob::BlobStore& store, int failures, Error error)
      : ForwardingStore(store), failures_(failures), error_(std::move(error)) {}
  blob::ListPage list(std::string_view prefix, std::string_view after, uint32_t limit) override {
    if (++calls <= failures_) throw error_;
    return store_.list(prefix, after, limit);
  }

  std::atomic<int> calls = 0;

 private:
  const int failures_;
  const Error error_;
};

class ImportFromAway : public Import {
 protected:
  AwayStore& away(int failures, const Error& error) {
    source("set/new", "y");
    auto store = std::make_unique<AwayStore>(*engine.store, failures, error);
    AwayStore& out = *store;
    engine.stores.add_import_root("/away", std::move(store));
    return out;
  }
  /// Imports with pauses of 10, 20, 40 ... ms between the attempts.
  ImportStatus run_away() {
    const std::string id =
        start_import(*engine, repo, BranchName("main"), prefix("local:///away/set/", "raw"));
    while (run_one_import(*engine, {}, OwnerTurns::unlimited(), std::chrono::milliseconds{10})) {
    }
    return import_status(*engine, repo, BranchName("main"), id);
  }
  const Error unavailable{ErrorCode::kUnavailable, "the store is away"};
};

// Verified by mutation: failing at the first error: the import ended as failed.
TEST_F(ImportFromAway, UnavailableStoreIsRetried) {
  const AwayStore& store = away(1, unavailable);
  const ImportStatus status = run_away();
  EXPECT_TRUE(status.completed) << status.error;
  EXPECT_EQ(store.calls, 2);
  EXPECT_EQ(engine.keys(repo, "main"), "raw/new");
}

// Verified by mutation: without a bound: it would have gone on until the store came back.
TEST_F(ImportFromAway, UnavailableStoreFailsTheImportAfterRetries) {
  constexpr int kAttempts = 5;
  const auto started = std::chrono::steady_clock::now();
  const AwayStore& store = away(kAttempts + 1, unavailable);
  EXPECT_EQ(run_away().error, "import error: the store is away");
  EXPECT_EQ(store.calls, kAttempts);
  EXPECT_GE(std::chrono::steady_clock::now() - started,
            std::chrono::milliseconds{10 + 20 + 40 + 80});
}

// Verified by mutation: trying again whatever the error is.
TEST_F(ImportFromAway, PermanentErrorsAreNotRetried) {
  const AwayStore& store = away(100, Error(ErrorCode::kPermissionDenied, "not yours"));
  EXPECT_EQ(run_away().error, "import error: not yours");
  EXPECT_EQ(store.calls, 1);
}

// Verified by mutation: without looking at the stop: the attempts that were left followed without a
// pause, and the import had failed.
TEST_F(ImportFromAway, AnotherServerContinuesAfterAStop) {
  const AwayStore& store = away(100, unavailable);
  const std::string id =
      start_import(*engine, repo, BranchName("main"), prefix("local:///away/set/", "raw"));
  std::stop_source stop;
  stop.request_stop();
  EXPECT_TRUE(run_one_import(*engine, stop.get_token()));
  EXPECT_EQ(store.calls, 1);
  EXPECT_EQ((*engine).jobs.find(id)->state, jobs::JobState::kRunning) << "its lease runs out";
}

}  // namespace
}  // namespace tarn::imports
