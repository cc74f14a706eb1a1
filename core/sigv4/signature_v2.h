// The older Signature Version 2 of S3: HMAC-SHA1 over method, four headers, x-amz-* and the
// resource.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/http/message.h"
#include "core/sigv4/authorization.h"

namespace tarn::sigv4 {

/// Whether a parameter of a presigned URL represents a header and is signed as one. `name` is
/// decoded and in lower case. No other parameter may act as a header.
bool v2_signs_as_header(std::string_view name);

/// The texts of which the client must have signed one, most likely first. `bucket_from_host` is the
/// bucket when the Host names it, else empty. Headers that a presigned URL carries in its query
/// count as sent, and parameters of which `must_sign` (may be null) is true are part of the
/// resource, in every text.
std::vector<std::string> v2_strings_to_sign(const Authorization& authorization,
                                            const http::Request& request,
                                            std::string_view bucket_from_host,
                                            bool (*must_sign)(std::string_view name) = nullptr);

/// Decoded names of those parameters of the texts that signers are not known to sign, joined by
/// ", ": newer than version 2, of listings, or with an encoded name.
std::string v2_later_parameters(std::string_view raw_query,
                                bool (*must_sign)(std::string_view name));

/// base64 of HMAC-SHA1.
std::string v2_signature_of(std::string_view secret, std::string_view text);

}  // namespace tarn::sigv4
