// Reloading of the configuration by SIGHUP.
#pragma once

#include <string>
#include <vector>

#include "server/config.h"

namespace tarn::server {

/// The keys with different values, in the order of the documentation; "store.s3_stores" if those
/// differ.
struct ChangedKeys {
  std::vector<std::string> applied;        ///< those that may be reloaded
  std::vector<std::string> needs_restart;  ///< the others
};
ChangedKeys changed_keys(Config running, Config read);

/// Sets level and format of the log.
void configure_log(const Config& config);

}  // namespace tarn::server
