#include "core/objects/direct_upload.h"

#include "core/base/error.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "core/blob/stores.h"
#include "core/objects/multipart.h"
#include "core/objects/uploads.h"

namespace tarn::objects {
namespace {

std::string url_of(const Repository& repository, const OwnAddress& address) {
  return str_cat(repository.storage_namespace, "/", relative_path(address));
}

DirectObject direct_object(branch::Engine& engine, const std::string& url) {
  blob::Located at = engine.stores.locate(url);
  return {at.store->direct(), std::move(at.key)};
}

/// The ETag that an imported object must still have; "" for bytes that never change.
std::string recorded_etag(const Entry& entry) {
  const auto version = entry.source_version();
  if (!version) return "";
  return version->etag.empty() ? entry.etag : version->etag;
}

std::string read_range(branch::Engine& engine, const FoundObject& source, blob::ByteRange range) {
  if (range.length > kCopiedPartBytesMax) {
    throw Error(
        ErrorCode::kInvalidArgument, reason::kPartTooLarge,
        str_cat("copying a part: the store cannot copy this source by itself, so a part may "
                "have at most ",
                kCopiedPartBytesMax, " bytes; name a smaller range"));
  }
  std::string bytes(range.length, '\0');
  const auto reader = open_object(engine, source.repository, source.entry, range);
  size_t filled = 0;
  while (const size_t got = reader->read(std::span(bytes).subspan(filled))) filled += got;
  bytes.resize(filled);
  return bytes;
}

/// Whether an earlier attempt, whose response was lost, completed the upload.
bool was_completed(const std::optional<blob::BlobStat>& stat,
                   std::span<const blob::SentPart> parts) {
  return stat && stat->etag.ends_with(str_cat("-", parts.size()));
}

}  // namespace

DirectObject direct_object(branch::Engine& engine, const Repository& repository,
                           const OwnAddress& address) {
  return direct_object(engine, url_of(repository, address));
}

DirectObject direct_object(branch::Engine& engine, const Repository& repository,
                           const Entry& entry) {
  if (std::holds_alternative<PartListAddress>(entry.address)) return {};
  return direct_object(engine, physical_address(engine, repository, entry));
}

std::optional<std::string> store_url_to_read(branch::Engine& engine, const Repository& repository,
                                             const Entry& entry, const blob::UrlTerms& terms) {
  const DirectObject object = direct_object(engine, repository, entry);
  if (object.access == nullptr) return std::nullopt;
  const auto version = entry.source_version();
  const std::string version_id = version ? version->version_id : "";
  return object.access->url_to_read(
      {.key = object.key, .version_id = version_id, .content_type = entry.content_type}, terms);
}

std::string copy_direct_part(branch::Engine& engine, blob::DirectAccess& access,
                             const blob::DirectPart& part, const FoundObject& source,
                             blob::ByteRange range) {
  const DirectObject from = direct_object(engine, source.repository, source.entry);
  if (from.access != nullptr && range.length > 0) {
    const std::string if_etag = recorded_etag(source.entry);
    const auto etag =
        access.copy_part(part, *from.access, {.key = from.key, .range = range, .if_etag = if_etag});
    if (etag) return *etag;
  }
  return access.put_part(part, read_range(engine, source, range));
}

std::string begin_direct_upload(branch::Engine& engine, const UploadTarget& target,
                                const OwnAddress& address, const DirectObject& object,
                                const std::string& owner) {
  std::string id = object.access->begin_upload(object.key);
  try {
    if (engine.uploads.create_link(
            target.repository.id, target.branch, target.key, address, owner, kHandedOutLifetime,
            upload_admission(engine, target.repository.id, target.branch.name, owner))) {
      return id;
    }
  } catch (const Error& error) {
    if (error.reason() == reason::kQuotaExceeded) object.access->abort_upload(object.key, id);
    throw;
  }
  object.access->abort_upload(object.key, id);
  throw_too_many_uploads(engine, owner);
}

void abort_direct_upload(branch::Engine& engine, const UploadTarget& target,
                         const OwnAddress& address, const DirectObject& object,
                         std::string_view upload_id) {
  object.access->abort_upload(object.key, std::string(upload_id));
  // The store has no information about an upload that has ended.
  if (!engine.uploads.remove_links(target.branch.id, target.key, address)) {
    throw Error(ErrorCode::kNotFound, reason::kNoSuchUpload,
                "the upload does not exist or has ended");
  }
}

Entry complete_direct_upload(branch::Engine& engine, const UploadTarget& target,
                             const OwnAddress& address, std::string_view upload_id,
                             std::span<const blob::SentPart> parts,
                             const ObjectAttributes& attributes) {
  const std::string url = url_of(target.repository, address);
  const blob::Located at = engine.stores.locate(url);
  std::optional<blob::BlobStat> stat;
  try {
    at.store->direct()->complete_upload(at.key, upload_id, parts);
    stat = at.store->stat(at.key);
  } catch (const Error& error) {
    if (error.reason() != reason::kNoSuchUpload) throw;
    stat = at.store->stat(at.key);
    if (!was_completed(stat, parts)) throw;
  }
  if (!stat) {
    throw Error(ErrorCode::kUnavailable,
                "completing the upload: the store does not show the object, try again");
  }
  return stage_handed_out(engine, target, address, {stat->size_bytes, stat->etag}, attributes, {});
}

}  // namespace tarn::objects
