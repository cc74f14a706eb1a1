// Calls of hook scripts to the service: requests to its own API, as the user they act for.
#pragma once

#include "server/api/api.h"
#include "server/backend.h"

namespace tarn::server {

/// While it lives, scripts' calls reach the API. Both outlive it.
class HookCalls {
 public:
  HookCalls(Backend& backend, api::Api& rest);
  ~HookCalls();
  HookCalls(const HookCalls&) = delete;
  HookCalls& operator=(const HookCalls&) = delete;

 private:
  Backend& backend_;
};

}  // namespace tarn::server
