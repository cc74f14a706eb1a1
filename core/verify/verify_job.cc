#include "core/verify/verify_job.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "core/base/cancellation.h"
#include "core/base/error.h"
#include "core/base/lease.h"
#include "core/base/log.h"
#include "core/base/mutex.h"
#include "core/base/reasons.h"
#include "core/base/wire.h"
#include "core/branch/refs.h"
#include "core/branch/repositories.h"
#include "core/jobs/jobs.h"
#include "core/meta/repositories.h"

namespace tarn::verify {
namespace {

constexpr std::string_view kKind = "verify";
/// How often a running job stores its counts.
constexpr std::chrono::milliseconds kReportEvery{500};

constexpr std::array<std::string_view, 5> kStates = {"queued", "running", "done", "failed",
                                                     "cancelled"};

std::string encode_options(const RepositoryVerification& options) {
  std::string out;
  put_bytes(out, options.ref);
  out.push_back(static_cast<char>(options.objects.mode));
  out.push_back(options.objects.deep ? 1 : 0);
  if (options.repair != RepairMode::kNone) out.push_back(static_cast<char>(options.repair));
  return out;
}

RepositoryVerification decode_options(std::string_view bytes) {
  WireReader in(bytes, "verification job");
  RepositoryVerification options;
  options.ref = in.bytes();
  const uint8_t mode = in.u8();
  if (mode > static_cast<uint8_t>(ObjectMode::kAll)) in.fail("has an unknown mode");
  options.objects.mode = static_cast<ObjectMode>(mode);
  options.objects.deep = in.u8() != 0;
  if (!in.done()) {
    const uint8_t repair = in.u8();
    if (repair > static_cast<uint8_t>(RepairMode::kApply)) in.fail("has an unknown repair");
    options.repair = static_cast<RepairMode>(repair);
  }
  in.expect_end();
  return options;
}

/// The job was cancelled, or another server has it.
struct Stopped {};

/// Stores the counts of a running job, which renews its lease. Safe from any thread.
class Reporter {
 public:
  Reporter(branch::Engine& engine, jobs::Job& job, int64_t owner)
      : engine_(engine), job_(job), owner_(owner) {}

  void operator()(const VerifyReport& so_far) {
    MutexLock lock(mutex_);
    const auto now = std::chrono::steady_clock::now();
    if (now - reported_ < kReportEvery) return;
    reported_ = now;
    job_.progress = static_cast<int64_t>(so_far.nodes + so_far.objects_checked);
    job_.checkpoint = encode_report(so_far);
    if (!engine_.jobs.report(job_, owner_, lease_time())) throw Stopped{};
  }

 private:
  branch::Engine& engine_;
  jobs::Job& job_;
  const int64_t owner_;
  Mutex mutex_;
  std::chrono::steady_clock::time_point reported_ TARN_GUARDED_BY(mutex_){};
};

void run_job(branch::Engine& engine, const VerifyLimits& limits, jobs::Job& job, int64_t owner) {
  const Repository repository =
      branch::get_repository(engine, engine.repositories.get(job.repository).name);
  if (repository.id != job.repository) {
    throw Error(ErrorCode::kNotFound, reason::kRepositoryNotFound, "repository not found");
  }
  RepositoryVerification options = decode_options(job.spec);
  const uint64_t pace = limits.bytes_per_second;
  options.objects.bytes_per_second = pace == 0 ? 0 : std::max(pace, kVerifyBytesPerSecondMin);
  Reporter reporter(engine, job, owner);
  const VerifyReport report = verify_repository(engine, repository, options,
                                                [&](const VerifyReport& now) { reporter(now); });
  job.result = encode_report(report);
  engine.jobs.finish(job, owner, jobs::JobState::kDone);
  log::info("verified", {{"repository", repository.name.str()},
                         {"errors", report.errors()},
                         {"warnings", report.warnings()}});
}

jobs::Job find_job(branch::Engine& engine, const RepositoryName& repository, std::string_view id) {
  const Repository found = branch::get_repository(engine, repository);
  auto job = engine.jobs.find(id);
  if (!job || job->repository != found.id || job->kind != kKind) {
    throw Error(ErrorCode::kNotFound, reason::kTaskNotFound, "verification not found");
  }
  return *std::move(job);
}

}  // namespace

std::string_view name_of(VerifyState state) { return kStates[static_cast<size_t>(state)]; }

std::string start_verify(branch::Engine& engine, const RepositoryName& repository,
                         const RepositoryVerification& options, std::string_view user) {
  const Repository found = branch::get_repository(engine, repository);
  if (!options.ref.empty()) branch::resolve_commit(engine, found, options.ref);
  return engine.jobs.create(kKind, found.id, BranchId{}, encode_options(options), user);
}

VerifyStatus verify_status(branch::Engine& engine, const RepositoryName& repository,
                           std::string_view id) {
  const jobs::Job job = find_job(engine, repository, id);
  VerifyStatus status;
  status.id = job.id;
  status.state = static_cast<VerifyState>(job.state);
  status.updated = job.updated;
  status.options = decode_options(job.spec);
  status.error = job.error;
  status.report = decode_report(job.state == jobs::JobState::kDone ? job.result : job.checkpoint);
  return status;
}

void cancel_verify(branch::Engine& engine, const RepositoryName& repository, std::string_view id) {
  if (engine.jobs.cancel(find_job(engine, repository, id).id)) return;
  throw Error(ErrorCode::kConflict, reason::kOperationEnded, "the verification has ended");
}

bool run_one_verify(branch::Engine& engine, const VerifyLimits& limits, std::stop_token stop) {
  const int64_t owner = new_lease_owner();
  auto job = engine.jobs.take(kKind, owner, lease_time());
  if (!job) return false;
  const CancellationScope scope(std::move(stop));
  try {
    run_job(engine, limits, *job, owner);
  } catch (const Stopped&) {
  } catch (const Error& error) {
    // A server that stops leaves the job to another one.
    if (error.reason() == reason::kOperationCancelled) return true;
    job->error = error.message();
    log::warn("verification_failed", {{"job", job->id}, {"message", error.message()}});
    engine.jobs.finish(*job, owner, jobs::JobState::kFailed);
  }
  return true;
}

}  // namespace tarn::verify
