// The parameters of a signed query besides its signature.
#include <algorithm>
#include <array>

#include "core/base/text.h"
#include "core/sigv4/canonical.h"
#include "core/sigv4/signature_v2.h"
#include "core/sigv4/verify.h"

namespace tarn::sigv4 {
namespace {

// Signature parameters in a query; everything else named x-amz-* there stands for a header.
constexpr std::array<std::string_view, 8> kSignatureParameters = {
    "x-amz-algorithm",     "x-amz-credential", "x-amz-date",           "x-amz-expires",
    "x-amz-signedheaders", "x-amz-signature",  "x-amz-security-token", "x-amz-content-sha256"};

bool is_signature_parameter(std::string_view name) {
  return std::find(kSignatureParameters.begin(), kSignatureParameters.end(), name) !=
         kSignatureParameters.end();
}

}  // namespace

void hoist_query_headers(http::Request& request) {
  const bool v2 = query_value(request.raw_query(), "AWSAccessKeyId").has_value();
  http::Headers found;
  for (const auto& [raw_name, raw_value] : raw_query_pairs(request.raw_query())) {
    std::string name = lower(decoded(raw_name));
    const bool stands_for_header = (v2 ? v2_signs_as_header(name) : name.starts_with("x-amz-")) &&
                                   !is_signature_parameter(name);
    if (!stands_for_header || request.headers.find(name) != nullptr) continue;
    std::string value(trimmed(decoded(raw_value)));
    // A decoded value may hold what a header line cannot; it must not reach an answer's header
    // later.
    const auto breaks = [](char c) { return is_control(c) && c != '\t'; };
    if (std::any_of(value.begin(), value.end(), breaks) ||
        std::any_of(name.begin(), name.end(), breaks)) {
      throw Rejection(
          ErrorCode::kInvalidArgument, "InvalidArgument",
          "reading the query: a parameter that stands for a header holds control characters");
    }
    found.add(std::move(name), std::move(value));
  }
  for (const auto& [name, value] : found.all()) request.headers.add(name, value);
}

}  // namespace tarn::sigv4
