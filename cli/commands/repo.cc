// tarn repo create | list | show | paths | delete | undelete
#include <optional>

#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/session.h"
#include "core/base/str_cat.h"

namespace tarn::cli {
namespace {

/// `changed` is the result of a creation; absent when reading.
void print_repository(Output& out, Json repository, std::optional<bool> changed) {
  const std::vector<std::pair<std::string, std::string>> lines{
      {"repository", repository.value("id", "")},
      {"storage", repository.value("storage_namespace", "")},
      {"default branch", repository.value("default_branch", "")},
      {"created", time_in_words(repository.value("creation_date", int64_t{0}))},
      {"read only", repository.value("read_only", false) ? "yes" : "no"},
  };
  if (changed) repository["changed"] = *changed;
  out.object("Repository", std::move(repository), lines);
}

Json get_repository(Client& client, const std::string& name) {
  return client.call({.path = api_path({"repositories", name})});
}

struct CreateRepository {
  std::string repository;
  std::string storage;
  std::string default_branch = "main";
  bool if_not_exists = false;
  bool read_only = false;
  bool bare = false;
  std::string paths = "strict";

  void declare(Command& command) {
    command
        .argument("REPOSITORY", repository, "tarn://NAME or NAME: lower case, digits and hyphens")
        .optional_argument("STORAGE", storage,
                           "storage namespace of its objects: s3://bucket/prefix or "
                           "local://directory; default: chosen by the server")
        .option("--default-branch", default_branch, "name of the default branch (main)")
        .flag("--if-not-exists", if_not_exists, "succeed if it exists already")
        .flag("--read-only", read_only, "create it read-only")
        .option("--paths", paths, "strict or any, as `tarn repo paths` explains (strict)")
        .flag("--bare", bare,
              "create it without a branch or commit, as the target of tarn refs restore");
  }
};

/// The server's prefix ("local://", "s3://bucket/") followed by the name.
std::string default_storage(Client& client, const std::string& name) {
  const Json config = client.call({.path = "/config"});
  const std::string prefix =
      config.value("/storage_config/default_namespace_prefix"_json_pointer, "");
  if (prefix.empty())
    throw usage_error("creating a repository: this server has no default STORAGE, give one");
  return str_cat(prefix, prefix.ends_with('/') ? "" : "/", name);
}

void create_repository(Session& session, const CreateRepository& options) {
  const std::string name = session.repository(options.repository).repository;
  const std::string storage =
      options.storage.empty() ? default_storage(session.client, name) : options.storage;
  const Json body{{"name", name},
                  {"storage_namespace", storage},
                  {"default_branch", options.default_branch},
                  {"read_only", options.read_only},
                  {"paths", options.paths}};
  Request request = post_request("/repositories", body);
  if (options.bare) request.query.emplace_back("bare", "true");
  const Answer answer = session.client.ask(request);
  constexpr int kStatusConflict = 409;
  if (answer.status == kStatusConflict && options.if_not_exists) {
    print_repository(session.out, get_repository(session.client, name), false);
    return;
  }
  print_repository(session.out, json_of(answer), true);
}

struct ListRepositories {
  std::string prefix;
  bool deleted = false;

  void declare(Command& command) {
    command.option("--prefix", prefix, "only names that begin so")
        .flag("--deleted", deleted, "deleted ones that `repo undelete` can bring back");
  }
};

void list_repositories(Session& session, const ListRepositories& options) {
  if (options.deleted) {
    print_list(session, {.path = "/deleted_repositories"}, "DeletedRepositoryList",
               {"id", "repository", "deleted", "until", "storage"}, [](const Json& item) -> Cells {
                 return {item.value("id", ""), item.value("name", ""),
                         item.value("deletion_date", ""), item.value("purge_date", ""),
                         item.value("storage_namespace", "")};
               });
    return;
  }
  print_list(session, {.path = "/repositories", .query = {{"prefix", options.prefix}}},
             "RepositoryList", {"repository", "created", "default branch", "storage"},
             [](const Json& item) -> Cells {
               return {item.value("id", ""), time_in_words(item.value("creation_date", int64_t{0})),
                       item.value("default_branch", ""), item.value("storage_namespace", "")};
             });
}

struct ShowRepository {
  std::string repository;

  void declare(Command& command) {
    command.optional_argument("REPOSITORY", repository, "tarn://NAME or NAME");
  }
};

void show_repository(Session& session, const ShowRepository& options) {
  const std::string name = session.repository(options.repository).repository;
  print_repository(session.out, get_repository(session.client, name), std::nullopt);
}

struct Paths {
  std::string repository;
  std::string paths;

  void declare(Command& command) {
    command.argument("REPOSITORY", repository, "tarn://NAME or NAME")
        .optional_argument("PATHS", paths,
                           "strict: REST, this command and the Python package store no path with "
                           "an empty, \".\" or "
                           "\"..\" segment, a backslash or a control character; any: they store "
                           "any. S3 always does");
  }
};

void paths(Session& session, const Paths& options) {
  const std::string name = session.repository(options.repository).repository;
  const std::string path = api_path({"repositories", name, "settings", "paths"});
  if (!options.paths.empty()) session.client.call(put_request(path, {{"paths", options.paths}}));
  Json now = session.client.call({.path = path});
  const std::string word = now.value("paths", "");
  session.out.object("PathSettings", std::move(now), {{"paths", word}});
}

struct DeleteRepository {
  std::string repository;
  std::string grace;
  bool yes = false;
  bool force = false;

  void declare(Command& command) {
    command.argument("REPOSITORY", repository, "tarn://NAME or NAME")
        .option("--grace", grace,
                "how long it can be restored, for example 7d; 0s: not at all; default: "
                "gc.deleted_days of the server")
        .flag("-y,--yes", yes, "do not ask for confirmation")
        .flag("--force", force, "delete it even if it is read-only");
  }
};

void remove_repository(Session& session, const DeleteRepository& options) {
  const Uri uri = session.repository(options.repository);
  session.confirm(
      str_cat("Delete repository ", uri.repository, " with all its branches, tags and commits?"),
      options.yes);
  Request request{.method = Method::kDelete,
                  .path = api_path({"repositories", uri.repository}),
                  .query = {{"force", options.force ? "true" : "false"}}};
  if (!options.grace.empty()) request.query.emplace_back("grace", options.grace);
  session.client.call(request);
  const bool no_grace =
      !options.grace.empty() && options.grace.find_first_of("123456789") == std::string::npos;
  session.out.remark(no_grace ? str_cat("deleted ", to_string(uri), "; it cannot be restored")
                              : str_cat("deleted ", to_string(uri),
                                        "; until its grace is over: tarn repo undelete ",
                                        uri.repository));
}

struct Undelete {
  std::string repository;
  std::string as;
  std::string id;

  void declare(Command& command) {
    command.argument("REPOSITORY", repository, "the name that it had")
        .option("--as", as, "its name from now on; needed if another repository has the name")
        .option("--id", id, "as `repo list --deleted` shows it; default: the one deleted last");
  }
};

void undelete(Session& session, const Undelete& options) {
  const Uri uri = session.repository(options.repository);
  Json body = Json::object();
  if (!options.as.empty()) body["as"] = options.as;
  if (!options.id.empty()) body["id"] = options.id;
  print_repository(session.out,
                   session.client.call(
                       post_request(api_path({"repositories", uri.repository, "undelete"}), body)),
                   true);
}

}  // namespace

void add_repo_commands(CommandTree& tree) {
  tree.group("repo", "Repositories");
  tree.add<CreateRepository>("repo create", "Create a repository", create_repository);
  tree.add<ListRepositories>("repo list", "List repositories", list_repositories);
  tree.add<ShowRepository>("repo show", "Show one repository", show_repository);
  tree.add<Paths>("repo paths", "Show or set which paths new objects may have", paths);
  tree.add<DeleteRepository>("repo delete", "Delete a repository, which can be restored for a time",
                             remove_repository);
  tree.add<Undelete>("repo undelete", "Restore a deleted repository", undelete);
}

}  // namespace tarn::cli
