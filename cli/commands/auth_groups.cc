// tarn auth groups list | create | show | delete | policies, tarn auth members, tarn auth acl
#include <nlohmann/json.hpp>

#include "cli/commands/account_record.h"
#include "cli/commands/commands.h"
#include "core/base/str_cat.h"

namespace tarn::cli {
namespace {

constexpr const char* kGroups = "/auth/groups";

std::string group_path(std::string_view group) { return api_path({"auth", "groups", group}); }

struct List {
  std::string prefix;
};

void declare_list(Command& command, List& options) {
  command.option("--prefix", options.prefix, "only names that begin so");
}

ExitCode list(Session& session, const List& options) {
  print_accounts(session, {.path = kGroups, .query = {{"prefix", options.prefix}}}, "group");
  return ExitCode::kOk;
}

struct Create {
  std::string group;
  std::string description;
  bool if_not_exists = false;
};

void declare_create(Command& command, Create& options) {
  command.argument("GROUP", options.group, "its name")
      .option("--description", options.description, "what it is for")
      .flag("--if-not-exists", options.if_not_exists, "one that is there already is fine");
}

ExitCode create(Session& session, const Create& options) {
  create_account(session, {"Group", kGroups, options.group, options.if_not_exists},
                 {{"id", options.group}, {"description", options.description}});
  return ExitCode::kOk;
}

struct One {
  std::string group;
};

void declare_one(Command& command, One& options) {
  command.argument("GROUP", options.group, "which");
}

ExitCode show(Session& session, const One& options) {
  print_account(session.out, "Group", session.client.call({.path = group_path(options.group)}));
  return ExitCode::kOk;
}

ExitCode policies(Session& session, const One& options) {
  print_policies(session, {.path = group_path(options.group) + "/policies"});
  return ExitCode::kOk;
}

struct Delete {
  std::string group;
  bool yes = false;
};

void declare_delete(Command& command, Delete& options) {
  command.argument("GROUP", options.group, "which").flag("-y,--yes", options.yes, "do not ask");
}

ExitCode remove(Session& session, const Delete& options) {
  delete_account(session, group_path(options.group),
                 str_cat("group \"", options.group, "\"; its members stay users"), options.yes);
  return ExitCode::kOk;
}

struct Member {
  std::string group;
  std::string user;
};

void declare_member(Command& command, Member& options) {
  command.argument("GROUP", options.group, "which").argument("USER", options.user, "who");
}

std::string member_path(const Member& options) {
  return api_path({"auth", "groups", options.group, "members", options.user});
}

ExitCode list_members(Session& session, const One& options) {
  print_accounts(session, {.path = group_path(options.group) + "/members"}, "user");
  return ExitCode::kOk;
}

ExitCode add_member(Session& session, const Member& options) {
  attach(session, "Membership", member_path(options),
         {{"user", options.user}, {"group", options.group}});
  return ExitCode::kOk;
}

ExitCode remove_member(Session& session, const Member& options) {
  session.client.call({.method = Method::kDelete, .path = member_path(options)});
  session.out.remark(str_cat("removed \"", options.user, "\" from group \"", options.group, '"'));
  return ExitCode::kOk;
}

ExitCode show_acl(Session& session, const One& options) {
  const Json acl = session.client.call({.path = group_path(options.group) + "/acl"});
  session.out.object("Acl", acl, {{"permission", acl.value("permission", "")}});
  return ExitCode::kOk;
}

struct SetAcl {
  std::string group;
  std::string permission;
};

void declare_set_acl(Command& command, SetAcl& options) {
  command.argument("GROUP", options.group, "which")
      .argument("PERMISSION", options.permission, "Read, Write, Super or Admin");
}

ExitCode set_acl(Session& session, const SetAcl& options) {
  const Json body{{"permission", options.permission}};
  session.client.call(
      {.method = Method::kPost, .path = group_path(options.group) + "/acl", .json = body.dump()});
  session.out.object("Acl", {{"permission", options.permission}, {"changed", true}},
                     {{"permission", options.permission}});
  return ExitCode::kOk;
}

}  // namespace

void add_auth_group_commands(CommandTree& tree) {
  tree.group("auth groups", "Groups of users");
  tree.add<List>("auth groups list", "List groups", declare_list, list);
  tree.add<Create>("auth groups create", "Make a group", declare_create, create);
  tree.add<One>("auth groups show", "Show a group", declare_one, show);
  tree.add<One>("auth groups policies", "List the policies of a group", declare_one, policies);
  tree.add<Delete>("auth groups delete", "Delete a group", declare_delete, remove);
  tree.group("auth members", "Who is in a group");
  tree.add<One>("auth members list", "List the members of a group", declare_one, list_members);
  tree.add<Member>("auth members add", "Put a user into a group", declare_member, add_member);
  tree.add<Member>("auth members remove", "Take a user out of a group", declare_member,
                   remove_member);
  tree.group("auth acl", "Access levels of groups");
  tree.add<One>("auth acl show", "Show the access level of a group", declare_one, show_acl);
  tree.add<SetAcl>("auth acl set", "Replace the policies of a group by an access level",
                   declare_set_acl, set_acl);
}

}  // namespace tarn::cli
