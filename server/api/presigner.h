// Presigned URLs, with which clients read and write objects without the API.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "core/blob/direct_access.h"
#include "core/objects/upload.h"
#include "server/api/block_url.h"
#include "server/api/call.h"

namespace tarn::api {

constexpr std::chrono::minutes kPresignLifetime{15};

/// The server's address as the client used it, or the configured one (behind a proxy). Throws
/// invalid_argument if neither names a host.
std::string base_url(const Context& context, const http::Request& request);

/// Makes URLs for one call: the store's own where it signs them, else ours. The caller's
/// permissions must have been checked; our URLs check them again when used. Call and context
/// outlive it.
class Presigner {
 public:
  /// Throws invalid_argument (reason "presign_unsupported") if presigned URLs are disabled.
  Presigner(const Context& context, const Call& call);
  /// nullopt unless the call has presign=true.
  static std::optional<Presigner> asked_for(const Context& context, const Call& call);

  Instant expiry() const { return issued_ + kPresignLifetime; }
  blob::UrlTerms terms() const { return {issued_, kPresignLifetime}; }

  std::string read_url(const Repository& repository, std::string_view ref, std::string_view path,
                       const Entry& entry) const;
  std::string write_url(const objects::HandedOutAddress& address) const;
  /// The URL of a part of an upload that this server keeps.
  std::string part_url(const Repository& repository, const OwnAddress& address,
                       std::string_view upload_id, uint32_t number) const;

 private:
  BlockGrant write_grant(BlockGrant::Kind kind, const Repository& repository,
                         const OwnAddress& address) const;
  std::string own_url(BlockGrant grant) const;

  const Context& context_;
  const Call& call_;
  const Instant issued_;
};

/// The address in a URL's path: everything but the scheme.
std::string block_address(std::string_view url);

}  // namespace tarn::api
