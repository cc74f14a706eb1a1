#include "core/base/cancellation.h"

#include <utility>

#include "core/base/error.h"
#include "core/base/reasons.h"

namespace tarn {
namespace {

thread_local std::stop_token current;

}  // namespace

CancellationScope::CancellationScope(std::stop_token token)
    : outer_(std::exchange(current, std::move(token))) {}

CancellationScope::~CancellationScope() { current = std::move(outer_); }

std::stop_token cancellation_token() { return current; }

void throw_if_cancelled() {
  if (current.stop_requested()) {
    throw Error(ErrorCode::kConflict, reason::kOperationCancelled,
                "the operation was cancelled, nothing of it took effect");
  }
}

}  // namespace tarn
