// Requests for objects, and output of one.
#pragma once

#include "cli/client.h"
#include "cli/output.h"
#include "cli/uri.h"

namespace tarn::cli {

/// GET of an object's bytes through the server.
Request read_request(const Uri& uri);
/// Statistics of an object. With `presign` the physical address is a URL that anyone can read for a
/// limited time.
Json stat_object(Client& client, const Uri& uri, bool presign = false);
void print_object(Output& out, const Uri& uri, const Json& stats);

}  // namespace tarn::cli
