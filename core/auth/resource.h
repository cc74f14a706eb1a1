// The names of things in policies: arn:lakefs:<service>:<region>:<account>:<resource>.
#pragma once

#include <string>
#include <string_view>

namespace tarn::auth {

/// The resource of an action on the whole installation; only the pattern "*" grants it.
constexpr std::string_view kEverything = "*";

// The parts are taken as text, whether such a thing exists or not: permission is decided on names.
std::string repository_arn(std::string_view repository);
std::string branch_arn(std::string_view repository, std::string_view branch);
std::string tag_arn(std::string_view repository, std::string_view tag);
std::string alias_arn(std::string_view repository, std::string_view alias);
/// A path on one ref: ".../repository/lake/ref/main/object/dir/a". A policy on the path alone
/// (".../repository/lake/object/dir/*") holds on every ref. `ref` as the request names it.
std::string object_arn(std::string_view repository, std::string_view ref, std::string_view key);
/// A path on any ref: a policy limited to refs does not grant it.
std::string object_arn(std::string_view repository, std::string_view key);
/// The resource of a listing on one ref; policies on the repository apply too. The '@' of an alias
/// is not encoded.
std::string ref_arn(std::string_view repository, std::string_view ref);
/// The resource without its ref, as policies may name it; "" if it has none.
std::string without_ref(std::string_view resource);
std::string namespace_arn(std::string_view storage_namespace);
std::string user_arn(std::string_view user);
std::string group_arn(std::string_view group);
std::string policy_arn(std::string_view policy);
std::string external_principal_arn(std::string_view principal);

}  // namespace tarn::auth
