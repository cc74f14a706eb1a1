// The server from its start to the signal that ends it.
#pragma once

#include <signal.h>

#include "server/command_line.h"
#include "server/config.h"
#include "server/service_manager.h"

namespace tarn::server {

/// Creates the server's parts and serves until one of `signals`, which all threads block, arrives.
/// Without a terminal SIGHUP reloads the configuration.
void serve(Config config, const CommandLine& command, const ServiceManager& manager,
           const sigset_t& signals);

}  // namespace tarn::server
