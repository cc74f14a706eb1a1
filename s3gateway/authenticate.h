// The signer of a request.
#pragma once

#include "core/auth/authenticator.h"
#include "core/http/message.h"
#include "core/sigv4/verify.h"
#include "s3gateway/operations/context.h"
#include "s3gateway/wire/post_form.h"

namespace tarn::s3 {

struct Caller {
  auth::Principal principal;
  sigv4::VerifiedRequest verified;
};

/// Headers that a presigned URL carries in its query are added to the request. `bucket_in_host` is
/// the bucket that the Host names, "" for path style. Throws AccessDenied (no signature),
/// InvalidAccessKeyId, and what core/sigv4 throws.
Caller authenticate(const S3Context& context, http::Request& request,
                    std::string_view bucket_in_host);

/// Of a form, whose policy is signed; whether it permits this form is not looked at. `request` must
/// not be signed itself. Throws as authenticate does.
Caller authenticate_form(const S3Context& context, const http::Request& request,
                         const PostForm& form);

}  // namespace tarn::s3
