// Multipart uploads: parts are separate objects, joined by reference when completed.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/page.h"
#include "core/objects/objects.h"
#include "core/objects/upload.h"

namespace tarn::db {
class Connection;
}

namespace tarn::objects {

constexpr uint32_t kPartNumberMax = 10'000;
constexpr uint64_t kPartBytesMin = 5 * 1024 * 1024;  ///< of all but the last

struct MultipartUpload {
  std::string upload_id;
  Repository repository;
  BranchName branch;
  Key key;
  std::string owner;
  Instant created{};
  std::string checksum_algorithm;  ///< "" = none requested
  std::string checksum_type;       ///< "COMPOSITE", "FULL_OBJECT" or ""
};

struct UploadedPart {
  uint32_t number = 0;
  uint64_t size_bytes = 0;
  std::string etag;  ///< MD5 hex
  Instant modified{};
  std::vector<Checksum> checksums;
};

struct MultipartCreation {
  std::string owner;
  ObjectAttributes attributes;
  std::string checksum_algorithm;
  std::string checksum_type;
};
/// Throws resource_exhausted (reason "too_many_uploads"): the owner has
/// AssemblyOptions::multipart_open_max of them open over all repositories; or (reason
/// "quota_exceeded") a quota of open uploads is used up.
MultipartUpload create_multipart(branch::Engine& engine, const UploadTarget& target,
                                 const MultipartCreation& creation);
[[noreturn]] void throw_too_many_uploads(const branch::Engine& engine, std::string_view user);
/// Runs in the transaction that begins an upload: throws resource_exhausted (reason
/// "quota_exceeded") if a quota of open uploads is used up. Empty without such a quota.
std::function<void(db::Connection&)> upload_admission(branch::Engine& engine,
                                                      RepositoryId repository,
                                                      const BranchName& branch,
                                                      const std::string& user);

/// The upload if it is open and belongs to this repository, branch and key. Throws not_found
/// (reason "no_such_upload") otherwise, also when the branch is gone.
MultipartUpload get_multipart(branch::Engine& engine, const RepositoryName& repository,
                              const BranchName& branch, const Key& key, std::string_view upload_id);

/// Replaces a part of the same number. Throws resource_exhausted (reason "quota_exceeded"), before
/// the first byte is read when `size_hint` says so.
UploadedPart put_part(branch::Engine& engine, const MultipartUpload& upload, uint32_t number,
                      UploadBody& body, std::optional<uint64_t> size_hint);
/// A part that is a range of an existing object, of this or another repository. Bytes move through
/// the server only when they cannot be referenced as they are: of a sub-range, of an object in
/// parts, of bytes Tarn does not own, and of objects without the checksum that the upload was
/// created for.
UploadedPart copy_part(branch::Engine& engine, const MultipartUpload& upload, uint32_t number,
                       const FoundObject& source, blob::ByteRange range);

struct CompletedPart {
  uint32_t number = 0;
  std::string etag;                 ///< unquoted
  std::vector<Checksum> checksums;  ///< compared when given
};
struct Completion {
  std::vector<CompletedPart> parts;
  std::optional<uint64_t> object_bytes;  ///< x-amz-mp-object-size
  /// Computes the checksums of the whole object from those of its parts. An exception ends the
  /// completion.
  std::function<std::vector<Checksum>(std::span<const UploadedPart>)> checksums;
  branch::Condition condition;
  std::optional<ObjectAttributes> attributes{};  ///< in place of those the upload began with
};
/// Joins the parts by reference. The etag is MD5 of the parts' MD5s, "-N". The upload ends in the
/// transaction that stages the object, so it is completed or aborted once: when it has ended and
/// the key shows what the same parts made, that is the answer, else not_found (reason
/// "no_such_upload"). Throws invalid_argument with reasons "invalid_part", "invalid_part_order",
/// "entity_too_small", "malformed_parts" (none given), "size_mismatch"; precondition_failed;
/// unavailable (reason "in_doubt").
StagedEntry complete_multipart(branch::Engine& engine, const MultipartUpload& upload,
                               const Completion& completion);
/// The object at the key if its etag is that of these parts joined: for the response to a repeated
/// completion. nullopt also if the repository or branch is gone.
std::optional<StagedEntry> completed_before(branch::Engine& engine,
                                            const RepositoryName& repository,
                                            const BranchName& branch, const Key& key,
                                            std::span<const CompletedPart> parts);
/// Throws not_found (reason "no_such_upload"): it was completed or aborted already.
void abort_multipart(branch::Engine& engine, const MultipartUpload& upload);

Page<UploadedPart> list_parts(branch::Engine& engine, const MultipartUpload& upload, uint32_t after,
                              uint32_t limit);
/// Open uploads of a branch (or of all branches when absent) by "branch/key", then upload id.
struct UploadMarker {
  std::string key;  ///< "branch/key"
  std::string upload_id;
};
Page<MultipartUpload> list_multiparts(branch::Engine& engine, const RepositoryName& repository,
                                      std::string_view prefix, const UploadMarker& after,
                                      uint32_t limit);

/// Sizes and etags of the parts of an object that was made by a multipart upload; empty otherwise.
std::vector<UploadedPart> parts_of(branch::Engine& engine, const Entry& entry);

}  // namespace tarn::objects
