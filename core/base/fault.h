// Faults: whether the caller or the server caused an error, which decides its log level.
#pragma once

#include <exception>
#include <string_view>

namespace tarn {

/// Whether an operator has to act: internal failures, and missing resources that the server needs.
/// Everything else the caller brought about, be it by asking for what is not implemented or for too
/// much at once.
bool is_server_fault(const std::exception& error);

/// Whether a reason names a failure of an object store that its operator has to fix: the store is
/// gone, full, damaged, or denies access. It is never a fault of the request, whatever the code of
/// the error.
bool is_store_fault(std::string_view reason);

}  // namespace tarn
