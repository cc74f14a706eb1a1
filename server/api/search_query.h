// What the parameters of a search ask for.
#pragma once

#include "core/http/message.h"
#include "core/search/query.h"

namespace tarn::api {

/// Of parameters that were checked with the table of routes. Throws invalid_argument that names
/// `metadata`.
search::Query search_query_of(const http::Query& parameters);

}  // namespace tarn::api
