// tarn alias set | show | ls | log | rm
#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/commands/commit_record.h"
#include "cli/exit_code.h"
#include "cli/session.h"
#include "core/base/str_cat.h"

namespace tarn::cli {
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
