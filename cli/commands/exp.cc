// tarn exp log | ls | label | metrics | files

#include <algorithm>
#include <iostream>
#include <map>
#include <set>

#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/commands/expected_objects.h"
#include "cli/commands/known_columns.h"
#include "cli/commands/promotion_record.h"
#include "cli/exit_code.h"
#include "cli/session.h"
#include "cli/suggestion.h"
#include "core/base/str_cat.h"
#include "core/base/text.h"

namespace tarn::cli {
namespace {

/// Number of runs that are buffered until the columns are known.
constexpr int64_t kRunsShown = 1000;
constexpr int64_t kRunsMax = 100'000;

struct Log {
  std::string ref;
  std::string branch;
  std::string experiment = "default";
  std::vector<std::string> params;
  std::vector<std::string> metrics;
  std::vector<std::string> artifacts;
  std::vector<std::string> measured;
  std::string git_sha;
  std::string ci_url;
  std::string user;
  std::string name;
  std::string notes;
  std::vector<std::string> tags;
  std::string key;

  void declare(Command& command) {
    command
        .option("--ref", ref,
                "the whole id of the commit that was measured, as tarn commit prints it; no "
                "branch or tag, which may have moved")
        .option("--of-branch", branch,
                "the branch of the commit; default: the branch whose head it is")
        .option("--experiment", experiment, "the experiment of the run (default)")
        .option("--param", params, "a parameter, name=value; may be repeated")
        .option("--metric", metrics, "a metric, name=number or name@split=number; may be repeated")
        .option("--artifact", artifacts, "a pattern of paths of the commit; may be repeated")
        .option("--measured", measured,
                "an object that was measured, which must be the commit's: PATH=SHA256, PATH=FILE "
                "or PREFIX/=DIRECTORY (/=DIRECTORY: the root); may be repeated")
        .option("--git-sha", git_sha, "the commit of the source code")
        .option("--ci-url", ci_url, "URL of the CI job")
        .option("--user", user, "the user who started it")
        .option("--name", name, "the name of the run in lists")
        .option("--notes", notes, "notes about the run")
        .option("--tag", tags, "a tag of the run; may be repeated")
        .option("--idempotency-key", key,
                "a retry with the same key returns the same run; for example the id of the CI job");
  }
};

Json metrics_from(const std::vector<std::string>& words) {
  Json metrics = Json::array();
  for (const std::string& word : words) {
    const size_t equals = word.rfind('=');
    if (equals == std::string::npos || equals == 0) {
      throw usage_error(str_cat("reading metric \"", word, "\": expected name=number"));
    }
    const std::string name = word.substr(0, equals);
    const size_t at = name.find('@');
    Json metric{{"name", name.substr(0, at)}, {"value", word.substr(equals + 1)}};
    if (at != std::string::npos) metric["split"] = name.substr(at + 1);
    metrics.push_back(std::move(metric));
  }
  return metrics;
}

void log_experiment(Session& session, const Log& options) {
  const Uri uri = session.ref(options.ref);
  Json body{{"ref", uri.ref},
            {"params", metadata_from(options.params)},
            {"metrics", metrics_from(options.metrics)},
            {"artifacts", options.artifacts},
            {"source",
             {{"git_sha", options.git_sha}, {"ci_url", options.ci_url}, {"user", options.user}}}};
  if (!options.branch.empty()) body["branch"] = options.branch;
  if (!options.measured.empty()) {
    body["objects"] = expected_objects(session, "--measured", options.measured);
  }
  if (!options.name.empty()) body["name"] = options.name;
  if (!options.notes.empty()) body["notes"] = options.notes;
  if (!options.tags.empty()) body["tags"] = options.tags;
  if (!options.key.empty()) body["idempotency_key"] = options.key;
  const Answer answer = session.client.ask(post_request(
      api_path({"repositories", uri.repository, "experiments", options.experiment, "runs"}), body));
  Json run = json_of(answer);
  constexpr int kMade = 201;
  run["changed"] = answer.status == kMade;
  const std::vector<std::pair<std::string, std::string>> lines = {
      {"run", run.value("id", "")},
      {"experiment", run.value("experiment", "")},
      {"commit", run.value("commit_id", "")}};
  session.out.object("Run", std::move(run), lines);
}

std::string tags_of(const Json& run) {
  return joined(run.value("tags", std::vector<std::string>{}), ", ");
}

struct Label {
  std::string run;
  std::string name;
  std::string notes;
  std::vector<std::string> tags;
  std::vector<std::string> untagged;

  void declare(Command& command) {
    command.argument("RUN", run, "tarn://repository/RUN, or the id of a run in --repo")
        .option("--name", name, "the new name")
        .option("--notes", notes, "the new notes")
        .option("--tag", tags, "a tag to add; may be repeated")
        .option("--untag", untagged, "a tag to remove; may be repeated");
  }
};

void label(Session& session, const Label& options) {
  if (options.name.empty() && options.notes.empty() && options.tags.empty() &&
      options.untagged.empty()) {
    throw usage_error("labelling a run: give --name, --notes, --tag or --untag");
  }
  const Uri uri = session.ref(options.run);
  const std::string path = api_path({"repositories", uri.repository, "runs", uri.ref});
  Json body = Json::object();
  if (!options.name.empty()) body["name"] = options.name;
  if (!options.notes.empty()) body["notes"] = options.notes;
  if (!options.tags.empty() || !options.untagged.empty()) {
    auto tags = session.client.call({.path = path})["tags"].get<std::set<std::string>>();
    for (const std::string& tag : options.untagged) tags.erase(tag);
    tags.insert(options.tags.begin(), options.tags.end());
    body["tags"] = tags;
  }
  Json run = session.client.call(with_body({.method = Method::kPatch, .path = path}, body));
  const std::vector<std::pair<std::string, std::string>> lines = {
      {"run", run.value("id", "")}, {"name", run.value("name", "")}, {"tags", tags_of(run)}};
  session.out.object("Run", std::move(run), lines);
}

struct ListExperiments {
  std::string repository;
  std::string experiment;
  std::string branch;
  std::vector<std::string> where;
  std::string sort;
  std::string git_sha;
  std::string name;
  std::vector<std::string> tags;
  std::string state;
  std::string metrics;
  std::string params = "changed";
  int64_t amount = kRunsShown;

  void declare(Command& command) {
    command.optional_argument("REPOSITORY", repository, "tarn://NAME or NAME; default --repo")
        .option("-r", repository, "the repository; same as REPOSITORY")
        .option("--experiment", experiment, "only runs of this experiment")
        .option("--of-branch", branch, "only runs of branches that match this pattern: 'exp-*'")
        .option("--where", where,
                "a condition: 'metrics.NAME > VALUE' or 'params.NAME = VALUE'; may be repeated, "
                "all must hold")
        .option("--sort", sort, "a metric or \"created\"; begin with - for descending order")
        .option("--git-sha", git_sha, "only runs of this commit of the source code")
        .option("--name", name, "only runs whose name has this part, in any case of letters")
        .option("--tag", tags, "only runs with this tag; may be repeated, all must be there")
        .option("--state", state, "only runs that are running, finished, failed or stale")
        .option("--metrics", metrics, "columns: metric names separated by commas; default all")
        .option("--params", params, "parameter columns: changed (default), all or none")
        .option("-n,--amount", amount, "maximum number of results");
  }
};

std::string order_of(const std::string& sort) {
  const bool descending = sort.starts_with('-');
  const std::string name = descending ? sort.substr(1) : sort;
  if (name.empty() || name == "created") return sort;
  return str_cat(descending ? "-" : "", "metrics.", name);
}

Request runs_request(const Uri& uri, const ListExperiments& options) {
  Request request{.path = api_path({"repositories", uri.repository, "runs"})};
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) request.query.emplace_back(name, value);
  };
  add("experiment", options.experiment);
  add("branch", options.branch);
  add("git_sha", options.git_sha);
  add("name", options.name);
  for (const std::string& tag : options.tags) add("tag", tag);
  add("state", options.state);
  add("order", order_of(options.sort));
  for (const std::string& condition : options.where) add("where", condition);
  return request;
}

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  for (size_t at = 0; at < text.size();) {
    const size_t comma = std::min(text.find(',', at), text.size());
    if (comma > at) words.push_back(text.substr(at, comma - at));
    at = comma + 1;
  }
  return words;
}

// Metrics of the run itself, and of its commit where the run has none.
constexpr const char* kMetricsOf[] = {"metrics", "commit_metrics"};
constexpr const char* kParamsOf[] = {"params", "commit_params"};

/// Returns null, which has no elements, for a missing member.
const Json& member(const Json& object, const char* name) {
  static const Json kNone;
  const auto at = object.find(name);
  return at == object.end() ? kNone : *at;
}

std::string param_of(const Json& run, const std::string& name) {
  for (const char* whose : kParamsOf) {
    const Json& value = member(member(run, whose), name.c_str());
    if (value.is_string()) return value.get<std::string>();
  }
  return "";
}

std::vector<std::string> metric_columns(const std::vector<Json>& runs,
                                        const ListExperiments& options) {
  if (!options.metrics.empty()) return words_of(options.metrics);
  std::set<std::string> names;
  for (const Json& run : runs) {
    for (const char* whose : kMetricsOf) {
      for (const Json& metric : member(run, whose)) names.insert(metric_name(metric));
    }
  }
  return {names.begin(), names.end()};
}

std::vector<std::string> param_columns(const std::vector<Json>& runs, const std::string& which) {
  if (which == "none") return {};
  std::set<std::string> names;
  for (const Json& run : runs) {
    for (const char* whose : kParamsOf) {
      for (const auto& [name, value] : member(run, whose).items()) names.insert(name);
    }
  }
  if (which == "changed") {
    std::erase_if(names, [&](const std::string& name) {
      return std::all_of(runs.begin(), runs.end(), [&](const Json& run) {
        return param_of(run, name) == param_of(runs.front(), name);
      });
    });
  }
  return {names.begin(), names.end()};
}

std::vector<std::string> named_columns(const ListExperiments& options) {
  std::vector<std::string> names;
  for (const std::string& name : words_of(options.metrics)) names.push_back("metrics." + name);
  const std::string order = order_of(options.sort);
  if (const size_t at = order.find("metrics."); at != std::string::npos) {
    names.push_back(order.substr(at));
  }
  for (const std::string& condition : options.where) {
    std::string name = condition.substr(0, condition.find_first_of("<>=!"));
    name = std::string(trimmed(name, " "));
    if (name.starts_with("metrics.") || name.starts_with("params.")) names.push_back(name);
  }
  return names;
}

/// Throws not_found, with the nearest name, if the experiment has no run at all.
void need_experiment(Session& session, const Uri& repository, const std::string& experiment) {
  ListExperiments query;
  query.experiment = experiment;
  if (!session.client.call(runs_request(repository, query))["results"].empty()) return;
  std::vector<std::string> others;
  const Json newest = session.client.call(runs_request(repository, {}));
  for (const Json& run : newest["results"]) {
    others.push_back(run.value("experiment", ""));
  }
  const auto near = closest_word(experiment, others);
  throw Error(ErrorCode::kNotFound,
              str_cat("no run is of experiment \"", experiment, '"',
                      near ? str_cat("; did you mean \"", *near, "\"?") : ""));
}

void list_experiments(Session& session, const ListExperiments& options) {
  if (options.amount < 1 || options.amount > kRunsMax) {
    throw usage_error(str_cat("listing runs: --amount must be 1 to ", kRunsMax));
  }
  if (options.params != "changed" && options.params != "all" && options.params != "none") {
    throw usage_error("listing runs: --params must be changed, all or none");
  }
  const Uri uri = session.repository(options.repository);
  std::vector<Json> runs;
  std::set<std::string> warnings;
  session.client.each(
      runs_request(uri, options),
      [&](const Json& run) {
        runs.push_back(run);
        return static_cast<int64_t>(runs.size()) < options.amount;
      },
      [&](const Json& page) {
        for (const Json& warning : member(page, "warnings"))
          warnings.insert(warning.get<std::string>());
      });
  KnownColumns known(session, uri, named_columns(options));
  for (std::string& name : metric_columns(runs, {})) known.add("metrics." + name);
  for (std::string& name : param_columns(runs, "all")) known.add("params." + name);
  known.check();
  if (runs.empty() && !options.experiment.empty())
    need_experiment(session, uri, options.experiment);
  const std::vector<std::string> metrics = metric_columns(runs, options);
  const std::vector<std::string> params = param_columns(runs, options.params);
  Cells columns{"run", "name", "state", "experiment", "branch", "commit", "created", "tags"};
  columns.insert(columns.end(), metrics.begin(), metrics.end());
  columns.insert(columns.end(), params.begin(), params.end());
  ListWriter rows = session.out.list("RunList", columns);
  for (const Json& run : runs) {
    std::map<std::string, std::string> values;
    for (const char* whose : kMetricsOf) {
      for (const Json& metric : member(run, whose)) {
        values[metric_name(metric)] = number_text(metric["value"]);
      }
    }
    Cells cells{run.value("id", ""),
                run.value("name", ""),
                run.value("state", ""),
                run.value("experiment", ""),
                run.value("branch", ""),
                short_id(session.out, run.value("commit_id", "")),
                run.value("creation_date", ""),
                tags_of(run)};
    for (const std::string& name : metrics) cells.push_back(values[name]);
    for (const std::string& name : params) cells.push_back(param_of(run, name));
    rows.add(run, cells);
  }
  rows.finish();
  for (const std::string& warning : warnings) session.out.warn(str_cat("warning: ", warning));
}

struct Metrics {
  std::string ref;
  std::vector<std::string> bare;

  void declare(Command& command) {
    command.argument("REF", ref, "tarn://repository/ref, or a ref in --repo")
        .option("--bare", bare,
                "a metadata key that counts as a metric without the prefix \"metric.\"; may be "
                "repeated");
  }
};

void metrics(Session& session, const Metrics& options) {
  const Uri uri = session.ref(options.ref);
  Request request{.path =
                      api_path({"repositories", uri.repository, "commits", uri.ref, "metrics"})};
  for (const std::string& name : options.bare) request.query.emplace_back("bare", name);
  const Json facts = session.client.call(request);
  ListWriter rows = session.out.list("MetricList", {"metric", "value", "origin"});
  for (const Json& metric : facts["metrics"]) {
    rows.add(metric,
             {metric_name(metric), number_text(metric["value"]), metric.value("origin", "")});
  }
  rows.finish();
  for (const Json& warning : facts["warnings"]) {
    session.out.warn(str_cat("warning: ", warning.get<std::string>()));
  }
}

struct Files {
  std::string repository;
  std::vector<std::string> set;

  void declare(Command& command) {
    command.optional_argument("REPOSITORY", repository, "tarn://NAME or NAME; default --repo")
        .option("--set", set,
                "replace the patterns of metric files; may be repeated. Everyone who may read runs "
                "sees the numbers in these files");
  }
};

void files(Session& session, const Files& options) {
  const Uri uri = session.repository(options.repository);
  const std::string path = api_path({"repositories", uri.repository, "settings", "metric_files"});
  if (!options.set.empty()) {
    session.client.call(put_request(path, Json{{"globs", options.set}}));
  }
  const Json now = session.client.call({.path = path});
  ListWriter rows = session.out.list("MetricFileList", {"pattern"});
  for (const Json& glob : now["globs"]) rows.add(glob, {glob.get<std::string>()});
  rows.finish();
}

}  // namespace

void add_exp_commands(CommandTree& tree) {
  tree.group("exp", "Experiments: runs and metrics");
  tree.add<Log>("exp log", "Record a run: what was measured of a commit", log_experiment);
  tree.add<ListExperiments>("exp ls", "List runs, newest first", list_experiments);
  tree.add<Label>("exp label", "Change the name, notes and tags of a run", label);
  tree.add<Metrics>("exp metrics", "Show the metrics of a commit from runs, metadata and files",
                    metrics);
  tree.add<Files>("exp files", "Show or set which files hold metrics", files);
}

}  // namespace tarn::cli
