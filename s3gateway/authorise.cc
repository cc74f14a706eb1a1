#include "s3gateway/authorise.h"

#include "core/auth/demand.h"
#include "core/auth/resource.h"
#include "s3gateway/address.h"

namespace tarn::s3 {
namespace {

/// The repository a bucket stands for; a name that can be none is taken as it is, for nothing is
/// granted on it that exists.
std::string repository_of(Call& call, std::string_view bucket) {
  const std::optional<BucketName> name = find_bucket(call, bucket);
  return name ? name->repository.str() : std::string(bucket);
}

std::string object_resource(Call& call, std::string_view bucket, std::string_view key) {
  const std::optional<BucketName> name = find_bucket(call, bucket);
  if (name && name->rooted()) return auth::object_arn(name->repository.str(), key);
  const size_t slash = key.find('/');
  const std::string_view path =
      slash == std::string_view::npos ? std::string_view() : key.substr(slash + 1);
  return auth::object_arn(repository_of(call, bucket), path);
}

std::string resource_of(Call& call, const Endpoint& endpoint) {
  const std::string_view bucket = bucket_of(endpoint);
  if (bucket.empty()) return std::string(auth::kEverything);
  const std::string_view key = key_of(endpoint);
  return key.empty() ? auth::repository_arn(repository_of(call, bucket))
                     : object_resource(call, bucket, key);
}

}  // namespace

void authorise(Call& call, const Endpoint& endpoint) {
  const std::optional<auth::Action> action = action_of(endpoint);
  if (!action || std::holds_alternative<DeleteObjects>(endpoint)) return;
  auth::demand(call.caller, *action, resource_of(call, endpoint), call.request.peer);
}

void authorise_object(Call& call, auth::Action action, std::string_view bucket,
                      std::string_view key) {
  auth::demand(call.caller, action, object_resource(call, bucket, key), call.request.peer);
}

}  // namespace tarn::s3
