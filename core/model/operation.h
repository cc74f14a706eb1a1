// Operations: requests that continue in the background after the answer 202.
#pragma once

#include <string>

#include "core/base/time.h"

namespace tarn {

enum class OperationState {
  kRunning,
  kDone,
  kFailed,
  kCancelled,
  kLost,  ///< never stored: the lease of a running one has expired, its process is gone
};

struct Operation {
  std::string id;      ///< 20 characters of base32hex; ids of later ones are greater
  std::string name;    ///< the operation id of the API's description
  std::string target;  ///< the request's path
  std::string owner;   ///< user
  OperationState state = OperationState::kRunning;
  bool cancel_requested = false;
  int status = 0;    ///< of the answer, when ended
  std::string body;  ///< of the answer, when ended
  Instant created{};
  Instant updated{};
};

}  // namespace tarn
