// One row of the table of operations. Reading the table is reading the API.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "core/http/message.h"
#include "server/api/access.h"
#include "server/api/call.h"
#include "server/api/parameter.h"

namespace tarn::api {

enum class Method { kGet, kHead, kPost, kPut, kDelete, kPatch };
std::string_view name_of(Method method);
std::optional<Method> parse_method(std::string_view text);

/// The parameters and the body of a route; checked once the caller is authenticated, before their
/// rights.
struct Input {
  enum class Body {
    kNone,
    kJson,
    kOptionalJson,
    kLongJson,  ///< up to json::kArchiveBodyBytesMax
    kStream,
  };
  Body body = Body::kNone;
  /// Parses the JSON body and throws invalid_argument when it is not what the handler will want.
  void (*check_body)(const json::Value& body) = nullptr;
  Parameters parameters{};
};

using HandlerFunction = http::Response (*)(const Context&, Call&);

struct Route {
  Method method;
  std::string_view pattern;    ///< below kBasePath, for example "/repositories/{repository}"
  std::string_view operation;  ///< the id of the public description
  Access access;               ///< has no default: a route without one does not compile
  HandlerFunction handler;
  Input input{};
  /// The message that clients expect when a ref of the path is not found; "" = the verb's own
  /// message.
  std::string_view missing_ref{};
  /// Of an operation that is not served: what to do instead, "" = nothing.
  std::string_view instead{};
};

constexpr std::string_view kBasePath = "/api/v1";

/// Every operation, served or answered 501.
std::span<const Route> routes();

/// Answers 501: the operation is known and not served.
http::Response not_implemented(const Context& context, Call& call);

}  // namespace tarn::api
