// Helpers of the commands about users, groups, policies and keys.
#pragma once

#include <string>
#include <string_view>

#include "cli/session.h"

namespace tarn::cli {

/// The name of the authenticated user.
std::string current_user(Client& client);

/// Prints the server's record of a user, group or policy; `kind` is "User".
void print_account(Output& out, std::string_view kind, Json record);

/// A user, group or policy to create.
struct Creation {
  std::string_view kind;  ///< "User"
  std::string path;       ///< of all of its kind
  std::string name;
  bool if_not_exists = false;  ///< an existing one is shown unchanged
};
void create_account(Session& session, const Creation& creation, const Json& body);

/// Deletes the account at `path` and prints that; `what` is "user \"ann\"".
void delete_account(Session& session, const std::string& path, const std::string& what, bool yes);

/// Attaches one account to another ("Membership", at `path`) and prints `fields`, the name first.
/// Succeeds if it is attached already.
void attach(Session& session, std::string_view kind, const std::string& path, const Pairs& fields);

/// Lists accounts with a name and a date: users, groups, keys. `column` is the title of the name.
void print_accounts(Session& session, const Request& request, std::string_view column,
                    std::string_view field = "id");

/// Lists policies.
void print_policies(Session& session, const Request& request);

}  // namespace tarn::cli
