// Operations of S3 that this server does not support.
#include "s3gateway/operations/operations.h"
#include "s3gateway/wire/errors.h"

namespace tarn::s3 {

http::Response run(Call&, const Unsupported& endpoint) { refuse_unsupported(endpoint.detail); }

http::Response run(Call& call, const NoSuchMethod&) {
  throw Refusal(failure::kMethodNotAllowed,
                "The specified method is not allowed against this resource.",
                {{"Method", call.request.method}});
}

}  // namespace tarn::s3
