// The source object of a copy.
#pragma once

#include <optional>
#include <string>

#include "core/objects/objects.h"
#include "s3gateway/operations/call.h"
#include "s3gateway/operations/lookup.h"
#include "s3gateway/wire/address.h"

namespace tarn::s3 {

struct SourceObject {
  Location location;
  std::optional<std::string> version_id;  ///< absent for the state of the ref
  VersionedObject found;
};

/// The object in x-amz-copy-source, with its conditions checked. Throws InvalidArgument, NoSuchKey,
/// NoSuchVersion, NoSuchBucket, PreconditionFailed, AccessDenied (another owner expected).
SourceObject require_copy_source(Call& call);
/// Throws PreconditionFailed unless the request's conditions on its source hold.
void check_source_conditions(const Call& call, const Entry& source);

}  // namespace tarn::s3
