// tarn exp compare

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <map>

#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/commands/known_columns.h"
#include "cli/commands/promotion_record.h"
#include "cli/session.h"
#include "core/base/error.h"
#include "core/base/str_cat.h"
#include "core/base/text.h"

namespace tarn::cli {
namespace {

constexpr size_t kNumberBytesMax = 32;

struct Compare {
  std::vector<std::string> candidates;
  std::string baseline;
  std::string metrics;
  std::string policy;
  std::string params = "changed";
  bool no_objects = false;
  bool markdown = false;

  void declare(Command& command) {
    command
        .arguments("CANDIDATE", candidates,
                   "a branch, a glob of branches such as 'exp-*', or another ref in --repo")
        .option("--baseline", baseline, "the ref to compare with, such as @champion")
        .option("--metrics", metrics,
                "columns, such as accuracy:max,loss:min; the first one ranks; default: the metrics "
                "of the policy, or all")
        .option("--policy", policy,
                "a gate policy that defines which values are better where --metrics does not; "
                "default without --metrics: the repository's only one")
        .option("--params", params, "changed (default), all or none")
        .flag("--no-objects", no_objects, "do not count changed objects")
        .flag("--md", markdown, "same as -o md");
  }
};

/// Parses "accuracy:max": a name with a goal; the name may contain colons itself.
Json metric_from(std::string_view word, bool first) {
  Json metric = Json::object();
  const size_t colon = word.rfind(':');
  const std::string_view goal =
      colon == std::string_view::npos ? std::string_view() : word.substr(colon + 1);
  const bool has_goal = goal == "max" || goal == "min";
  metric["name"] = has_goal ? word.substr(0, colon) : word;
  if (has_goal) {
    metric["goal"] = goal;
    metric["primary"] = first;
  }
  return metric;
}

Json metrics_from(std::string_view list) {
  Json metrics = Json::array();
  bool ranked = false;
  while (!list.empty()) {
    const size_t comma = std::min(list.find(','), list.size());
    if (comma == 0) throw usage_error("--metrics: has an empty name");
    Json metric = metric_from(list.substr(0, comma), !ranked);
    ranked = ranked || metric.contains("goal");
    metrics.push_back(std::move(metric));
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return metrics;
}

std::string signed_text(const Json& delta) {
  // Six digits: most of a double's 17 digits are noise in a difference.
  char text[kNumberBytesMax];
  std::snprintf(text, sizeof text, "%+.6g", delta.get<double>());
  return text;
}

std::string value_of(const Json& row, const std::string& column) {
  const auto value = row["metrics"].find(column);
  if (value == row["metrics"].end()) return "";
  std::string text = number_text((*value)["value"]) + spread_text(*value);
  if (value->contains("delta")) text += str_cat(" (", signed_text((*value)["delta"]), ")");
  return text;
}

std::string params_text(const Json& row) {
  std::string text;
  for (const auto& [name, value] : row["params"].items()) {
    text += str_cat(text.empty() ? "" : " ", name, "=", value.get<std::string>());
  }
  return text;
}

std::string objects_text(const Json& row) {
  if (!row.contains("objects")) return "";
  const Json& objects = row["objects"];
  const auto count = [&](const char* name) { return objects[name].value("objects", int64_t{0}); };
  return str_cat("+", count("added"), " ~", count("changed"), " -", count("removed"), ", ",
                 size_in_words(objects["added"].value("bytes", uint64_t{0})),
                 objects.value("complete", true) ? "" : " and more");
}

std::string warnings_text(const Json& row) {
  return joined(row.value("warnings", std::vector<std::string>{}), "; ");
}

using Verdicts = std::map<std::string, std::string>;

/// The repository's only gate policy; "" = there is none, there are several, or the user may not
/// read them.
std::string single_policy(Session& session) {
  try {
    const Json page = session.client.call(
        {.path = api_path({"repositories", session.repository("").repository, "policies"}),
         .query = {{"amount", "2"}}});
    const Json& found = page["results"];
    return found.size() == 1 ? found[0].value("name", "") : "";
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kPermissionDenied) throw;
    return "";
  }
}

/// The answer of the gate for each candidate, by ref: "passed", or the rules that fail. Empty, with
/// a remark, where it cannot be asked.
Verdicts verdicts_of(Session& session, const std::string& policy, const Compare& options) {
  Verdicts out;
  if (policy.empty()) return out;
  try {
    const Json answer = session.client.call(post_request(
        api_path({"repositories", session.repository("").repository, "policies", policy}) +
            ":evaluate",
        {{"candidates", options.candidates}}));
    for (const Json& candidate : answer["results"]) {
      std::string text = candidate.value("verdict", "");
      for (const Json& rule : candidate["rules"]) {
        if (rule.value("outcome", "") == "fail") text += str_cat(" ", rule.value("rule", ""));
      }
      out[candidate.value("ref", "")] = text;
    }
  } catch (const Error& error) {
    session.out.remark(str_cat("the gate was not asked: ", error.message()));
  }
  return out;
}

/// The rows, the baseline first.
class Table {
 public:
  Table(Output& out, const Compare& options, const Json& first, Verdicts verdicts)
      : out_(out),
        verdicts_(std::move(verdicts)),
        objects_(!options.no_objects && first.contains("baseline")),
        params_(options.params != "none"),
        rows_(out.list("Comparison", columns_from(first))) {
    if (first.contains("baseline")) add(first["baseline"], "baseline", "");
  }

  void add(const Json& row) {
    if (!row.contains("rank")) return add(row, "", "");
    add(row, std::to_string(row.value("rank", int64_t{0})),
        row.value("dominated", false) ? "no" : "yes");
  }
  void finish() { rows_.finish(); }

 private:
  void add(const Json& row, const std::string& rank, const std::string& best) {
    Cells cells = {rank, best, row.value("ref", ""), short_id(out_, row.value("commit_id", ""))};
    for (const std::string& column : metrics_) cells.push_back(value_of(row, column));
    if (params_) cells.push_back(params_text(row));
    if (objects_) cells.push_back(objects_text(row));
    if (!verdicts_.empty()) {
      const auto verdict = verdicts_.find(row.value("ref", ""));
      cells.push_back(verdict == verdicts_.end() ? "" : verdict->second);
    }
    cells.push_back(warnings_text(row));
    rows_.add(row, std::move(cells));
  }

  Cells columns_from(const Json& first) {
    Cells columns = {"rank", "pareto", "candidate", "commit"};
    for (const Json& metric : first["metrics"]) metrics_.push_back(metric_name(metric));
    columns.insert(columns.end(), metrics_.begin(), metrics_.end());
    if (params_) columns.push_back("params");
    if (objects_) columns.push_back("objects");
    if (!verdicts_.empty()) columns.push_back("gate");
    columns.push_back("warnings");
    return columns;
  }

  const Output& out_;
  const Verdicts verdicts_;
  const bool objects_;
  const bool params_;
  std::vector<std::string> metrics_;
  ListWriter rows_;
};

/// Calls `each` with the answer for every page.
template <typename Each>
void each_page(Session& session, Json body, const Each& each) {
  const std::string path = api_path({"repositories", session.repository("").repository, "compare"});
  for (;;) {
    const Json answer = session.client.call(post_request(path, body));
    each(answer);
    if (!answer["pagination"].value("has_more", false)) return;
    body["after"] = answer["pagination"].value("next_offset", "");
  }
}

/// Refuses metrics of the request that exist nowhere; `first` is the first page of the answer.
void check_metrics(Session& session, const Json& asked, const Json& first) {
  std::vector<std::string> names;
  for (const Json& metric : asked) names.push_back("metrics." + metric.value("name", ""));
  KnownColumns known(session, session.repository(""), std::move(names));
  const auto add_all = [&](const Json& row) {
    for (const auto& [name, value] : row["metrics"].items()) known.add("metrics." + name);
  };
  if (first.contains("baseline")) add_all(first["baseline"]);
  for (const Json& row : first["results"]) add_all(row);
  known.check();
}

void compare_commits(Session& session, const Compare& options) {
  Json body{{"candidates", options.candidates},
            {"params", options.params},
            {"objects", !options.no_objects}};
  if (!options.baseline.empty()) body["baseline"] = options.baseline;
  std::string policy = options.policy;
  if (policy.empty() && options.metrics.empty()) {
    policy = single_policy(session);
    if (!policy.empty()) session.out.remark(str_cat("compared by policy ", policy));
  }
  if (!policy.empty()) body["policy"] = policy;
  const Json asked = metrics_from(options.metrics);
  if (!asked.empty()) body["metrics"] = asked;
  Output markdown(Format::kMarkdown, session.out.data(), std::cerr, /*quiet=*/false);
  Output& out = options.markdown ? markdown : session.out;
  if (out.format() == Format::kJson || out.format() == Format::kYaml) {
    Json whole;
    each_page(session, std::move(body), [&](const Json& answer) {
      if (whole.is_null()) {
        check_metrics(session, asked, answer);
        whole = answer;
      } else {
        for (const Json& row : answer["results"]) whole["results"].push_back(row);
      }
    });
    whole.erase("pagination");
    out.object("Comparison", std::move(whole), {});
    return;
  }
  std::unique_ptr<Table> table;
  each_page(session, std::move(body), [&](const Json& answer) {
    if (!table) {
      check_metrics(session, asked, answer);
      table = std::make_unique<Table>(out, options, answer, verdicts_of(session, policy, options));
      for (const Json& warning : answer["warnings"]) out.warn(warning.get<std::string>());
    }
    for (const Json& row : answer["results"]) table->add(row);
  });
  table->finish();
}

}  // namespace

void add_exp_compare_command(CommandTree& tree) {
  tree.add<Compare>("exp compare", "Compare candidates with each other and with a baseline",
                    compare_commits);
}

}  // namespace tarn::cli
