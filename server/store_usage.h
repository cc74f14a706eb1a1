// Object stores that repositories use.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/db/pool.h"

namespace tarn::server {

/// "local", and "s3://BUCKET" for each bucket that holds the namespace of a repository; in byte
/// order, at most `limit`. Deleted repositories do not count. Throws unavailable.
std::vector<std::string> stores_in_use(db::Pool& pool, uint32_t limit);

}  // namespace tarn::server
