#include "s3gateway/authenticate.h"

#include <memory>

#include "s3gateway/operations/access_control.h"
#include "s3gateway/wire/endpoint.h"
#include "s3gateway/wire/errors.h"

namespace tarn::s3 {
namespace {

auth::AccessKey require_key(const S3Context& context, const sigv4::Authorization& authorization) {
  std::optional<auth::AccessKey> key = context.authenticator.find_key(authorization.access_key_id);
  if (key) return *std::move(key);
  throw Refusal(failure::kInvalidAccessKeyId,
                "The AWS Access Key Id you provided does not exist in our records.",
                {{"AWSAccessKeyId", authorization.access_key_id}});
}

/// The caller of an unsigned request. Without a user for such requests the caller has no
/// permissions; authorise may still let it read public buckets.
Caller anonymous(const S3Context& context) {
  if (context.options.anonymous_user.empty()) {
    if (!context.options.public_buckets) refuse_unsigned();
    return {{auth::User{}, std::make_shared<const auth::Permissions>()}, {}};
  }
  auto principal = context.authenticator.find_user(context.options.anonymous_user);
  if (!principal) {
    throw Refusal(
        failure::kAccessDenied,
        "Access Denied: the user that unsigned requests act as does not exist. Create it, "
        "or sign the request.");
  }
  return {*std::move(principal), {}};
}

}  // namespace

Caller authenticate(const S3Context& context, http::Request& request,
                    std::string_view bucket_in_host) {
  const sigv4::Authorization authorization = sigv4::parse_authorization(request);
  if (authorization.mechanism == sigv4::Mechanism::kNone) return anonymous(context);
  auth::AccessKey key = require_key(context, authorization);
  // Any region is accepted: clients are often configured with one of their own. Signers of version
  // 2 leave out the parameters of listings, so only URLs, which others hold, must cover them.
  const bool is_shared = authorization.mechanism == sigv4::Mechanism::kV2Query;
  const sigv4::VerifyRules rules{context.options.allow_v2,
                                 {},
                                 bucket_in_host,
                                 is_shared ? &is_read_from_query : &selects_operation};
  Caller caller{std::move(key.principal),
                sigv4::verify(authorization, request, key.secret, rules, context.clock.now())};
  context.authenticator.note_signature(authorization.access_key_id, request.peer);
  if (authorization.mechanism == sigv4::Mechanism::kV4Query ||
      authorization.mechanism == sigv4::Mechanism::kV2Query) {
    sigv4::hoist_query_headers(request);
  }
  return caller;
}

Caller authenticate_form(const S3Context& context, const http::Request& request,
                         const PostForm& form) {
  if (sigv4::looks_signed(request)) {
    throw Refusal(failure::kInvalidArgument,
                  "Only one auth mechanism allowed: a form is signed by its policy alone.");
  }
  const sigv4::Authorization authorization = sigv4::parse_form_authorization(form.fields);
  if (authorization.mechanism == sigv4::Mechanism::kNone) return anonymous(context);
  auth::AccessKey key = require_key(context, authorization);
  const sigv4::VerifyRules rules{context.options.allow_v2, {}, {}};
  return {std::move(key.principal), sigv4::verify_form(authorization, form.fields.get("policy"),
                                                       key.secret, rules, context.clock.now())};
}

}  // namespace tarn::s3
