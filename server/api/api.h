// The REST API: handles requests below /api.
#pragma once

#include <memory>

#include "core/http/message.h"
#include "server/api/call.h"

namespace tarn::api {

/// Serves everything below /api. Order: request id, parse, route, validate, authenticate,
/// authorise, handle, encode, log and count. Safe from any thread.
class Api {
 public:
  explicit Api(Context context);
  ~Api();

  /// Never throws: failures become error responses. `as`: the caller, whose credentials in the
  /// request are not looked at then; for calls that the server itself makes for a user.
  http::Response handle(http::Request& request, const auth::Principal* as = nullptr);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tarn::api
