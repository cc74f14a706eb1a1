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

using HandlerFunction = http::Response (*)(const Context&, Call&);

/// A handler that takes a JSON body, and the parser of that body.
struct JsonHandler {
  std::any (*parse)(const json::Value& body);  ///< throws invalid_argument
  HandlerFunction run;                         ///< consumes the call's body
};

template <auto parse>
using Parsed = std::invoke_result_t<decltype(parse), const json::Value&>;

/// The JsonHandler of `run`, which receives the result of `parse`, or a default value without a
/// body.
template <auto parse, http::Response (*run)(const Context&, Call&, Parsed<parse>)>
constexpr JsonHandler json_handler{
    .parse = [](const json::Value& body) -> std::any { return parse(body); },
    .run =
        [](const Context& context, Call& call) {
          if constexpr (std::is_default_constructible_v<Parsed<parse>>) {
            if (!call.body.has_value()) return run(context, call, {});
          }
          return run(context, call, std::any_cast<Parsed<parse>>(std::move(call.body)));
        }};

/// The handler of a route.
class Handler {
 public:
  constexpr Handler(HandlerFunction plain) : plain_(plain) {}
  constexpr Handler(JsonHandler (*json)()) : json_(json) {}

  bool takes_json() const { return json_ != nullptr; }
  /// Throws invalid_argument. Requires takes_json().
  std::any parse(const json::Value& body) const { return json_().parse(body); }
  http::Response operator()(const Context& context, Call& call) const {
    return (takes_json() ? json_().run : plain_)(context, call);
  }
  bool operator==(const Handler&) const = default;

 private:
  HandlerFunction plain_ = nullptr;
  JsonHandler (*json_)() = nullptr;
};

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
