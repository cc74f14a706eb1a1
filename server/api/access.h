// The permissions that a route requires. Every route declares them; there is no default.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "core/auth/action.h"

namespace tarn::api {

struct Call;

/// Extracts the ARNs of the resources that a call affects. The permission is required on each.
using Resources = std::vector<std::string> (*)(const Call&);

struct RequiredPermission {
  auth::Action action;
  Resources on;
};

/// Immutable.
class Access {
 public:
  /// No account: login, health.
  static constexpr Access open() { return Access(Kind::kOpen); }
  /// Any account, whatever its policies: facts about the server and about the caller.
  static constexpr Access any_account() { return Access(Kind::kAnyAccount); }
  /// An account with the given permissions.
  static constexpr Access of(RequiredPermission permission) { return Access({permission}, 1); }
  static constexpr Access of(RequiredPermission first, RequiredPermission second) {
    return Access({first, second}, 2);
  }
  static constexpr Access of(RequiredPermission first, RequiredPermission second,
                             RequiredPermission third) {
    return Access({first, second, third}, 3);
  }

  constexpr bool needs_account() const { return kind_ != Kind::kOpen; }
  constexpr std::span<const RequiredPermission> permissions() const {
    return {permissions_.data(), count_};
  }

 private:
  static constexpr size_t kPermissionsMax = 3;
  enum class Kind { kOpen, kAnyAccount, kPermissions };
  constexpr explicit Access(Kind kind) : kind_(kind) {}
  constexpr Access(std::array<RequiredPermission, kPermissionsMax> permissions, size_t count)
      : kind_(Kind::kPermissions), permissions_(permissions), count_(count) {}

  Kind kind_;
  std::array<RequiredPermission, kPermissionsMax> permissions_{};
  size_t count_ = 0;
};

// Resource extractors. They read values of the path, query parameters and members of the body.
std::vector<std::string> on_everything(const Call& call);
std::vector<std::string> on_repository(const Call& call);
std::vector<std::string> on_listed_ref(const Call& call);     ///< {ref}, or its repository
std::vector<std::string> on_listed_branch(const Call& call);  ///< {branch}, or its repository
// Searches of several refs. Each repository and ref that a glob matches is checked separately
// later.
std::vector<std::string> on_repository_globs(const Call& call);  ///< everything, if there is one
std::vector<std::string> on_branch_globs(const Call& call);      ///< the named repositories
std::vector<std::string> on_named_refs(const Call& call);        ///< refs that are named
std::vector<std::string> on_measured_ref(const Call& call);      ///< parameters ref and exact
std::vector<std::string> on_compared_refs(const Call& call);     ///< {leftRef} and {rightRef}
std::vector<std::string> on_merged_refs(const Call& call);  ///< {sourceRef}, {destinationBranch}
std::vector<std::string> on_branch(const Call& call);
std::vector<std::string> on_destination_branch(const Call& call);  ///< {destinationBranch}
std::vector<std::string> on_ref(const Call& call);                 ///< {ref}, as a branch
std::vector<std::string> on_tag(const Call& call);
std::vector<std::string> on_alias(const Call& call);
std::vector<std::string> on_object(const Call& call);              ///< parameter path
std::vector<std::string> on_destination_object(const Call& call);  ///< parameter dest_path
std::vector<std::string> on_user(const Call& call);
std::vector<std::string> on_checked_user(const Call& call);  ///< body: user, if not the caller
std::vector<std::string> on_group(const Call& call);
std::vector<std::string> on_policy(const Call& call);
std::vector<std::string> on_external_principal(const Call& call);
std::vector<std::string> on_new_repository(const Call& call);
std::vector<std::string> on_new_namespace(const Call& call);
std::vector<std::string> on_new_branch(const Call& call);
std::vector<std::string> on_renamed_branch(const Call& call);  ///< body: name
std::vector<std::string> on_new_tag(const Call& call);
std::vector<std::string> on_new_user(const Call& call);
std::vector<std::string> on_new_group(const Call& call);
std::vector<std::string> on_new_policy(const Call& call);
/// The first of the body's paths that the caller may delete; if there is none, the first.
std::vector<std::string> on_first_deletable(const Call& call);
std::vector<std::string> on_archived_objects(const Call& call);     ///< body: paths
std::vector<std::string> on_source_object(const Call& call);        ///< body: src_path
std::vector<std::string> on_part_source(const Call& call);          ///< body: copy_source
std::vector<std::string> on_moved_source(const Call& call);         ///< body: src_path, src_prefix
std::vector<std::string> on_moved_destination(const Call& call);    ///< body: dest_path, ...
std::vector<std::string> on_import_sources(const Call& call);       ///< body: paths[].path
std::vector<std::string> on_import_destinations(const Call& call);  ///< body: paths[].destination

/// The paths at which the call stores objects, as far as the request names them; a prefix too.
std::vector<std::string> written_paths(const Call& call);

}  // namespace tarn::api
