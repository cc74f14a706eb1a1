// Authentication of S3 requests by their signatures.
#pragma once

#include "core/auth/authenticator.h"
#include "core/http/message.h"
#include "core/sigv4/verify.h"
#include "s3gateway/operations/call.h"
#include "s3gateway/wire/post_form.h"

namespace tarn::s3 {

struct Caller {
  auth::Principal principal;
  sigv4::VerifiedRequest verified;
};

/// Adds headers that a presigned URL carries in its query to the request. `bucket_in_host` is the
/// bucket in the Host header, "" for path style. Throws AccessDenied (no signature),
/// InvalidAccessKeyId, and what core/sigv4 throws.
Caller authenticate(const S3Context& context, http::Request& request,
                    std::string_view bucket_in_host);

/// Authenticates a form by its signed policy, but does not check that the policy permits the form.
/// `request` itself must be unsigned. Throws as authenticate does.
Caller authenticate_form(const S3Context& context, const http::Request& request,
                         const PostForm& form);

}  // namespace tarn::s3
