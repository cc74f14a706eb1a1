// Lookups in a repository with S3's semantics: a ref that does not exist is a key that does not
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

/// Minimum length of a commit id prefix that is accepted as a ref: a mistyped branch must not be
/// read as a commit.
constexpr uint32_t kCommitDigitsMin = 8;

/// The version id of an object that was written while versions were not kept.
constexpr std::string_view kNullVersion = "null";

/// The same as branch::resolve; nullopt if the ref does not exist. Throws NoSuchBucket.
std::optional<branch::ResolvedRef> find_ref(branch::Engine& engine, const Repository& repository,
                                            std::string_view ref);

/// Throws NoSuchBucket unless the repository, and the ref of a rooted bucket, exist.
Repository require_existing(branch::Engine& engine, const BucketName& bucket);

struct VersionedObject : objects::FoundObject {
  /// The version id that clients see: of a commit, of a version, or "null"; "" = versions were
  /// never kept.
  std::string version_id;
};

/// The object at a location, or its version `version_id`: absent and "" mean the state of the ref,
/// a full commit id the path at that commit, another id that version. "null" is the branch's state
/// if versions were never kept, else the null version. Throws NoSuchKey (with the headers of a
/// delete marker), NoSuchVersion,
/// MethodNotAllowed (a delete marker), InvalidArgument (an invalid version id), NoSuchBucket.
VersionedObject require_object(branch::Engine& engine, const Location& location,
                               const std::optional<std::string>& version_id);

/// The delete marker that a location shows; nullopt: none.
std::optional<VersionId> find_marker(branch::Engine& engine, const Location& location,
                                     const Key& key);

/// The parts that an object was uploaded in: as objects::parts_of, plus the single part of a
/// one-part multipart upload, which is recognised by its ETag because it has no list. Empty for an
/// object of a single PUT.
std::vector<objects::UploadedPart> object_parts(branch::Engine& engine, const Entry& entry);

/// x-amz-version-id; "" = none.
void add_version_header(http::Headers& headers, std::string_view version_id);
void add_version_header(http::Headers& headers, const std::optional<VersionId>& version);

/// The branch in a location. Throws MethodNotAllowed for a tag or commit, NoSuchBucket naming the
/// branch otherwise.
BranchName require_branch_name(branch::Engine& engine, const Location& location);

/// Runs a verb that writes to a location. If it finds no such branch, the error says whether the
/// ref is read-only (405) or absent (404).
template <typename Verb>
auto on_branch(branch::Engine& engine, const Location& location, Verb verb);

/// The terms of a write to a location.
branch::WriteTerms terms_of(const Location& location);

/// The same as objects::check_upload. Throws also InvalidArgument for a location without a path.
objects::UploadTarget check_upload(branch::Engine& engine, const Location& location,
                                   const branch::Condition& condition);

/// Rejects a write to a ref that is not a branch.
[[noreturn]] void refuse_no_branch(branch::Engine& engine, const Location& location);

/// The key in a location. Throws NoSuchBucket first, then InvalidArgument for a ref without a path,
/// KeyTooLong, InvalidURI.
Key require_key(branch::Engine& engine, const Location& location);

template <typename Verb>
auto on_branch(branch::Engine& engine, const Location& location, Verb verb) {
  const BranchName branch = require_branch_name(engine, location);
  try {
    return verb(branch);
  } catch (const Error& error) {
    if (error.reason() != reason::kBranchNotFound) throw;
  }
  refuse_no_branch(engine, location);
}

}  // namespace tarn::s3
