#include "s3gateway/operations/authorise.h"

#include "core/auth/permission_check.h"
#include "core/auth/resource.h"
#include "core/base/str_cat.h"
#include "core/model/commit.h"
#include "core/model/object_version.h"
#include "s3gateway/operations/access_control.h"
#include "s3gateway/wire/address.h"

namespace tarn::s3 {
namespace {

/// A bucket name that no repository can have is used as it is: no policy grants anything on it.
Location location_of(Call& call, std::string_view bucket, std::string_view key) {
  std::optional<BucketName> name = find_bucket(call, bucket);
  return locate(name ? std::move(*name) : BucketName{RepositoryName(std::string(bucket)), ""}, key);
}

/// Reading a version needs permission on the version, as reading a commit does. Deleting or tagging
/// one changes the branch and needs permission on the branch.
std::string object_resource(Call& call, auth::Action action, std::string_view bucket,
                            std::string_view key, const std::optional<std::string>& version_id) {
  const Location at = location_of(call, bucket, key);
  const bool names_ref =
      version_id && (parse_commit_id(*version_id) ||
                     (action == auth::Action::kReadObject && parse_version_id(*version_id)));
  return auth::object_arn(at.repository.str(), names_ref ? *version_id : at.ref, at.path);
}

/// Listings of one ref need permission on the ref, listings over several on the repository.
std::string listed_resource(Call& call, std::string_view bucket, std::string_view prefix) {
  const Location at = location_of(call, bucket, prefix);
  return at.has_path ? auth::ref_arn(at.repository.str(), at.ref)
                     : auth::repository_arn(at.repository.str());
}

/// The resource as the request names it: its full name would tell a caller without permission
/// whether the bucket exists with a branch at its root. "" = of no bucket.
std::string as_requested(std::string_view bucket, std::string_view key) {
  if (bucket.empty()) return "";
  return key.empty() ? str_cat("bucket ", bucket) : str_cat("key ", key, " of bucket ", bucket);
}

/// Whether the request is anonymous. Preflights, which are never signed, do not count.
bool is_unsigned(const Call& call, const Endpoint& endpoint) {
  return call.context.options.public_buckets &&
         call.verified.mechanism == sigv4::Mechanism::kNone &&
         !std::holds_alternative<CorsPreflight>(endpoint);
}

std::string resource_of(Call& call, auth::Action action, const Endpoint& endpoint) {
  return std::visit(
      [&](const auto& e) -> std::string {
        if constexpr (requires { e.parameters.prefix; }) {
          return listed_resource(call, e.bucket, e.parameters.prefix);
        } else if constexpr (requires { e.version_id; }) {
          return object_resource(call, action, e.bucket, e.key, e.version_id);
        } else if constexpr (requires { e.key; }) {
          return object_resource(call, action, e.bucket, e.key, std::nullopt);
        } else if constexpr (requires { e.bucket; }) {
          return auth::repository_arn(location_of(call, e.bucket, "").repository.str());
        } else {
          return std::string(auth::kEverything);
        }
      },
      endpoint);
}

}  // namespace

void authorise(Call& call, const Endpoint& endpoint) {
  const std::optional<auth::Action> action = action_of(endpoint);
  if (call.context.options.public_buckets && action) {
    // Policies come first, in particular those that deny. Of an unsigned request they are those of
    // the anonymous user.
    const auto decision = call.caller.permissions->decide(
        *action, resource_of(call, *action, endpoint), call.request.peer);
    if (decision == auth::Permissions::Decision::kNotAllowed && everybody_may(call, endpoint)) {
      return;
    }
  }
  if (is_unsigned(call, endpoint) && call.caller.user.name.empty()) refuse_unsigned();
  if (!action || std::holds_alternative<DeleteObjects>(endpoint)) return;
  auth::require_permission(call.caller, *action, resource_of(call, *action, endpoint),
                           call.request.peer, as_requested(bucket_of(endpoint), key_of(endpoint)));
}

void authorise_object(Call& call, auth::Action action, std::string_view bucket,
                      std::string_view key, const std::optional<std::string>& version_id) {
  auth::require_permission(call.caller, action,
                           object_resource(call, action, bucket, key, version_id),
                           call.request.peer, as_requested(bucket, key));
}

void authorise_versions(Call& call, const RepositoryName& repository) {
  auth::require_permission(call.caller, auth::Action::kListObjects,
                           auth::repository_arn(repository.str()), call.request.peer);
}

}  // namespace tarn::s3
