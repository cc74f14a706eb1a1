// Calls of hook scripts to the server's own API, on behalf of a user.
#pragma once

#include "server/api/api.h"
#include "server/backend.h"

namespace tarn::server {

/// Connects scripts' calls to the API during its lifetime. Both arguments outlive it.
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
