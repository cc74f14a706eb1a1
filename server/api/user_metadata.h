// User metadata in request headers.
#pragma once

#include "core/http/message.h"
#include "core/model/entry.h"

namespace tarn::api {

/// Names and values of one object together: as much as fits into a request head.
constexpr size_t kUserMetadataBytesMax = 32 * 1024;

/// X-Lakefs-Meta-<k> gives k, X-Lakefs-Internal-<k> gives ::lakefs::k, both in lower case because
/// header names ignore case. A value that is not UTF-8 is read as Latin-1, as HTTP libraries send
/// it.
Metadata metadata_of(const http::Headers& headers);

/// Throws invalid_argument if the metadata exceeds kUserMetadataBytesMax.
void check_user_metadata(const Metadata& metadata);

}  // namespace tarn::api
