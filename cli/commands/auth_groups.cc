// tarn auth groups list | create | show | delete | policies, tarn auth members, tarn auth acl
#include <nlohmann/json.hpp>

#include "cli/commands/account_record.h"
#include "cli/commands/commands.h"
#include "core/base/str_cat.h"

namespace tarn::cli {
namespace {

constexpr const char* kGroups = "/auth/groups";

std::string group_path(std::string_view group) { return api_path({"auth", "groups", group}); }

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

std::string member_path(const Member& options) {
  return api_path({"auth", "groups", options.group, "members", options.user});
}

void list_members(Session& session, const OneGroup& options) {
  print_accounts(session, {.path = group_path(options.group) + "/members"}, "user");
}

void add_member(Session& session, const Member& options) {
  attach(session, "Membership", member_path(options),
         {{"user", options.user}, {"group", options.group}});
}

void remove_member(Session& session, const Member& options) {
  session.client.call(delete_request(member_path(options)));
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

}  // namespace tarn::cli
