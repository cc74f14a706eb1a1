// Verifications as background jobs: started by a request, run by any server, polled for the report.
#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "core/base/time.h"
#include "core/branch/engine.h"
#include "core/model/names.h"
#include "core/verify/verify.h"

namespace tarn::verify {

enum class VerifyState { kQueued, kRunning, kDone, kFailed, kCancelled };
/// "queued".
std::string_view name_of(VerifyState state);

struct VerifyStatus {
  std::string id;
  VerifyState state = VerifyState::kQueued;
  Instant updated{};
  RepositoryVerification options{};
  std::string error;    ///< of a failed one
  VerifyReport report;  ///< so far, without findings, while it runs
};

/// A slower verification would lose its lease while it waits.
constexpr uint64_t kVerifyBytesPerSecondMin = uint64_t{1} << 20;

/// The configuration of a server.
struct VerifyLimits {
  /// The rate of deep reads of one verification, at least kVerifyBytesPerSecondMin; 0 = no limit.
  uint64_t bytes_per_second = uint64_t{100} << 20;
};

/// Stores the job and returns its id. Throws not_found (the repository, the ref).
std::string start_verify(branch::Engine& engine, const RepositoryName& repository,
                         const RepositoryVerification& options, std::string_view user);
/// Throws not_found (reason "task_not_found").
VerifyStatus verify_status(branch::Engine& engine, const RepositoryName& repository,
                           std::string_view id);
/// Throws as verify_status, and conflict (reason "operation_ended").
void cancel_verify(branch::Engine& engine, const RepositoryName& repository, std::string_view id);

/// Runs one such job, if any; called by server/jobs. Returns whether it did any work. If its
/// process dies, another one starts the job again after the lease has expired.
bool run_one_verify(branch::Engine& engine, const VerifyLimits& limits, std::stop_token stop);

}  // namespace tarn::verify
