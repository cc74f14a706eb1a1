#include "server/api/handlers/outcome.h"

#include "core/base/error.h"
#include "core/base/str_cat.h"

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

}  // namespace tarn::api
