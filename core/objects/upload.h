// Uploads of objects: bytes first, to a new address, then the staged entry.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/branch/condition.h"
#include "core/branch/engine.h"
#include "core/model/object_version.h"
#include "core/model/repository.h"
#include "core/objects/uploads.h"

namespace tarn::objects {

/// Digests and size of the bytes, computed while they passed.
struct UploadDigests {
  std::string etag;  ///< MD5 hex
  std::vector<Checksum> checksums;
  std::string sha256{};  ///< raw; "" unless the body computes it
};

/// The bytes of an upload, read once. A read that finds them wrong throws, and nothing is staged.
class UploadBody {
 public:
  virtual ~UploadBody() = default;
  virtual size_t read(std::span<char> out) = 0;  ///< 0 = the end
  virtual UploadDigests digests() = 0;           ///< after the end
  /// Whether digests() has the SHA-256, which is then not computed once more.
  virtual bool computes_sha256() const { return false; }
};

struct ObjectAttributes {
  std::string content_type;  ///< "" is kept as given: the front end sets its default
  Metadata user_metadata;
  Extras extras;  ///< standard headers, tags, storage class
};

/// An entry with these attributes and nothing else yet.
Entry entry_with(const ObjectAttributes& attributes);

/// Where an upload may go; checked before the first byte is read, so refusing is cheap.
struct UploadTarget {
  Repository repository;
  Branch branch;
  Key key;
};
/// Throws: not_found (repository; branch: "branch '<name>' not found", reason "branch_not_found"),
/// permission_denied (read-only, protected), precondition_failed (a condition that fails already).
UploadTarget check_upload(branch::Engine& engine, const RepositoryName& repository,
                          const BranchName& branch, const Key& key, const branch::WriteTerms& terms,
                          const branch::Condition& condition);

/// Streams the body to the store in bounded memory, makes it durable, then stages the entry.
/// `size_hint` when the length is known: what exceeds a quota is refused before the first byte is
/// read, of unknown length when they pass it. A refusal removes the bytes; another failure after
/// they landed leaves garbage for collection, never an entry without bytes. Throws as
/// stage_entry.
StagedEntry put_object(branch::Engine& engine, const UploadTarget& target, UploadBody& body,
                       std::optional<uint64_t> size_hint, const ObjectAttributes& attributes,
                       const branch::Condition& condition);

/// Whether the URL lies in the repository's own namespace. Such an address is a secret of those who
/// may read its object; any other is its store's.
bool in_own_namespace(const Repository& repository, std::string_view url);

/// Stages an entry whose bytes are already somewhere; the caller has been asked for the right to
/// read them. `url` inside the repository's own data folder becomes an own address: size and etag
/// are those of the bytes there, which are read unless the store itself states `etag`. Anything
/// else is external and as the caller says. Throws invalid_argument for an address of no known
/// store, with '.' or '..' components, or inside another repository's namespace, and for an own
/// address without an object (reason "link_address_empty").
StagedEntry stage_address(branch::Engine& engine, const UploadTarget& target,
                          const std::string& url, uint64_t size_bytes, const std::string& etag,
                          std::optional<Instant> mtime, const ObjectAttributes& attributes,
                          const branch::Condition& condition);

constexpr std::chrono::hours kHandedOutLifetime{24};
/// A fresh own address for clients that write to the store themselves; collection leaves it alone
/// for kHandedOutLifetime. A user may have objects::kHandedOutPerUserMax (reason
/// "too_many_uploads").
struct HandedOutAddress {
  Repository repository;
  OwnAddress own;
  /// "<namespace>/data/<20>/<20>,<token>". The token binds repository, branch, key, user and time.
  std::string text;
};
/// `user`: the name of the one user who may link it.
HandedOutAddress hand_out_address(branch::Engine& engine, const RepositoryName& repository,
                                  const BranchName& branch, const Key& key, std::string_view user);
/// The address in "<url>,<token>". Throws invalid_argument (reasons "link_address_invalid",
/// "link_address_expired").
OwnAddress own_handed_out_address(branch::Engine& engine, const UploadTarget& target,
                                  const std::string& address, std::string_view user);

/// Bytes that this server has not written just now.
struct ForeignBytes {
  uint64_t size_bytes = 0;
  std::string etag;
  std::optional<Instant> mtime{};  ///< absent = now
  std::string sha256{};            ///< raw, if a server has computed it
  /// The version that reads must find in the store, else they throw gone (reason
  /// "source_changed"); absent = no client can write there any more.
  std::optional<SourceVersion> sent{};
};
/// Stages the bytes at an address that was handed out for the target, and takes the address in the
/// same transaction: it is staged once. Again, it succeeds with the object of the key while that
/// has the address, even if the two requests differ otherwise; afterwards it throws conflict
/// (reason "link_address_used"), as when the branch was deleted and created again. Throws as
/// stage_entry_within.
StagedEntry stage_handed_out(branch::Engine& engine, const UploadTarget& target,
                             const OwnAddress& address, const ForeignBytes& bytes,
                             const ObjectAttributes& attributes,
                             const branch::Condition& condition);
/// stage_handed_out for "<url>,<token>", of the object that is there now: its size and etag come
/// from the store if clients write there themselves, else from its bytes. Throws also what
/// own_handed_out_address throws, and invalid_argument (reasons "link_address_empty": nothing is
/// there; "link_address_differs": size or MD5 is not what `said` says).
StagedEntry link_address(branch::Engine& engine, const UploadTarget& target,
                         const std::string& address, std::string_view user,
                         const ForeignBytes& said, const ObjectAttributes& attributes,
                         const branch::Condition& condition);

/// Streams the body to an address that was handed out and makes it durable; nothing is staged, and
/// quotas count the bytes. Sending the same bytes again succeeds. Throws resource_exhausted (a
/// quota; then nothing is stored), invalid_argument (reason "link_address_expired"), already_exists
/// (reason "address_taken": it holds other bytes), unavailable (reason "address_busy": another
/// request is writing it now).
UploadDigests fill_address(branch::Engine& engine, const Repository& repository,
                           const Uploads::Link& link, UploadBody& body,
                           std::optional<uint64_t> size_hint);

}  // namespace tarn::objects
