// tarn auth whoami | login | switch | token
#include <nlohmann/json.hpp>

#include "cli/commands/account_record.h"
#include "cli/commands/commands.h"
#include "cli/exit_code.h"
#include "cli/session.h"
#include "core/base/str_cat.h"

namespace tarn::cli {
namespace {

struct None {};

void whoami(Session& session, const None&) {
  print_account(session.out, "User", session.client.call({.path = "/user"}).at("user"));
}

struct Keys {
  std::string access_key;
  std::string secret_key;
};

/// Throws if the server does not accept the keys.
Json exchange(Client& client, const Keys& keys) {
  const Json body{{"access_key_id", keys.access_key}, {"secret_access_key", keys.secret_key}};
  return client.call(post_request("/auth/login", body));
}

/// Keys from the file do not count: a login replaces them.
std::string given(const Session& session, const Setting& setting) {
  return setting.origin.starts_with(session.settings.file.string()) ? "" : setting.value;
}

void login(Session& session, const None&) {
  Keys keys{given(session, session.settings.access_key),
            given(session, session.settings.secret_key)};
  const bool complete = !keys.access_key.empty() && !keys.secret_key.empty();
  if (!complete && !session.terminal.may_prompt)
    throw usage_error("logging in: nobody to ask here; set TARN_ACCESS_KEY and TARN_SECRET_KEY");
  if (keys.access_key.empty()) keys.access_key = session.ask("Access key: ");
  if (keys.secret_key.empty()) keys.secret_key = session.ask_secretly("Secret key: ");
  exchange(session.client, keys);
  const std::string& endpoint = session.settings.endpoint.value;
  save_settings(
      session.settings.file, session.settings.profile,
      {{"endpoint", endpoint}, {"access_key", keys.access_key}, {"secret_key", keys.secret_key}});
  const std::string file = session.settings.file.string();
  session.out.object("Login",
                     {{"endpoint", endpoint}, {"access_key", keys.access_key}, {"file", file}},
                     {{"access key", keys.access_key}, {"endpoint", endpoint}, {"kept in", file}});
}

struct Switch {
  std::string profile;

  void declare(Command& command) {
    command.optional_argument(
        "PROFILE", profile,
        "a profile of the configuration file; if left out, list them; '-' = none");
  }
};

void list_profiles(Session& session) {
  ListWriter rows = session.out.list("Profile", {"profile", "current"});
  for (const std::string& name : profile_names(session.settings.file)) {
    const bool current = name == session.settings.profile;
    rows.add({{"profile", name}, {"current", current}}, {name, current ? "*" : ""});
  }
  rows.finish();
}

void switch_profile(Session& session, const Switch& options) {
  if (options.profile.empty()) return list_profiles(session);
  choose_profile(session.settings.file, options.profile == "-" ? "" : options.profile);
  session.out.remark(options.profile == "-" ? "using no profile"
                                            : str_cat("using the profile ", options.profile));
}

void token(Session& session, const None&) {
  const Json answer = exchange(
      session.client, {session.settings.access_key.value, session.settings.secret_key.value});
  session.out.object("Token", answer,
                     {{"token", answer.value("token", "")},
                      {"until", time_in_words(answer.value("token_expiration", int64_t{0}))}});
}

}  // namespace

void add_auth_commands(CommandTree& tree) {
  tree.group("auth", "Users, groups, policies and access keys");
  tree.add<None>("auth whoami", "Show the user that you are authenticated as", whoami);
  tree.add<None>("auth login", "Check an access key and store it in the configuration file", login);
  tree.add<Switch>("auth switch", "Use another profile from now on, or list the profiles",
                   switch_profile);
  tree.add<None>("auth token", "Exchange the access key for a token that expires (TARN_TOKEN)",
                 token);
  add_auth_user_commands(tree);
  add_auth_group_commands(tree);
  add_auth_policy_commands(tree);
  add_auth_credential_commands(tree);
}

}  // namespace tarn::cli
