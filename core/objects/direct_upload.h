// Direct uploads: clients send the bytes to the store, by presigned URLs.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/blob/direct_access.h"
#include "core/objects/objects.h"
#include "core/objects/upload.h"

namespace tarn::objects {

/// Bytes as their store knows them. The store outlives it.
struct DirectObject {
  blob::DirectAccess* access = nullptr;  ///< null: the store signs no URLs
  std::string key;
};
DirectObject direct_object(branch::Engine& engine, const Repository& repository,
                           const OwnAddress& address);
/// The access to an object to read; without access too when its bytes are not one object of a
/// store.
DirectObject direct_object(branch::Engine& engine, const Repository& repository,
                           const Entry& entry);
/// The store's own URL to read an object; nullopt if it signs none.
std::optional<std::string> store_url_to_read(branch::Engine& engine, const Repository& repository,
                                             const Entry& entry, const blob::UrlTerms& terms);

/// Begins the store's own upload in parts at an address that was handed out, and returns its id.
/// Until it is completed or aborted, a day at most, it is one of the owner's open uploads: throws
/// as create_multipart does.
std::string begin_direct_upload(branch::Engine& engine, const UploadTarget& target,
                                const OwnAddress& address, const DirectObject& object,
                                const std::string& owner);
/// Throws not_found (reason "no_such_upload"): it was completed or aborted already.
void abort_direct_upload(branch::Engine& engine, const UploadTarget& target,
                         const OwnAddress& address, const DirectObject& object,
                         std::string_view upload_id);

/// The bytes that the server copies itself, through memory, when the store cannot: a source in
/// another store, or in several objects.
constexpr uint64_t kCopiedPartBytesMax = uint64_t{64} << 20;

/// Returns the part's etag, unquoted. Throws invalid_argument (reason "part_too_large"), gone.
std::string copy_direct_part(branch::Engine& engine, blob::DirectAccess& access,
                             const blob::DirectPart& part, const FoundObject& source,
                             blob::ByteRange range);

/// Makes the store join the parts, then stages the object with the size and etag from the store.
/// Throws as DirectAccess::complete_upload and stage_handed_out.
Entry complete_direct_upload(branch::Engine& engine, const UploadTarget& target,
                             const OwnAddress& address, std::string_view upload_id,
                             std::span<const blob::SentPart> parts,
                             const ObjectAttributes& attributes);

}  // namespace tarn::objects
