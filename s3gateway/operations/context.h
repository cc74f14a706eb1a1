// Configuration and dependencies of the gateway, shared by all requests.
#pragma once

#include <string>
#include <vector>

#include "core/auth/authenticator.h"
#include "core/base/time.h"
#include "core/branch/engine.h"
#include "core/model/repository.h"
#include "core/objects/checked_read.h"
#include "s3gateway/wire/cors.h"

namespace tarn::s3 {

struct S3Options {
  std::string region =
      "us-east-1";  ///< what buckets are said to be in; any is accepted in signatures
  std::vector<std::string> hosts;  ///< lower case, without port: bucket names may stand before them
  bool allow_v2 = true;            ///< signatures of version 2 (HMAC-SHA1, no payload integrity)
  objects::ReadCheck read_check{};  ///< of whole objects
  bool redirect = true;             ///< redirects clients that support it to the store's own URLs
  BucketKind create_bucket = BucketKind::kNone;  ///< what CreateBucket makes; kNone: it is refused
  std::string bucket_namespace;  ///< storage namespaces of such repositories lie below it
  std::string anonymous_user{};  ///< whom unsigned requests act as; "" = they are refused
  bool public_buckets = false;  ///< whether unsigned requests may read buckets that are public-read
  CorsOptions cors{};
  std::string owner_id = "tarn";  ///< owner of every bucket and object, as S3 shows it
  std::string owner_name = "tarn";
};

/// Created once; all members outlive it. Safe from any thread.
struct S3Context {
  branch::Engine& engine;
  auth::Authenticator& authenticator;
  const Clock& clock;  ///< requests are judged by it; the engine's dates what is stored
  S3Options options;
};

}  // namespace tarn::s3
