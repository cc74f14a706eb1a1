// Fixture for tests of garbage collection: collections without grace, one call each.
#pragma once

#include <chrono>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/base/acting_user.h"
#include "core/branch/hooks.h"
#include "core/db/connection.h"
#include "core/gc/collection.h"
#include "core/gc/collection_plan.h"
#include "core/gc/collection_requests.h"
#include "core/gc/store_listing.h"
#include "core/meta/commits.h"
#include "core/objects/multipart.h"
#include "core/quotas/quotas.h"
#include "tests/support/engine_fixture.h"
#include "tests/support/long_tests.h"
#include "tests/support/repository_test.h"

namespace tarn::gc {

inline objects::Completion completion_of(std::vector<objects::CompletedPart> parts) {
  objects::Completion out;
  out.parts = std::move(parts);
  return out;
}

/// Collections during a race, below which it would say little.
constexpr int64_t kRacedCollectionsMin = 6;

/// Whether a race that began then goes on: 4 s, or 10 minutes of the long variant, and up to two
/// minutes more while a busy machine has let too little happen.
template <typename Enough>
bool race_lasts(std::chrono::steady_clock::time_point begin, const Enough& enough) {
  const auto time = std::chrono::steady_clock::now() - begin;
  const std::chrono::seconds wanted(testing::is_long() ? 600 : 4);
  return time < wanted || (time < wanted + std::chrono::minutes(2) && !enough());
}

class CollectionTest : public ::testing::Test {
 protected:
  CollectionTest() {
    options.interval = std::chrono::seconds{0};
    options.grace = std::chrono::seconds{0};
    options.unreachable_kept = std::chrono::seconds{0};
    options.deleted_kept = std::chrono::seconds{0};
    options.share_max = 100;
  }

  /// Objects stored before are older than the floors afterwards.
  void settle() {
    std::this_thread::sleep_for(std::chrono::milliseconds(3));
    engine.parts().heartbeat();
  }

  /// The report of one collection.
  CollectionRun collect(const Repository& repository, uint32_t share = 0) {
    request_collection(*engine, repository, "tester", share);
    settle();
    if (!run_one_collection(*engine, options, {})) {
      ADD_FAILURE() << "no collection was due";
      return {};
    }
    return list_collections(*engine, repository, 1).at(0);
  }
  /// One finds, one removes, one removes what parts of lists the one before has released.
  CollectionCounts collect_all(const Repository& repository) {
    CollectionCounts sum;
    for (int i = 0; i < 4; ++i) {
      const CollectionRun run = collect(repository);
      EXPECT_EQ(run.state, "done") << run.error;
      sum.removed_objects += run.counts.removed_objects;
      sum.removed_bytes += run.counts.removed_bytes;
      sum.removed_commits += run.counts.removed_commits;
      sum.removed_nodes += run.counts.removed_nodes;
      sum.removed_part_lists += run.counts.removed_part_lists;
      sum.rescued_objects += run.counts.rescued_objects;
    }
    return sum;
  }

  /// Quotas of the repository and of the user ann, in the order of their ids.
  struct Limited {
    QuotaScope repository;
    QuotaScope user;
  };
  /// Limits both to 1,000 bytes. Then ann replaces an object of five bytes by one of six.
  Limited overwrite_under_quotas() {
    Limited limited{.repository = {.repository = repo.id}, .user = {.user = "ann"}};
    for (const QuotaScope& scope : {limited.repository, limited.user}) {
      (*engine).quotas.set(scope, {.bytes = {{}, 1000}});
    }
    const ActingUser ann("ann", {}, {});
    engine.put(repo, "main", "a", "first");
    engine.put(repo, "main", "a", "second");
    return limited;
  }
  uint64_t used(const QuotaScope& scope) { return (*engine).quotas.find(scope)->bytes; }

  uint64_t stored(const Repository& repository) {
    uint64_t objects = 0;
    list_stored_objects(engine.stores, repository, [&](const ListedObject&) { ++objects; });
    return objects;
  }
  int64_t count(const std::string& sql) {
    const auto connection = db::Connection::open(database.url());
    const db::Query query{"test_count", sql.c_str()};
    return connection->run(query).integer(0, 0);
  }
  /// Commits whose parent is not there. Only right after a collection: then refs lead to all.
  int64_t torn_histories() {
    return count(
        "SELECT count(*) FROM commits c, unnest(c.parents) AS p WHERE NOT EXISTS "
        "(SELECT 1 FROM commits WHERE repo_id = c.repo_id AND commit_id = p)");
  }
  void run_sql(const std::string& sql) { db::Connection::open(database.url())->run_script(sql); }

  objects::MultipartUpload begin(const RepositoryName& repository, const std::string& key) {
    const objects::UploadTarget target =
        objects::check_upload(*engine, repository, BranchName("main"), Key(key), false, {});
    return objects::create_multipart(*engine, target, {"tester", {}, "", ""});
  }
  std::string part(const objects::MultipartUpload& upload, uint32_t number,
                   const std::string& bytes) {
    testing::TextBody body(bytes);
    return objects::put_part(*engine, upload, number, body, bytes.size()).etag;
  }
  Commit commit_one(const std::string& key) {
    engine.put(repo, "main", key, "bytes");
    return engine.commit(repo, "main");
  }
  void put_in_parts(const RepositoryName& repository, const std::string& key) {
    const objects::MultipartUpload upload = begin(repository, key);
    const std::string one = part(upload, 1, std::string(5 << 20, 'a'));
    const std::string two = part(upload, 2, "tail");
    objects::complete_multipart(*engine, upload, completion_of({{1, one, {}}, {2, two, {}}}));
  }
  void copy(const RepositoryName& from, const std::string& ref, const std::string& key,
            const RepositoryName& to, const std::string& target) {
    objects::copy_object(*engine, {from, ref, Key(key)}, to, BranchName("main"), Key(target), {},
                         false);
  }

  testing::TestDatabase database;
  testing::TestEngine engine{database.url()};
  testing::TestRepository repo = engine.make_repository("lake");
  CollectionOptions options;
};

}  // namespace tarn::gc
