// Heads of S3 requests: method, target and header lines, one per line, parsed to an operation.
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/encoding.h"
#include "core/base/error.h"
#include "s3gateway/gateway.h"
#include "s3gateway/wire/address.h"
#include "s3gateway/wire/endpoint.h"
#include "tests/fuzz/request_text.h"
#include "tests/fuzz/require.h"

namespace s3 = tarn::s3;

namespace {

const std::vector<std::string> kHosts = {"s3.test", "deeper.s3.test"};

/// A parsed key can be encoded into a path again.
void check_key(std::string_view key) {
  require(tarn::is_utf8(key), "a key is UTF-8");
  require(key.find('\0') == std::string_view::npos, "a key holds no NUL");
  tarn::http::Request again;
  again.target = "/bucket/" + tarn::percent_encode(key);
  require(s3::parse_address(again, {}).key == key, "a key has one meaning");
}

void check_endpoint(const tarn::http::Request& request, const s3::Endpoint& endpoint) {
  const std::string_view name = s3::name_of(endpoint);
  require(!name.empty(), "every operation has a name");
  check_key(s3::key_of(endpoint));
  const bool refused = std::holds_alternative<s3::Unsupported>(endpoint) ||
                       std::holds_alternative<s3::NoSuchMethod>(endpoint) ||
                       std::holds_alternative<s3::CorsPreflight>(endpoint);
  require(refused || s3::action_of(endpoint).has_value(), "what is served needs a permission");
  if (std::holds_alternative<s3::PutObject>(endpoint)) {
    require(request.method == "PUT", "only PUT puts");
    require(!tarn::http::Query::parse(request.raw_query()).has("acl"),
            "a sub-resource is never the object");
  }
  if (std::holds_alternative<s3::DeleteObject>(endpoint)) {
    require(request.method == "DELETE", "only DELETE deletes");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const tarn::http::Request request =
      request_of(std::string_view(reinterpret_cast<const char*>(data), size));
  s3::S3Options options;
  options.hosts = kHosts;
  static_cast<void>(s3::is_s3_request(request, options));
  try {
    check_endpoint(request, s3::parse_endpoint(request, kHosts));
  } catch (const tarn::Error& error) {
    require(error.code() == tarn::ErrorCode::kInvalidArgument, "a bad head is the caller's");
    require(!error.message().empty(), "a refusal says why");
  }
  return 0;
}
