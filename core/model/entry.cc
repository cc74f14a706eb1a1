#include "core/model/entry.h"

#include <algorithm>
#include <cstring>

#include "core/base/crc.h"
#include "core/base/digest.h"
#include "core/base/encoding.h"
#include "core/base/error.h"
#include "core/base/str_cat.h"
#include "core/base/text.h"
#include "core/base/wire.h"

namespace tarn {
namespace {

// Kinds of the etag's byte form.
constexpr uint8_t kEtagMd5 = 0;       // 16 bytes
constexpr uint8_t kEtagMd5Parts = 1;  // 16 bytes, varint number of parts
constexpr uint8_t kEtagText = 2;      // length-prefixed
constexpr size_t kMd5Bytes = 16;
constexpr size_t kMd5HexChars = 32;

// Kinds of the address's byte form.
constexpr uint8_t kAddressOwn = 0;
constexpr uint8_t kAddressPartList = 1;
constexpr uint8_t kAddressForeign = 2;
constexpr uint8_t kAddressExternal = 3;

// Kinds of the content digest, the first byte of its value.
constexpr char kDigestWhole = '\0';
constexpr char kDigestOfParts = '\1';

/// The part count of "md5hex-N" with N written canonically, or 0.
uint32_t parts_of_etag(std::string_view etag) {
  if (etag.size() < kMd5HexChars + 2 || etag[kMd5HexChars] != '-') return 0;
  const std::string_view digits = etag.substr(kMd5HexChars + 1);
  if (digits.size() > 5 || digits[0] == '0') return 0;
  uint32_t value = 0;
  for (char c : digits) {
    if (c < '0' || c > '9') return 0;
    value = value * 10 + static_cast<uint32_t>(c - '0');
  }
  return is_lower_hex(etag.substr(0, kMd5HexChars)) ? value : 0;
}

std::string read_etag(WireReader& in) {
  switch (in.u8()) {
    case kEtagMd5:
      return to_hex(in.take(kMd5Bytes));
    case kEtagMd5Parts: {
      std::string text = to_hex(in.take(kMd5Bytes));
      return text.append("-").append(std::to_string(in.varint()));
    }
    case kEtagText:
      return std::string(in.bytes());
    default:
      in.fail("has an unknown etag kind");
  }
}

constexpr std::string_view kExtras = "entry extras";

/// The part of the bytes that an extra takes, or would take if `value` is "".
struct ExtraPlace {
  size_t begin = 0;
  size_t end = 0;
  std::string_view value{};
};

ExtraPlace place_of(std::string_view extras, uint64_t tag) {
  WireReader in(extras, kExtras);
  while (!in.done()) {
    const size_t begin = extras.size() - in.left();
    const uint64_t found = in.varint();
    const std::string_view value = in.bytes();
    if (found == tag) return {begin, extras.size() - in.left(), value};
    if (found > tag) return {begin, begin};
  }
  return {extras.size(), extras.size()};
}

std::string encode_pairs(const Metadata& pairs) {
  std::string out;
  for (const auto& [key, value] : pairs) {
    put_bytes(out, key);
    put_bytes(out, value);
  }
  return out;
}

Metadata decode_pairs(std::string_view bytes) {
  Metadata out;
  WireReader in(bytes, "entry metadata");
  while (!in.done()) {
    std::string key(in.bytes());
    out[std::move(key)] = std::string(in.bytes());
  }
  return out;
}

void put_own(std::string& out, const OwnAddress& own) {
  out.append(reinterpret_cast<const char*>(own.id.data()), own.id.size());
}

OwnAddress read_own(WireReader& in) {
  OwnAddress own;
  const std::string_view bytes = in.take(own.id.size());
  std::memcpy(own.id.data(), bytes.data(), bytes.size());
  return own;
}

}  // namespace

Extras Extras::parse(std::string_view bytes) {
  uint64_t least = 0;
  for (WireReader in(bytes, kExtras); !in.done();) {
    const uint64_t tag = in.varint();
    if (tag < least || tag > UINT32_MAX) in.fail("are out of order");
    least = tag + 1;
    in.bytes();
  }
  return Extras(bytes);
}

std::string_view Extras::get(ExtraTag tag) const {
  return place_of(bytes_, static_cast<uint32_t>(tag)).value;
}

void Extras::set(ExtraTag tag, std::string_view value) {
  const auto number = static_cast<uint32_t>(tag);
  const ExtraPlace place = place_of(bytes_, number);
  std::string extra;
  if (!value.empty()) {
    put_varint(extra, number);
    put_bytes(extra, value);
  }
  bytes_.replace(place.begin, place.end - place.begin, extra);
}

Metadata Entry::user_metadata() const { return decode_pairs(extras.get(ExtraTag::kUserMetadata)); }

void Entry::set_user_metadata(const Metadata& metadata) {
  extras.set(ExtraTag::kUserMetadata, encode_pairs(metadata));
}

Metadata Entry::object_tags() const { return decode_pairs(extras.get(ExtraTag::kObjectTags)); }

void Entry::set_object_tags(const Metadata& tags) {
  extras.set(ExtraTag::kObjectTags, encode_pairs(tags));
}

std::vector<Checksum> Entry::checksums() const {
  std::vector<Checksum> out;
  WireReader in(extras.get(ExtraTag::kChecksums), "entry checksums");
  if (in.done()) return out;
  out.reserve(1);  // most objects have one
  while (!in.done()) {
    Checksum& sum = out.emplace_back();
    sum.algorithm = in.bytes();
    sum.composite = in.u8() != 0;
    sum.digest = in.bytes();
    sum.parts = static_cast<uint32_t>(in.varint());
  }
  return out;
}

void Entry::set_checksums(const std::vector<Checksum>& checksums) {
  std::string bytes;
  for (const Checksum& sum : checksums) {
    put_bytes(bytes, sum.algorithm);
    bytes.push_back(sum.composite ? 1 : 0);
    put_bytes(bytes, sum.digest);
    put_varint(bytes, sum.parts);
  }
  extras.set(ExtraTag::kChecksums, bytes);
}

std::optional<SourceVersion> Entry::source_version() const {
  const std::string_view bytes = extras.get(ExtraTag::kSourceVersion);
  if (bytes.empty()) return std::nullopt;
  WireReader in(bytes, "entry source version");
  SourceVersion version;
  version.etag = std::string(in.bytes());
  version.size_bytes = in.varint();
  version.mtime_ns = unzigzag(in.varint());
  version.version_id = std::string(in.bytes());
  return version;
}

void Entry::set_source_version(const SourceVersion& version) {
  std::string bytes;
  put_bytes(bytes, version.etag);
  put_varint(bytes, version.size_bytes);
  put_varint(bytes, zigzag(version.mtime_ns));
  put_bytes(bytes, version.version_id);
  extras.set(ExtraTag::kSourceVersion, bytes);
}

size_t bytes_of(const Entry& entry) {
  size_t bytes =
      sizeof entry + entry.etag.size() + entry.content_type.size() + entry.extras.bytes().size();
  if (const auto* external = std::get_if<ExternalAddress>(&entry.address)) {
    bytes += external->url.size();
  }
  return bytes;
}

std::string content_digest(std::string_view sha256) {
  return sha256.empty() ? std::string() : str_cat(kDigestWhole, sha256);
}

std::string content_digest(std::span<const PartDigest> parts) {
  if (parts.size() == 1) return content_digest(parts[0].sha256);
  std::string all;
  for (const PartDigest& part : parts) {
    if (part.sha256.empty()) return {};
    put_varint(all, part.size_bytes);
    all.append(part.sha256);
  }
  return str_cat(kDigestOfParts, sha256(all));
}

std::string_view whole_sha256(const Entry& entry) {
  const std::string_view value = entry.extras.get(ExtraTag::kContentDigest);
  return value.starts_with(kDigestWhole) ? value.substr(1) : std::string_view();
}

std::string content_name(const Entry& entry) {
  const std::string_view digest = entry.extras.get(ExtraTag::kContentDigest);
  return digest.empty() ? encode_address(entry.address) + entry.etag : std::string(digest);
}

void put_etag(std::string& out, std::string_view etag) {
  if (etag.size() == kMd5HexChars && is_lower_hex(etag)) {
    out.push_back(static_cast<char>(kEtagMd5));
    out.append(*from_hex(etag));
  } else if (const uint32_t parts = parts_of_etag(etag); parts > 0) {
    out.push_back(static_cast<char>(kEtagMd5Parts));
    out.append(*from_hex(etag.substr(0, kMd5HexChars)));
    put_varint(out, parts);
  } else {
    if (etag.size() > kEtagBytesMax) throw_invalid("checksum: is longer than 255 bytes");
    out.push_back(static_cast<char>(kEtagText));
    put_bytes(out, etag);
  }
}

std::string decode_etag(std::string_view bytes) {
  WireReader in(bytes, "etag");
  std::string out = read_etag(in);
  in.expect_end();
  return out;
}

std::string encode_address(const Address& address) {
  std::string out;
  if (const auto* own = std::get_if<OwnAddress>(&address)) {
    out.push_back(static_cast<char>(kAddressOwn));
    put_own(out, *own);
  } else if (const auto* list = std::get_if<PartListAddress>(&address)) {
    out.push_back(static_cast<char>(kAddressPartList));
    put_varint(out, static_cast<uint64_t>(list->id));
  } else if (const auto* foreign = std::get_if<ForeignAddress>(&address)) {
    out.push_back(static_cast<char>(kAddressForeign));
    put_varint(out, static_cast<uint64_t>(foreign->repository));
    put_own(out, foreign->own);
  } else {
    out.push_back(static_cast<char>(kAddressExternal));
    out.append(std::get<ExternalAddress>(address).url);
  }
  return out;
}

Address decode_address(std::string_view bytes) {
  WireReader in(bytes, "address");
  switch (in.u8()) {
    case kAddressOwn: {
      const OwnAddress own = read_own(in);
      in.expect_end();
      return own;
    }
    case kAddressPartList: {
      const PartListAddress list{static_cast<int64_t>(in.varint())};
      in.expect_end();
      return list;
    }
    case kAddressForeign: {
      ForeignAddress foreign;
      const uint64_t repository = in.varint();
      if (repository > INT32_MAX) in.fail("has a repository id out of range");
      foreign.repository = static_cast<RepositoryId>(repository);
      foreign.own = read_own(in);
      in.expect_end();
      return foreign;
    }
    case kAddressExternal:
      return ExternalAddress{std::string(in.take(in.left()))};
    default:
      in.fail("has an unknown kind");
  }
}

namespace {

constexpr uint32_t kRowChecksumTag = 127;
/// Tags from here on are those that a flipped bit makes of kRowChecksumTag: none of them is a
/// field's.
constexpr uint32_t kReservedTagsFrom = 63;

/// The extra at the end of a row.
std::string row_checksum(std::string_view bytes) {
  Crc crc(CrcKind::kCrc32c);
  crc.update(bytes);
  std::string out;
  put_varint(out, kRowChecksumTag);
  put_bytes(out, crc.digest());
  return out;
}

}  // namespace

std::string encode_entry(const Entry& entry) {
  std::string out;
  put_varint(out, entry.size_bytes);
  put_u64be(out, static_cast<uint64_t>(to_millis(entry.mtime)));
  put_etag(out, entry.etag);
  put_bytes(out, encode_address(entry.address));
  put_bytes(out, entry.content_type);
  out.append(entry.extras.bytes());
  out.append(row_checksum(out));
  return out;
}

Entry decode_entry(std::string_view bytes) {
  WireReader in(bytes, "entry");
  Entry entry;
  entry.size_bytes = in.varint();
  entry.mtime = from_millis(static_cast<int64_t>(in.u64be()));
  entry.etag = read_etag(in);
  entry.address = decode_address(in.bytes());
  entry.content_type = std::string(in.bytes());
  const std::string_view extras = in.take(in.left());
  const size_t own = place_of(extras, kReservedTagsFrom).begin;
  entry.extras = Extras::parse(extras.substr(0, own));
  const std::string_view checksum = extras.substr(own);
  bytes.remove_suffix(checksum.size());
  if (checksum != row_checksum(bytes)) in.fail("differs from its checksum");
  return entry;
}

}  // namespace tarn
