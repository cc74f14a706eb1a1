// tarn gc get-config | set-config | delete-config

#include <charconv>
#include <chrono>
#include <map>
#include <ostream>
#include <thread>

#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/exit_code.h"
#include "cli/session.h"
#include "core/base/str_cat.h"

namespace tarn::cli {
namespace {

struct SetCollectionRules {
  std::string repository;
  int64_t days = kNotGiven;
  std::vector<std::string> branches;

  void declare(Command& command) {
    command.optional_argument("REPOSITORY", repository, "tarn://NAME or NAME; default --repo")
        .option(
            "--days", days,
            "how long to keep history and what branches no longer show; those with a time of their "
            "own apart")
        .option("--branch-days", branches, "BRANCH=DAYS: one's own time; again for more");
  }
};

std::string rules_path(const Uri& uri) {
  return api_path({"repositories", uri.repository, "settings", "gc_rules"});
}

void show_collection_rules(Session& session, const InRepository& options) {
  const Json rules =
      session.client.call({.path = rules_path(session.repository(options.repository))});
  std::vector<std::pair<std::string, std::string>> lines{
      {"days", std::to_string(rules.value("default_retention_days", int64_t{0}))}};
  for (const Json& branch : rules.value("branches", Json::array())) {
    lines.emplace_back(branch.value("branch_id", ""),
                       std::to_string(branch.value("retention_days", int64_t{0})));
  }
  session.out.object("GarbageCollectionRules", rules, lines);
}

Json branch_rule(const std::string& word) {
  const size_t equals = word.rfind('=');
  int64_t days = 0;
  if (equals != std::string::npos && equals > 0) {
    const char* const end = word.data() + word.size();
    const auto [stop, error] = std::from_chars(word.data() + equals + 1, end, days);
    if (error == std::errc() && stop == end && days >= 0)
      return {{"branch_id", word.substr(0, equals)}, {"retention_days", days}};
  }
  throw usage_error(str_cat("reading --branch-days \"", word, "\": expected BRANCH=DAYS"));
}

void set_collection_rules(Session& session, const SetCollectionRules& options) {
  if (options.days < 0)
    throw usage_error("setting how long to keep things: --days (0 or more) is needed");
  Json rules{{"default_retention_days", options.days}, {"branches", Json::array()}};
  for (const std::string& word : options.branches) rules["branches"].push_back(branch_rule(word));
  const Uri uri = session.repository(options.repository);
  session.client.call(put_request(rules_path(uri), rules));
  show_collection_rules(session, {to_string(uri)});
}

void remove_collection_rules(Session& session, const InRepository& options) {
  const Uri uri = session.repository(options.repository);
  session.client.call(delete_request(rules_path(uri)));
  session.out.remark(str_cat("deleted the rules of ", to_string(uri)));
}

}  // namespace

void add_gc_commands(CommandTree& tree) {
  tree.group("gc", "Garbage collection: plan, run and reports; retention rules");
  tree.add<InRepository>("gc get-config", "Show the retention rules", show_collection_rules);
  tree.add<SetCollectionRules>("gc set-config", "Replace the retention rules",
                               set_collection_rules);
  tree.add<InRepository>("gc delete-config", "Delete the retention rules", remove_collection_rules);
  add_gc_run_commands(tree);
}

// tarn gc plan | run | cancel | expire | expired | status | report | log

namespace {

constexpr std::chrono::seconds kPollInterval{1};

std::string gc_path(const Uri& uri, std::string_view what) {
  return api_path({"repositories", uri.repository, "gc", what});
}

std::string number(const Json& item, const char* name) {
  return std::to_string(item.value(name, int64_t{0}));
}

std::string objects_and_bytes(const Json& item, const std::string& kind) {
  return str_cat(number(item, (kind + "_objects").c_str()), " objects, ",
                 size_in_words(item.value(kind + "_bytes", uint64_t{0})));
}

std::string size_of(const Json& group) {
  return str_cat(number(group, "objects"), " objects, ",
                 size_in_words(group.value("bytes", uint64_t{0})));
}

/// A line for each reason and branch.
void add_groups(const Json& item, const char* name,
                std::vector<std::pair<std::string, std::string>>& lines) {
  static const std::map<std::string, std::string> kReasons = {
      {"uncommitted", "never committed, overwritten or deleted"},
      {"commit", "in commits without a ref"},
      {"part", "parts of multipart objects"},
      {"repository", "of the deleted repository"},
      {"unknown", "for a reason that is not known"}};
  for (const Json& group : item.value(name, Json::array())) {
    const auto reason = kReasons.find(group.value("reason", "unknown"));
    std::string label = reason == kReasons.end() ? group.value("reason", "") : reason->second;
    if (group.contains("branch")) label += str_cat(", of branch ", group.value("branch", ""));
    lines.emplace_back(label, size_of(group));
  }
}

struct Plan {
  std::string repository;
  bool objects = false;

  void declare(Command& command) {
    command.optional_argument("REPOSITORY", repository, "tarn://NAME or NAME; default --repo")
        .flag("--objects", objects,
              "list the objects, a line of JSON each: path, size, time, reason, branch, and "
              "whether the next collection removes it");
  }
};

void plan(Session& session, const Plan& options) {
  const Uri uri = session.repository(options.repository);
  if (options.objects) {
    session.client.download({.path = gc_path(uri, "plan") + "/objects"},
                            [&](std::string_view piece) { session.out.data() << piece; });
    return;
  }
  Json figures = session.client.call({.path = gc_path(uri, "plan")});
  std::vector<std::pair<std::string, std::string>> lines = {
      {"stored", str_cat(number(figures, "stored_objects"), " objects, ",
                         number(figures, "live_objects"), " of them in use")},
      {"next collection removes", objects_and_bytes(figures, "due")},
      {"after their grace", objects_and_bytes(figures, "waiting")},
      {"commits without a ref", number(figures, "commits")},
      {"commits whose data expires", number(figures, "expiring_commits")},
      {"files of others, never removed", number(figures, "strangers")}};
  add_groups(figures, "groups", lines);
  for (const Json& age : figures.value("ages", Json::array())) {
    if (age.value("objects", int64_t{0}) == 0) continue;
    lines.emplace_back(age.contains("days_max")
                           ? str_cat("younger than ", number(age, "days_max"), " days")
                           : "older",
                       size_of(age));
  }
  session.out.object("GarbageCollectionPlan", std::move(figures), lines);
}

struct RunCollection {
  std::string repository;
  int64_t yes_delete = 0;
  bool adopt = false;
  bool wait = false;

  void declare(Command& command) {
    command.optional_argument("REPOSITORY", repository, "tarn://NAME or NAME; default --repo")
        .option("--yes-delete", yes_delete,
                "percentage of the objects that it may remove; default: the server's gc.share_max")
        .flag("--adopt", adopt,
              "take over a store that belongs to another database, of which this one is a copy: "
              "collections of the other refuse from then on")
        .flag("--wait", wait, "wait until it ends; fail if it does not succeed");
  }
};

std::vector<std::pair<std::string, std::string>> lines_of(const Json& run) {
  std::vector<std::pair<std::string, std::string>> lines = {
      {"run", number(run, "run")},
      {"state", run.value("state", "")},
      {"started", run.value("start_date", "")},
      {"asked for by", run.value("actor", "the schedule")},
      {"stored", str_cat(number(run, "stored_objects"), " objects, ", number(run, "live_objects"),
                         " of them in use")},
      {"removed", objects_and_bytes(run, "removed")},
      {"found for the first time", objects_and_bytes(run, "found")},
      {"waiting for their grace", objects_and_bytes(run, "waiting")},
      {"commits, nodes removed",
       str_cat(number(run, "removed_commits"), ", ", number(run, "removed_nodes"))}};
  if (run.value("failed_objects", int64_t{0}) > 0) {
    lines.emplace_back("not removed by the store", number(run, "failed_objects") + " objects");
  }
  if (run.contains("error")) lines.emplace_back("error", run.value("error", ""));
  if (run.contains("progress")) {
    const Json& progress = run["progress"];
    std::string text = number(progress, "done");
    if (progress.contains("total")) text += str_cat(" of about ", number(progress, "total"));
    if (progress.contains("rate_per_second")) {
      text += str_cat(", ", number(progress, "rate_per_second"), " a second");
    }
    if (progress.contains("seconds_left")) {
      text += str_cat(", about ", number(progress, "seconds_left"), " s left");
    }
    lines.emplace_back(str_cat("step: ", progress.value("step", "")), text);
  }
  return lines;
}

Json newest_run(Session& session, const Uri& uri) {
  const Json runs = session.client.call({.path = gc_path(uri, "runs"), .query = {{"amount", "1"}}});
  const Json results = runs.value("results", Json::array());
  Json newest = results.empty() ? Json::object() : results[0];
  newest["requested"] = runs.value("requested", false);
  for (const char* name : {"retry_date", "retries_left"}) {
    if (runs.contains(name)) newest[name] = runs[name];
  }
  return newest;
}

void add_next(const Json& newest, std::vector<std::pair<std::string, std::string>>& lines) {
  if (newest.contains("retry_date")) {
    lines.emplace_back("next", str_cat("a retry at ", newest.value("retry_date", ""), ", and ",
                                       number(newest, "retries_left"), " more if it fails"));
  } else if (newest.value("requested", false)) {
    lines.emplace_back("next", "asked for; it begins when earlier requests have ended");
  }
}

ExitCode run_collection(Session& session, const RunCollection& options) {
  const Uri uri = session.repository(options.repository);
  const int64_t before = newest_run(session, uri).value("run", int64_t{0});
  Json body = Json::object();
  if (options.yes_delete != 0) body["yes_delete"] = options.yes_delete;
  if (options.adopt) body["adopt"] = true;
  session.client.call(post_request(gc_path(uri, "runs"), body));
  if (!options.wait) {
    session.out.remark(str_cat("a server collects the garbage of ", to_string(uri),
                               " now; see: tarn gc status ", to_string(uri)));
    return ExitCode::kOk;
  }
  for (;;) {
    Json newest = newest_run(session, uri);
    if (newest.value("run", int64_t{0}) > before && newest.value("state", "") != "running") {
      const bool done = newest.value("state", "") == "done";
      auto lines = lines_of(newest);
      add_next(newest, lines);
      session.out.object("GarbageCollection", std::move(newest), lines);
      return done ? ExitCode::kOk : ExitCode::kFailure;
    }
    std::this_thread::sleep_for(kPollInterval);
  }
}

void status(Session& session, const InRepository& options) {
  const Uri uri = session.repository(options.repository);
  Json newest = newest_run(session, uri);
  std::vector<std::pair<std::string, std::string>> lines;
  if (newest.contains("run")) lines = lines_of(newest);
  if (!newest.contains("run")) lines.emplace_back("state", "never collected");
  add_next(newest, lines);
  session.out.object("GarbageCollection", std::move(newest), lines);
}

void cancel_collection(Session& session, const InRepository& options) {
  const Uri uri = session.repository(options.repository);
  session.client.call(delete_request(gc_path(uri, "runs")));
  session.out.remark(str_cat("asked the collection of ", to_string(uri),
                             " to end; see: tarn gc status ", to_string(uri)));
}

struct Report {
  std::string run;
  std::string repository;

  void declare(Command& command) {
    command.argument("RUN", run, "the number, as `gc log` shows it")
        .optional_argument("REPOSITORY", repository, "tarn://NAME or NAME; default --repo");
  }
};

void report(Session& session, const Report& options) {
  const Uri uri = session.repository(options.repository);
  Json found = session.client.call({.path = str_cat(gc_path(uri, "runs"), "/", options.run)});
  auto lines = lines_of(found);
  add_groups(found, "removed", lines);
  for (const Json& failure : found.value("failures", Json::array())) {
    lines.emplace_back("failure", failure.get<std::string>());
  }
  session.out.object("GarbageCollection", std::move(found), lines);
}

void log_collection(Session& session, const InRepository& options) {
  const Uri uri = session.repository(options.repository);
  print_list(session, {.path = gc_path(uri, "runs")}, "GarbageCollectionList",
             {"run", "state", "started", "stored", "found", "removed", "size", "commits"},
             [](const Json& item) -> Cells {
               return {number(item, "run"),
                       item.value("state", ""),
                       item.value("start_date", ""),
                       number(item, "stored_objects"),
                       number(item, "found_objects"),
                       number(item, "removed_objects"),
                       size_in_words(item.value("removed_bytes", uint64_t{0})),
                       number(item, "removed_commits")};
             });
}

struct Expire {
  std::string ref;
  std::string reason;

  void declare(Command& command) {
    command.argument("REF", ref, "tarn://repository/ref, or a ref in --repo")
        .option("--reason", reason, "why, for those who audit it later; needed");
  }
};

void expire(Session& session, const Expire& options) {
  const Uri uri = session.ref(options.ref);
  Json outcome = session.client.call(
      post_request(gc_path(uri, "expiries"), {{"ref", uri.ref}, {"reason", options.reason}}));
  std::string showing;
  for (const Json& branch : outcome.value("shown_by", Json::array())) {
    showing += str_cat(showing.empty() ? "" : ", ", branch.get<std::string>());
  }
  const bool freed = outcome.value("freed_objects", int64_t{0}) > 0;
  const std::vector<std::pair<std::string, std::string>> lines = {
      {"commit", outcome.value("commit_id", "")},
      {"showed", str_cat(number(outcome, "objects"), " objects")},
      {"of no other use", freed ? objects_and_bytes(outcome, "freed")
                                : "none: nothing is freed, all of it is in use elsewhere"},
      {"heads that show some", showing.empty() ? "none" : showing}};
  session.out.object("EarlyExpiry", std::move(outcome), lines);
}

void list_expired(Session& session, const InRepository& options) {
  const Uri uri = session.repository(options.repository);
  print_list(
      session, {.path = gc_path(uri, "expiries")}, "ExpiryList",
      {"commit", "date", "by", "rule", "reason"}, [&out = session.out](const Json& item) -> Cells {
        return {short_id(out, item.value("commit_id", "")), item.value("date", ""),
                item.value("actor", "the rules"), item.value("rule", ""), item.value("reason", "")};
      });
}

}  // namespace

void add_gc_run_commands(CommandTree& tree) {
  tree.add<Plan>("gc plan", "Show what garbage collection would remove (a dry run)", plan);
  tree.add<RunCollection>("gc run", "Start a garbage collection in the server", run_collection);
  tree.add<InRepository>("gc cancel", "Cancel the running garbage collection, or a requested one",
                         cancel_collection);
  tree.add<Expire>("gc expire", "Expire the data of a commit before its retention is over", expire);
  tree.add<InRepository>("gc expired", "List the commits whose data has expired", list_expired);
  tree.add<InRepository>("gc status", "Show the latest garbage collection and its progress",
                         status);
  tree.add<Report>("gc report", "Show the report of one garbage collection", report);
  tree.add<InRepository>("gc log", "List garbage collections, newest first", log_collection);
}

// tarn hold add | ls | rm

namespace {

std::string holds_path(const Uri& uri) {
  return api_path({"repositories", uri.repository, "gc", "holds"});
}

struct Add {
  std::string ref;
  std::string until;
  std::string reason;

  void declare(Command& command) {
    command
        .argument(
            "REF", ref,
            "tarn://repository/ref[/path], or a ref in --repo; of a path only the objects below "
            "it are kept")
        .option("--until", until,
                "a time as 2027-01-31T00:00:00Z, or 72h, 90d; default: until it is removed")
        .option("--reason", reason, "the reason, kept with the hold");
  }
};

void add(Session& session, const Add& options) {
  const bool full = options.ref.find("://") != std::string::npos;
  const Uri uri = full ? session.prefix(options.ref) : session.ref(options.ref);
  Json body{{"ref", uri.ref}, {"reason", options.reason}};
  if (!uri.path.empty()) body["path"] = uri.path;
  if (!options.until.empty()) body["until"] = options.until;
  Json hold = session.client.call(post_request(holds_path(uri), body));
  const std::vector<std::pair<std::string, std::string>> lines = {
      {"hold", hold.value("id", "")},
      {"commit", hold.value("commit_id", "")},
      {"until", hold.value("until", "it is removed")}};
  session.out.object("Hold", std::move(hold), lines);
}

void list_holds(Session& session, const InRepository& options) {
  const Uri uri = session.repository(options.repository);
  print_list(session, {.path = holds_path(uri)}, "HoldList",
             {"hold", "commit", "path", "until", "by", "reason"},
             [&out = session.out](const Json& item) -> Cells {
               return {item.value("id", ""),    short_id(out, item.value("commit_id", "")),
                       item.value("path", ""),  item.value("until", ""),
                       item.value("actor", ""), item.value("reason", "")};
             });
}

struct RemoveHold {
  std::string id;
  std::string repository;

  void declare(Command& command) {
    command.argument("ID", id, "as `hold ls` shows it")
        .optional_argument("REPOSITORY", repository, "tarn://NAME or NAME; default --repo");
  }
};

void remove_hold(Session& session, const RemoveHold& options) {
  const Uri uri = session.repository(options.repository);
  session.client.call(
      delete_request(api_path({"repositories", uri.repository, "gc", "holds", options.id})));
  session.out.remark(str_cat("removed ", options.id));
}

}  // namespace

void add_hold_commands(CommandTree& tree) {
  tree.group("hold", "Holds: commits that garbage collection keeps");
  tree.add<Add>("hold add", "Keep a commit and its ancestors from garbage collection", add);
  tree.add<InRepository>("hold ls", "List the holds of a repository", list_holds);
  tree.add<RemoveHold>("hold rm", "Remove a hold", remove_hold);
}

}  // namespace tarn::cli
