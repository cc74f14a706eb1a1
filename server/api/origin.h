// The check against cross-site request forgery.
#pragma once

#include "core/http/message.h"

namespace tarn::api {

/// A browser adds the session cookie to requests that pages of other origins cause, and a forged
/// login needs no cookie at all. Throws permission_denied (reason "cross_origin") unless the
/// request came from a page of this origin or from no page. Sec-Fetch-Site decides; without it
/// Origin, whose host must equal Host. A client that sends neither is no browser.
void check_origin(const http::Request& request);

}  // namespace tarn::api
