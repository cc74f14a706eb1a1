#include "server/allocator.h"

#ifdef TARN_JEMALLOC
#include <system_error>

#include <jemalloc/jemalloc.h>

#include "core/base/log.h"
#endif

namespace tarn::server {

#ifdef TARN_JEMALLOC
void give_freed_memory_back() {
  bool on = true;
  if (const int error = mallctl("background_thread", nullptr, nullptr, &on, sizeof on)) {
    log::warn("freed_memory_is_kept", {{"message", std::generic_category().message(error)}});
  }
}
#else
void give_freed_memory_back() {}
#endif

}  // namespace tarn::server
