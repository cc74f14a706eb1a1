#include "s3gateway/authenticate.h"

#include "s3gateway/errors.h"

namespace tarn::s3 {

Caller authenticate(const S3Context& context, http::Request& request,
                    std::string_view bucket_in_host) {
  const sigv4::Authorization authorization = sigv4::parse_authorization(request);
  if (authorization.mechanism == sigv4::Mechanism::kNone) {
    throw Refusal(
        failure::kAccessDenied,
        "Access Denied: the request is not signed. Sign it with an access key of this server.");
  }
  std::optional<auth::AccessKey> key = context.authenticator.find_key(authorization.access_key_id);
  if (!key) {
    throw Refusal(failure::kInvalidAccessKeyId,
                  "The AWS Access Key Id you provided does not exist in our records.",
                  {{"AWSAccessKeyId", authorization.access_key_id}});
  }
  // Clients are often set up with a region of their own choosing, so any is taken.
  const sigv4::VerifyRules rules{context.options.allow_v2, {}, bucket_in_host};
  Caller caller{std::move(key->principal),
                sigv4::verify(authorization, request, key->secret, rules, context.clock.now())};
  if (authorization.mechanism == sigv4::Mechanism::kV4Query ||
      authorization.mechanism == sigv4::Mechanism::kV2Query) {
    sigv4::hoist_query_headers(request);
  }
  return caller;
}

}  // namespace tarn::s3
