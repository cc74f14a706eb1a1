#include "core/base/parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <thread>
#include <vector>

#include "core/base/cancellation.h"
#include "core/base/mutex.h"

namespace tarn {

void for_each_parallel(size_t count, size_t threads, const std::function<void(size_t)>& work) {
  std::atomic<size_t> next = 0;
  Mutex mutex;
  std::exception_ptr first;
  const std::stop_token cancelled = cancellation_token();
  const auto run = [&] {
    const CancellationScope scope(cancelled);
    try {
      for (size_t i = next++; i < count; i = next++) work(i);
    } catch (...) {
      next = count;
      const MutexLock lock(mutex);
      if (!first) first = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> helpers;
    for (size_t i = 1; i < std::min(threads, count); ++i) helpers.emplace_back(run);
    run();
  }
  if (first) std::rethrow_exception(first);
}

}  // namespace tarn
