#include "core/sstable/record.h"

#include "core/base/digest.h"
#include "core/base/encoding.h"
#include "core/base/time.h"
#include "core/base/wire.h"

namespace tarn::sstable {
namespace {

// Field numbers of lakeFS's messages Entry and RangeData, and of Timestamp.
enum EntryField : uint32_t {
  kAddress = 1,
  kLastModified = 2,
  kSize = 3,
  kETag = 4,
  kMetadata = 5,
  kAddressType = 6,
  kContentType = 7,
};
enum RangeField : uint32_t { kMinKey = 1, kMaxKey = 2, kEstimatedSize = 3, kCount = 4 };
enum TimestampField : uint32_t { kSeconds = 1, kNanos = 2 };
constexpr uint64_t kRelativeAddress = 1;
constexpr uint64_t kFullAddress = 2;

constexpr uint64_t kVarintType = 0;
constexpr uint64_t kBytesType = 2;

// proto3 omits default values.
void put_number(std::string& out, uint32_t field, uint64_t value) {
  if (value == 0) return;
  put_varint(out, field << 3 | kVarintType);
  put_varint(out, value);
}

void put_message(std::string& out, uint32_t field, std::string_view bytes) {
  put_varint(out, field << 3 | kBytesType);
  put_bytes(out, bytes);
}

void put_text(std::string& out, uint32_t field, std::string_view text) {
  if (!text.empty()) put_message(out, field, text);
}

std::string timestamp(Instant time) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(time);
  const auto nanos = std::chrono::duration_cast<std::chrono::nanoseconds>(time - seconds);
  std::string out;
  put_number(out, kSeconds, static_cast<uint64_t>(seconds.time_since_epoch().count()));
  put_number(out, kNanos, static_cast<uint64_t>(nanos.count()));
  return out;
}

std::string utf8(std::string_view text) {
  if (is_utf8(text)) return std::string(text);
  std::string out;
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x80) {
      out.push_back(c);
    } else {
      out.append("\xef\xbf\xbd");
    }
  }
  return out;
}

/// The digest with which lakeFS compares two versions of an object: SHA-256 over typed fields.
class Identity {
 public:
  void number(uint64_t value) {
    bytes_.push_back('\2');
    bytes_.push_back('\10');
    put_u64be(bytes_, value);
  }
  void text(std::string_view text) {
    bytes_.push_back('\1');
    number(text.size());
    bytes_.append(text);
  }
  void map(const Metadata& pairs) {
    bytes_.push_back('\4');
    number(pairs.size());
    for (const auto& [key, value] : pairs) {
      text(key);
      text(value);
    }
  }
  std::string finish() const { return sha256(bytes_); }

 private:
  std::string bytes_;
};

/// Lengths are signed varints.
std::string value_of(std::string_view identity, std::string_view message) {
  std::string out;
  for (const std::string_view part : {identity, message}) {
    put_varint(out, zigzag(static_cast<int64_t>(part.size())));
    out.append(part);
  }
  return out;
}

}  // namespace

std::string entry_value(const Entry& entry, std::string_view address, bool relative) {
  const std::string etag = utf8(entry.etag);
  const std::string content_type = utf8(entry.content_type);
  Metadata metadata;
  for (const auto& [key, value] : entry.user_metadata()) metadata.emplace(utf8(key), utf8(value));

  Identity identity;
  identity.number(entry.size_bytes);
  identity.text(etag);
  identity.map(metadata);
  if (!content_type.empty()) identity.text(content_type);
  const std::string_view digest = entry.extras.get(ExtraTag::kContentDigest);
  if (!digest.empty()) identity.text(digest);

  std::string message;
  put_text(message, kAddress, utf8(address));
  put_message(message, kLastModified, timestamp(entry.mtime));
  put_number(message, kSize, entry.size_bytes);
  put_text(message, kETag, etag);
  for (const auto& [key, value] : metadata) {
    std::string pair;
    put_message(pair, 1, key);
    put_message(pair, 2, value);
    put_message(message, kMetadata, pair);
  }
  put_number(message, kAddressType, relative ? kRelativeAddress : kFullAddress);
  put_text(message, kContentType, content_type);
  return value_of(identity.finish(), message);
}

std::string range_value(const RangeRecord& range) {
  std::string message;
  put_text(message, kMinKey, range.min_key);
  put_text(message, kMaxKey, range.max_key);
  put_number(message, kEstimatedSize, range.estimated_bytes);
  put_number(message, kCount, range.count);
  return value_of(range.id, message);
}

}  // namespace tarn::sstable
