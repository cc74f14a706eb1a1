// The object that a copy reads.
#pragma once

#include <optional>
#include <string>

#include "core/versioning/objects.h"
#include "s3gateway/address.h"
#include "s3gateway/call.h"

namespace tarn::s3 {

struct SourceObject {
  Location location;
  std::optional<std::string> version_id;  ///< a commit id; absent for the state of the ref
  versioning::FoundObject found;

  versioning::CopySource address() const {
    return {location.repository, version_id.value_or(location.ref), Key(location.path)};
  }
};

/// Of x-amz-copy-source, its conditions met. Throws InvalidArgument, NoSuchKey, NoSuchVersion,
/// NoSuchBucket, PreconditionFailed, AccessDenied (another owner expected).
SourceObject require_copy_source(Call& call);

}  // namespace tarn::s3
