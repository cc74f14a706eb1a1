// Collections without grace, one after the other, while several servers write, copy, commit and
// delete: whatever a ref shows can be read, byte for byte.
#include <array>
#include <atomic>
#include <cstdlib>
#include <random>
#include <thread>

#include <gtest/gtest.h>

#include "core/base/digest.h"
#include "core/base/encoding.h"
#include "core/base/str_cat.h"
#include "core/gc/collection_fixture.h"
#include "core/objects/multipart.h"
#include "core/versioning/merge.h"
#include "core/versioning/move.h"
#include "core/versioning/reset.h"

namespace tarn::gc {
namespace {

using testing::TestEngine;
using testing::TextBody;

constexpr size_t kWriters = 4;
constexpr int64_t kRemovedMin = 6;  // a race with fewer would say little
constexpr int kKeys = 6;

class CollectionRaces : public CollectionTest {
 protected:
  /// Every object that the ref shows has the bytes of its checksum. Concurrent changes are no
  /// error; missing bytes are.
  void check(TestEngine& at, const RepositoryName& repository, const std::string& ref) {
    const auto page = objects::list_objects(*at, repository, ref, {"", "", "", 1000});
    for (const auto& item : page.items) {
      const auto found = objects::find_object(*at, repository, ref, Key(item.path));
      if (!found) continue;
      std::string bytes(found->entry.size_bytes, '\0');
      try {
        const auto reader = objects::open_object(*at, found->repository, found->entry,
                                                 {0, found->entry.size_bytes});
        size_t filled = 0;
        while (const size_t got = reader->read(std::span<char>(bytes).subspan(filled)))
          filled += got;
      } catch (const Error& error) {
        // An object that was replaced since it was found may be gone.
        const auto again = objects::find_object(*at, repository, ref, Key(item.path));
        if (again && again->entry.address == found->entry.address) {
          violation(str_cat(ref, "/", item.path, ": ", error.message()));
        }
        continue;
      }
      if (found->entry.etag.find('-') == std::string::npos &&
          to_hex(md5(bytes)) != found->entry.etag) {
        violation(str_cat(ref, "/", item.path, ": other bytes"));
      }
    }
  }

  void violation(const std::string& what) {
    ++violations;
    ADD_FAILURE() << what;
  }

  std::atomic<int> violations = 0;
  std::atomic<int64_t> operations = 0;
  std::atomic<int64_t> refused = 0;
};

/// One writer on a server of its own: random verbs on its branch, copies from all branches.
class RacingWriter {
 public:
  RacingWriter(TestEngine& at, const Repository& repository, const Repository& other, size_t number)
      : at_(at), repository_(repository), other_(other), number_(number), random_(number) {}

  void step() {
    const std::string branch = own_branch();
    switch (pick(12)) {
      case 0:
      case 1:
      case 2:
        at_.put(repository_.name, branch, key(), str_cat("text ", number_, " ", ++texts_));
        break;
      case 3:
        at_.remove(repository_.name, branch, key());
        break;
      case 4:
      case 5:
        copy(repository_, branch);
        break;
      case 6:
        copy(other_, "main");
        break;
      case 7:
        at_.commit(repository_.name, branch);
        break;
      case 8:
        versioning::move_objects(*at_, repository_, BranchName(branch),
                                 {.source = key(), .destination = key()});
        break;
      case 9:
        versioning::reset_branch(*at_, repository_, BranchName(branch), false);
        break;
      case 10:
        put_in_parts(branch);
        break;
      default:
        renew_branch(branch);
    }
  }

 private:
  int pick(int count) { return std::uniform_int_distribution<int>(0, count - 1)(random_); }
  std::string own_branch() const { return str_cat("w", number_); }
  std::string key() { return str_cat("k", pick(kKeys)); }

  /// From any branch, also in several steps, as clients do that read, wait and then copy.
  void copy(const Repository& to, const std::string& branch) {
    const auto held = objects::hold_sources(*at_);
    const auto found =
        objects::find_object(*at_, repository_.name, str_cat("w", pick(kWriters)), Key(key()));
    if (!found) return;
    if (pick(3) == 0) std::this_thread::sleep_for(std::chrono::milliseconds(pick(200)));
    objects::copy_object(*at_, *found, to.name, BranchName(branch), Key(key()), {}, false);
  }

  void put_in_parts(const std::string& branch) {
    const objects::UploadTarget target =
        objects::check_upload(*at_, repository_.name, BranchName(branch), Key(key()), false, {});
    const objects::MultipartUpload upload =
        objects::create_multipart(*at_, target, {"tester", {}, "", ""});
    const std::string bytes(5 << 20, static_cast<char>('a' + pick(26)));
    TextBody body(bytes);
    const std::string one = objects::put_part(*at_, upload, 1, body, bytes.size()).etag;
    const auto source =
        objects::find_object(*at_, repository_.name, str_cat("w", pick(kWriters)), Key(key()));
    if (!source || source->entry.size_bytes == 0) return;
    const std::string two =
        objects::copy_part(*at_, upload, 2, *source, {0, source->entry.size_bytes}).etag;
    objects::complete_multipart(*at_, upload, completion_of({{1, one, {}}, {2, two, {}}}));
  }

  /// Deletes the branch and makes it again from another's commit.
  void renew_branch(const std::string& branch) {
    if (pick(4) != 0) return;
    const Branch from =
        branch::get_branch(*at_, repository_, BranchName(str_cat("w", pick(kWriters))));
    branch::delete_branch(*at_, repository_, BranchName(branch), false);
    try {
      at_.branch(repository_.name, branch, to_text(from.head));
    } catch (const Error&) {  // its commit was removed
      at_.branch(repository_.name, branch, "main");
    }
  }

  TestEngine& at_;
  const Repository& repository_;
  const Repository& other_;
  const size_t number_;
  std::mt19937 random_;
  int texts_ = 0;
};

TEST_F(CollectionRaces, WhatRefsShowCanBeRead) {
  testing::TestRepository other = engine.make_repository("other");
  const std::array<Repository, 2> both{repo, other};
  for (size_t i = 0; i < kWriters; ++i) engine.branch(repo, str_cat("w", i), "main");
  std::vector<std::unique_ptr<TestEngine>> servers;
  for (size_t i = 0; i < kWriters; ++i) {
    servers.push_back(std::make_unique<TestEngine>(database.url(), engine.store));
  }
  std::atomic<bool> stop = false;
  std::vector<std::thread> threads;
  for (size_t i = 0; i < kWriters; ++i) {
    threads.emplace_back([&, i] {
      RacingWriter writer(*servers[i], repo, other, i);
      while (!stop) {
        try {
          writer.step();
          ++operations;
        } catch (const Error&) {
          ++refused;  // nothing to commit, no such branch right now, being collected ...
        }
      }
    });
  }
  for (const auto& server : servers) {
    threads.emplace_back([&] {
      while (!stop) {
        server->parts().heartbeat();
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
      }
    });
  }
  int64_t runs = 0;
  const auto count_objects = [&] {
    int64_t removed = 0, rescued = 0;
    for (const Repository& each : both) {
      for (const CollectionRun& run : list_collections(*engine, each, 1000)) {
        removed += run.counts.removed_objects;
        rescued += run.counts.rescued_objects;
      }
    }
    return std::pair{removed, rescued};
  };
  const auto enough = [&] {
    return runs >= kRacedCollectionsMin && count_objects().first >= kRemovedMin;
  };
  const auto begin = std::chrono::steady_clock::now();
  while (race_lasts(begin, enough) && violations == 0) {
    for (const Repository& each : both) {
      request_collection(*engine, each, "tester", 0);
      engine.parts().heartbeat();
      if (!run_one_collection(*engine, options, {})) continue;
      ++runs;
      for (size_t i = 0; i < kWriters; ++i) {
        try {
          check(engine, repo, str_cat("w", i));
        } catch (const Error& error) {
          if (error.code() == ErrorCode::kDataLoss) violation(error.message());
        }
      }
      check(engine, other, "main");
    }
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  for (const Repository& each : both) {
    for (const CollectionRun& run : list_collections(*engine, each, 1000)) {
      EXPECT_TRUE(run.state == "done") << run.state << ": " << run.error;
    }
  }
  const auto [removed, rescued] = count_objects();
  for (size_t i = 0; i < kWriters; ++i) check(engine, repo, str_cat("w", i));
  check(engine, other, "main");
  std::cout << "operations " << operations << ", refused " << refused << ", collections " << runs
            << ", removed " << removed << ", rescued " << rescued << "\n";
  EXPECT_GE(runs, kRacedCollectionsMin);
  EXPECT_GE(removed, kRemovedMin);
  // Everything that nothing refers to any more goes. The floors of servers without heartbeats would
  // hold it back.
  servers.clear();
  collect_all(repo);
  settle();
  EXPECT_EQ(plan_collection(*engine, repo, options, {}).counts.due_objects, 0);
}

}  // namespace
}  // namespace tarn::gc
