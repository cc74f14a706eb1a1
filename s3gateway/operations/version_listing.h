// Versions of the objects of a bucket in S3's order: of one branch, or of all branches.
#pragma once

#include <string>

#include "core/branch/engine.h"
#include "core/branch/object_versions.h"
#include "s3gateway/wire/address.h"
#include "s3gateway/wire/list_query.h"

namespace tarn::s3 {

/// Whether the listing is one of branches that may have versions: else each key is listed once, as
/// it is at the ref. Throws NoSuchBucket.
bool lists_versions(versioning::Engine& engine, const BucketName& bucket, const ListQuery& query);

/// Paths in the page are keys of the bucket. `version_marker` is what the last page said, "" =
/// none. Throws NotImplemented for a delimiter over several branches, NoSuchBucket.
versioning::VersionPage list_versions(versioning::Engine& engine, const BucketName& bucket,
                                      const ListQuery& query, const std::string& version_marker);

}  // namespace tarn::s3
