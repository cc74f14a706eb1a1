// tarn tag create | list | show | delete
#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/commands/commit_record.h"
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

struct CreateTag {
  std::string tag;
  std::string ref;
  bool if_not_exists = false;
  bool force = false;

  void declare(Command& command) {
    command.argument("TAG", tag, "tarn://repository/tag, or a name in --repo")
        .optional_argument("REF", ref,
                           "the branch, commit or ref expression that it names; default --branch")
        .flag("--if-not-exists", if_not_exists,
              "succeed if the tag exists already and names the same commit")
        .flag("-f,--force", force, "if the tag exists, move it");
  }
};

Answer post_tag(Client& client, const Uri& uri, const std::string& ref) {
  return client.ask(post_request(api_path({"repositories", uri.repository, "tags"}),
                                 Json{{"id", uri.ref}, {"ref", ref}}));
}

/// Resolves the ref before it deletes the old tag, which would be lost if the ref does not exist.
Answer replace_tag(Client& client, const Uri& uri, const std::string& ref) {
  const std::string commit = get_commit_id(client, uri.repository, ref);
  const Answer removed = client.ask(delete_request(tag_path(uri)));
  if (!removed.ok()) return removed;
  return post_tag(client, uri, commit);
}

void create_tag(Session& session, const CreateTag& options) {
  const Uri uri = session.ref(options.tag);
  const Uri ref = ref_uri(options.ref, {uri.repository, session.settings.branch.value});
  need_same_repository(uri, ref);
  Answer answer = post_tag(session.client, uri, ref.ref);
  if (options.force && !answer.ok() && error_from(answer).code() == ErrorCode::kAlreadyExists) {
    answer = replace_tag(session.client, uri, ref.ref);
  }
  if (answer.ok()) {
    Json tag = json_of(answer);
    tag["changed"] = true;
    print_tag(session.out, uri, std::move(tag));
    return;
  }
  const Error error = error_from(answer);
  if (error.code() != ErrorCode::kAlreadyExists || !options.if_not_exists) throw error;
  Json tag = session.client.call({.path = tag_path(uri)});
  if (tag.value("commit_id", "") != get_commit_id(session.client, uri.repository, ref.ref))
    throw error;
  tag["changed"] = false;
  print_tag(session.out, uri, std::move(tag));
}

void list_tags(Session& session, const NamesInRepository& options) {
  const Uri uri = session.repository(options.repository);
  const Request request{.path = api_path({"repositories", uri.repository, "tags"}),
                        .query = {{"prefix", options.prefix}}};
  print_list(session, request, "TagList", {"tag", "commit"}, [](const Json& item) -> Cells {
    return {item.value("id", ""), item.value("commit_id", "")};
  });
}

struct ShowTag {
  std::string tag;

  void declare(Command& command) {
    command.argument("TAG", tag, "tarn://repository/tag, or a name in --repo");
  }
};

void show_tag(Session& session, const ShowTag& options) {
  const Uri uri = session.ref(options.tag);
  print_tag(session.out, uri, session.client.call({.path = tag_path(uri)}));
}

struct DeleteTag {
  std::string tag;
  bool yes = false;

  void declare(Command& command) {
    command.argument("TAG", tag, "tarn://repository/tag, or a name in --repo")
        .flag("-y,--yes", yes, "do not ask for confirmation");
  }
};

void remove_tag(Session& session, const DeleteTag& options) {
  const Uri uri = session.ref(options.tag);
  session.confirm(str_cat("Delete tag ", to_string(uri), "?"), options.yes);
  session.client.call(delete_request(tag_path(uri)));
  session.out.remark(str_cat("deleted ", to_string(uri)));
}

}  // namespace

void add_tag_commands(CommandTree& tree) {
  tree.group("tag", "Tags");
  tree.add<CreateTag>("tag create", "Create a tag, a name of a commit that does not move",
                      create_tag);
  tree.add<NamesInRepository>("tag list", "List tags", list_tags);
  tree.add<ShowTag>("tag show", "Show a tag", show_tag);
  tree.add<DeleteTag>("tag delete", "Delete a tag; its commit stays", remove_tag);
}

}  // namespace tarn::cli
