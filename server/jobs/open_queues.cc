#include "server/jobs/open_queues.h"

namespace tarn::jobs {
namespace {

// Each column may be true for a queue whose work is not due or is done by another server, never
// false for one with work to take. Indexes jobs_open, promotions_due, hook_runs_open,
// extractions_queued, webhook_deliveries_pending. now() is stable, so PostgreSQL searches
// promotions_due; with the volatile clock_timestamp() it would read the whole index.
constexpr db::Query kLook{"queues_select_open", R"sql(
  SELECT EXISTS (SELECT 1 FROM jobs WHERE state IN ('queued', 'running')),
    EXISTS (SELECT 1 FROM promotions WHERE due_at <= now()),
    EXISTS (SELECT 1 FROM branch_moves),
    EXISTS (SELECT 1 FROM hook_runs WHERE state IN ('queued', 'running') AND after),
    EXISTS (SELECT 1 FROM extractions WHERE state = 'queued'),
    EXISTS (SELECT 1 FROM webhook_deliveries WHERE state = 'pending'))sql"};

uint32_t bit(Queue queue) { return 1u << static_cast<uint32_t>(queue); }

}  // namespace

void OpenQueues::look() {
  const db::Rows rows = pool_.run(kLook, {}, db::Pool::Retry::kRead);
  uint32_t open = 0;
  for (const Queue queue : kQueues) {
    if (rows.boolean(0, static_cast<int>(queue))) open |= bit(queue);
  }
  MutexLock lock(mutex_);
  open_ = open;
  if (open != 0) looked_.notify_all();
}

bool OpenQueues::await(Queue queue, const std::stop_token& stop, std::chrono::milliseconds most) {
  MutexLock lock(mutex_);
  return looked_.wait_for(lock, stop, most,
                          [&]() TARN_REQUIRES(mutex_) { return (open_ & bit(queue)) != 0; });
}

}  // namespace tarn::jobs
