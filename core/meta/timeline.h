// Timelines of the database's cluster.
#pragma once

#include "core/db/connection.h"

namespace tarn::meta {

/// For PoolOptions::enter_timeline: the first server that comes to a timeline moves all sequences
/// on, so that no number is handed out twice by a standby that was promoted without what its
/// primary had committed last. Nothing that is cached under such a number is then found under
/// another.
void enter_timeline(db::Connection& connection);

}  // namespace tarn::meta
