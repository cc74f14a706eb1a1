// Tests that each queue counts as open from its work's first row to the end of the last one.
#include <thread>

#include "core/base/owner_turns.h"
#include "core/events/webhooks.h"
#include "core/promotion/promotions_fixture.h"
#include "core/runs/extraction.h"
#include "server/jobs/open_queues.h"

namespace tarn::jobs {
namespace {

using namespace std::chrono_literals;

class OpenQueuesTest : public promotion::Promotions {
 protected:
  void SetUp() override {
    Promotions::SetUp();
    while (runs::run_one_extraction(*engine, {}, turns)) continue;
    promotion::note_branch_moves(*engine);
  }
  bool open(Queue queue) {
    queues.look();
    return queues.await(queue, {}, 0ms);
  }
  void run(const char* name, const char* statement) {
    engine.pool.run({name, statement}, {}, db::Pool::Retry::kWrite);
  }
  void queue_job() {
    run("test_job",
        R"sql(INSERT INTO jobs (job_id, kind, repo_id, branch_id, state, spec, owner, created_ms, updated_ms)
      SELECT 'j', 'import', repo_id, 1, 'queued', '', 'ann', 0, 0 FROM repositories)sql");
  }

  OwnerTurns turns{1};
  OpenQueues queues{engine.pool};
};

TEST_F(OpenQueuesTest, AreClosedWithoutWork) {
  for (const Queue queue : kQueues) EXPECT_FALSE(open(queue)) << static_cast<uint32_t>(queue);
}

TEST_F(OpenQueuesTest, JobsAreOpenUntilTheyEnd) {
  queue_job();
  EXPECT_TRUE(open(Queue::kJobs));
  run("test_job_runs", "UPDATE jobs SET state = 'running', lease_until = now()");
  EXPECT_TRUE(open(Queue::kJobs)) << "another server takes it when the lease has expired";
  run("test_job_ends", "UPDATE jobs SET state = 'done'");
  EXPECT_FALSE(open(Queue::kJobs));
}

TEST_F(OpenQueuesTest, HookRunsAreOpenUntilTheyEnd) {
  run("test_hook",
      R"sql(INSERT INTO hook_runs (repo_id, run_id, event, branch, state, after, occasion, started_ms)
    SELECT repo_id, 'r', 'post-commit', 'main', 'queued', true, '', 0 FROM repositories)sql");
  EXPECT_TRUE(open(Queue::kHooks));
  run("test_hook_runs", "UPDATE hook_runs SET state = 'running', lease_until = now()");
  EXPECT_TRUE(open(Queue::kHooks));
  run("test_hook_ends", "UPDATE hook_runs SET state = 'completed', ended_ms = 1");
  EXPECT_FALSE(open(Queue::kHooks));
}

TEST_F(OpenQueuesTest, PromotionsAndMovesAreOpenWhileTheyAreDue) {
  apply_policy();
  candidate("exp-a", "0.9");
  EXPECT_FALSE(open(Queue::kPromotions));
  create(request_of({"exp-*"}));
  EXPECT_TRUE(open(Queue::kPromotions));
  train("exp-a", "0.95");
  EXPECT_TRUE(open(Queue::kMoves));
  promotion::note_branch_moves(*engine);
  EXPECT_FALSE(open(Queue::kMoves));
  work();
  EXPECT_FALSE(open(Queue::kPromotions));
}

TEST_F(OpenQueuesTest, ExtractionsAreOpenUntilTheCommitIsRead) {
  train("main", "0.9");
  EXPECT_TRUE(open(Queue::kExtractions));
  while (runs::run_one_extraction(*engine, {}, turns)) continue;
  EXPECT_FALSE(open(Queue::kExtractions));
}

TEST_F(OpenQueuesTest, DeliveriesAreOpenWhileTheyAreRetried) {
  events::put_webhook(
      *engine, std::string(32, 'k'), repo,
      {.name = "deploy", .url = "http://127.0.0.1:1/", .events = {"*"}, .created_by = "ann"}, {});
  EXPECT_FALSE(open(Queue::kDeliveries));
  engine.branch(repo, "dev", "main");
  EXPECT_TRUE(open(Queue::kDeliveries));
  run("test_retry", "UPDATE webhook_deliveries SET next_at = now() + interval '1 hour'");
  EXPECT_TRUE(open(Queue::kDeliveries));
  run("test_delivered", "UPDATE webhook_deliveries SET state = 'delivered', ended_ms = 1");
  EXPECT_FALSE(open(Queue::kDeliveries));
}

TEST_F(OpenQueuesTest, ALookWakesTheLoopsOfOpenQueuesAlone) {
  queues.look();
  std::stop_source stop;
  bool hooks = true;
  std::thread waiting_hooks([&] { hooks = queues.await(Queue::kHooks, stop.get_token(), 1h); });
  bool jobs = false;
  std::thread waiting_jobs([&] { jobs = queues.await(Queue::kJobs, {}, 1h); });
  queue_job();
  queues.look();
  waiting_jobs.join();
  EXPECT_TRUE(jobs);
  stop.request_stop();
  waiting_hooks.join();
  EXPECT_FALSE(hooks);
}

}  // namespace
}  // namespace tarn::jobs
