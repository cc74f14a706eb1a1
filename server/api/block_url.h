// Presigned URLs of this server, for clients of stores that sign no URLs themselves.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/time.h"
#include "core/http/message.h"

namespace tarn::api {

/// The permission that a URL carries, and the user on whose behalf. The URL holds all of it,
/// readable and authenticated.
struct BlockGrant {
  enum class Kind {
    kRead,       ///< GET and HEAD: the bytes of `entry`
    kWrite,      ///< PUT: the object at `address`, once
    kWritePart,  ///< PUT: a part of `upload_id`
  };
  Kind kind = Kind::kRead;
  std::string address{};        ///< of the bytes, without its scheme: "lake/data/<20>/<20>"
  std::string access_key_id{};  ///< key of the requester; "" = any key of `user`
  std::string user{};
  std::string repository{};
  std::string branch{};  ///< of writes
  std::string ref{};     ///< of reads: the ref in the request for the URL
  std::string path{};
  std::string entry{};      ///< of reads: see encode_entry
  uint64_t bytes_max = 0;   ///< of writes
  std::string upload_id{};  ///< of parts
  uint32_t part_number = 0;
  Instant issued{};  ///< whole seconds
  std::chrono::seconds lifetime{};

  bool operator==(const BlockGrant&) const = default;
};

/// Whether the request is for a presigned URL, valid or not.
bool is_block_request(const http::Request& request);

/// Path and query of the presigned URL. `key` has 32 bytes.
std::string block_target(std::string_view key, const BlockGrant& grant);

/// The grant in the URL of this request, if it permits the request's method now. Accepts other
/// percent-encoding and another order of parameters, no other change. Throws permission_denied
/// (reasons "url_invalid", "url_expired", "url_method"), invalid_argument for bad percent-encoding.
BlockGrant open_block_request(std::string_view key, const http::Request& request, Instant now);

}  // namespace tarn::api
