// tarn tag create | list | show | delete

#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/commands/commit_record.h"
#include "cli/exit_code.h"
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

// tarn alias set | show | ls | log | rm

namespace {

constexpr std::string_view kAliasHelp =
    "tarn://repository/@name, or a name in --repo; '@' may be left out";

/// The URI of an alias as a ref, which starts with '@'.
Uri alias_uri(const Session& session, const std::string& given) {
  Uri uri = session.ref(given);
  if (!uri.ref.starts_with('@')) uri.ref.insert(0, 1, '@');
  return uri;
}

std::string alias_path(const Uri& uri) {
  return api_path({"repositories", uri.repository, "aliases", uri.ref.substr(1)});
}

/// The full id of the commit of `ref`; "" for "".
std::string commit_id_or_none(Client& client, const std::string& repository,
                              const std::string& ref) {
  return ref.empty() ? "" : get_commit_id(client, repository, ref);
}

void print_alias(Output& out, const Uri& uri, Json alias) {
  alias["repository"] = uri.repository;
  std::vector<std::pair<std::string, std::string>> lines = {
      {"alias", to_string(uri)},
      {"commit", alias.value("commit_id", "")},
      {"version", std::to_string(alias.value("version", 0))}};
  if (alias.contains("policy")) lines.emplace_back("policy", alias.value("policy", ""));
  out.object("Alias", std::move(alias), lines);
}

struct SetAlias {
  std::string alias;
  std::string ref;
  std::string expect;
  bool create = false;
  std::string reason;

  void declare(Command& command) {
    command.argument("ALIAS", alias, std::string(kAliasHelp))
        .optional_argument(
            "REF", ref,
            "the branch, tag, commit, @alias or ref expression that it names; default --branch")
        .condition("--expect", expect, "fail unless the alias is at this commit now")
        .flag("--create", create, "fail if the alias exists")
        .option("-m,--reason", reason, "the reason, kept in the history of the alias");
  }
};

void set_alias(Session& session, const SetAlias& options) {
  if (options.create && !options.expect.empty()) {
    throw usage_error("setting an alias: --create and --expect exclude each other");
  }
  const Uri uri = alias_uri(session, options.alias);
  const Uri to = ref_uri(options.ref, {uri.repository, session.settings.branch.value});
  need_same_repository(uri, to);
  Json body{{"to", to.ref}, {"reason", options.reason}};
  if (options.create || !options.expect.empty()) {
    body["expect"] = commit_id_or_none(session.client, uri.repository, options.expect);
  }
  print_alias(session.out, uri, session.client.call(post_request(alias_path(uri) + ":set", body)));
}

struct AliasTarget {
  std::string alias;

  void declare(Command& command) { command.argument("ALIAS", alias, std::string(kAliasHelp)); }
};

void show_alias(Session& session, const AliasTarget& options) {
  const Uri uri = alias_uri(session, options.alias);
  print_alias(session.out, uri, session.client.call({.path = alias_path(uri)}));
}

void list_aliases(Session& session, const NamesInRepository& options) {
  const Uri uri = session.repository(options.repository);
  const Request request{.path = api_path({"repositories", uri.repository, "aliases"}),
                        .query = {{"prefix", options.prefix}}};
  print_list(session, request, "AliasList", {"alias", "commit", "version", "policy"},
             [](const Json& item) -> Cells {
               return {item.value("id", ""), item.value("commit_id", ""),
                       std::to_string(item.value("version", 0)), item.value("policy", "")};
             });
}

void log_alias(Session& session, const AliasTarget& options) {
  const Uri uri = alias_uri(session, options.alias);
  print_list(session, {.path = alias_path(uri) + "/history"}, "AliasHistory",
             {"version", "time", "actor", "from", "to", "reason", "promotion", "evidence"},
             [&out = session.out](const Json& item) -> Cells {
               return {std::to_string(item.value("version", 0)),
                       item.value("creation_date", ""),
                       item.value("actor", ""),
                       short_id(out, item.value("from_commit_id", "-")),
                       short_id(out, item.value("to_commit_id", "-")),
                       item.value("reason", ""),
                       item.value("promotion_id", ""),
                       short_id(out, item.value("evidence", ""))};
             });
}

struct RemoveAlias {
  std::string alias;
  std::string expect;
  std::string reason;
  bool yes = false;

  void declare(Command& command) {
    command.argument("ALIAS", alias, std::string(kAliasHelp))
        .condition("--expect", expect, "fail unless the alias is at this commit now")
        .option("-m,--reason", reason, "the reason, kept in the history of the alias")
        .flag("-y,--yes", yes, "do not ask for confirmation");
  }
};

void remove_alias(Session& session, const RemoveAlias& options) {
  const Uri uri = alias_uri(session, options.alias);
  session.confirm(str_cat("Remove alias ", to_string(uri), "?"), options.yes);
  session.client.call(
      {.method = Method::kDelete,
       .path = alias_path(uri),
       .query = {{"expect", commit_id_or_none(session.client, uri.repository, options.expect)},
                 {"reason", options.reason}}});
  session.out.remark(str_cat("removed ", to_string(uri)));
}

}  // namespace

void add_alias_commands(CommandTree& tree) {
  tree.group("alias", "Aliases: movable names of commits, written @NAME");
  tree.add<SetAlias>("alias set", "Create an alias, or move it to another commit", set_alias);
  tree.add<AliasTarget>("alias show", "Show an alias", show_alias);
  tree.add<NamesInRepository>("alias ls", "List aliases", list_aliases);
  tree.add<AliasTarget>(
      "alias log", "Show the history of an alias: who moved it, when, from where to where, and why",
      log_alias);
  tree.add<RemoveAlias>("alias rm", "Remove an alias; its history and its commit stay",
                        remove_alias);
}

}  // namespace tarn::cli
