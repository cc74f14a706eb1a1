// A listing of object versions in S3's order: of one branch, or over all branches.
#pragma once

#include <string>

#include "core/branch/engine.h"
#include "core/branch/object_versions.h"
#include "s3gateway/wire/address.h"
#include "s3gateway/wire/list_query.h"

namespace tarn::s3 {

/// Whether the listing covers branches that may have versions; otherwise each key is listed once,
/// in its state at the ref. Throws NoSuchBucket.
bool lists_versions(versioning::Engine& engine, const BucketName& bucket, const ListQuery& query);

/// Paths in the page are keys of the bucket. `version_marker` comes from the last page, "" = none.
/// Throws NotImplemented for a delimiter over several branches, NoSuchBucket.
versioning::VersionPage list_versions(versioning::Engine& engine, const BucketName& bucket,
                                      const ListQuery& query, const std::string& version_marker);

}  // namespace tarn::s3
