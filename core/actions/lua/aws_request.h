// Requests of scripts to AWS services and to servers that speak as they do: signed in the script's
// process, sent by the server as those of net/http are.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>

#include <lua.hpp>

#include "core/actions/lua/value.h"
#include "core/http/message.h"
#include "core/sigv4/sign.h"

namespace tarn::actions::lua {

/// Attempts at a request that the service turns away for now (429, 503).
constexpr int kAwsAttemptsMax = 3;
/// Maximum length of a failure's text, bytes.
constexpr size_t kAwsFailureBytesMax = 1'000;

struct AwsClient {
  std::string service;  ///< as signatures name it: "s3", "glue"
  std::string region;
  sigv4::AccessKey key;
  std::string origin;     ///< "https://s3.us-east-1.amazonaws.com"
  std::string host;       ///< as the header Host will have it
  std::string base_path;  ///< of the endpoint: "" or "/some/path"
};

/// Leaves a table of `functions` on the stack. They have arguments 1 to 4 (access key id, secret,
/// region, endpoint) as upvalues, where scripts cannot read them. Throws invalid_argument for one
/// that cannot be; the text does not repeat it.
void push_aws_client(lua_State* state, std::string_view service,
                     std::initializer_list<Named> functions);

/// The client among the upvalues of the running function.
AwsClient client_of(lua_State* state, std::string_view service);

struct AwsRequest {
  std::string method = "GET";
  std::string path = "/";  ///< percent-encoded, below the endpoint's
  std::string query = {};  ///< percent-encoded
  http::Headers headers = {};
  std::string body = {};
};
struct AwsAnswer {
  int status = 0;
  std::string body;

  bool ok() const { return status >= 200 && status < 300; }
};
/// Returns any status. Throws if the request cannot be sent.
AwsAnswer send(lua_State* state, const AwsClient& client, const AwsRequest& request);

/// Throws invalid_argument: "<what>: <status> <code>: <message>", with the service's text, from
/// which parts of the key and control characters are removed.
[[noreturn]] void throw_failure(const AwsClient& client, std::string_view what, int status,
                                std::string_view code, std::string_view message);

}  // namespace tarn::actions::lua
