#include "core/model/address.h"

#include <cstring>

#include "core/base/digest.h"
#include "core/base/encoding.h"

namespace tarn {
namespace {

constexpr std::string_view kDataFolder = "data/";
constexpr size_t kTimeBytes = 6;
constexpr size_t kIdBytes = 12;    // time and random
constexpr size_t kTextBytes = 20;  // base32hex of 12 bytes
// A shard's folder is named by its byte followed by fixed zeros: 256 folders, with twenty
// characters like every id.
constexpr size_t kShardPadding = 11;

}  // namespace

OwnAddress new_own_address(Instant now) {
  OwnAddress address;
  const uint64_t ms = static_cast<uint64_t>(to_millis(now));
  for (size_t i = 0; i < kTimeBytes; ++i) {
    address.id[i] = static_cast<uint8_t>(ms >> (8 * (kTimeBytes - 1 - i)));
  }
  const std::string random = random_bytes(kIdBytes - kTimeBytes + 1);
  std::memcpy(address.id.data() + kTimeBytes, random.data(), random.size());
  return address;
}

std::string relative_path(const OwnAddress& address) {
  std::string shard(1, static_cast<char>(address.id[kIdBytes]));
  shard.append(kShardPadding, '\0');
  const std::string_view id(reinterpret_cast<const char*>(address.id.data()), kIdBytes);
  return std::string(kDataFolder) + to_base32hex(shard) + "/" + to_base32hex(id);
}

std::optional<OwnAddress> parse_relative_path(std::string_view text) {
  if (!text.starts_with(kDataFolder)) return std::nullopt;
  text.remove_prefix(kDataFolder.size());
  if (text.size() != 2 * kTextBytes + 1 || text[kTextBytes] != '/') return std::nullopt;
  const auto shard = from_base32hex(text.substr(0, kTextBytes));
  const auto id = from_base32hex(text.substr(kTextBytes + 1));
  if (!shard || !id || shard->substr(1) != std::string(kShardPadding, '\0')) return std::nullopt;
  OwnAddress address;
  std::memcpy(address.id.data(), id->data(), kIdBytes);
  address.id[kIdBytes] = static_cast<uint8_t>((*shard)[0]);
  return address;
}

Instant created_at(const OwnAddress& address) {
  int64_t ms = 0;
  for (size_t i = 0; i < kTimeBytes; ++i) ms = (ms << 8) | address.id[i];
  return from_millis(ms);
}

}  // namespace tarn
