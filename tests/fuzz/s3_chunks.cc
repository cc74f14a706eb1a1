// aws-chunked bodies: the first byte chooses the framing and how the bytes arrive, the rest is the
// body.
#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/error.h"
#include "core/base/str_cat.h"
#include "core/sigv4/payload.h"
#include "core/sigv4/testing/signed_requests.h"
#include "tests/fuzz/piecewise_source.h"
#include "tests/fuzz/require.h"

namespace sigv4 = tarn::sigv4;
namespace signing = tarn::sigv4::testing;

namespace {

constexpr std::array<std::string_view, 3> kLiterals = {
    "STREAMING-UNSIGNED-PAYLOAD-TRAILER", "STREAMING-AWS4-HMAC-SHA256-PAYLOAD",
    "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER"};
constexpr size_t kDecodedBytes = 5;

struct Decoded {
  std::string bytes;
  std::string failure;
  bool operator==(const Decoded&) const = default;
};

Decoded decode(std::string_view literal, std::string_view body, size_t piece) {
  tarn::http::Request request = signing::make_request("PUT", "/lake/main/a");
  request.headers.add("x-amz-decoded-content-length", std::to_string(kDecodedBytes));
  if (literal.ends_with("TRAILER")) request.headers.add("x-amz-trailer", "x-amz-checksum-crc32");
  signing::sign_v4(request, literal);
  const sigv4::VerifiedRequest verified = signing::authenticate(request);
  request.content_length = body.size();
  request.body = std::make_unique<PiecewiseSource>(body, piece);
  Decoded out;
  try {
    const auto payload = sigv4::verified_payload(request, verified, {});
    std::string buffer(1 + piece, '\0');
    while (const size_t count = payload->read(buffer)) out.bytes.append(buffer, 0, count);
    require(out.bytes.size() == kDecodedBytes, "what is accepted has the announced length");
    require(payload->result().bytes == kDecodedBytes, "and says so");
  } catch (const tarn::Error& error) {
    out.failure = error.reason();
    out.bytes.clear();  // the number of bytes before the error is not specified
  }
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view literal = kLiterals[data[0] % kLiterals.size()];
  const std::string_view body(reinterpret_cast<const char*>(data) + 1, size - 1);
  const Decoded whole = decode(literal, body, 1 << 16);
  require(whole == decode(literal, body, 1 + data[0] / kLiterals.size()),
          "it does not matter how the bytes arrive");
  return 0;
}
