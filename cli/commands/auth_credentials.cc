// tarn auth credentials list | create | delete
#include <nlohmann/json.hpp>

#include "cli/commands/account_record.h"
#include "cli/commands/commands.h"
#include "core/base/str_cat.h"

namespace tarn::cli {
namespace {

struct CredentialsOptions {
  std::string user;

  void declare(Command& command) {
    command.optional_argument("USER", user, "the user; default: you");
  }
};

std::string user_or_self(Session& session, const std::string& user) {
  return user.empty() ? current_user(session.client) : user;
}

std::string keys_path(std::string_view user) {
  return api_path({"auth", "users", user, "credentials"});
}

void list_credentials(Session& session, const CredentialsOptions& options) {
  print_accounts(session, {.path = keys_path(user_or_self(session, options.user))}, "credentials",
                 "access_key_id");
}

void create_credentials(Session& session, const CredentialsOptions& options) {
  const std::string user = user_or_self(session, options.user);
  Json made = session.client.call(post_request(keys_path(user)));
  const std::vector<std::pair<std::string, std::string>> lines{
      {"access key", made.value("access_key_id", "")},
      {"secret key", made.value("secret_access_key", "")},
      {"user", user}};
  made["user"] = user;
  made["changed"] = true;
  session.out.object("Credentials", std::move(made), lines);
  session.out.remark("the secret key cannot be shown again");
}

struct DeleteCredentials {
  std::string key;
  std::string user;
  bool yes = false;

  void declare(Command& command) {
    command.argument("KEY", key, "an access key")
        .optional_argument("USER", user, "the user; default: you")
        .flag("-y,--yes", yes, "do not ask for confirmation");
  }
};

void remove_credentials(Session& session, const DeleteCredentials& options) {
  const std::string user = user_or_self(session, options.user);
  delete_account(session, keys_path(user) + api_path({options.key}),
                 str_cat("access key \"", options.key, "\" of user \"", user, '"'), options.yes);
}

}  // namespace

void add_auth_credential_commands(CommandTree& tree) {
  tree.group("auth credentials", "Access keys of users");
  tree.add<CredentialsOptions>("auth credentials list", "List access keys", list_credentials);
  tree.add<CredentialsOptions>("auth credentials create", "Create an access key and its secret",
                               create_credentials);
  tree.add<DeleteCredentials>("auth credentials delete", "Delete an access key",
                              remove_credentials);
}

}  // namespace tarn::cli
