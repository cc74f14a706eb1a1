// tarn runner
#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include <nlohmann/json.hpp>
#include <unistd.h>

#include "cli/commands/commands.h"
#include "cli/commands/evaluation_options.h"
#include "cli/evaluation/measurement.h"
#include "cli/evaluation/unpacker.h"
#include "cli/exit_code.h"
#include "cli/local_file.h"
#include "cli/session.h"
#include "cli/signals.h"
#include "core/base/mutex.h"
#include "core/base/str_cat.h"

namespace tarn::cli {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::seconds;

/// How long a request for a job waits at the server, and so how long a signal waits for it.
constexpr seconds kJobWait{5};
constexpr seconds kAnswerWait{60};
constexpr milliseconds kFirstPause{1000};
constexpr milliseconds kLongestPause{60'000};
/// A lease is renewed this often before it ends.
constexpr int kRenewalsALease = 3;
constexpr int kNoContent = 204;
constexpr int kConflict = 409;
constexpr int kClientErrors = 400;
constexpr int kServerErrors = 500;

struct RunnerOptions {
  std::vector<std::string> labels;
  std::string work;
  std::string disk = "20GiB";
  bool once = false;
  SandboxOptions sandbox;

  void declare(Command& command) {
    command
        .option("--label", labels,
                "what this machine has, for evaluations that ask for it (gpu); may be repeated")
        .flag("--once", once, "measure one job, if there is one, and end")
        .option("--work", work,
                "the folder for the files of a job; default: that of temporary files")
        .option("--disk", disk, "the most bytes that the files of a job may take (20GiB)");
    sandbox.declare(command);
  }
};

struct Job {
  std::string id;
  std::string token;
  seconds lease{};
  std::string predict;
  std::string score;
  SandboxLimits limits;
  std::string label;  ///< for the log
};

Job job_of(const Json& answer) {
  Job job{.id = answer.at("id").get<std::string>(),
          .token = answer.at("token").get<std::string>(),
          .lease = seconds(answer.at("lease_seconds").get<int64_t>()),
          .predict = answer.value("predict", ""),
          .score = answer.at("score").get<std::string>(),
          .limits = {.timeout = seconds(answer.at("timeout_seconds").get<int64_t>()),
                     .memory_bytes = answer.at("memory_bytes").get<uint64_t>(),
                     .output_bytes = answer.at("output_bytes_max").get<uint64_t>()},
          .label = {}};
  job.label = str_cat("job ", job.id, " (", answer.value("evaluation", ""), " of tarn://",
                      answer.value("repository", ""), ')');
  return job;
}

Request job_request(const Job& job, std::string_view verb) {
  Request request = post_request(api_path({"evaluation-jobs", job.id, verb}));
  request.headers.emplace_back("X-Tarn-Lease", job.token);
  return request;
}

/// Renews the lease of a job in a thread of its own, until it is destroyed.
class Renewal {
 public:
  Renewal(const Settings& settings, const Job& job)
      : client_(settings, {.attempts = 1, .answer = kAnswerWait}),
        request_(job_request(job, "renew")),
        pause_(milliseconds(job.lease) / kRenewalsALease),
        thread_([this](const std::stop_token& ended) { renew(ended); }) {}
  ~Renewal() {
    thread_.request_stop();
    {
      const MutexLock lock(mutex_);
      ending_ = true;
    }
    changed_.notify_all();
  }
  Renewal(const Renewal&) = delete;
  Renewal& operator=(const Renewal&) = delete;

  /// Whether the server gave the job to another runner, or forgot it.
  bool lost() const { return lost_; }

 private:
  void renew(const std::stop_token& ended) {
    while (!ended.stop_requested() && !lost_) {
      {
        MutexLock lock(mutex_);
        if (!ending_) changed_.wait_for(lock, pause_);
      }
      if (ended.stop_requested()) return;
      try {
        const Answer answer = client_.ask(request_);
        if (!answer.ok() && !answer.is_busy()) lost_ = true;
      } catch (const Error&) {
        // The server may be back before the lease ends.
      }
    }
  }

  Client client_;
  const Request request_;
  const milliseconds pause_;
  std::atomic<bool> lost_ = false;
  Mutex mutex_;
  CondVar changed_;
  bool ending_ TARN_GUARDED_BY(mutex_) = false;
  std::jthread thread_;  ///< last: it uses all of the above
};

/// Takes and measures jobs, one at a time.
class Runner {
 public:
  Runner(Session& session, const RunnerOptions& options)
      : session_(session),
        options_(options),
        settings_(options.sandbox.settings()),
        disk_bytes_(parse_size(options.disk)),
        client_(session.settings, {.answer = kAnswerWait,
                                   .sleep = [this](milliseconds time) { watch_.sleep(time); }}) {}

  ExitCode run() {
    if (::geteuid() == 0)
      session_.out.warn("running as root: use a user of its own, so that less is at stake");
    check_sandbox();
    session_.out.remark("waiting for jobs");
    for (milliseconds pause = kFirstPause; !watch_.interrupted();) {
      bool done = false;
      try {
        done = take_job();
        pause = kFirstPause;
      } catch (const Error& error) {
        if (error.code() != ErrorCode::kUnavailable || options_.once) throw;
        session_.out.warn(error.message());
      }
      if (options_.once) return done || watch_.interrupted() ? ExitCode::kOk : ExitCode::kFailure;
      if (done) continue;
      watch_.sleep(pause);
      pause = std::min(pause * 2, kLongestPause);
    }
    return ExitCode::kOk;
  }

 private:
  /// A machine that cannot run programs must not take jobs: their failures would be the
  /// candidates'.
  void check_sandbox() {
    const ScratchFolder work(options_.work);
    const fs::path program = work.path() / "check.py";
    std::ofstream(program) << "import os\nopen(os.environ['TARN_OUTPUT'], 'w').write('ok')\n";
    constexpr SandboxLimits kLimits{
        .timeout = seconds(60), .memory_bytes = 256 << 20, .output_bytes = 16};
    const ProgramEnd end = run_in_sandbox(settings_,
                                          {.mounts = {{program, "/evaluation/check.py"}},
                                           .program = "/evaluation/check.py",
                                           .environment = {},
                                           .output = str_cat(kSandboxOutput, "/check"),
                                           .result = work.path() / "check"},
                                          kLimits, [this] { return watch_.interrupted(); });
    if (!end.failure.empty()) {
      throw Error(ErrorCode::kPreconditionFailed, kReasonSandboxUnavailable,
                  str_cat("trying --python ", settings_.python,
                          " in the sandbox; --with names the folder that it is in: ", end.detail));
    }
  }

  /// Returns false after a failure of this runner, which should pause. Throws what makes further
  /// requests useless, and unavailable.
  bool take_job() {
    const Answer answer = client_.ask(
        post_request(api_path({"evaluation-jobs", "lease"}),
                     {{"labels", options_.labels}, {"wait_seconds", kJobWait.count()}}));
    if (answer.is_busy()) throw Error(ErrorCode::kUnavailable, answer.message());
    if (answer.status == kNoContent) {
      watch_.sleep(kFirstPause);  // also where something between answers without waiting
      return true;
    }
    const Job job = job_of(json_of(answer));
    session_.out.remark(str_cat(job.label, ": taken"));
    const Renewal renewal(session_.settings, job);
    const auto stop = [this, &renewal] { return renewal.lost() || watch_.interrupted(); };
    try {
      const ScratchFolder work(options_.work);
      deliver(job, measured(job, work.path(), stop), stop);
      return true;
    } catch (const std::exception& error) {
      const auto* answered = dynamic_cast<const Error*>(&error);
      const bool is_lost = answered != nullptr && answered->code() == ErrorCode::kConflict;
      if (is_lost || renewal.lost()) {
        session_.out.warn(str_cat(job.label, ": the lease is lost; another runner may have it"));
        return true;
      }
      session_.out.warn(str_cat(job.label, ": released: ", error.what()));
    }
    release(job);
    return false;
  }

  MeasurementEnd measured(const Job& job, const fs::path& work, const std::function<bool()>& stop) {
    uint64_t bytes_left = disk_bytes_;
    const auto fetch = [&](const std::string& part) {
      Request request{.path = api_path({"evaluation-jobs", job.id, "files", part})};
      request.headers.emplace_back("X-Tarn-Lease", job.token);
      unpack(client_, request, work / part, bytes_left, stop);
      return work / part;
    };
    Measurement measurement{.data = fetch("data"),
                            .inputs = {},
                            .candidate = fetch("candidate"),
                            .predict = {},
                            .score = job.score};
    if (!job.predict.empty()) {
      measurement.inputs = fetch("inputs");
      measurement.predict = fetch("program") / job.predict;
    }
    return measure(settings_, measurement, job.limits, work, stop);
  }

  void deliver(const Job& job, const MeasurementEnd& measured, const std::function<bool()>& stop) {
    Json failure{
        {"phase", measured.phase}, {"code", measured.end.failure}, {"detail", measured.end.detail}};
    if (measured.end.failure.empty()) {
      const Answer answer = insist(stop, [&] { return send_result(job, measured.result); });
      if (answer.ok()) return session_.out.remark(str_cat(job.label, ": measured"));
      const bool is_refused = answer.status >= kClientErrors && answer.status < kServerErrors &&
                              answer.status != kConflict;
      if (!is_refused) throw error_from(answer);
      failure["code"] = "output_invalid";
      failure["detail"] = str_cat(answer.reason(), "\n", answer.message());
    }
    const Request request = with_body(job_request(job, "failure"), failure);
    const Answer answer = insist(stop, [&] { return client_.ask(request); });
    if (!answer.ok()) throw error_from(answer);
    session_.out.remark(
        str_cat(job.label, ": ", measured.phase, " failed: ", failure["code"].get<std::string>()));
  }

  Answer send_result(const Job& job, const fs::path& result) {
    return client_.upload({.request = job_request(job, "result"),
                           .content_type = "application/x-ndjson",
                           .size_bytes = static_cast<int64_t>(fs::file_size(result)),
                           .open = [&result]() -> BodySource {
                             const auto file = std::make_shared<FileReader>(result.string());
                             return [file] { return file->next(); };
                           }});
  }

  /// Repeats the request while the server is unavailable: a measurement may have taken hours.
  template <typename Send>
  Answer insist(const std::function<bool()>& stop, const Send& send) {
    for (milliseconds pause = kFirstPause;; pause = std::min(pause * 2, kLongestPause)) {
      std::string problem;
      try {
        Answer answer = send();
        if (!answer.is_busy() || stop()) return answer;
        problem = answer.message();
      } catch (const Error& error) {
        if (error.code() != ErrorCode::kUnavailable || stop()) throw;
        problem = error.message();
      }
      session_.out.warn(problem);
      watch_.sleep(pause);
    }
  }

  void release(const Job& job) {
    try {
      client_.ask(job_request(job, "release"));
    } catch (const Error& error) {
      session_.out.warn(
          str_cat(job.label, ": not released, its lease ends by itself: ", error.message()));
    }
  }

  Session& session_;
  const RunnerOptions& options_;
  const SandboxSettings settings_;
  const uint64_t disk_bytes_;
  const InterruptWatch watch_;
  Client client_;
};

}  // namespace

void add_runner_command(CommandTree& tree) {
  tree.add<RunnerOptions>("runner",
                          "Measure candidates for evaluations of policies, in a sandbox, until "
                          "stopped",
                          [](Session& session, const RunnerOptions& options) {
                            return Runner(session, options).run();
                          });
}

}  // namespace tarn::cli
