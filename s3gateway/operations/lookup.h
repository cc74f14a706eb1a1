// Finding things in a repository as S3 sees them: a ref that does not exist is a key that does not
// exist.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/base/reasons.h"
#include "core/branch/engine.h"
#include "core/branch/refs.h"
#include "core/objects/multipart.h"
#include "core/objects/objects.h"
#include "core/objects/upload.h"
#include "s3gateway/wire/address.h"

namespace tarn::s3 {

/// Shortest commit id prefix taken as a ref: a mistyped branch must not be read as a commit.
constexpr uint32_t kCommitDigitsMin = 8;

/// As versioning::resolve; nullopt when the ref means nothing. Throws NoSuchBucket.
std::optional<versioning::ResolvedRef> find_ref(versioning::Engine& engine,
                                                const RepositoryName& repository,
                                                std::string_view ref);

/// Throws NoSuchBucket unless the repository, and the ref of a rooted bucket, exist.
void require_existing(versioning::Engine& engine, const BucketName& bucket);

struct VersionedObject : versioning::FoundObject {
  /// The version id for clients: of a commit, of a version, or "null"; "" = versions never kept.
  std::string version_id;
};

/// The object at a location, or at `version_id`: absent and "" mean the state of the ref, a full
/// commit id the path at that commit, another id that version. "null" is the branch's state where
/// versions were never kept, else the null version. Throws NoSuchKey, NoSuchVersion,
/// MethodNotAllowed (a delete marker), InvalidArgument (what is no version id), NoSuchBucket.
VersionedObject require_object(versioning::Engine& engine, const Location& location,
                               const std::optional<std::string>& version_id);

/// The parts that an object was uploaded in: as versioning::parts_of, and the one part of a
/// multipart upload of one, which has no list but an ETag that tells. Empty for an object of a
/// single PUT.
std::vector<versioning::UploadedPart> object_parts(versioning::Engine& engine, const Entry& entry);

/// x-amz-version-id; "" = none.
void add_version_header(http::Headers& headers, std::string_view version_id);
void add_version_header(http::Headers& headers, const std::optional<VersionId>& version);

/// The branch a location names. Throws MethodNotAllowed for a tag or commit, NoSuchBucket naming
/// the branch otherwise.
BranchName require_branch_name(versioning::Engine& engine, const Location& location);

/// Runs a verb that writes to a location; when it finds no such branch, the refusal says whether
/// the ref is read-only (405) or absent (404).
template <typename Verb>
auto on_branch(versioning::Engine& engine, const Location& location, Verb verb);

/// Of a write to a location.
versioning::WriteTerms terms_of(const Location& location);

/// As versioning::check_upload. Throws also InvalidArgument for a location without a path.
versioning::UploadTarget check_upload(versioning::Engine& engine, const Location& location,
                                      const versioning::Condition& condition);

/// Refuses a write to something that is no branch.
[[noreturn]] void refuse_no_branch(versioning::Engine& engine, const Location& location);

/// The key a location names. Throws NoSuchBucket before it judges the key: InvalidArgument when it
/// names a ref and no path in it, KeyTooLong, InvalidURI.
Key require_key(versioning::Engine& engine, const Location& location);

template <typename Verb>
auto on_branch(versioning::Engine& engine, const Location& location, Verb verb) {
  const BranchName branch = require_branch_name(engine, location);
  try {
    return verb(branch);
  } catch (const Error& error) {
    if (error.reason() != reason::kBranchNotFound) throw;
  }
  refuse_no_branch(engine, location);
}

}  // namespace tarn::s3
