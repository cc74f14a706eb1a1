// The query in the parameters of a search.
#pragma once

#include "core/http/message.h"
#include "core/search/query.h"
#include "server/api/call.h"

namespace tarn::api {

/// Of parameters that were checked with the table of routes. Throws invalid_argument that names
/// `metadata`.
search::Query search_query_of(const http::Query& parameters);

/// Names what a search asks for and where: pages of one search have the same.
uint64_t question_of(const Call& call);

}  // namespace tarn::api
