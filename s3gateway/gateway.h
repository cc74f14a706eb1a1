// The S3 API: one function from request to response.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/auth/authenticator.h"
#include "core/base/time.h"
#include "core/branch/engine.h"
#include "core/http/message.h"
#include "core/model/repository.h"
#include "s3gateway/cors.h"

namespace tarn::s3 {

struct S3Options {
  std::string region =
      "us-east-1";  ///< what buckets are said to be in; any is accepted in signatures
  std::vector<std::string> hosts;  ///< lower case, without port: bucket names may stand before them
  bool allow_v2 = true;            ///< signatures of version 2 (HMAC-SHA1, no payload integrity)
  bool redirect = true;  ///< reads of clients that say so are sent to the store's own URLs
  BucketKind create_bucket = BucketKind::kNone;  ///< what CreateBucket makes; kNone: it is refused
  std::string bucket_namespace;  ///< storage namespaces of such repositories lie below it
  std::string anonymous_user{};  ///< whom unsigned requests act as; "" = they are refused
  bool public_buckets = false;  ///< whether unsigned requests may read buckets that are public-read
  CorsOptions cors{};
  std::string owner_id = "tarn";  ///< owner of every bucket and object, as S3 shows it
  std::string owner_name = "tarn";
};

/// Made once; all members outlive it. Safe from any thread.
struct S3Context {
  versioning::Engine& engine;
  auth::Authenticator& authenticator;
  const Clock& clock;
  S3Options options;
};

/// Whether a request on a port shared with REST and the web page is meant for S3: it carries an AWS
/// signature in header or query, is a multipart/form-data POST to a bucket or a CORS preflight
/// outside /api, or its Host is one of options.hosts or below one.
bool is_s3_request(const http::Request& request, const S3Options& options);

/// Answers every request, failures included; never throws. Writes one log line and counts.
http::Response handle(const S3Context& context, http::Request& request);

/// SlowDown, for a request that is not served. `why` is a sentence without its full stop.
http::Response refuse(const S3Context& context, const http::Request& request, std::string_view why);

/// RequestHeaderSectionTooLarge, for a head that was not read to its end. Nothing in `request` is
/// checked, so only its method and id are used.
http::Response refuse_large_head(const S3Context& context, const http::Request& request);

}  // namespace tarn::s3
