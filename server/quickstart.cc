#include "server/quickstart.h"

#include <array>
#include <chrono>
#include <fstream>
#include <memory>
#include <sstream>

#include "core/base/encoding.h"
#include "core/base/error.h"
#include "core/base/str_cat.h"
#include "core/base/text.h"
#include "core/http/client.h"

namespace tarn::server {
namespace {

constexpr std::chrono::seconds kRequestTime{60};
constexpr size_t kAnswerBytesMax = 1024 * 1024;

struct Experiment {
  std::string_view branch;
  std::string_view epochs;
  std::string_view accuracy;
  std::string_view loss;
};
constexpr std::array kExperiments{Experiment{"exp-1", "10", "0.81", "0.52"},
                                  Experiment{"exp-2", "30", "0.93", "0.21"},
                                  Experiment{"exp-3", "50", "0.90", "0.34"}};

constexpr std::string_view kGate =
    "name: best-model\n"
    "destination: main\n"
    "alias: champion\n"
    "candidates: \"exp-*\"\n"
    "metrics:\n"
    "  - {name: accuracy, goal: max, min: 0.85, max: 1.0, primary: true}\n"
    "  - {name: loss, goal: min}\n";

/// Labels of ten pictures: enough to look at, search and compare.
constexpr std::string_view kLabels =
    "file,label\nimages/0.txt,cat\nimages/1.txt,dog\nimages/2.txt,dog\nimages/3.txt,cat\n";

class Rest {
 public:
  Rest(const std::string& url, const auth::NewKey& key)
      : base_(str_cat(url, "/api/v1")),
        authorization_(str_cat("Basic ", to_base64(str_cat(key.id, ":", key.secret)))) {}

  /// The status of the answer: 2xx, or `allowed`.
  int send(std::string_view method, std::string_view path, std::string body,
           std::string_view type = "application/json", int allowed = 0) {
    http::ClientRequest request{.method = std::string(method),
                                .url = str_cat(base_, path),
                                .body = std::move(body),
                                .deadline = kRequestTime};
    request.headers.add("Authorization", authorization_);
    request.headers.add("Content-Type", std::string(type));
    const http::ClientResponse answer = client_->send(request, kAnswerBytesMax);
    if (answer.status / 100 != 2 && answer.status != allowed) {
      throw Error(ErrorCode::kUnavailable, str_cat("making the sample repository: ", method, ' ',
                                                   path, ": ", answer.status, ' ', answer.body));
    }
    return answer.status;
  }

 private:
  const std::string base_;
  const std::string authorization_;
  const std::unique_ptr<http::Client> client_ = http::Client::create({});
};

/// Requests about one repository.
class Sample {
 public:
  explicit Sample(Rest& rest) : rest_(rest) {}

  void upload(std::string_view branch, std::string_view path, std::string body) {
    rest_.send("POST", str_cat(kPath, "/branches/", branch, "/objects?path=", path),
               std::move(body), "application/octet-stream");
  }
  void commit(std::string_view branch, std::string_view message, std::string_view metadata) {
    rest_.send("POST", str_cat(kPath, "/branches/", branch, "/commits"),
               str_cat(R"({"message":")", message, R"(","metadata":{)", metadata, "}}"));
  }
  void create_branch(std::string_view name) {
    rest_.send("POST", str_cat(kPath, "/branches"),
               str_cat(R"({"name":")", name, R"(","source":"main"})"));
  }

 private:
  static constexpr std::string_view kPath = "/repositories/quickstart";
  Rest& rest_;
};

void add_experiment(Sample& sample, const Experiment& experiment) {
  sample.create_branch(experiment.branch);
  sample.upload(
      experiment.branch, "model/weights.txt",
      str_cat("weights of ", experiment.branch, " after ", experiment.epochs, " epochs\n"));
  sample.commit(experiment.branch, str_cat("Train for ", experiment.epochs, " epochs"),
                str_cat(R"("metric.accuracy":")", experiment.accuracy, R"(","metric.loss":")",
                        experiment.loss, R"(","param.epochs":")", experiment.epochs, '"'));
}

std::string value_of(std::string_view line, std::string_view key) {
  const size_t at = line.find(key);
  return at == std::string_view::npos ? "" : std::string(trimmed(line.substr(at + key.size())));
}

}  // namespace

std::optional<auth::NewKey> kept_admin_key(const std::string& data) {
  std::ifstream in(str_cat(data, "/admin-credentials"));
  auth::NewKey key;
  for (std::string line; std::getline(in, line);) {
    if (auto id = value_of(line, " access_key_id:"); !id.empty()) key.id = std::move(id);
    if (auto secret = value_of(line, " secret_access_key:"); !secret.empty()) {
      key.secret = std::move(secret);
    }
  }
  if (key.id.empty() || key.secret.empty()) return std::nullopt;
  return key;
}

void make_sample(const std::string& url, const auth::NewKey& key) {
  Rest rest(url, key);
  const int made = rest.send("POST", "/repositories",
                             R"({"name":"quickstart","storage_namespace":"local://quickstart"})",
                             "application/json", 409);
  if (made == 409) return;
  Sample sample(rest);
  for (int i = 0; i < 4; ++i) {
    sample.upload("main", str_cat("images/", i, ".txt"), str_cat("picture ", i, '\n'));
  }
  sample.upload("main", "labels.csv", std::string(kLabels));
  sample.commit("main", "Add four labelled pictures", "");
  for (const Experiment& experiment : kExperiments) add_experiment(sample, experiment);
  rest.send("PUT", "/repositories/quickstart/policies/best-model", std::string(kGate),
            "application/yaml");
}

std::string sample_steps(const std::string& url, const auth::NewKey& key) {
  return str_cat("  export TARN_ENDPOINT=", url, " TARN_ACCESS_KEY=", key.id,
                 " TARN_SECRET_KEY=", key.secret, " TARN_REPO=", kSampleRepository,
                 "\n  tarn exp compare 'exp-*' --policy best-model\n"
                 "  tarn promote 'exp-*' --to main --wait && tarn fs cat "
                 "tarn://quickstart/@champion/model/weights.txt\n");
}

}  // namespace tarn::server
