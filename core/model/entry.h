// An entry: the value of a path, and its byte form, which tree leaves, staging rows and upload rows
// share.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/time.h"
#include "core/model/address.h"

namespace tarn {

/// Tags of the optional fields of an entry. Written in ascending order; a tag this version does not
/// know is carried through unchanged. Numbers are part of the format (docs/format/entry.md).
enum class ExtraTag : uint32_t {
  kUserMetadata = 1,  ///< pairs sorted by key bytes, each length-prefixed; case as given
  kCacheControl = 2,
  kContentDisposition = 3,
  kContentEncoding = 4,
  kContentLanguage = 5,
  kExpires = 6,  ///< the header's text
  kStorageClass = 7,
  kChecksums = 8,       ///< see Checksum
  kObjectTags = 9,      ///< as user metadata
  kSourceVersion = 10,  ///< see SourceVersion
  kContentDigest = 11,  ///< see content_digest
};

/// Extras of an entry in their byte form, which copies and comparisons need not take apart: a
/// varint tag and a length-prefixed value each, ascending by tag, each tag at most once.
class Extras {
 public:
  Extras() = default;
  /// Throws data_loss for bytes of another form.
  static Extras parse(std::string_view bytes);
  /// "" = absent. Valid until the next change.
  std::string_view get(ExtraTag tag) const;
  /// An empty value removes the tag.
  void set(ExtraTag tag, std::string_view value);
  bool empty() const { return bytes_.empty(); }
  const std::string& bytes() const { return bytes_; }
  bool operator==(const Extras&) const = default;

 private:
  explicit Extras(std::string_view bytes) : bytes_(bytes) {}

  std::string bytes_;
};

/// A digest that a client asked to be kept with the object.
struct Checksum {
  std::string algorithm;   ///< "crc32", "crc32c", "crc64nvme", "sha1", "sha256"
  bool composite = false;  ///< a digest over the parts' digests
  std::string digest;      ///< raw bytes
  uint32_t parts = 0;      ///< number of parts when composite
  auto operator<=>(const Checksum&) const = default;
};

/// The state of an imported object at its source when it was imported; a read compares it.
struct SourceVersion {
  std::string etag;
  uint64_t size_bytes = 0;
  int64_t mtime_ns = 0;
  std::string version_id;
  auto operator<=>(const SourceVersion&) const = default;
};

using Metadata = std::map<std::string, std::string>;

/// An immutable version of an object at a path.
struct Entry {
  uint64_t size_bytes = 0;
  Instant mtime{};
  std::string etag;  ///< unquoted; MD5 hex, MD5-N, or any text up to kEtagBytesMax that REST linked
  Address address;
  std::string content_type;
  Extras extras;

  Metadata user_metadata() const;
  void set_user_metadata(const Metadata& metadata);
  Metadata object_tags() const;
  void set_object_tags(const Metadata& tags);
  std::vector<Checksum> checksums() const;
  void set_checksums(const std::vector<Checksum>& checksums);
  std::optional<SourceVersion> source_version() const;
  void set_source_version(const SourceVersion& version);

  bool operator==(const Entry&) const = default;
};

/// Memory that its texts take, for limits by bytes.
size_t bytes_of(const Entry& entry);
inline size_t bytes_of(const std::optional<Entry>& entry) { return entry ? bytes_of(*entry) : 0; }

constexpr size_t kEtagBytesMax = 255;

/// Values of kContentDigest, only of SHA-256 that a server computed from the bytes (never of one
/// that a client or another store states): of the whole, or of size and SHA-256 of each part. Equal
/// values mean equal bytes; different ones mean nothing. "" where a part has none.
std::string content_digest(std::string_view sha256);
struct PartDigest {
  uint64_t size_bytes = 0;
  std::string_view sha256;  ///< "" = unknown
};
std::string content_digest(std::span<const PartDigest> parts);
/// The SHA-256 of the whole in a value of kContentDigest; "" if it is another.
std::string_view whole_sha256(const Entry& entry);
/// Equal for entries that surely have the same bytes: the content digest, else address and etag.
std::string content_name(const Entry& entry);

/// The whole entry as bytes, for staging and upload rows. Throws invalid_argument when the etag is
/// too long.
std::string encode_entry(const Entry& entry);
/// Throws: data_loss (the checksum at the end is missing or another, too).
Entry decode_entry(std::string_view bytes);

/// The fields of one entry in their byte forms, shared by encode_entry and the leaf columns of the
/// tree.
void put_etag(std::string& out, std::string_view etag);
std::string decode_etag(std::string_view bytes);
std::string encode_address(const Address& address);
Address decode_address(std::string_view bytes);

}  // namespace tarn
