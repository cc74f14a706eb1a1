#include "server/queue_depths.h"

namespace tarn::server {
namespace {

constexpr db::Query kCount{"queue_depths_count", R"sql(
  SELECT (SELECT count(*) FROM jobs WHERE state = 'queued'),
         (SELECT count(*) FROM jobs WHERE state = 'running'),
         (SELECT count(*) FROM hook_runs WHERE state = 'queued'),
         (SELECT count(*) FROM webhook_deliveries WHERE state = 'pending'))sql"};

}  // namespace

QueueDepths::QueueDepths(db::Pool& pool) : pool_(pool) {
  const auto show = [this](std::string_view name, std::string_view help,
                           const std::atomic<int64_t>& value, metrics::Label label = {"", ""}) {
    gauges_.push_back(metrics::gauge(
        name, help, [&value] { return static_cast<double>(value.load()); }, label));
  };
  constexpr std::string_view kJobs = "tarn_jobs";
  constexpr std::string_view kJobsHelp = "Background jobs of all servers, by state";
  show(kJobs, kJobsHelp, queued_jobs_, {"state", "queued"});
  show(kJobs, kJobsHelp, running_jobs_, {"state", "running"});
  show("tarn_hook_runs_queued", "Hook runs of all servers that wait", queued_hook_runs_);
  show("tarn_webhook_deliveries_pending", "Deliveries to webhooks that wait or are retried",
       pending_deliveries_);
}

void QueueDepths::measure() {
  struct Column {
    enum : int { kQueuedJobs, kRunningJobs, kQueuedHookRuns, kPendingDeliveries };
  };
  const db::Rows rows = pool_.run(kCount, {}, db::Pool::Retry::kRead);
  queued_jobs_ = rows.integer(0, Column::kQueuedJobs);
  running_jobs_ = rows.integer(0, Column::kRunningJobs);
  queued_hook_runs_ = rows.integer(0, Column::kQueuedHookRuns);
  pending_deliveries_ = rows.integer(0, Column::kPendingDeliveries);
}

}  // namespace tarn::server
