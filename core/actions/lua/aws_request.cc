#include "core/actions/lua/aws_request.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include <nlohmann/json.hpp>
#include <re2/re2.h>

#include "core/actions/lua/libraries.h"
#include "core/base/digest.h"
#include "core/base/encoding.h"
#include "core/base/error.h"
#include "core/base/str_cat.h"

namespace tarn::actions::lua {
namespace {

using Json = nlohmann::json;

constexpr int kUpvalues = 4;  // key id, secret, region, endpoint
constexpr std::string_view kDefaultRegion = "us-east-1";
constexpr std::chrono::milliseconds kFirstPause{200};

/// Whether the text is valid in a header: no spaces, no line breaks.
bool is_printable(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return c > ' ' && c < 0x7f && c != ',';
  });
}

std::string default_endpoint(std::string_view service, std::string_view region) {
  return str_cat("https://", service, ".", region, ".amazonaws.com",
                 region.starts_with("cn-") ? ".cn" : "");
}

/// The error message does not quote the endpoint, which may contain a password.
void set_endpoint(AwsClient& client, const std::string& endpoint) {
  static const RE2 kEndpoint(
      "(?i)((https?)://([a-z0-9._-]+|\\[[0-9a-f:.]+\\])(:[0-9]{1,5})?)(/[!-~]*)?");
  std::string scheme;
  std::string host;
  std::string port;
  if (!RE2::FullMatch(endpoint, kEndpoint, &client.origin, &scheme, &host, &port,
                      &client.base_path) ||
      client.base_path.find_first_of("?#") != std::string::npos) {
    throw_invalid(
        "endpoint: an address such as https://s3.example.com or http://10.1.2.3:9000 "
        "was expected");
  }
  while (client.base_path.ends_with('/')) client.base_path.pop_back();
  const bool secure = scheme.size() == std::string_view("https").size();
  // The HTTP client omits the scheme's default port from the Host header.
  if (port == (secure ? ":443" : ":80")) port.clear();
  client.host = host + port;
}

AwsClient client_at(lua_State* state, std::string_view service, int (*index)(int)) {
  AwsClient client;
  client.service = service;
  client.key.id = text_argument(state, index(1));
  client.key.secret = text_argument(state, index(2));
  client.region = text_argument_or(state, index(3), "");
  if (client.region.empty()) client.region = kDefaultRegion;
  if (!is_printable(client.key.id)) throw_invalid("argument 1: is no access key id");
  if (client.key.secret.empty()) throw_invalid("argument 2: is no secret access key");
  static const RE2 kRegion("[a-z0-9-]{1,64}");
  if (!RE2::FullMatch(client.region, kRegion)) throw_invalid("argument 3: is no region");
  const std::string endpoint = text_argument_or(state, index(4), "");
  set_endpoint(client, endpoint.empty() ? default_endpoint(service, client.region) : endpoint);
  return client;
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  if (from.empty()) return;
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
}

}  // namespace

AwsClient client_of(lua_State* state, std::string_view service) {
  return client_at(state, service, [](int i) { return lua_upvalueindex(i); });
}

void push_aws_client(lua_State* state, std::string_view service,
                     std::initializer_list<Named> functions) {
  client_at(state, service, [](int i) { return i; });
  lua_settop(state, kUpvalues);
  lua_createtable(state, 0, static_cast<int>(functions.size()));
  for (const Named& named : functions) {
    for (int i = 1; i <= kUpvalues; ++i) lua_pushvalue(state, i);
    lua_pushcclosure(state, named.function, kUpvalues);
    lua_setfield(state, kUpvalues + 1, named.name);
  }
}

AwsAnswer send(lua_State* state, const AwsClient& client, const AwsRequest& request) {
  const std::string path = client.base_path + request.path;
  const std::string hash = to_hex(sha256(request.body));
  for (int attempt = 1;; ++attempt) {
    http::Headers headers = request.headers;
    headers.set("host", client.host);
    sigv4::sign(headers,
                {.method = request.method,
                 .path = path,
                 .query = request.query,
                 .region = client.region,
                 .service = client.service},
                client.key, hash,
                std::chrono::floor<std::chrono::milliseconds>(std::chrono::system_clock::now()));
    headers.remove("host");  // the HTTP client adds an identical one
    Json shown = Json::object();
    for (const auto& [name, value] : headers.all()) shown[name] = value;
    const Message answer = ask_server(
        state, "http_request",
        {{"method", request.method},
         {"url", str_cat(client.origin, path, request.query.empty() ? "" : "?", request.query)},
         {"headers", std::move(shown)}},
        request.body);
    const int status = Json::parse(answer.json).value("status", 0);
    const bool turned_away = status == 429 || status == 503;
    if (!turned_away || attempt >= kAwsAttemptsMax) return {status, answer.bytes};
    std::this_thread::sleep_for(kFirstPause * attempt);
  }
}

void throw_failure(const AwsClient& client, std::string_view what, int status,
                   std::string_view code, std::string_view message) {
  std::string text = str_cat(what, ": ", status, code.empty() ? "" : " ", code,
                             message.empty() ? "" : ": ", message);
  for (const std::string_view hidden :
       {std::string_view(client.key.secret), std::string_view(client.key.id)}) {
    replace_all(text, hidden, "*****");
  }
  static const RE2 kSignature("[0-9a-fA-F]{64}");
  RE2::GlobalReplace(&text, kSignature, "*****");
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c < ' ' || c == 0x7f; }, ' ');
  if (text.size() > kAwsFailureBytesMax) text.resize(kAwsFailureBytesMax);
  throw_invalid(text);
}

}  // namespace tarn::actions::lua
