// Requests for objects, and output of one.
#pragma once

#include <functional>

#include "cli/client.h"
#include "cli/output.h"
#include "cli/uri.h"

namespace tarn::cli {

/// GET of an object's bytes through the server.
Request read_request(const Uri& uri);
/// Statistics of an object. With `presign` the physical address is a URL that anyone can read for a
/// limited time.
Json stat_object(Client& client, const Uri& uri, bool presign = false);
/// Calls `act` for every object whose path begins with `below`. Throws not_found (reason
/// "object_not_found") if there is none, so that a mistyped prefix does not look like success.
void each_object_below(Client& client, const Uri& below,
                       const std::function<void(const Json&)>& act);
void print_object(Output& out, const Uri& uri, const Json& stats);

}  // namespace tarn::cli
