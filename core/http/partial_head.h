// A partial request head, refused before it was parsed.
#pragma once

#include <string_view>

#include "core/http/message.h"

namespace tarn::http {

/// Method, target and header fields of the whole lines in `bytes`; a request line that is cut gives
/// what there is of it. Checks nothing and has no body: good only for choosing how to say no.
Request read_partial_head(std::string_view bytes);

}  // namespace tarn::http
