// Signed requests: a head whose Authorization or query claims a signature, and a target that we
// sign ourselves.
#include <string>
#include <string_view>

#include "core/base/error.h"
#include "core/base/text.h"
#include "core/sigv4/authorization.h"
#include "core/sigv4/canonical.h"
#include "core/sigv4/sign.h"
#include "core/sigv4/testing/signed_requests.h"
#include "core/sigv4/verify.h"
#include "tests/fuzz/request_text.h"
#include "tests/fuzz/require.h"

namespace sigv4 = tarn::sigv4;
namespace signing = tarn::sigv4::testing;

namespace {

/// Only requests signed with the secret may verify.
void check_claim(tarn::http::Request request) {
  if (!sigv4::looks_signed(request)) return;
  try {
    const sigv4::Authorization authorization = sigv4::parse_authorization(request);
    sigv4::verify(authorization, request, "a secret that no input knows: 7f0c", {}, signing::kNow);
    sigv4::hoist_query_headers(request);
    // A signature over the body may still be unverified; nothing else may verify.
    require(authorization.mechanism == sigv4::Mechanism::kV4Header, "a guess is never authentic");
  } catch (const tarn::Error& error) {
    require(!error.message().empty(), "a refusal says why");
  }
}

bool claims_something(std::string_view query) {
  const std::string text = tarn::lower(sigv4::decoded(query));
  return text.find("x-amz-") != std::string::npos || text.find("awsaccess") != std::string::npos;
}

void require_verified(const tarn::http::Request& request, const char* promise) {
  try {
    signing::authenticate(request);
  } catch (const tarn::Error&) {
    require(false, promise);
  }
}

/// Our own signatures verify for every target.
void check_signing(const tarn::http::Request& head) {
  if (claims_something(head.raw_query())) return;
  tarn::http::Request request = signing::make_request(head.method, head.target);
  signing::sign_v4(request, sigv4::kUnsignedPayload);
  require_verified(request, "verify(sign(request)) holds");
  request = signing::make_request(head.method, head.target);
  signing::presign_v4(request, std::chrono::seconds{60});
  require_verified(request, "verify(presign(request)) holds");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check_claim(request_of(text));
  check_signing(request_of(text));
  return 0;
}
