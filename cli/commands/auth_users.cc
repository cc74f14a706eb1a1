// tarn auth users list | create | show | delete | groups | policies
#include <nlohmann/json.hpp>

#include "cli/commands/account_record.h"
#include "cli/commands/commands.h"
#include "core/base/str_cat.h"

namespace tarn::cli {
namespace {

constexpr const char* kUsers = "/auth/users";

std::string user_path(std::string_view user) { return api_path({"auth", "users", user}); }

void list_users(Session& session, const Names& options) {
  print_accounts(session, {.path = kUsers, .query = {{"prefix", options.prefix}}}, "user");
}

struct CreateUser {
  std::string user;
  bool if_not_exists = false;

  void declare(Command& command) {
    command.argument("USER", user, "its name")
        .flag("--if-not-exists", if_not_exists, "succeed if it exists already");
  }
};

void create_user(Session& session, const CreateUser& options) {
  create_account(session, {"User", kUsers, options.user, options.if_not_exists},
                 {{"id", options.user}});
}

struct OneUser {
  std::string user;

  void declare(Command& command) { command.argument("USER", user, "who"); }
};

void show_user(Session& session, const OneUser& options) {
  print_account(session.out, "User", session.client.call({.path = user_path(options.user)}));
}

void groups(Session& session, const OneUser& options) {
  print_accounts(session, {.path = user_path(options.user) + "/groups"}, "group");
}

struct Policies {
  std::string user;
  bool effective = false;

  void declare(Command& command) {
    command.argument("USER", user, "who")
        .flag("--effective", effective, "include the policies of the user's groups");
  }
};

void list_policies_of_user(Session& session, const Policies& options) {
  print_policies(session, {.path = user_path(options.user) + "/policies",
                           .query = {{"effective", options.effective ? "true" : "false"}}});
}

struct DeleteUser {
  std::string user;
  bool yes = false;

  void declare(Command& command) {
    command.argument("USER", user, "who").flag("-y,--yes", yes, "do not ask for confirmation");
  }
};

void remove_user(Session& session, const DeleteUser& options) {
  delete_account(session, user_path(options.user),
                 str_cat("user \"", options.user, "\" with its keys"), options.yes);
}

}  // namespace

void add_auth_user_commands(CommandTree& tree) {
  tree.group("auth users", "Users");
  tree.add<Names>("auth users list", "List users", list_users);
  tree.add<CreateUser>("auth users create",
                       "Create a user; `tarn auth credentials create` gives it an access key",
                       create_user);
  tree.add<OneUser>("auth users show", "Show a user", show_user);
  tree.add<OneUser>("auth users groups", "List the groups of a user", groups);
  tree.add<Policies>("auth users policies", "List the policies of a user", list_policies_of_user);
  tree.add<DeleteUser>("auth users delete", "Delete a user and its keys", remove_user);
}

}  // namespace tarn::cli
