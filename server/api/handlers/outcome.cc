#include "server/api/handlers/outcome.h"

#include "core/base/error.h"
#include "core/base/str_cat.h"
#include "server/api/response.h"

namespace tarn::api {

void expect_done(auth::Outcome outcome) {
  switch (outcome) {
    case auth::Outcome::kDone:
      return;
    case auth::Outcome::kExists:
      throw Error(ErrorCode::kAlreadyExists, "Already exists");
    case auth::Outcome::kNoUser:
      throw_missing("user");
    case auth::Outcome::kNoGroup:
      throw_missing("group");
    case auth::Outcome::kNoPolicy:
      throw_missing("policy");
  }
  check_failed("Outcome", __FILE__, __LINE__);
}

void throw_missing(std::string_view what) {
  throw Error(ErrorCode::kNotFound, str_cat(what, " not found"));
}

http::Response granted(const Context& context, auth::Outcome outcome) {
  expect_done(outcome);
  context.authenticator.forget();
  return empty_response(201);
}

http::Response revoked(const Context& context, bool removed, std::string_view what) {
  expect_removed(removed, what);
  context.authenticator.forget();
  return empty_response(204);
}

}  // namespace tarn::api
