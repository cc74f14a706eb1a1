// The S3 API: one function from request to response.
#pragma once

#include <string_view>

#include "core/http/message.h"
#include "s3gateway/operations/call.h"

namespace tarn::s3 {

/// Whether a request on a port shared with REST and the web page is meant for S3: it carries an AWS
/// signature in header or query, is a multipart/form-data POST to a bucket or a CORS preflight
/// outside /api, or its Host is one of options.hosts or below one.
bool is_s3_request(const http::Request& request, const S3Options& options);

/// Answers every request, failures included; never throws. Writes one log line and counts.
http::Response handle(const S3Context& context, http::Request& request);

/// SlowDown, for a request that the server rejects unread. `why` is a sentence without its full
/// stop.
http::Response refuse(const S3Context& context, const http::Request& request, std::string_view why);

/// RequestHeaderSectionTooLarge, for a request head that exceeds the limit. Uses only the method,
/// id and peer of `request`, because nothing else has been validated.
http::Response refuse_large_head(const S3Context& context, const http::Request& request);

}  // namespace tarn::s3
