// tarn branch create | list | show | delete | reset
#include <algorithm>

#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/commands/commit_record.h"
#include "cli/session.h"
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
  tree.add<Reset>("branch reset", "Discard uncommitted changes, or move a branch to another commit",
                  reset);
}

}  // namespace tarn::cli
