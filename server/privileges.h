// Privileges that the process gives up before it does anything.
#pragma once

#include <string>

#include "server/config.h"

namespace tarn::server {

/// Before any thread starts. With `run_as`, root becomes that account, which gets the data
/// directory when there is none yet; everybody keeps no capability but CAP_NET_BIND_SERVICE, and
/// root without `run_as` those that its embedded database needs, which runs as another account. No
/// program that is started later gains rights by its file. Throws precondition_failed: no such
/// account, started by another user than root, or a data directory of another account.
void give_up_privileges(const Config& config);

}  // namespace tarn::server
