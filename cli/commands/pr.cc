// tarn pr create | list | show | update | close | reopen | merge | approve | unapprove
#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/commands/commit_record.h"
#include "cli/exit_code.h"
#include "cli/message_editor.h"
#include "cli/session.h"
#include "core/base/str_cat.h"

namespace tarn::cli {
namespace {

constexpr std::string_view kIdHelp = "tarn://repository/12 with its number or id, or 12 in --repo";

std::string pull_path(const Uri& uri) {
  return api_path({"repositories", uri.repository, "pulls", uri.ref});
}

std::string pull_path(const Uri& uri, std::string_view below) {
  return api_path({"repositories", uri.repository, "pulls", uri.ref, below});
}

Json get_approvals(Client& client, const Uri& uri) {
  Json approvals = Json::array();
  client.each({.path = pull_path(uri, "approvals")}, [&](const Json& item) {
    approvals.push_back(item);
    return true;
  });
  return approvals;
}

void print_pull(Session& session, const Uri& uri) {
  Json pull = session.client.call({.path = pull_path(uri)});
  pull["repository"] = uri.repository;
  pull["approvals"] = get_approvals(session.client, uri);
  std::string approved;
  for (const Json& approval : pull["approvals"]) {
    approved += str_cat(approved.empty() ? "" : ", ", approval.value("user", ""),
                        approval.value("valid", false) ? "" : " (void)");
  }
  std::vector<std::pair<std::string, std::string>> lines = {
      {"pull request", to_string(Uri{uri.repository, pull.value("id", ""), ""})},
      {"number", str_cat("#", pull.value("number", 0))},
      {"title", pull.value("title", "")},
      {"status", pull.value("status", "")},
      {"source", pull.value("source_branch", "")},
      {"destination", pull.value("destination_branch", "")},
      {"author", pull.value("author", "")},
      {"approved by", approved}};
  if (pull.contains("merged_commit_id")) {
    lines.emplace_back("commit", pull.value("merged_commit_id", ""));
  }
  session.out.object("PullRequest", std::move(pull), lines);
}

struct CreatePullRequest {
  std::string source;
  std::string destination;
  std::string title;
  std::string description;

  void declare(Command& command) {
    command.argument("SOURCE", source, "tarn://repository/branch, or a branch in --repo")
        .optional_argument("DESTINATION", destination,
                           "the branch to merge into; default: the default branch")
        .option("-t,--title", title, "the title; without it, on a terminal, an editor opens")
        .option("-d,--description", description, "the description");
  }
};

void create_pull_request(Session& session, const CreatePullRequest& options) {
  const Uri source = session.ref(options.source);
  const Uri destination = session.with_default_branch(
      optional_ref_uri(options.destination, {source.repository, session.settings.branch.value}));
  need_same_repository(source, destination);
  std::string title = options.title;
  std::string description = options.description;
  if (title.empty() && may_edit(session)) {
    title = edit_message(
        "", str_cat("Title of the pull request from '", source.ref, "' into '", destination.ref,
                    "'; the lines below the first are its description"));
    const size_t end = std::min(title.find('\n'), title.size());
    if (description.empty()) description = message_in(std::string_view(title).substr(end));
    title.resize(end);
  }
  if (title.empty()) {
    throw usage_error("opening a pull request: give it a --title (on a terminal an editor opens)");
  }
  const Json body{{"title", title},
                  {"description", description},
                  {"source_branch", source.ref},
                  {"destination_branch", destination.ref}};
  const Json made = session.client.call(
      post_request(api_path({"repositories", source.repository, "pulls"}), body));
  print_pull(session, {source.repository, made.value("id", ""), ""});
}

struct ListPullRequests {
  std::string repository;
  std::string status = "open";

  void declare(Command& command) {
    command.optional_argument("REPOSITORY", repository, "tarn://NAME or NAME; default --repo")
        .option("--status", status, "open (default), closed (includes merged) or all");
  }
};

void list_pull_requests(Session& session, const ListPullRequests& options) {
  const Uri uri = session.repository(options.repository);
  const Request request{.path = api_path({"repositories", uri.repository, "pulls"}),
                        .query = {{"status", options.status}}};
  print_list(session, request, "PullRequestList",
             {"id", "number", "status", "source", "destination", "author", "title"},
             [](const Json& item) -> Cells {
               return {item.value("id", ""),
                       std::to_string(item.value("number", 0)),
                       item.value("status", ""),
                       item.value("source_branch", ""),
                       item.value("destination_branch", ""),
                       item.value("author", ""),
                       item.value("title", "")};
             });
}

struct PullRequestTarget {
  std::string id;

  void declare(Command& command) { command.argument("ID", id, std::string(kIdHelp)); }
};

void show_pull_request(Session& session, const PullRequestTarget& options) {
  print_pull(session, session.ref(options.id));
}

void change_pull_request(Session& session, const std::string& id, const Json& body) {
  const Uri uri = session.ref(id);
  session.client.call(with_body({.method = Method::kPatch, .path = pull_path(uri)}, body));
  print_pull(session, uri);
}

void close(Session& session, const PullRequestTarget& options) {
  change_pull_request(session, options.id, {{"status", "closed"}});
}

void reopen(Session& session, const PullRequestTarget& options) {
  change_pull_request(session, options.id, {{"status", "open"}});
}

struct Update {
  std::string id;
  std::string title;
  std::string description;

  void declare(Command& command) {
    command.argument("ID", id, std::string(kIdHelp))
        .option("-t,--title", title, "the new title")
        .option("-d,--description", description, "the new description");
  }
};

void update_pull_request(Session& session, const Update& options) {
  Json body = Json::object();
  if (!options.title.empty()) body["title"] = options.title;
  if (!options.description.empty()) body["description"] = options.description;
  if (body.empty()) throw usage_error("changing a pull request: give --title or --description");
  change_pull_request(session, options.id, body);
}

struct Merge {
  std::string id;
  std::string message;
  std::vector<std::string> metadata;
  std::string strategy;
  bool squash = false;

  void declare(Command& command) {
    command.argument("ID", id, std::string(kIdHelp))
        .option("-m,--message", message, "message of the commit; default: title and description")
        .option("--meta", metadata, "metadata of the commit, key=value; may be repeated")
        .option("--strategy", strategy, "resolve conflicts: source-wins or dest-wins")
        .flag("--squash", squash, "make one commit that does not have the source as a parent");
  }
};

void merge(Session& session, const Merge& options) {
  const Uri uri = session.ref(options.id);
  Json body{{"metadata", metadata_from(options.metadata)}, {"squash_merge", options.squash}};
  if (!options.message.empty()) body["message"] = options.message;
  if (!options.strategy.empty()) body["strategy"] = options.strategy;
  const Json made = session.client.call(put_request(pull_path(uri, "merge"), body));
  const std::string commit = made.value("reference", "");
  session.out.object("Merge", {{"reference", commit}, {"changed", true}}, {{"commit", commit}});
}

struct ApprovePullRequest {
  std::string id;
  std::string commit;

  void declare(Command& command) {
    command.argument("ID", id, std::string(kIdHelp))
        .condition("--commit", commit,
                   "the id of the source's head that was looked at: nothing is asked, and another "
                   "head is refused");
  }
};

/// Shows what would be approved, asks, and returns the head that was shown.
std::string ask_for_head(Session& session, const Uri& uri) {
  if (!session.terminal.may_prompt) {
    throw usage_error(
        str_cat("approving: there is nobody to ask; look at the changes of pull "
                "request ",
                uri.ref, " and add --commit with the id of the head of its source"));
  }
  const Json pull = session.client.call({.path = pull_path(uri)});
  const std::string source = pull.value("source_branch", "");
  const std::string head = get_commit_id(session.client, uri.repository, source);
  const std::string destination = pull.value("destination_branch", "");
  session.out.remark(str_cat(source, " to ", destination, ": ", pull.value("title", "")));
  session.out.remark(str_cat("by ", pull.value("author", ""), ", head ", head));
  session.out.remark(str_cat("changes: tarn diff ", destination, "...", head));
  session.confirm("Approve this head?", /*yes=*/false);
  return head;
}

void approve_pull_request(Session& session, const ApprovePullRequest& options) {
  const Uri uri = session.ref(options.id);
  const Json body{
      {"commit_id", options.commit.empty()
                        ? ask_for_head(session, uri)
                        : get_full_commit_id(session.client, uri.repository, options.commit)}};
  Json made = session.client.call(post_request(pull_path(uri, "approvals"), body));
  const std::string commit = made.value("commit_id", "");
  session.out.object("Approval", std::move(made), {{"commit", commit}});
}

void unapprove(Session& session, const PullRequestTarget& options) {
  const Uri uri = session.ref(options.id);
  session.client.call(delete_request(pull_path(uri, "approvals")));
  session.out.remark(str_cat("withdrew your approval of ", to_string(uri)));
}

}  // namespace

void add_pr_commands(CommandTree& tree) {
  tree.group("pr", "Pull requests");
  tree.add<CreatePullRequest>("pr create", "Create a pull request", create_pull_request);
  tree.add<ListPullRequests>("pr list", "List pull requests, newest first", list_pull_requests);
  tree.add<PullRequestTarget>("pr show", "Show a pull request and who approved it",
                              show_pull_request);
  tree.add<Update>("pr update", "Change title or description of a pull request",
                   update_pull_request);
  tree.add<PullRequestTarget>("pr close", "Close a pull request without merging it", close);
  tree.add<PullRequestTarget>("pr reopen", "Reopen a closed pull request", reopen);
  tree.add<Merge>("pr merge", "Merge a pull request", merge);
  tree.add<ApprovePullRequest>("pr approve",
                               "Approve a pull request at the current head of its source",
                               approve_pull_request);
  tree.add<PullRequestTarget>("pr unapprove", "Withdraw your approval of a pull request",
                              unapprove);
}

}  // namespace tarn::cli
