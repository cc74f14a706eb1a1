#include "core/actions/script_requests.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"

namespace tarn::actions {
namespace {

using Json = nlohmann::json;

[[noreturn]] void refuse(std::string why) {
  throw Error(ErrorCode::kResourceExhausted, reason::kScriptRequests, std::move(why));
}

std::string text_of(const Json& given, const char* name) {
  const auto at = given.find(name);
  if (at == given.end()) return "";
  if (!at->is_string()) throw_invalid(str_cat(name, ": a string was expected"));
  return at->get<std::string>();
}

}  // namespace

void ScriptRequests::check_limits(size_t body_bytes) const {
  if (requests_ >= limits_.requests_max) {
    refuse(str_cat("a script may send ", limits_.requests_max, " requests"));
  }
  if (bytes_ + body_bytes >= limits_.bytes_max) {
    refuse(str_cat("the requests of a script may send and receive ", limits_.bytes_max,
                   " bytes together"));
  }
}

Message ScriptRequests::send(const Json& given, const std::string& body) {
  check_limits(body.size());
  const uint64_t room = limits_.bytes_max - bytes_ - body.size();
  http::OutboundRequest request{
      .method = text_of(given, "method"),
      .url = text_of(given, "url"),
      .body = body,
      .answer_bytes_max = static_cast<size_t>(std::min<uint64_t>(limits_.answer_bytes_max, room))};
  if (request.method.empty()) request.method = body.empty() ? "GET" : "POST";
  const Json headers = given.value("headers", Json::object());
  if (!headers.is_object()) throw_invalid("headers: a table was expected");
  size_t header_bytes = 0;
  for (const auto& [name, value] : headers.items()) {
    std::string text = value.is_string() ? value.get<std::string>() : value.dump();
    header_bytes += name.size() + text.size();
    request.headers.add(name, std::move(text));
  }
  if (header_bytes > limits_.header_bytes_max) {
    refuse(str_cat("the headers are longer than ", limits_.header_bytes_max, " bytes"));
  }
  request.timeout =
      std::chrono::ceil<std::chrono::milliseconds>(deadline_ - std::chrono::steady_clock::now());
  if (request.timeout.count() <= 0) refuse("the script's time is over");
  ++requests_;
  bytes_ += body.size();
  http::OutboundAnswer answer = outbound_.send(request);
  bytes_ += answer.body.size();
  if (answer.cut) {
    refuse(str_cat("the answer is longer than ", request.answer_bytes_max, " bytes"));
  }
  Json shown = Json::object();
  for (const auto& [name, value] : answer.headers.all()) shown[name] = value;
  return {Message::Kind::kAnswer,
          Json{{"status", answer.status},
               {"reason", http::reason_phrase(answer.status)},
               {"headers", std::move(shown)}}
              .dump(-1, ' ', false, Json::error_handler_t::replace),
          std::move(answer.body)};
}

}  // namespace tarn::actions
