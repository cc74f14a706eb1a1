// Whose fault a failure is: for the level of its line in the log.
#pragma once

#include <exception>

namespace tarn {

/// Whether somebody who runs the server has to look: what went wrong inside, and what the server
/// needs and does not have. Everything else the caller brought about, be it by asking for what is
/// not implemented or for too much at once.
bool is_server_fault(const std::exception& error);

}  // namespace tarn
