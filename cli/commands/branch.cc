// tarn branch create | list | show | delete | rename | rebase | reset

#include <algorithm>

#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/commands/commit_record.h"
#include "cli/commands/operation.h"
#include "cli/session.h"
#include "core/base/error.h"
#include "core/base/str_cat.h"

namespace tarn::cli {
namespace {

std::string branch_path(const Uri& uri) {
  return api_path({"repositories", uri.repository, "branches", uri.ref});
}

/// `expires`: "" = never.
void print_branch(Output& out, const Uri& uri, const std::string& commit, const char* outcome,
                  const std::string& expires = "") {
  Json fields{{"id", uri.ref}, {"commit_id", commit}, {"repository", uri.repository}};
  if (!expires.empty()) fields["expires"] = expires;
  if (outcome != nullptr) {
    fields["changed"] = std::string_view(outcome) != "unchanged";
    fields["outcome"] = outcome;
  }
  std::vector<std::pair<std::string, std::string>> lines{{"branch", to_string(uri)},
                                                         {"commit", commit}};
  if (!expires.empty()) lines.emplace_back("expires", expires);
  out.object("Branch", std::move(fields), lines);
}

struct CreateBranch {
  std::string branch;
  std::string source;
  bool if_not_exists = false;
  bool reset_if_exists = false;
  bool hidden = false;
  std::string expires;

  void declare(Command& command) {
    command.argument("BRANCH", branch, "tarn://repository/branch, or a name in --repo")
        .option(
            "-s,--source", source,
            "the branch, tag, commit or ref expression from which it starts; default: the default "
            "branch of the repository")
        .flag("--if-not-exists", if_not_exists,
              "succeed if the branch exists already, at whatever commit")
        .flag("--reset-if-exists", reset_if_exists,
              "if the branch exists, move it to the source and set its expiry")
        .flag("--hidden", hidden, "hide the branch from listings")
        .option("--expires", expires,
                "the server deletes the branch after a duration (90m, 72h, 14d) or at a time "
                "(2026-11-20T08:00:00Z)");
  }
};

void reset_uncommitted(Client& client, const Uri& uri, const Json& body) {
  client.call(put_request(branch_path(uri), body));
}

void move_to(Client& client, const Uri& uri, const std::string& source) {
  reset_uncommitted(client, uri, {{"type", "reset"}});
  client.call({.method = Method::kPut,
               .path = branch_path(uri) + "/hard_reset",
               .query = {{"ref", source}}});
}

void create_branch(Session& session, const CreateBranch& options) {
  const Uri uri = session.ref(options.branch);
  const Uri source =
      session.with_default_branch(optional_ref_uri(options.source, {uri.repository, ""}));
  need_same_repository(uri, source);
  Json body{{"name", uri.ref}, {"source", source.ref}, {"hidden", options.hidden}};
  if (!options.expires.empty()) body["expires"] = options.expires;
  const Answer answer = session.client.ask(
      post_request(api_path({"repositories", uri.repository, "branches"}), body));
  if (answer.ok()) {
    print_branch(session.out, uri, answer.body, "created");
    return;
  }
  const Error error = error_from(answer);
  const bool exists = error.code() == ErrorCode::kAlreadyExists;
  if (!exists || (!options.if_not_exists && !options.reset_if_exists)) throw error;
  if (options.reset_if_exists) move_to(session.client, uri, source.ref);
  if (options.reset_if_exists && !options.expires.empty()) {
    session.client.call(
        put_request(branch_path(uri) + "/expiry", Json{{"expires", options.expires}}));
  }
  const Json branch = session.client.call({.path = branch_path(uri)});
  print_branch(session.out, uri, branch.value("commit_id", ""),
               options.reset_if_exists ? "reset" : "unchanged", branch.value("expires", ""));
}

struct ListBranches {
  std::string repository;
  std::string prefix;
  bool all = false;

  void declare(Command& command) {
    command.optional_argument("REPOSITORY", repository, "tarn://NAME or NAME; default --repo")
        .option("--prefix", prefix, "only names that begin with this prefix")
        .flag("-a,--all", all, "include hidden branches");
  }
};

void list_branches(Session& session, const ListBranches& options) {
  const Uri uri = session.repository(options.repository);
  const Request request{
      .path = api_path({"repositories", uri.repository, "branches"}),
      .query = {{"prefix", options.prefix}, {"show_hidden", options.all ? "true" : "false"}}};
  print_list(session, request, "BranchList", {"branch", "commit"}, [](const Json& item) -> Cells {
    return {item.value("id", ""), item.value("commit_id", "")};
  });
}

struct ShowBranch {
  std::string branch;

  void declare(Command& command) {
    command.optional_argument(
        "BRANCH", branch,
        "tarn://repository/branch, or a name in --repo; default: the default branch");
  }
};

void show_branch(Session& session, const ShowBranch& options) {
  const Uri uri = session.ref_or_default(options.branch);
  const Json branch = session.client.call({.path = branch_path(uri)});
  print_branch(session.out, uri, branch.value("commit_id", ""), nullptr,
               branch.value("expires", ""));
}

struct DeleteBranch {
  std::string branch;
  std::string expect;
  bool unused = false;
  bool yes = false;

  void declare(Command& command) {
    command.argument("BRANCH", branch, "tarn://repository/branch, or a name in --repo")
        .condition("--expect", expect, "fail unless the branch is at this commit now")
        .flag("--unused", unused,
              "fail if the branch is in use: it has uncommitted changes, open uploads, or what "
              "else tarn branch stale lists")
        .flag("-y,--yes", yes, "do not ask for confirmation");
  }
};

void remove_branch(Session& session, const DeleteBranch& options) {
  const Uri uri = session.ref(options.branch);
  session.confirm(str_cat("Delete branch ", to_string(uri), " and its uncommitted changes?"),
                  options.yes);
  Request request = delete_request(branch_path(uri));
  if (!options.expect.empty()) {
    request.query.emplace_back("expect",
                               get_commit_id(session.client, uri.repository, options.expect));
  }
  if (options.unused) request.query.emplace_back("unused", "true");
  session.client.call(request);
  session.out.remark(str_cat("deleted ", to_string(uri)));
}

struct RenameBranch {
  std::string branch;
  std::string name;

  void declare(Command& command) {
    command.argument("BRANCH", branch, "tarn://repository/branch, or a name in --repo")
        .argument("NEW", name, "the new name");
  }
};

void rename_branch(Session& session, const RenameBranch& options) {
  const Uri uri = session.ref(options.branch);
  const Uri renamed = ref_uri(options.name, {uri.repository, ""});
  need_same_repository(uri, renamed);
  const Json branch =
      session.client.call(post_request(branch_path(uri) + "/rename", Json{{"name", renamed.ref}}));
  print_branch(session.out, renamed, branch.value("commit_id", ""), "renamed",
               branch.value("expires", ""));
}

struct RebaseOptions {
  std::string branch;
  std::string onto;
  std::string strategy;
  bool async = false;

  void declare(Command& command) {
    command.argument("BRANCH", branch, "tarn://repository/branch, or a name in --repo")
        .option("--onto", onto,
                "the ref on which its commits are made again; default: the default "
                "branch of the repository")
        .option(
            "--strategy", strategy,
            "where both changed a path: source-wins keeps the side of the branch, dest-wins the "
            "other")
        .flag("--async", async,
              "do not wait for a slow request; print the id of its background operation");
  }
};

void rebase(Session& session, const RebaseOptions& options) {
  const Uri uri = session.ref(options.branch);
  const Uri onto =
      session.with_default_branch(optional_ref_uri(options.onto, {uri.repository, ""}));
  need_same_repository(uri, onto);
  Json body{{"onto", onto.ref}};
  if (!options.strategy.empty()) body["strategy"] = options.strategy;
  Request request = post_request(branch_path(uri) + "/rebase", body);
  if (options.async) request.headers = no_wait();
  const Answer answer = session.client.ask(request);
  if (print_when_deferred(session, answer)) return;
  Json done = json_of(answer);
  const std::string head = done.value("id", "");
  const bool changed = head != done.value("before", "");
  done["changed"] = changed;
  std::vector<std::pair<std::string, std::string>> lines{{"branch", to_string(uri)},
                                                         {"commit", head}};
  if (changed) {
    lines.emplace_back("before", done.value("before", ""));
    lines.emplace_back("made again", std::to_string(done.at("commits").size()));
    lines.emplace_back("left out", std::to_string(done.at("left_out").size()));
  }
  session.out.object("Rebase", done, lines);
}

struct Reset {
  std::string branch;
  std::string to;
  std::string object;
  std::string prefix;
  bool yes = false;

  void declare(Command& command) {
    command.optional_argument("BRANCH", branch, "tarn://repository/branch, or a name in --repo")
        .option("--to", to, "also move the branch to this ref; later commits leave its history")
        .option("--object", object, "only this object")
        .option("--prefix", prefix, "only paths that begin with this prefix")
        .flag("-y,--yes", yes, "do not ask for confirmation");
  }
};

/// Changes that a question counts: one page of them.
constexpr std::string_view kCountedMax = "1000";

/// "37 uncommitted changes of tarn://lake/main"; of paths that begin with the prefix.
std::string uncommitted_changes(Session& session, const Uri& uri, const std::string& prefix = "") {
  const Json page =
      session.client.call({.path = branch_path(uri) + "/diff",
                           .query = {{"amount", std::string(kCountedMax)}, {"prefix", prefix}}});
  const size_t count = page.at("results").size();
  const bool more = page.value("/pagination/has_more"_json_pointer, false);
  return str_cat(count, more ? " or more" : "", " uncommitted change", count == 1 ? "" : "s",
                 " of ", to_string(uri));
}

void move_away(Session& session, const Uri& uri, const Reset& options) {
  const Uri to = ref_uri(options.to, {uri.repository, ""});
  need_same_repository(uri, to);
  if (!options.yes) {
    session.confirm(
        str_cat("Drop ", uncommitted_changes(session, uri), " and move it to ", to.ref, "?"),
        false);
  }
  // Resolve the ref first: if that fails, the uncommitted changes must not be lost.
  const std::string commit = get_commit_id(session.client, uri.repository, to.ref);
  move_to(session.client, uri, commit);
  print_branch(session.out, uri, commit, "reset");
}

void reset(Session& session, const Reset& options) {
  const Uri uri = session.ref(options.branch);
  const auto given = {!options.to.empty(), !options.object.empty(), !options.prefix.empty()};
  if (std::count(given.begin(), given.end(), true) > 1) {
    throw usage_error("resetting a branch: --to, --object and --prefix exclude each other");
  }
  if (!options.to.empty()) return move_away(session, uri, options);
  Json body{{"type", "reset"}};
  if (!options.object.empty()) body = {{"type", "object"}, {"path", options.object}};
  if (!options.prefix.empty()) body = {{"type", "common_prefix"}, {"path", options.prefix}};
  if (!options.yes) {
    const std::string changes =
        options.object.empty()
            ? uncommitted_changes(session, uri, options.prefix)
            : str_cat("the uncommitted change of ", options.object, " of ", to_string(uri));
    session.confirm(str_cat("Drop ", changes, "?"), false);
  }
  reset_uncommitted(session.client, uri, body);
  session.out.remark(str_cat("uncommitted changes of ", to_string(uri), " dropped"));
}

}  // namespace

void add_branch_commands(CommandTree& tree) {
  tree.group("branch", "Branches");
  tree.add<CreateBranch>("branch create", "Create a branch; no bytes are copied", create_branch);
  tree.add<ListBranches>("branch list", "List branches", list_branches);
  tree.add<ShowBranch>("branch show", "Show a branch", show_branch);
  tree.add<DeleteBranch>("branch delete",
                         "Delete a branch; its commits stay until they are collected as garbage",
                         remove_branch);
  tree.add<RenameBranch>("branch rename",
                         "Give a branch another name, with its uncommitted changes, open uploads, "
                         "rules and pull requests",
                         rename_branch);
  tree.add<RebaseOptions>(
      "branch rebase", "Make the commits of a branch again on another ref, by reference", rebase);
  tree.add<Reset>("branch reset", "Discard uncommitted changes, or move a branch to another commit",
                  reset);
}

// tarn branch stale; tarn branch cleanup show | set | remove

namespace {

constexpr int64_t kDaysNotGiven = -1;

std::string cleanup_path(const Uri& uri) {
  return api_path({"repositories", uri.repository, "settings", "branch_cleanup"});
}

struct Stale {
  std::string repository;
  std::string prefix;
  int64_t days = kDaysNotGiven;

  void declare(Command& command) {
    command.optional_argument("REPOSITORY", repository, "tarn://NAME or NAME; default --repo")
        .option("--days", days, "without a commit for so many days (what the rules say, else 30)")
        .option("--prefix", prefix, "only names that begin with this prefix");
  }
};

/// "2026-12-01T00:00:00Z (announced)", "kept: it has an open pull request", or "".
std::string fate_of(const Json& branch) {
  if (branch.contains("kept_because")) {
    return str_cat("kept: ", branch["kept_because"].get<std::string>());
  }
  if (!branch.contains("deletes_at")) return "";
  return str_cat(branch["deletes_at"].get<std::string>(),
                 branch.value("announced", false) ? " (announced)" : "");
}

void stale(Session& session, const Stale& options) {
  const Uri uri = session.repository(options.repository);
  Request request{.path = api_path({"repositories", uri.repository, "stale_branches"}),
                  .query = {{"prefix", options.prefix}}};
  if (options.days != kDaysNotGiven)
    request.query.emplace_back("days", std::to_string(options.days));
  print_list(session, request, "StaleBranchList", {"branch", "idle days", "why", "is deleted"},
             [](const Json& item) -> Cells {
               std::string why;
               for (const Json& reason : item.at("reasons")) {
                 why += str_cat(why.empty() ? "" : " ", reason.get<std::string>());
               }
               return {item.value("id", ""), std::to_string(item.value("idle_days", int64_t{0})),
                       why, fate_of(item)};
             });
}

struct CleanupRulesOf {
  std::string repository;

  void declare(Command& command) {
    command.optional_argument("REPOSITORY", repository, "tarn://NAME or NAME; default --repo");
  }
};

std::string days_in(const Json& rule, const char* name) {
  return rule.contains(name) ? std::to_string(rule[name].get<int64_t>()) : "";
}

void print_rules(Session& session, const Json& rules) {
  ListWriter rows = session.out.list(
      "BranchCleanup", {"pattern", "stale after", "losers", "deleted after", "notice"});
  for (const Json& rule : rules.at("rules")) {
    rows.add(rule, {rule.value("pattern", ""), days_in(rule, "stale_days"),
                    rule.value("losers", false) ? "stale" : "", days_in(rule, "expire_days"),
                    days_in(rule, "notice_days")});
  }
  rows.finish();
}

void show_cleanup_rule(Session& session, const CleanupRulesOf& options) {
  const Uri uri = session.repository(options.repository);
  print_rules(session, session.client.call({.path = cleanup_path(uri)}));
}

struct Rule {
  std::string pattern;
  std::string repository;
  int64_t stale = 0;
  int64_t expire = 0;
  int64_t notice = kDaysNotGiven;
  int64_t most = kDaysNotGiven;
  bool losers = false;

  void declare(Command& command) {
    command.argument("PATTERN", pattern, "a pattern of names: 'exp-*'")
        .optional_argument("REPOSITORY", repository, "tarn://NAME or NAME; default --repo")
        .option("--stale-days", stale, "name branches stale after so many days without a commit")
        .flag("--losers", losers, "name branches stale that lost a promotion")
        .option("--expire-days", expire, "delete branches after so many days without a commit")
        .option("--notice-days", notice, "tell of a deletion so many days before (7)")
        .option("--deletions-max", most,
                "announce at most so many deletions in an hour, by all rules");
  }
};

/// Replaces the rule of the pattern where it stands, or adds it as the last one.
void set_cleanup_rule(Session& session, const Rule& options) {
  const Uri uri = session.repository(options.repository);
  Json rule{{"pattern", options.pattern}};
  if (options.stale > 0) rule["stale_days"] = options.stale;
  if (options.losers) rule["losers"] = true;
  if (options.expire > 0) rule["expire_days"] = options.expire;
  if (options.notice != kDaysNotGiven) rule["notice_days"] = options.notice;
  Json all = session.client.call({.path = cleanup_path(uri)});
  Json& rules = all.at("rules");
  const auto there = std::find_if(rules.begin(), rules.end(), [&](const Json& one) {
    return one.value("pattern", "") == options.pattern;
  });
  if (there == rules.end()) {
    rules.push_back(std::move(rule));
  } else {
    *there = std::move(rule);
  }
  if (options.most != kDaysNotGiven) all["deletions_max"] = options.most;
  print_rules(session, session.client.call(put_request(cleanup_path(uri), all)));
}

struct Removal {
  std::string pattern;
  std::string repository;

  void declare(Command& command) {
    command.argument("PATTERN", pattern, "the pattern of the rule")
        .optional_argument("REPOSITORY", repository, "tarn://NAME or NAME; default --repo");
  }
};

void remove_cleanup_rule(Session& session, const Removal& options) {
  const Uri uri = session.repository(options.repository);
  Json all = session.client.call({.path = cleanup_path(uri)});
  Json& rules = all.at("rules");
  const auto there = std::find_if(rules.begin(), rules.end(), [&](const Json& one) {
    return one.value("pattern", "") == options.pattern;
  });
  if (there == rules.end()) {
    throw Error(ErrorCode::kNotFound, str_cat("rule \"", options.pattern, "\": not found"));
  }
  rules.erase(there);
  session.client.call(put_request(cleanup_path(uri), all));
  session.out.remark("removed the rule");
}

}  // namespace

void add_branch_cleanup_commands(CommandTree& tree) {
  tree.add<Stale>("branch stale",
                  "List branches that are no longer used, and when rules delete them", stale);
  tree.group("branch cleanup", "Rules for branches that are no longer used");
  tree.add<CleanupRulesOf>("branch cleanup show", "Show the rules", show_cleanup_rule);
  tree.add<Rule>("branch cleanup set", "Set the rule of a pattern", set_cleanup_rule);
  tree.add<Removal>("branch cleanup remove", "Remove the rule of a pattern", remove_cleanup_rule);
}

}  // namespace tarn::cli
