#include "core/base/pause.h"

#include <utility>

#include "core/base/mutex.h"

namespace tarn {

void pause(std::stop_token stop, std::chrono::milliseconds duration) {
  Mutex mutex;
  CondVar never;
  MutexLock lock(mutex);
  never.wait_for(lock, std::move(stop), duration, [] { return false; });
}

}  // namespace tarn
