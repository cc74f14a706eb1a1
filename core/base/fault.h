// Faults: whether the caller or the server caused an error, which decides its log level.
#pragma once

#include <exception>
#include <string_view>

namespace tarn {

/// Whether an operator must act: internal failures, and missing resources that the server needs.
/// The caller caused all other errors, including unimplemented features and excessive load.
bool is_server_fault(const std::exception& error);

/// Whether a reason means a failure of an object store that its operator must fix: the store is
/// gone, full, damaged, or denies access. It is never the request's fault, whatever the error's
/// code.
bool is_store_fault(std::string_view reason);

/// Whether a reason means that the disk of an object store or of the database is full: repeating
/// the request is of no use until an operator has made room.
bool is_disk_full(std::string_view reason);

/// The message about a full database for clients of every interface, without its address.
constexpr std::string_view kDatabaseFullText =
    "the disk of the database is full: its operator has to make room";

}  // namespace tarn
