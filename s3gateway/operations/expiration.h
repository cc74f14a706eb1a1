// The x-amz-expiration header: when a lifecycle rule will delete an object.
#pragma once

#include "core/model/entry.h"
#include "core/model/repository.h"
#include "s3gateway/operations/call.h"
#include "s3gateway/wire/address.h"

namespace tarn::s3 {

/// Adds the header when a rule takes the object at the location, which is of `repository`. The
/// rules may be a second old.
void add_expiration(const Call& call, const Location& location, RepositoryId repository,
                    const Entry& entry, http::Headers& headers);

}  // namespace tarn::s3
