// The parts that an object was uploaded in.
#pragma once

#include <vector>

#include "core/model/entry.h"
#include "core/objects/multipart.h"

namespace tarn::s3 {

/// As versioning::parts_of, and the one part of a multipart upload of one, which has no list but an
/// ETag that tells. Empty for an object of a single PUT.
std::vector<versioning::UploadedPart> object_parts(versioning::Engine& engine, const Entry& entry);

}  // namespace tarn::s3
