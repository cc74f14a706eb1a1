// GetBucketLifecycleConfiguration, PutBucketLifecycleConfiguration, DeleteBucketLifecycle.
#include "core/auth/permission_check.h"
#include "core/auth/resource.h"
#include "core/base/str_cat.h"
#include "core/objects/lifecycle.h"
#include "s3gateway/operations/lookup.h"
#include "s3gateway/operations/operations.h"
#include "s3gateway/wire/errors.h"
#include "s3gateway/xml/lifecycle.h"

namespace tarn::s3 {
namespace {

constexpr Failure kNoSuchLifecycle{"NoSuchLifecycleConfiguration", 404};

/// The repository whose rules they are: the bucket is its bare name.
Repository require_whole(Call& call, const BucketName& name) {
  Repository repository = require_existing(call.engine(), name);
  if (name.bare) return repository;
  throw Refusal(failure::kNotImplemented,
                str_cat("The bucket of one ref has no lifecycle of its own. Set it on the bucket ",
                        name.repository.str(), '.'));
}

/// Requires the permissions for the deletions and aborts that the rule causes.
void require_actions(Call& call, const BucketName& bucket, const LifecycleRule& rule) {
  const auto& peer = call.request.peer;
  const std::string repository = bucket.repository.str();
  if (!bucket.rooted()) {
    auth::require_permission_on_all_objects(call.caller, auth::Action::kWriteObject, repository,
                                            peer);
    return;
  }
  const std::string below = auth::object_arn(repository, bucket.ref, rule.prefix.value_or(""));
  if (rule.expires()) {
    auth::require_permission_below(call.caller, auth::Action::kDeleteObject, below, peer);
  }
  if (rule.abort_days) {
    auth::require_permission_below(call.caller, auth::Action::kWriteObject, below, peer);
  }
}

}  // namespace

http::Response run(Call& call, const GetBucketLifecycleConfiguration& endpoint) {
  const BucketName name = require_bucket(call, endpoint.bucket);
  const Repository repository = require_existing(call.engine(), name);
  std::optional<LifecycleRules> rules;
  if (name.bare) rules = objects::get_lifecycle(call.engine(), repository);
  if (!rules) {
    throw Refusal(kNoSuchLifecycle, "The lifecycle configuration does not exist.",
                  {{"BucketName", endpoint.bucket}});
  }
  return xml_response(200, xml::lifecycle_to_xml(*rules));
}

http::Response run(Call& call, const PutBucketLifecycleConfiguration& endpoint) {
  const LifecycleRules rules =
      xml::parse_lifecycle(read_document(call, xml::kLifecycleDocumentBytesMax));
  const BucketName bucket = require_bucket(call, endpoint.bucket);
  const Repository repository = require_whole(call, bucket);
  for (const LifecycleRule& rule : rules) {
    if (rule.expires() && !bucket.rooted()) {
      throw Refusal(failure::kNotImplemented,
                    "The lifecycle action Expiration is implemented for buckets that CreateBucket "
                    "made with s3.create_bucket: rooted, whose objects are those of one branch.");
    }
    require_actions(call, bucket, rule);
  }
  objects::set_lifecycle(call.engine(), repository, rules);
  return http::Response{};
}

http::Response run(Call& call, const DeleteBucketLifecycle& endpoint) {
  objects::set_lifecycle(call.engine(), require_whole(call, require_bucket(call, endpoint.bucket)),
                         {});
  return no_content();
}

}  // namespace tarn::s3
