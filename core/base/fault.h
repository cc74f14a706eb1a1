// Faults: whether the caller or the server caused an error, which decides its log level.
#pragma once

#include <exception>
#include <string_view>

namespace tarn {

/// Whether somebody who runs the server has to look: what went wrong inside, and what the server
/// needs and does not have. Everything else the caller brought about, be it by asking for what is
/// not implemented or for too much at once.
bool is_server_fault(const std::exception& error);

/// Whether a reason names a failure of an object store that its operator has to fix: the store is
/// gone, full, damaged, or denies access. Whatever the code of the error says to the caller of the
/// store, it is no fault of the request.
bool is_store_fault(std::string_view reason);

}  // namespace tarn
