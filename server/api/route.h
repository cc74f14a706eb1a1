// A row of the table of operations.
#pragma once

#include <any>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

#include "core/http/message.h"
#include "server/api/access.h"
#include "server/api/call.h"
#include "server/api/json/document.h"
#include "server/api/parameter.h"

namespace tarn::api {

enum class Method { kGet, kHead, kPost, kPut, kDelete, kPatch };
std::string_view name_of(Method method);
std::optional<Method> parse_method(std::string_view text);

/// The parameters and the body of a route. They are validated after authentication and before the
/// check of permissions.
struct Input {
  enum class Body {
    kNone,
    kJson,
    kOptionalJson,
    kLongJson,  ///< up to json::kArchiveBodyBytesMax
    kStream,
  };
  Body body = Body::kNone;
  Parameters parameters{};
};

template <auto parse>
using Parsed = std::invoke_result_t<decltype(parse), const json::Value&>;

/// The handler of a route, and the parser of the JSON body that it takes, if any.
struct Handler {
  http::Response (*run)(const Context&, Call&);  ///< consumes the call's body
  /// Throws invalid_argument; nullptr for a handler without a JSON body.
  std::any (*parse)(const json::Value& body) = nullptr;

  constexpr Handler(decltype(run) handler, decltype(parse) parser = nullptr)
      : run(handler), parse(parser) {}

  bool takes_json() const { return parse != nullptr; }
  bool operator==(const Handler&) const = default;
};

/// The Handler that gives `run` the result of `parse`, or a default value without a body.
template <auto parse, http::Response (*run)(const Context&, Call&, Parsed<parse>)>
constexpr Handler json_handler{[](const Context& context, Call& call) {
                                 if constexpr (std::is_default_constructible_v<Parsed<parse>>) {
                                   if (!call.body.has_value()) return run(context, call, {});
                                 }
                                 return run(context, call,
                                            std::any_cast<Parsed<parse>>(std::move(call.body)));
                               },
                               [](const json::Value& body) -> std::any { return parse(body); }};

struct Route {
  Method method;
  std::string_view pattern;    ///< below kBasePath, for example "/repositories/{repository}"
  std::string_view operation;  ///< operationId of docs/api/openapi.yaml
  Access access;               ///< no default: a route without it does not compile
  Handler handler;
  Input input{};
  /// The message that clients expect if a ref of the path is not found; "" = the verb's own
  /// message.
  std::string_view missing_ref{};
  /// Alternative to an operation that is not served; "" = there is none.
  std::string_view instead{};
};

constexpr std::string_view kBasePath = "/api/v1";

/// All operations, both served and answered with 501.
std::span<const Route> routes();

/// Answers 501: a known operation that is not served.
http::Response not_implemented(const Context& context, Call& call);

}  // namespace tarn::api
