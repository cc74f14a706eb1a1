#include <thread>

#include <gtest/gtest.h>

#include "core/objects/objects.h"
#include "core/verify/verify.h"
#include "core/verify/verify_job.h"
#include "tests/support/repository_test.h"

namespace tarn::verify {
namespace {

const RepositoryVerification kAllObjects{
    .ref = {}, .objects = {.mode = ObjectMode::kAll, .deep = true, .bytes_per_second = 0}};

class VerifyJob : public testing::RepositoryTest {};

TEST_F(VerifyJob, AJobKeepsItsReportAndCanBeCancelled) {
  engine.put(repo, "main", "k", "v");
  engine.commit(repo, "main");
  const objects::FoundObject object = objects::get_object(*engine, repo, "main", Key("k"));
  engine.store->remove(
      objects::physical_address(*engine, object.repository, object.entry).substr(8));
  const std::string id = start_verify(*engine, repo, kAllObjects, "tester");
  EXPECT_EQ(verify_status(*engine, repo, id).state, VerifyState::kQueued);
  EXPECT_TRUE(run_one_verify(*engine, {}, {}));
  const VerifyStatus status = verify_status(*engine, repo, id);
  EXPECT_EQ(status.state, VerifyState::kDone);
  EXPECT_EQ(status.report.errors(), 1u);
  EXPECT_EQ(status.report.findings.at(0).path, "k");
  EXPECT_EQ(testing::reason_of([&] { cancel_verify(*engine, repo, id); }), "operation_ended");
  EXPECT_FALSE(run_one_verify(*engine, {}, {}));

  const std::string other = start_verify(*engine, repo, kAllObjects, "tester");
  cancel_verify(*engine, repo, other);
  EXPECT_EQ(verify_status(*engine, repo, other).state, VerifyState::kCancelled);
  EXPECT_FALSE(run_one_verify(*engine, {}, {}));
  EXPECT_EQ(testing::reason_of(
                [&] { start_verify(*engine, repo, {.ref = "absent", .objects = {}}, "tester"); }),
            "ref_not_found");
  EXPECT_EQ(testing::reason_of([&] { verify_status(*engine, repo, "absent"); }), "task_not_found");
}

TEST_F(VerifyJob, ARunningJobStopsWhenItIsCancelled) {
  engine.put(repo, "main", "k", std::string(16 << 20, 'x'));
  engine.commit(repo, "main");
  const std::string id = start_verify(*engine, repo, kAllObjects, "tester");
  std::jthread worker([&] { run_one_verify(*engine, {.bytes_per_second = 1 << 20}, {}); });
  while (verify_status(*engine, repo, id).report.bytes_read == 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  const auto begin = std::chrono::steady_clock::now();
  cancel_verify(*engine, repo, id);
  worker.join();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5)) << "of 16 s";
  EXPECT_EQ(verify_status(*engine, repo, id).state, VerifyState::kCancelled);
}

}  // namespace
}  // namespace tarn::verify
