// Check of the connection pooler that a database URL may lead to.
#pragma once

#include <string>

namespace tarn::db {

/// Throws precondition_failed, saying what to set, when a pooler gives the statements of one
/// connection to several sessions of the server and does not keep what was prepared. Throws
/// unavailable.
void check_pooler(const std::string& url);

}  // namespace tarn::db
