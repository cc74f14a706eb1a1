// Work on many items at a time.
#pragma once

#include <cstddef>
#include <functional>

namespace tarn {

/// Calls `work` with each index below `count`, on at most `threads` threads, of which the caller's
/// is one, and returns when all calls have ended. The first exception prevents the calls that have
/// not begun and is thrown. cancellation_token() is the caller's in each call.
void for_each_parallel(size_t count, size_t threads, const std::function<void(size_t)>& work);

}  // namespace tarn
