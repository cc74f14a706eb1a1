// tarn tag create | list | show | delete
#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/commands/commit_record.h"
#include "cli/commands/list_record.h"
#include "cli/session.h"
#include "core/base/str_cat.h"

namespace tarn::cli {
namespace {

std::string tag_path(const Uri& uri) {
  return api_path({"repositories", uri.repository, "tags", uri.ref});
}

void print_tag(Output& out, const Uri& uri, Json tag) {
  const std::string commit = tag.value("commit_id", "");
  tag["repository"] = uri.repository;
  out.object("Tag", std::move(tag), {{"tag", to_string(uri)}, {"commit", commit}});
}

struct Create {
  std::string tag;
  std::string ref;
  bool if_not_exists = false;
  bool force = false;
};

void declare_create(Command& command, Create& options) {
  command.argument("TAG", options.tag, "tarn://repository/tag, or a name in --repo")
      .optional_argument("REF", options.ref,
                         "what it names: branch, commit or expression; default --branch")
      .flag("--if-not-exists", options.if_not_exists,
            "one that is there already is fine if it names the same commit")
      .flag("-f,--force", options.force, "one that is there already is moved");
}

Answer post_tag(Client& client, const Uri& uri, const std::string& ref) {
  return client.ask({.method = Method::kPost,
                     .path = api_path({"repositories", uri.repository, "tags"}),
                     .json = Json{{"id", uri.ref}, {"ref", ref}}.dump()});
}

/// The commit is looked up before the old tag goes, which would be lost for a ref that is not
/// there.
Answer replace_tag(Client& client, const Uri& uri, const std::string& ref) {
  const std::string commit = get_commit_id(client, uri.repository, ref);
  const Answer removed = client.ask({.method = Method::kDelete, .path = tag_path(uri)});
  if (!removed.ok()) return removed;
  return post_tag(client, uri, commit);
}

ExitCode create(Session& session, const Create& options) {
  const Uri uri = session.ref(options.tag);
  const Uri ref = ref_uri(options.ref, {uri.repository, session.settings.branch.value});
  need_same_repository(uri, ref);
  Answer answer = post_tag(session.client, uri, ref.ref);
  if (options.force && !answer.ok() && error_from(answer).code() == ErrorCode::kAlreadyExists) {
    answer = replace_tag(session.client, uri, ref.ref);
  }
  if (answer.ok()) {
    Json tag = Json::parse(answer.body);
    tag["changed"] = true;
    print_tag(session.out, uri, std::move(tag));
    return ExitCode::kOk;
  }
  const Error error = error_from(answer);
  if (error.code() != ErrorCode::kAlreadyExists || !options.if_not_exists) throw error;
  Json tag = session.client.call({.path = tag_path(uri)});
  if (tag.value("commit_id", "") != get_commit_id(session.client, uri.repository, ref.ref))
    throw error;
  tag["changed"] = false;
  print_tag(session.out, uri, std::move(tag));
  return ExitCode::kOk;
}

struct List {
  std::string repository;
  std::string prefix;
};

void declare_list(Command& command, List& options) {
  command.optional_argument("REPOSITORY", options.repository, "tarn://NAME or NAME; default --repo")
      .option("--prefix", options.prefix, "only names that begin so");
}

ExitCode list(Session& session, const List& options) {
  const Uri uri = session.repository(options.repository);
  const Request request{.path = api_path({"repositories", uri.repository, "tags"}),
                        .query = {{"prefix", options.prefix}}};
  print_list(session, request, "TagList", {"tag", "commit"}, [](const Json& item) -> Cells {
    return {item.value("id", ""), item.value("commit_id", "")};
  });
  return ExitCode::kOk;
}

struct Show {
  std::string tag;
};

void declare_show(Command& command, Show& options) {
  command.argument("TAG", options.tag, "tarn://repository/tag, or a name in --repo");
}

ExitCode show(Session& session, const Show& options) {
  const Uri uri = session.ref(options.tag);
  print_tag(session.out, uri, session.client.call({.path = tag_path(uri)}));
  return ExitCode::kOk;
}

struct Delete {
  std::string tag;
  bool yes = false;
};

void declare_delete(Command& command, Delete& options) {
  command.argument("TAG", options.tag, "tarn://repository/tag, or a name in --repo")
      .flag("-y,--yes", options.yes, "do not ask");
}

ExitCode remove(Session& session, const Delete& options) {
  const Uri uri = session.ref(options.tag);
  session.confirm(str_cat("Delete tag ", to_string(uri), "?"), options.yes);
  session.client.call({.method = Method::kDelete, .path = tag_path(uri)});
  session.out.remark(str_cat("deleted ", to_string(uri)));
  return ExitCode::kOk;
}

}  // namespace

void add_tag_commands(CommandTree& tree) {
  tree.group("tag", "Tags");
  tree.add<Create>("tag create", "Name a commit for good", declare_create, create);
  tree.add<List>("tag list", "List tags", declare_list, list);
  tree.add<Show>("tag show", "Show a tag", declare_show, show);
  tree.add<Delete>("tag delete", "Delete a tag; its commit stays", declare_delete, remove);
}

}  // namespace tarn::cli
