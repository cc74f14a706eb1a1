// The search query in a request's parameters.
#pragma once

#include "core/http/message.h"
#include "core/search/query.h"
#include "server/api/call.h"

namespace tarn::api {

/// The parameters must have passed the route's checks. Throws invalid_argument that names
/// `metadata`.
search::Query search_query_of(const http::Query& parameters);

/// A hash of the query and its scope, equal for all pages of one search.
uint64_t question_of(const Call& call);

}  // namespace tarn::api
