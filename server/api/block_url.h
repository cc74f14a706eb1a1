// URLs of our own that carry a permission: how clients reach bytes whose store signs no URLs.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/time.h"
#include "core/http/message.h"

namespace tarn::api {

/// The grant of a URL: what its holder may do, and on whose behalf. All of it stands in the URL,
/// readable and authenticated.
struct BlockGrant {
  enum class Kind {
    kRead,       ///< GET and HEAD: the bytes of `entry`
    kWrite,      ///< PUT: the object at `address`, once
    kWritePart,  ///< PUT: a part of `upload_id`
  };
  Kind kind = Kind::kRead;
  std::string address{};        ///< of the bytes, without its scheme: "lake/data/<20>/<20>"
  std::string access_key_id{};  ///< who asked for the URL; "" = whoever `user` names
  std::string user{};
  std::string repository{};
  std::string branch{};  ///< of writes
  std::string ref{};     ///< of reads: through which the bytes were asked for
  std::string path{};
  std::string entry{};      ///< of reads: see encode_entry
  uint64_t bytes_max = 0;   ///< of writes
  std::string upload_id{};  ///< of parts
  uint32_t part_number = 0;
  Instant issued{};  ///< whole seconds
  std::chrono::seconds lifetime{};

  bool operator==(const BlockGrant&) const = default;
};

/// Whether the request is for such a URL, valid or not.
bool is_block_request(const http::Request& request);

/// Path and query. `key` is 32 bytes.
std::string block_target(std::string_view key, const BlockGrant& grant);

/// The grant in the URL of this request, if it allows the request's method now. Percent-encoding
/// and the order of parameters may have been changed on the way, nothing else. Throws
/// permission_denied (reasons "url_invalid", "url_expired", "url_method"), invalid_argument for bad
/// percent-encoding.
BlockGrant open_block_request(std::string_view key, const http::Request& request, Instant now);

}  // namespace tarn::api
