// tarn pr: pull requests, their reviews and their comments.
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

Json get_all(Client& client, const Uri& uri, std::string_view below) {
  Json items = Json::array();
  client.each({.path = pull_path(uri, below)}, [&](const Json& item) {
    items.push_back(item);
    return true;
  });
  return items;
}

/// The reviewers with that verdict, or without one: "ann, ben (outdated)".
std::string reviewers_with(const Json& reviewers, std::string_view verdict) {
  std::string out;
  for (const Json& reviewer : reviewers) {
    if (reviewer.value("verdict", "") != verdict) continue;
    out += str_cat(out.empty() ? "" : ", ", reviewer.value("user", ""),
                   reviewer.value("outdated", false) ? " (outdated)" : "");
  }
  return out;
}

void print_pull(Session& session, const Uri& uri) {
  Json pull = session.client.call({.path = pull_path(uri)});
  pull["repository"] = uri.repository;
  pull["approvals"] = get_all(session.client, uri, "approvals");
  pull["reviewers"] = get_all(session.client, uri, "reviewers");
  const Json& reviewers = pull["reviewers"];
  std::vector<std::pair<std::string, std::string>> lines = {
      {"pull request", to_string(Uri{uri.repository, pull.value("id", ""), ""})},
      {"number", str_cat("#", pull.value("number", 0))},
      {"title", pull.value("title", "")},
      {"status", pull.value("status", "")},
      {"source", pull.value("source_branch", "")},
      {"destination", pull.value("destination_branch", "")},
      {"author", pull.value("author", "")},
      {"approved by", reviewers_with(reviewers, "approved")},
      {"changes requested by", reviewers_with(reviewers, "changes_requested")},
      {"waits for", reviewers_with(reviewers, "")}};
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
  bool delete_source = false;

  void declare(Command& command) {
    command.argument("ID", id, std::string(kIdHelp))
        .option("-m,--message", message, "message of the commit; default: title and description")
        .option("--meta", metadata, "metadata of the commit, key=value; may be repeated")
        .option("--strategy", strategy, "resolve conflicts: source-wins or dest-wins")
        .flag("--squash", squash, "make one commit that does not have the source as a parent")
        .flag("--delete-source", delete_source,
              "delete the source branch afterwards, unless it has moved or is in use");
  }
};

void merge(Session& session, const Merge& options) {
  const Uri uri = session.ref(options.id);
  Json body{{"metadata", metadata_from(options.metadata)}, {"squash_merge", options.squash}};
  if (options.delete_source) body["delete_source_branch"] = true;
  if (!options.message.empty()) body["message"] = options.message;
  if (!options.strategy.empty()) body["strategy"] = options.strategy;
  const Json made = session.client.call(put_request(pull_path(uri, "merge"), body));
  const std::string commit = made.value("reference", "");
  Json shown{{"reference", commit}, {"changed", true}};
  if (options.delete_source) {
    shown["source_branch_deleted"] = made.value("source_branch_deleted", false);
    const std::string kept = made.value("source_branch_kept", "");
    if (!kept.empty()) session.out.warn(str_cat("the source branch stays: ", kept));
  }
  session.out.object("Merge", std::move(shown), {{"commit", commit}});
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

/// Shows what would be reviewed, asks, and returns the head that was shown.
std::string ask_for_head(Session& session, const Uri& uri, const std::string& question) {
  if (!session.terminal.may_prompt) {
    throw usage_error(
        str_cat("reviewing: there is nobody to ask; look at the changes of pull "
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
  session.confirm(question, /*yes=*/false);
  return head;
}

void approve_pull_request(Session& session, const ApprovePullRequest& options) {
  const Uri uri = session.ref(options.id);
  const Json body{
      {"commit_id", options.commit.empty()
                        ? ask_for_head(session, uri, "Approve this head?")
                        : get_full_commit_id(session.client, uri.repository, options.commit)}};
  Json made = session.client.call(post_request(pull_path(uri, "approvals"), body));
  const std::string commit = made.value("commit_id", "");
  session.out.object("Approval", std::move(made), {{"commit", commit}});
}

struct RequestChanges {
  std::string id;
  std::string commit;
  std::string message;

  void declare(Command& command) {
    command.argument("ID", id, std::string(kIdHelp))
        .condition("--commit", commit, "the id of the source's head that was looked at")
        .option("-m,--message", message, "what must change, as a comment");
  }
};

void request_changes(Session& session, const RequestChanges& options) {
  if (options.message.empty()) throw usage_error("requesting changes: give it a --message");
  const Uri uri = session.ref(options.id);
  const std::string commit =
      options.commit.empty() ? ask_for_head(session, uri, "Request changes of this head?")
                             : get_full_commit_id(session.client, uri.repository, options.commit);
  // The reason comes first: a review without one helps nobody.
  session.client.call(
      post_request(pull_path(uri, "comments"), {{"body", options.message}, {"commit_id", commit}}));
  Json made = session.client.call(post_request(
      pull_path(uri, "reviews"), {{"verdict", "changes_requested"}, {"commit_id", commit}}));
  session.out.object("Review", std::move(made), {{"commit", commit}});
}

struct AskReviewers {
  std::string id;
  std::vector<std::string> users;

  void declare(Command& command) {
    command.argument("ID", id, std::string(kIdHelp))
        .optional_arguments("USER", users, "who is asked; nobody else is then");
  }
};

void ask_reviewers(Session& session, const AskReviewers& options) {
  const Uri uri = session.ref(options.id);
  session.client.call(put_request(pull_path(uri, "reviewers"), {{"users", options.users}}));
  print_pull(session, uri);
}

struct Comment {
  std::string id;
  std::string message;
  std::string path;
  std::string commit;
  int64_t line = 0;
  int64_t row = 0;
  int64_t reply_to = 0;

  void declare(Command& command) {
    command.argument("ID", id, std::string(kIdHelp))
        .option("-m,--message", message, "the text; @NAME is passed on to webhooks")
        .option("--path", path, "an object of the source that it is about")
        .option("--line", line, "a line of that object")
        .option("--row", row, "a row of that object, which is a table")
        .option("--commit", commit, "the source's head that was looked at; needed with --path")
        .option("--reply-to", reply_to, "the comment that began the thread to answer in");
  }
};

void comment(Session& session, const Comment& options) {
  if (options.message.empty()) throw usage_error("commenting: give it a --message");
  const Uri uri = session.ref(options.id);
  Json body{{"body", options.message}};
  if (!options.path.empty()) body["path"] = options.path;
  if (options.line != 0) body["line"] = options.line;
  if (options.row != 0) body["row"] = options.row;
  if (options.reply_to != 0) body["reply_to"] = options.reply_to;
  if (!options.commit.empty()) {
    body["commit_id"] = get_full_commit_id(session.client, uri.repository, options.commit);
  }
  Json made = session.client.call(post_request(pull_path(uri, "comments"), body));
  const std::string id = std::to_string(made.value("id", 0));
  session.out.object("Comment", std::move(made), {{"comment", id}});
}

void list_comments(Session& session, const PullRequestTarget& options) {
  print_list(session, {.path = pull_path(session.ref(options.id), "comments")}, "CommentList",
             {"id", "thread", "author", "where", "state", "text"}, [](const Json& item) -> Cells {
               std::string where = item.value("path", "");
               for (const char* part : {"line", "row"}) {
                 if (item.contains(part)) where += str_cat(" ", part, " ", item.value(part, 0));
               }
               std::string state = item.contains("resolved_by") ? "resolved" : "";
               if (item.value("outdated", false))
                 state += state.empty() ? "outdated" : ", outdated";
               return {std::to_string(item.value("id", 0)),
                       std::to_string(item.value("thread", 0)),
                       item.value("author", ""),
                       where,
                       state,
                       item.value("body", "")};
             });
}

struct CommentTarget {
  std::string id;
  std::string comment;

  void declare(Command& command) {
    command.argument("ID", id, std::string(kIdHelp)).argument("COMMENT", comment, "its number");
  }
};

std::string comment_path(const Uri& uri, const std::string& comment) {
  return api_path({"repositories", uri.repository, "pulls", uri.ref, "comments", comment});
}

void resolve_thread(Session& session, const CommentTarget& options, bool resolved) {
  const Uri uri = session.ref(options.id);
  session.client.call(
      with_body({.method = Method::kPatch, .path = comment_path(uri, options.comment)},
                {{"resolved", resolved}}));
  session.out.remark(
      str_cat(resolved ? "resolved" : "opened", " the thread of comment ", options.comment));
}

struct EditComment {
  CommentTarget target;
  std::string message;

  void declare(Command& command) {
    target.declare(command);
    command.option("-m,--message", message, "the new text");
  }
};

void edit_comment(Session& session, const EditComment& options) {
  if (options.message.empty()) throw usage_error("changing a comment: give it a --message");
  const Uri uri = session.ref(options.target.id);
  session.client.call(
      with_body({.method = Method::kPatch, .path = comment_path(uri, options.target.comment)},
                {{"body", options.message}}));
  session.out.remark(str_cat("changed comment ", options.target.comment));
}

void delete_comment(Session& session, const CommentTarget& options) {
  const Uri uri = session.ref(options.id);
  session.client.call(delete_request(comment_path(uri, options.comment)));
  session.out.remark(str_cat("deleted comment ", options.comment));
}

void unapprove(Session& session, const PullRequestTarget& options) {
  const Uri uri = session.ref(options.id);
  session.client.call(delete_request(pull_path(uri, "reviews")));
  session.out.remark(str_cat("withdrew your review of ", to_string(uri)));
}

}  // namespace

void add_pr_commands(CommandTree& tree) {
  tree.group("pr", "Pull requests");
  tree.add<CreatePullRequest>("pr create", "Create a pull request", create_pull_request);
  tree.add<ListPullRequests>("pr list", "List pull requests, newest first", list_pull_requests);
  tree.add<PullRequestTarget>("pr show", "Show a pull request and its reviews", show_pull_request);
  tree.add<Update>("pr update", "Change title or description of a pull request",
                   update_pull_request);
  tree.add<PullRequestTarget>("pr close", "Close a pull request without merging it", close);
  tree.add<PullRequestTarget>("pr reopen", "Reopen a closed pull request", reopen);
  tree.add<Merge>("pr merge", "Merge a pull request", merge);
  tree.add<ApprovePullRequest>("pr approve",
                               "Approve a pull request at the current head of its source",
                               approve_pull_request);
  tree.add<RequestChanges>("pr request-changes",
                           "Say what must change; stops the merge where a rule wants approvals",
                           request_changes);
  tree.add<PullRequestTarget>("pr unapprove", "Withdraw your review of a pull request", unapprove);
  tree.add<AskReviewers>("pr reviewers", "Ask these users for reviews of a pull request",
                         ask_reviewers);
  tree.group("pr comment", "Comments on a pull request");
  tree.add<Comment>("pr comment add", "Comment on a pull request, or answer a comment", comment);
  tree.add<PullRequestTarget>("pr comment list", "List comments, oldest first", list_comments);
  tree.add<EditComment>("pr comment edit", "Change your comment", edit_comment);
  tree.add<CommentTarget>("pr comment delete", "Delete your comment", delete_comment);
  tree.add<CommentTarget>("pr comment resolve", "Resolve the thread that a comment began",
                          [](Session& session, const CommentTarget& options) {
                            resolve_thread(session, options, true);
                          });
  tree.add<CommentTarget>("pr comment unresolve", "Open a resolved thread again",
                          [](Session& session, const CommentTarget& options) {
                            resolve_thread(session, options, false);
                          });
}

}  // namespace tarn::cli
