// The server drops its privileges at startup.
#pragma once

#include <string>

#include "server/config.h"

namespace tarn::server {

/// Must run before any thread starts. With `run_as`, root switches to that account, which owns the
/// data directory if it is created here. The process keeps only CAP_NET_BIND_SERVICE; root without
/// `run_as` also keeps the capabilities that its embedded database, which runs as another account,
/// needs. Programs started later cannot gain privileges through their files. Throws
/// precondition_failed: no such account, not started as root, or a data directory of another
/// account.
void give_up_privileges(const Config& config);

}  // namespace tarn::server
