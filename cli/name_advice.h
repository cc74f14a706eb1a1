// Advice for names that were taken for something else than they are: a path for a ref, a ref for a
// path or a repository.
#pragma once

#include <string>
#include <string_view>

#include "cli/session.h"
#include "core/base/error.h"

namespace tarn::cli {

/// The name to write instead, after the server found nothing for the request of `command`
/// ("tarn log"); "" = nothing else has the name. Sends up to four requests.
std::string advice_for_missing(Session& session, std::string_view command, const Error& error,
                               const Request& missing);

/// The same after a list of the objects below a prefix was empty. Sends one request.
std::string advice_for_empty(Session& session, const Request& empty);

}  // namespace tarn::cli
