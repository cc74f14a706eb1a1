// Addresses: the location of an object's bytes.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "core/base/time.h"
#include "core/model/names.h"

namespace tarn {

/// Bytes that Tarn wrote into the repository's own namespace: 13 bytes, big-endian 48-bit
/// milliseconds, 48 random bits, shard. Sorts by time. Only these are ever collected.
struct OwnAddress {
  std::array<uint8_t, 13> id{};
  auto operator<=>(const OwnAddress&) const = default;
};

/// Bytes in several own objects, listed by the row `id` of part_lists.
struct PartListAddress {
  int64_t id = 0;
  auto operator<=>(const PartListAddress&) const = default;
};

/// Own bytes of another repository of this installation.
struct ForeignAddress {
  RepositoryId repository{};
  OwnAddress own;
  auto operator<=>(const ForeignAddress&) const = default;
};

/// Bytes of another owner: `scheme://...` as it was imported or linked.
struct ExternalAddress {
  std::string url;
  auto operator<=>(const ExternalAddress&) const = default;
};

using Address = std::variant<OwnAddress, PartListAddress, ForeignAddress, ExternalAddress>;

/// A fresh address; its time is `now`, the rest random.
OwnAddress new_own_address(Instant now);
/// `data/<20>/<20>` in base32hex: the shard, then time and random. Relative to the repository's
/// namespace.
std::string relative_path(const OwnAddress& address);
std::optional<OwnAddress> parse_relative_path(std::string_view text);
Instant created_at(const OwnAddress& address);

}  // namespace tarn
