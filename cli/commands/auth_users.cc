// tarn auth users list | create | show | delete | groups | policies
#include <nlohmann/json.hpp>

#include "cli/commands/account_record.h"
#include "cli/commands/commands.h"
#include "core/base/str_cat.h"

namespace tarn::cli {
namespace {

constexpr const char* kUsers = "/auth/users";

std::string user_path(std::string_view user) { return api_path({"auth", "users", user}); }

struct List {
  std::string prefix;
};

void declare_list(Command& command, List& options) {
  command.option("--prefix", options.prefix, "only names that begin so");
}

ExitCode list(Session& session, const List& options) {
  print_accounts(session, {.path = kUsers, .query = {{"prefix", options.prefix}}}, "user");
  return ExitCode::kOk;
}

struct Create {
  std::string user;
  bool if_not_exists = false;
};

void declare_create(Command& command, Create& options) {
  command.argument("USER", options.user, "its name")
      .flag("--if-not-exists", options.if_not_exists, "one that is there already is fine");
}

ExitCode create(Session& session, const Create& options) {
  create_account(session, {"User", kUsers, options.user, options.if_not_exists},
                 {{"id", options.user}});
  return ExitCode::kOk;
}

struct One {
  std::string user;
};

void declare_one(Command& command, One& options) { command.argument("USER", options.user, "who"); }

ExitCode show(Session& session, const One& options) {
  print_account(session.out, "User", session.client.call({.path = user_path(options.user)}));
  return ExitCode::kOk;
}

ExitCode groups(Session& session, const One& options) {
  print_accounts(session, {.path = user_path(options.user) + "/groups"}, "group");
  return ExitCode::kOk;
}

struct Policies {
  std::string user;
  bool effective = false;
};

void declare_policies(Command& command, Policies& options) {
  command.argument("USER", options.user, "who")
      .flag("--effective", options.effective, "those of its groups too");
}

ExitCode policies(Session& session, const Policies& options) {
  print_policies(session, {.path = user_path(options.user) + "/policies",
                           .query = {{"effective", options.effective ? "true" : "false"}}});
  return ExitCode::kOk;
}

struct Delete {
  std::string user;
  bool yes = false;
};

void declare_delete(Command& command, Delete& options) {
  command.argument("USER", options.user, "who").flag("-y,--yes", options.yes, "do not ask");
}

ExitCode remove(Session& session, const Delete& options) {
  delete_account(session, user_path(options.user),
                 str_cat("user \"", options.user, "\" with its keys"), options.yes);
  return ExitCode::kOk;
}

}  // namespace

void add_auth_user_commands(CommandTree& tree) {
  tree.group("auth users", "Users");
  tree.add<List>("auth users list", "List users", declare_list, list);
  tree.add<Create>("auth users create", "Make a user; `auth credentials create` gives it a key",
                   declare_create, create);
  tree.add<One>("auth users show", "Show a user", declare_one, show);
  tree.add<One>("auth users groups", "List the groups of a user", declare_one, groups);
  tree.add<Policies>("auth users policies", "List the policies of a user", declare_policies,
                     policies);
  tree.add<Delete>("auth users delete", "Delete a user and its keys", declare_delete, remove);
}

}  // namespace tarn::cli
