// Fixture for tests of hooks: a repository whose hooks reach a receiver in the test.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/actions/runner.h"
#include "core/base/metrics.h"
#include "core/events/hook_runs.h"
#include "core/http/server.h"
#include "core/versioning/revert.h"
#include "tests/support/repository_test.h"

namespace tarn::testing {

/// Takes every request and remembers it.
class HookReceiver {
 public:
  HookReceiver()
      : server_(http::Server::start("127.0.0.1", 0, {},
                                    [this](http::Request& request) { return take(request); })) {}

  std::string url(const std::string& path) const {
    return "http://127.0.0.1:" + std::to_string(server_->port()) + path;
  }
  struct Taken {
    std::string method;
    std::string path;
    http::Headers headers;
    std::string body;
    nlohmann::json event() const { return nlohmann::json::parse(body); }
  };
  std::vector<Taken> taken() {
    MutexLock lock(mutex_);
    return taken_;
  }
  std::string paths() {
    std::string out;
    for (const Taken& one : taken()) out += (out.empty() ? "" : " ") + one.path;
    return out;
  }
  void forget() {
    MutexLock lock(mutex_);
    taken_.clear();
  }
  /// By path; 200 unless set.
  void answer(const std::string& path, int status, int times = 1'000'000) {
    MutexLock lock(mutex_);
    answers_[path] = {status, times};
  }
  /// Bodies, one after the other, the last again and again, below a path. "noted" unless set.
  void answer_below(std::string path, std::vector<std::string> texts) {
    MutexLock lock(mutex_);
    below_ = std::move(path);
    texts_ = std::move(texts);
  }
  std::function<void(const std::string& path)> on_request;
  std::string retry_after{};  ///< goes with answers that are no success

 private:
  http::Response take(http::Request& request) {
    const std::string path(request.raw_path());
    Taken one{request.method, path, request.headers, http::read_all(*request.body, 1 << 20)};
    http::Response response;
    response.body = "noted";
    {
      MutexLock lock(mutex_);
      taken_.push_back(std::move(one));
      if (const auto at = answers_.find(path); at != answers_.end() && at->second.second-- > 0) {
        response.status = at->second.first;
        if (!retry_after.empty() && response.status > 299) {
          response.headers.add("Retry-After", retry_after);
        }
      }
      if (!texts_.empty() && path.starts_with(below_)) {
        response.body = texts_.front();
        if (texts_.size() > 1) texts_.erase(texts_.begin());
      }
    }
    if (on_request) on_request(path);
    return response;
  }

  Mutex mutex_;
  std::vector<Taken> taken_;
  std::map<std::string, std::pair<int, int>> answers_;
  std::string below_;
  std::vector<std::string> texts_;
  std::unique_ptr<http::Server> server_;
};

/// Round trips to the database so far by this process, by query.
inline std::map<std::string, double> statements() {
  std::map<std::string, double> out;
  std::istringstream lines(metrics::text());
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("tarn_sql_seconds_count{")) continue;
    const size_t value = line.rfind(' ');
    out[line.substr(0, value)] = std::stod(line.substr(value));
  }
  return out;
}

class Hooks : public RepositoryTest {
 protected:
  Hooks() { (*engine).hooks = &runner; }
  ~Hooks() override { (*engine).hooks = nullptr; }

  /// One hook that is a webhook.
  std::string webhook(const std::string& id, const std::string& path,
                      const std::string& more = "") {
    return "  - {id: " + id + ", type: webhook, " + more + "properties: {url: \"" +
           receiver.url(path) + "\"}}\n";
  }
  static std::string lua(const std::string& id, const std::string& script) {
    return "  - id: " + id + "\n    type: lua\n    properties:\n      script: |\n        " +
           script + "\n";
  }
  static std::string action(const std::string& name, const std::string& events,
                            const std::string& hooks) {
    return "name: " + name + "\non: {" + events + "}\nhooks:\n" + hooks;
  }
  void put_action(const std::string& branch, const std::string& file, const std::string& text) {
    engine.put(repo, branch, "_lakefs_actions/" + file, text);
  }
  void revert(const std::string& branch, const CommitId& commit) {
    versioning::RevertRequest request;
    request.ref = to_text(commit);
    versioning::revert_branch(*engine, repo, BranchName(branch), request);
  }
  void pick(const std::string& branch, const std::string& ref) {
    versioning::CherryPickRequest request;
    request.ref = ref;
    versioning::cherry_pick(*engine, repo, BranchName(branch), request);
  }
  /// Runs what is queued.
  void run_all() {
    while (runner.run_queued({})) {
    }
  }
  std::string statuses(const std::string& run) {
    std::string out;
    for (const HookStep& step :
         events::list_hook_steps(*engine, repo, run, "", 100, /*running=*/true).items) {
      constexpr std::string_view kNames[] = {"completed", "failed", "skipped", "running"};
      out += (out.empty() ? "" : " ") + step.id + ":" + step.hook + ":" +
             std::string(kNames[static_cast<int>(step.status)]);
    }
    return out;
  }
  HookRun newest() { return events::list_hook_runs(*engine, repo, {.limit = 1}).items.at(0); }

  const actions::Environment environment =
      [](const std::string& name) -> std::optional<std::string> {
    if (name == "LAKEFSACTION_TOKEN") return "very-secret";
    if (name == "LAKEFSACTION_SIGNING") return "whsec_c2VjcmV0";
    return std::nullopt;
  };
  HookReceiver receiver;
  http::Outbound outbound{{.allowed_targets = {"127.0.0.1"}}};
  actions::RunnerOptions runner_options{
      .script_program = TARN_LUA_PROGRAM,
      .environment = environment,
      .variables = actions::Grants("LAKEFSACTION_TOKEN=*; LAKEFSACTION_SIGNING=*")};
  actions::Runner runner{*engine, outbound, runner_options};
};

}  // namespace tarn::testing
