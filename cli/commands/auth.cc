// tarn auth whoami | login | switch | token

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/commands/new_key.h"
#include "cli/exit_code.h"
#include "cli/json_text.h"
#include "cli/local_file.h"
#include "cli/session.h"
#include "core/base/str_cat.h"
#include "core/base/text.h"

namespace tarn::cli {
namespace {

// Helpers of the commands about users, groups, policies and keys.

/// A user, group or policy to create.
struct Creation {
  std::string_view kind;  ///< "User"
  std::string path;       ///< of all of its kind
  std::string name;
  bool if_not_exists = false;  ///< an existing one is shown unchanged
};

/// "allow fs:ReadObject, fs:ListObjects on *"
std::string in_words(const Json& statement) {
  std::string out = str_cat(statement.value("effect", ""), ' ',
                            joined(statement.value("action", std::vector<std::string>{}), ", "),
                            " on ", statement.value("resource", ""));
  if (statement.contains("condition")) out += str_cat(" if ", json_text(statement["condition"]));
  return out;
}

std::string created(const Json& record) {
  return time_in_words(record.value("creation_date", int64_t{0}));
}

/// The name of the authenticated user.
std::string current_user(Client& client) {
  return client.call({.path = "/user"}).at("user").at("id").get<std::string>();
}

/// Prints the server's record of a user, group or policy, then `more`; `kind` is "User".
void print_account(Output& out, std::string_view kind, Json record, const Pairs& more = {}) {
  std::string label(kind);
  label.front() = static_cast<char>(std::tolower(label.front()));
  std::vector<std::pair<std::string, std::string>> lines{{label, record.value("id", "")},
                                                         {"created", created(record)}};
  for (const char* field : {"email", "description"}) {
    if (const std::string text = record.value(field, ""); !text.empty()) {
      lines.emplace_back(field, text);
    }
  }
  const Json statements = record.value("statement", Json::array());
  for (const Json& statement : statements) lines.emplace_back("statement", in_words(statement));
  lines.insert(lines.end(), more.begin(), more.end());
  out.object(kind, std::move(record), lines);
}

/// The server's record, with `changed`: whether it was made now.
Json make_account(Session& session, const Creation& creation, const Json& body) {
  const Answer answer = session.client.ask(post_request(creation.path, body));
  Json record;
  if (answer.ok()) {
    record = json_of(answer);
  } else {
    const Error error = error_from(answer);
    if (error.code() != ErrorCode::kAlreadyExists || !creation.if_not_exists) throw error;
    record = session.client.call({.path = creation.path + api_path({creation.name})});
  }
  record["changed"] = answer.ok();
  return record;
}

void create_account(Session& session, const Creation& creation, const Json& body) {
  print_account(session.out, creation.kind, make_account(session, creation, body));
}

/// Deletes the account at `path` and prints that; `what` is "user \"ann\"".
void delete_account(Session& session, const std::string& path, const std::string& what, bool yes) {
  session.confirm(str_cat("Delete ", what, "?"), yes);
  session.client.call(delete_request(path));
  session.out.remark(str_cat("deleted ", what));
}

/// Attaches one account to another. false: it was attached already.
bool is_newly_attached(Session& session, const std::string& path) {
  const Answer answer = session.client.ask(put_request(path));
  if (answer.ok()) return true;
  const Error error = error_from(answer);
  if (error.code() != ErrorCode::kAlreadyExists) throw error;
  return false;
}

/// Attaches one account to another ("Membership", at `path`) and prints `fields`, the name first.
/// Succeeds if it is attached already.
void attach(Session& session, std::string_view kind, const std::string& path, const Pairs& fields) {
  Json printed{{"changed", is_newly_attached(session, path)}};
  for (const auto& [name, value] : fields) printed[name] = value;
  session.out.object(kind, std::move(printed), fields);
}

/// Lists accounts with a name and a date: users and groups. `column` is the title of the name.
void print_accounts(Session& session, const Request& request, std::string_view column) {
  std::string kind = str_cat(column, "List");
  kind.front() = static_cast<char>(std::toupper(kind.front()));
  print_list(session, request, std::move(kind), {std::string(column), "created"},
             [&](const Json& item) -> Cells {
               return {item.value("id", ""), created(item)};
             });
}

/// Lists policies.
void print_policies(Session& session, const Request& request) {
  print_list(session, request, "PolicyList", {"policy", "created", "statements"},
             [](const Json& item) -> Cells {
               return {item.value("id", ""), created(item),
                       std::to_string(item.value("statement", Json::array()).size())};
             });
}

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

// tarn auth users list | create | show | delete | groups | policies

namespace {

constexpr const char* kUsers = "/auth/users";

void list_users(Session& session, const Names& options) {
  print_accounts(session, {.path = kUsers, .query = {{"prefix", options.prefix}}}, "user");
}

std::string group_path(std::string_view group) { return api_path({"auth", "groups", group}); }

std::string member_path(std::string_view group, std::string_view user) {
  return group_path(group) + api_path({"members", user});
}

struct CreateUser {
  std::string user;
  std::vector<std::string> groups;
  bool with_key = false;
  bool send_once = false;
  bool if_not_exists = false;

  void declare(Command& command) {
    command.argument("USER", user, "its name")
        .option("--group", groups, "add the user to this group; may be repeated")
        .flag("--with-key", with_key, "also create an access key, if the user is new")
        .flag("--send-once", send_once, kSendOnceHelp)
        .flag("--if-not-exists", if_not_exists, "succeed if it exists already");
  }
};

void create_user(Session& session, const CreateUser& options) {
  // A name that is wrong must not leave a user without groups behind.
  for (const std::string& group : options.groups) session.client.call({.path = group_path(group)});
  Json made = make_account(session, {"User", kUsers, options.user, options.if_not_exists},
                           {{"id", options.user}});
  const bool is_new = made["changed"].get<bool>();
  Pairs more;
  for (const std::string& group : options.groups) {
    if (is_newly_attached(session, member_path(group, options.user))) made["changed"] = true;
    made["groups"].push_back(group);
    more.emplace_back("group", group);
  }
  KeyOrLink given;
  if (is_new && options.send_once) {
    given = make_link(session.client, options.user);
  } else if (is_new && options.with_key) {
    given = make_key(session.client, options.user);
  }
  given.members.erase("creation_date");  // the user's is shown
  made.update(given.members);
  more.insert(more.end(), given.lines.begin(), given.lines.end());
  print_account(session.out, "User", std::move(made), more);
  if (!given.remark.empty()) session.out.remark(given.remark);
}

struct OneUser {
  std::string user;

  void declare(Command& command) { command.argument("USER", user, "who"); }
};

void show_user(Session& session, const OneUser& options) {
  Json user = session.client.call({.path = user_path(options.user)});
  Pairs more;
  // Who may not list the user's keys sees the rest.
  const Answer open = session.client.ask({.path = invitations_path(options.user)});
  if (open.ok()) user["invitations"] = json_of(open).at("results");
  for (const Json& link : user.value("invitations", Json::array())) {
    more.emplace_back("open link",
                      str_cat("until ", time_in_words(link.value("expires_at", int64_t{0})),
                              ", made by ", link.value("made_by", "")));
  }
  print_account(session.out, "User", std::move(user), more);
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
                       "Create a user, with groups and an access key if asked for", create_user);
  tree.add<OneUser>("auth users show", "Show a user", show_user);
  tree.add<OneUser>("auth users groups", "List the groups of a user", groups);
  tree.add<Policies>("auth users policies", "List the policies of a user", list_policies_of_user);
  tree.add<DeleteUser>("auth users delete", "Delete a user and its keys", remove_user);
}

// tarn auth groups list | create | show | delete | policies, tarn auth members, tarn auth acl

namespace {

constexpr const char* kGroups = "/auth/groups";

void list_groups(Session& session, const Names& options) {
  print_accounts(session, {.path = kGroups, .query = {{"prefix", options.prefix}}}, "group");
}

struct CreateGroup {
  std::string group;
  std::string description;
  bool if_not_exists = false;

  void declare(Command& command) {
    command.argument("GROUP", group, "its name")
        .option("--description", description, "a description")
        .flag("--if-not-exists", if_not_exists, "succeed if it exists already");
  }
};

void create_group(Session& session, const CreateGroup& options) {
  create_account(session, {"Group", kGroups, options.group, options.if_not_exists},
                 {{"id", options.group}, {"description", options.description}});
}

struct OneGroup {
  std::string group;

  void declare(Command& command) { command.argument("GROUP", group, "which"); }
};

void show_group(Session& session, const OneGroup& options) {
  print_account(session.out, "Group", session.client.call({.path = group_path(options.group)}));
}

void list_policies_of_group(Session& session, const OneGroup& options) {
  print_policies(session, {.path = group_path(options.group) + "/policies"});
}

struct DeleteGroup {
  std::string group;
  bool yes = false;

  void declare(Command& command) {
    command.argument("GROUP", group, "which").flag("-y,--yes", yes, "do not ask for confirmation");
  }
};

void remove_group(Session& session, const DeleteGroup& options) {
  delete_account(session, group_path(options.group),
                 str_cat("group \"", options.group, "\"; its members stay users"), options.yes);
}

struct Member {
  std::string group;
  std::string user;

  void declare(Command& command) {
    command.argument("GROUP", group, "which").argument("USER", user, "who");
  }
};

void list_members(Session& session, const OneGroup& options) {
  print_accounts(session, {.path = group_path(options.group) + "/members"}, "user");
}

void add_member(Session& session, const Member& options) {
  attach(session, "Membership", member_path(options.group, options.user),
         {{"user", options.user}, {"group", options.group}});
}

void remove_member(Session& session, const Member& options) {
  session.client.call(delete_request(member_path(options.group, options.user)));
  session.out.remark(str_cat("removed \"", options.user, "\" from group \"", options.group, '"'));
}

void show_acl(Session& session, const OneGroup& options) {
  const Json acl = session.client.call({.path = group_path(options.group) + "/acl"});
  session.out.object("Acl", acl, {{"permission", acl.value("permission", "")}});
}

struct SetAcl {
  std::string group;
  std::string permission;

  void declare(Command& command) {
    command.argument("GROUP", group, "which")
        .argument("PERMISSION", permission, "Read, Write, Super or Admin");
  }
};

void set_acl(Session& session, const SetAcl& options) {
  const Json body{{"permission", options.permission}};
  session.client.call(post_request(group_path(options.group) + "/acl", body));
  session.out.object("Acl", {{"permission", options.permission}, {"changed", true}},
                     {{"permission", options.permission}});
}

}  // namespace

void add_auth_group_commands(CommandTree& tree) {
  tree.group("auth groups", "Groups of users");
  tree.add<Names>("auth groups list", "List groups", list_groups);
  tree.add<CreateGroup>("auth groups create", "Create a group", create_group);
  tree.add<OneGroup>("auth groups show", "Show a group", show_group);
  tree.add<OneGroup>("auth groups policies", "List the policies of a group",
                     list_policies_of_group);
  tree.add<DeleteGroup>("auth groups delete", "Delete a group", remove_group);
  tree.group("auth members", "Who is in a group");
  tree.add<OneGroup>("auth members list", "List the members of a group", list_members);
  tree.add<Member>("auth members add", "Add a user to a group", add_member);
  tree.add<Member>("auth members remove", "Remove a user from a group", remove_member);
  tree.group("auth acl", "Access levels of groups");
  tree.add<OneGroup>("auth acl show", "Show the access level of a group", show_acl);
  tree.add<SetAcl>("auth acl set", "Replace the policies of a group by an access level", set_acl);
}

// tarn auth credentials list | create | withdraw | delete

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

void list_credentials(Session& session, const CredentialsOptions& options) {
  print_list(session, {.path = keys_path(user_or_self(session, options.user))}, "CredentialsList",
             {"credentials", "created", "until", "limits"}, [](const Json& item) -> Cells {
               const int64_t end = item.value("expires_at", int64_t{0});
               std::vector<std::string> limits;
               for (const Json& statement : item.value("statement", Json::array())) {
                 limits.push_back(in_words(statement));
               }
               return {item.value("access_key_id", ""), created(item),
                       end == 0 ? "" : time_in_words(end), joined(limits, "; ")};
             });
}

struct CreateCredentials : CredentialsOptions {
  bool send_once = false;
  KeyLimits limits;

  void declare(Command& command) {
    CredentialsOptions::declare(command);
    command.flag("--send-once", send_once, kSendOnceHelp);
    limits.declare(command);
  }
};

void create_credentials(Session& session, const CreateCredentials& options) {
  const std::string user = user_or_self(session, options.user);
  if (options.limits.any() && options.send_once) {
    throw usage_error("--send-once: a key made by a link has no limits; leave out --for and --can");
  }
  KeyOrLink made = options.send_once ? make_link(session.client, user)
                                     : make_key(session.client, user, options.limits);
  made.lines.emplace_back("user", user);
  made.members["user"] = user;
  made.members["changed"] = true;
  session.out.object("Credentials", std::move(made.members), made.lines);
  session.out.remark(made.remark);
}

struct WithdrawLink {
  std::string user;

  void declare(Command& command) { command.argument("USER", user, "whose"); }
};

void withdraw_link(Session& session, const WithdrawLink& options) {
  session.client.call(delete_request(invitations_path(options.user)));
  session.out.remark(str_cat("withdrew the link of user \"", options.user, '"'));
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
  tree.add<CreateCredentials>("auth credentials create", "Create an access key and its secret",
                              create_credentials);
  tree.add<WithdrawLink>("auth credentials withdraw",
                         "Withdraw the link with which a user makes a key", withdraw_link);
  tree.add<DeleteCredentials>("auth credentials delete", "Delete an access key",
                              remove_credentials);
}

// tarn auth policies list | show | create | update | delete | attach | detach

namespace {

constexpr const char* kPolicies = "/auth/policies";
/// Servers reject longer documents.
constexpr size_t kDocumentBytesMax = 1 << 20;

std::string policy_path(std::string_view policy) { return api_path({"auth", "policies", policy}); }

void list_auth_policies(Session& session, const Names& options) {
  print_policies(session, {.path = kPolicies, .query = {{"prefix", options.prefix}}});
}

struct OneAuthPolicy {
  std::string policy;

  void declare(Command& command) { command.argument("POLICY", policy, "which"); }
};

void show_auth_policy(Session& session, const OneAuthPolicy& options) {
  print_account(session.out, "Policy", session.client.call({.path = policy_path(options.policy)}));
}

struct Write {
  std::string policy;
  std::string file;

  void declare(Command& command) {
    command.argument("POLICY", policy, "its name")
        .argument("FILE", file,
                  "JSON as printed by `tarn auth policies show -o json`; '-' = standard input");
  }
};

struct CreateAuthPolicy : Write {
  bool if_not_exists = false;

  void declare(Command& command) {
    Write::declare(command);
    command.flag("--if-not-exists", if_not_exists, "succeed if it exists already");
  }
};

/// {"id", "statement"}; the file may contain the statements only.
Json policy_of(const Write& options) {
  const Json document = parse_json(read_whole_file(options.file, kDocumentBytesMax));
  const Json* statement = &document;
  if (document.is_object() && document.contains("statement")) statement = &document["statement"];
  if (!statement->is_array()) {
    throw usage_error(str_cat("reading ", options.file,
                              R"(: expected {"statement": [{"effect": "allow", "action": )",
                              R"(["fs:ReadObject"], "resource": "*"}]})"));
  }
  return {{"id", options.policy}, {"statement", *statement}};
}

void create_auth_policy(Session& session, const CreateAuthPolicy& options) {
  create_account(session, {"Policy", kPolicies, options.policy, options.if_not_exists},
                 policy_of(options));
}

void update_auth_policy(Session& session, const Write& options) {
  Json policy = session.client.call(put_request(policy_path(options.policy), policy_of(options)));
  policy["changed"] = true;
  print_account(session.out, "Policy", std::move(policy));
}

struct DeleteAuthPolicy {
  std::string policy;
  bool yes = false;

  void declare(Command& command) {
    command.argument("POLICY", policy, "which")
        .flag("-y,--yes", yes, "do not ask for confirmation");
  }
};

void remove_auth_policy(Session& session, const DeleteAuthPolicy& options) {
  delete_account(session, policy_path(options.policy),
                 str_cat("policy \"", options.policy, "\" and take it from all who have it"),
                 options.yes);
}

struct Holder {
  std::string policy;
  std::string user;
  std::string group;

  void declare(Command& command) {
    command.argument("POLICY", policy, "which")
        .option("--user", user, "of this user")
        .option("--group", group, "of this group");
  }
};

/// "users" or "groups", and the name.
std::string holder_path(const Holder& options) {
  if (options.user.empty() == options.group.empty())
    throw usage_error("whose policy? give --user or --group");
  return options.user.empty()
             ? api_path({"auth", "groups", options.group, "policies", options.policy})
             : api_path({"auth", "users", options.user, "policies", options.policy});
}

void attach_to(Session& session, const Holder& options) {
  attach(session, "PolicyAttachment", holder_path(options),
         {{"policy", options.policy},
          options.user.empty() ? std::pair<std::string, std::string>{"group", options.group}
                               : std::pair<std::string, std::string>{"user", options.user}});
}

void detach(Session& session, const Holder& options) {
  session.client.call(delete_request(holder_path(options)));
  session.out.remark(str_cat("took policy \"", options.policy, "\" from \"",
                             options.user.empty() ? options.group : options.user, '"'));
}

}  // namespace

void add_auth_policy_commands(CommandTree& tree) {
  tree.group("auth policies", "What users and groups may do");
  tree.add<Names>("auth policies list", "List policies", list_auth_policies);
  tree.add<OneAuthPolicy>("auth policies show", "Show a policy", show_auth_policy);
  tree.add<CreateAuthPolicy>("auth policies create", "Create a policy", create_auth_policy);
  tree.add<Write>("auth policies update", "Replace the statements of a policy", update_auth_policy);
  tree.add<Holder>("auth policies attach", "Attach a policy to a user or a group", attach_to);
  tree.add<Holder>("auth policies detach", "Detach a policy from a user or a group", detach);
  tree.add<DeleteAuthPolicy>("auth policies delete", "Delete a policy", remove_auth_policy);
}

}  // namespace tarn::cli
