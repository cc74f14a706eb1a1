// tarn evaluation try | ls | show | examples | retry
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>

#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/commands/evaluation_options.h"
#include "cli/duration.h"
#include "cli/evaluation/measurement.h"
#include "cli/exit_code.h"
#include "cli/json_text.h"
#include "cli/session.h"
#include "cli/signals.h"
#include "core/base/str_cat.h"
#include "core/base/text.h"

namespace tarn::cli {
namespace {

namespace fs = std::filesystem;

/// The longest line of a result.
constexpr size_t kLineBytesMax = 64 << 10;

struct TryOptions {
  std::string data;
  std::string inputs = "inputs";
  std::string candidate;
  std::string predict;
  std::string score;
  std::string timeout = "10m";
  std::string memory = "2GiB";
  std::string output_max = "64MiB";
  SandboxOptions sandbox;

  void declare(Command& command) {
    command.option("--data", data, "the folder with inputs, labels and the programs")
        .option("--inputs", inputs, "the folder below it that the predict program sees (inputs)")
        .option("--candidate", candidate, "the folder with the candidate's objects")
        .option("--predict", predict,
                "the program below the data folder that loads the candidate; without it the score "
                "program sees the candidate")
        .option("--score", score, "the program below the data folder that sees the labels")
        .option("--timeout", timeout, "of both programs together: 90s, 30m or 2h (10m)")
        .option("--memory", memory, "of each program (2GiB)")
        .option("--output-max", output_max, "the largest output of each program (64MiB)");
    sandbox.declare(command);
  }
};

struct Sum {
  double sum = 0;
  uint64_t count = 0;
};

/// Means by name ("accuracy", "slice.night.accuracy").
struct Means {
  uint64_t examples = 0;
  std::map<std::string, Sum> values;
};

Error invalid_result(uint64_t line, std::string_view problem) {
  return Error(ErrorCode::kPreconditionFailed, "output_invalid",
               str_cat("reading the result of score: line ", line, ": ", problem,
                       "; write {\"id\": \"7\", \"values\": {\"accuracy\": 1}}"));
}

Means means_of(const fs::path& result) {
  Means means;
  std::set<std::string> ids;
  std::ifstream lines(result);
  for (std::string line; std::getline(lines, line);) {
    const uint64_t number = ++means.examples;
    if (line.size() > kLineBytesMax) throw invalid_result(number, "longer than 64 KiB");
    const Json example = parse_json(line);
    if (!example.is_object() || !example.contains("id") || !example["id"].is_string() ||
        !example.contains("values") || !example["values"].is_object()) {
      throw invalid_result(number, "not an object with an id, a string, and values");
    }
    if (!ids.insert(example["id"]).second) throw invalid_result(number, "the id was there before");
    std::vector<std::string> prefixes{""};
    for (const Json& slice : example.value("slices", Json::array())) {
      if (!slice.is_string()) throw invalid_result(number, "a slice that is not a string");
      prefixes.push_back(str_cat("slice.", slice.get<std::string>(), '.'));
    }
    for (const auto& [name, value] : example["values"].items()) {
      if (!value.is_number()) throw invalid_result(number, str_cat(name, " is not a number"));
      for (const std::string& prefix : prefixes) {
        Sum& sum = means.values[prefix + name];
        sum.sum += value.get<double>();
        ++sum.count;
      }
    }
  }
  return means;
}

void print(Output& out, const Means& means) {
  ListWriter rows = out.list("EvaluationValueList", {"value", "mean", "examples"});
  for (const auto& [name, sum] : means.values) {
    const double mean = sum.sum / static_cast<double>(sum.count);
    rows.add({{"name", name}, {"mean", mean}, {"examples", sum.count}},
             {name, json_text(mean), std::to_string(sum.count)});
  }
  rows.finish();
  out.remark(str_cat(means.examples, " examples"));
}

/// The absolute path of a folder that must exist.
fs::path folder_of(const std::string& option, const std::string& path) {
  if (path.empty()) throw usage_error(str_cat("trying an evaluation: ", option, " is needed"));
  std::error_code failed;
  fs::path folder = fs::canonical(path, failed);
  if (failed || !fs::is_directory(folder)) {
    throw usage_error(str_cat("trying an evaluation: ", option, ' ', path, " is not a folder"));
  }
  return folder;
}

/// A program of the data folder.
void check_program(const fs::path& data, const std::string& program) {
  if (!fs::is_regular_file(data / program)) {
    throw usage_error(
        str_cat("trying an evaluation: the program ", program, " is not in ", data.string()));
  }
}

void run_try(Session& session, const TryOptions& options) {
  const fs::path data = folder_of("--data", options.data);
  const fs::path candidate = folder_of("--candidate", options.candidate);
  if (options.score.empty()) throw usage_error("trying an evaluation: --score is needed");
  check_program(data, options.score);
  Measurement measurement{
      .data = data, .inputs = {}, .candidate = candidate, .predict = {}, .score = options.score};
  if (!options.predict.empty()) {
    check_program(data, options.predict);
    measurement.predict = data / options.predict;
    measurement.inputs = folder_of("--inputs", (data / options.inputs).string());
  }
  const SandboxLimits limits{.timeout = parse_duration(options.timeout),
                             .memory_bytes = parse_size(options.memory),
                             .output_bytes = parse_size(options.output_max)};
  const InterruptWatch watch;
  const ScratchFolder work("");
  const MeasurementEnd end = measure(options.sandbox.settings(), measurement, limits, work.path(),
                                     [&watch] { return watch.interrupted(); });
  if (!end.end.failure.empty()) {
    // "timeout" is the word for waiting that ended while work goes on.
    const std::string_view code =
        end.end.failure == "timeout" ? "program_timeout" : end.end.failure;
    throw Error(ErrorCode::kPreconditionFailed, code,
                str_cat("running ", end.phase, ": ", end.end.detail));
  }
  print(session.out, means_of(end.result));
}

constexpr std::string_view kKeyHelp =
    "tarn://repository/key, or a key in --repo, as tarn evaluation ls shows it";

std::string evaluation_path(const Uri& uri, std::string_view verb = "") {
  return str_cat(api_path({"repositories", uri.repository, "evaluations", uri.ref}), verb);
}

/// "0.982 (500 examples)".
std::string value_text(const Json& metric) {
  return str_cat(json_text(metric.value("value", Json())), " (", metric.value("examples", 0),
                 " examples)");
}

/// The first value, or why there is none.
std::string result_text(const Json& evaluation) {
  if (evaluation.contains("code")) return evaluation.value("code", "");
  const Json metrics = evaluation.value("metrics", Json::array());
  return metrics.empty() ? "" : str_cat(metrics[0].value("name", ""), " ", value_text(metrics[0]));
}

void list_evaluations(Session& session, const InRepository& options) {
  const Uri uri = session.repository(options.repository);
  print_list(
      session, {.path = api_path({"repositories", uri.repository, "evaluations"})},
      "EvaluationList", {"key", "policy", "evaluation", "commit", "state", "result", "asked"},
      [](const Json& item) -> Cells {
        return {item.value("key", ""),     item.value("policy", ""), item.value("evaluation", ""),
                item.value("commit", ""),  item.value("state", ""),  result_text(item),
                item.value("asked_at", "")};
      });
}

struct EvaluationTarget {
  std::string key;
  void declare(Command& command) { command.argument("KEY", key, std::string(kKeyHelp)); }
};

void show_evaluation(Session& session, const EvaluationTarget& options) {
  Json evaluation = session.client.call({.path = evaluation_path(session.ref(options.key))});
  std::vector<std::pair<std::string, std::string>> lines = {
      {"evaluation", evaluation.value("evaluation", "")},
      {"policy", evaluation.value("policy", "")},
      {"commit", evaluation.value("commit", "")},
      {"state", evaluation.value("state", "")},
      {"charged to", joined(evaluation.value("asked_by", std::vector<std::string>{}), ", ")},
      {"asked", evaluation.value("asked_at", "")}};
  if (evaluation.contains("runner")) lines.emplace_back("runner", evaluation.value("runner", ""));
  if (evaluation.contains("ended_at"))
    lines.emplace_back("ended", evaluation.value("ended_at", ""));
  for (const Json& metric : evaluation.value("metrics", Json::array())) {
    lines.emplace_back(metric.value("name", ""), value_text(metric));
  }
  if (evaluation.contains("code")) {
    lines.emplace_back("failed",
                       str_cat(evaluation.value("phase", ""), ": ", evaluation.value("code", "")));
  }
  if (evaluation.contains("detail")) lines.emplace_back("printed", evaluation.value("detail", ""));
  session.out.object("Evaluation", std::move(evaluation), lines);
}

struct ExamplesOf {
  std::string key;
  std::string metric;
  void declare(Command& command) {
    command.argument("KEY", key, std::string(kKeyHelp))
        .argument("METRIC", metric, "the metric, without slice");
  }
};

void show_examples(Session& session, const ExamplesOf& options) {
  std::string lines;
  const Request request{.path = evaluation_path(session.ref(options.key), "/examples"),
                        .query = {{"metric", options.metric}}};
  const Answer answer =
      session.client.download(request, [&](std::string_view piece) { lines += piece; });
  if (!answer.ok()) throw error_from(answer);
  ListWriter rows = session.out.list("EvaluationExampleList", {"id", "value"});
  std::istringstream in(lines);
  for (std::string line; std::getline(in, line);) {
    Json example = parse_json(line);
    Cells cells{example.value("id", ""), json_text(example.value("value", Json()))};
    rows.add(std::move(example), std::move(cells));
  }
  rows.finish();
}

void retry_evaluation(Session& session, const EvaluationTarget& options) {
  const Uri uri = session.ref(options.key);
  session.client.call(post_request(evaluation_path(uri, ":retry")));
  session.out.remark(str_cat("evaluation ", uri.ref, " is queued again"));
}

}  // namespace

void add_evaluation_commands(CommandTree& tree) {
  tree.group("evaluation", "Evaluations that a runner measures");
  tree.add<InRepository>("evaluation ls", "List what judgements had measured, the newest first",
                         list_evaluations);
  tree.add<EvaluationTarget>("evaluation show", "Show one: values, or why it failed",
                             show_evaluation);
  tree.add<ExamplesOf>("evaluation examples",
                       "Print the value of each example, for those who may read the data",
                       show_examples);
  tree.add<EvaluationTarget>("evaluation retry", "Have one that failed measured again",
                             retry_evaluation);
  tree.add<TryOptions>("evaluation try",
                       "Run the programs of an evaluation on this machine, in the sandbox of a "
                       "runner, and print the means",
                       run_try);
}

}  // namespace tarn::cli
