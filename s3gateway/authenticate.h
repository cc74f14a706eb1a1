// Who signed a request.
#pragma once

#include "core/auth/authenticator.h"
#include "core/http/message.h"
#include "core/sigv4/verify.h"
#include "s3gateway/gateway.h"

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

}  // namespace tarn::s3
