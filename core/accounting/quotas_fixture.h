// A repository under quotas, for tests.
#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "core/accounting/quotas.h"
#include "core/accounting/stored_usage.h"
#include "core/base/str_cat.h"
#include "core/quotas/quotas.h"
#include "tests/support/repository_test.h"

namespace tarn::accounting {

/// The names of the statements that a pool runs.
class Statements final : public db::Faults {
 public:
  db::Fault before(std::string_view statement) override {
    const std::lock_guard lock(mutex_);
    if (recording_) names_ += str_cat(names_.empty() ? "" : " ", statement);
    return db::Fault::kNone;
  }
  db::Fault after(std::string_view) override { return db::Fault::kNone; }
  template <typename Body>
  std::string during(const Body& body) {
    record(true);
    body();
    record(false);
    return names_;
  }

 private:
  void record(bool on) {
    const std::lock_guard lock(mutex_);
    if (on) names_.clear();
    recording_ = on;
  }
  std::mutex mutex_;
  bool recording_ = false;
  std::string names_;
};

/// Bytes of the objects in the store of a test.
inline uint64_t stored_bytes(testing::TestEngine& engine) {
  uint64_t bytes = 0;
  for (const blob::BlobStat& stat : engine.store->list("", "", 1000).items) {
    if (stat.key.find("/data/") != std::string::npos) bytes += stat.size_bytes;
  }
  return bytes;
}

class Quotas : public ::testing::Test {
 protected:
  testing::TestDatabase database;
  Statements statements;
  testing::TestEngine engine{database.url(), nullptr, &statements};
  testing::TestRepository repo = engine.make_repository("lake");

  QuotaScope whole() { return {.repository = repo.id}; }
  void limit_bytes(const QuotaScope& scope, int64_t hard, std::optional<int64_t> soft = {}) {
    set_quota(*engine, scope, {.bytes = {soft, hard}});
    recount_quota(*engine, scope);
  }
  Amount used(const QuotaScope& scope) {
    const auto quota = (*engine).quotas.find(scope);
    return {quota->objects, quota->bytes};
  }
  std::string put(const std::string& key, size_t bytes, const std::string& branch = "main") {
    return testing::reason_of([&] { engine.put(repo, branch, key, std::string(bytes, 'x')); });
  }
  objects::UploadTarget target(const std::string& key, const std::string& branch = "main") {
    return objects::check_upload(*engine, repo, BranchName(branch), Key(key), false, {});
  }
  /// Removes the objects of so many bytes from the store, as a collection does.
  void collect(uint64_t bytes) {
    std::string after;
    for (bool more = true; more;) {
      const auto page = engine.store->list("", after, 1000);
      for (const blob::BlobStat& stat : page.items) {
        if (stat.size_bytes == bytes) engine.store->remove(stat.key);
      }
      more = page.has_more;
      if (more) after = page.items.back().key;
    }
  }
  int64_t events(std::string_view type) {
    static constexpr db::Query kCountEvents{"test_count_events",
                                            "SELECT count(*) FROM events WHERE type = $1"};
    return engine.pool.lease()->run(kCountEvents, {type}).integer(0, 0);
  }
};

}  // namespace tarn::accounting
