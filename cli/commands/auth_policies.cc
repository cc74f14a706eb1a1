// tarn auth policies list | show | create | update | delete | attach | detach
#include <nlohmann/json.hpp>

#include "cli/commands/account_record.h"
#include "cli/commands/commands.h"
#include "cli/exit_code.h"
#include "cli/json_text.h"
#include "cli/local_file.h"
#include "core/base/str_cat.h"

namespace tarn::cli {
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
