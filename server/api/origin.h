// Requests that a browser sends because a page of another origin told it to.
#pragma once

#include "core/http/message.h"

namespace tarn::api {

/// A browser adds the session cookie to a request whatever page caused it, and needs no cookie to
/// sign its user in as somebody else. Throws permission_denied (reason "cross_origin") unless the
/// request came from a page of this origin or from no page: by Sec-Fetch-Site, and where that is
/// missing by Origin, whose host must be that of Host. Without either the client is no browser.
void check_origin(const http::Request& request);

}  // namespace tarn::api
