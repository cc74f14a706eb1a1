// Cancellation: work runs under a token, and long loops check it.
#pragma once

#include <stop_token>

namespace tarn {

/// The work of this thread may be cancelled through `token` until the scope ends. Scopes nest; the
/// innermost counts. One thread.
class CancellationScope {
 public:
  explicit CancellationScope(std::stop_token token);
  ~CancellationScope();
  CancellationScope(const CancellationScope&) = delete;
  CancellationScope& operator=(const CancellationScope&) = delete;

 private:
  std::stop_token outer_;
};

/// The token of the innermost scope of this thread; one that never stops without a scope.
std::stop_token cancellation_token();

/// Throws conflict (reason "operation_cancelled") when the thread's work was cancelled. Ask where
/// nothing is half done: never between making something visible and saying so.
void throw_if_cancelled();

}  // namespace tarn
