// The reader of TensorBoard's event files (declared in metric_file.h): framed records, each a
// protobuf message of which a few fields matter.
#include <bit>
#include <cstring>
#include <optional>

#include "core/base/crc.h"
#include "core/base/str_cat.h"
#include "core/metrics/files/metric_file.h"

namespace tarn {
namespace {

constexpr size_t kHeaderBytes = 12;  // length, its checksum
constexpr size_t kChecksumBytes = 4;

template <typename T>
T little_endian(const char* bytes) {
  T value = 0;
  for (size_t i = sizeof(T); i > 0; --i) {
    value = static_cast<T>(value << 8 | static_cast<uint8_t>(bytes[i - 1]));
  }
  return value;
}

/// The masked checksum of a record: rotated, so that a checksum of checksums stays strong.
uint32_t masked_crc(std::string_view bytes) {
  constexpr uint32_t kMaskDelta = 0xA282EAD8u;
  return std::rotr(static_cast<uint32_t>(crc_of(CrcKind::kCrc32c, bytes)), 15) + kMaskDelta;
}

/// The fields of one message, in order.
class Fields {
 public:
  explicit Fields(std::string_view bytes) : bytes_(bytes) {}

  /// false: the end, or malformed bytes.
  bool next() {
    if (bytes_.empty()) return false;
    const uint64_t tag = varint();
    number_ = tag >> 3;
    wire_ = static_cast<uint32_t>(tag & 7);
    constexpr uint32_t kVarint = 0;
    constexpr uint32_t kFixed64 = 1;
    constexpr uint32_t kBytes = 2;
    constexpr uint32_t kFixed32 = 5;
    switch (wire_) {
      case kVarint:
        integer_ = varint();
        break;
      case kFixed64:
        take(8);
        break;
      case kBytes:
        take(varint());
        break;
      case kFixed32:
        take(4);
        break;
      default:
        broken_ = true;
    }
    return !broken_;
  }
  uint64_t number() const { return number_; }
  uint64_t integer() const { return integer_; }
  std::string_view content() const { return content_; }
  bool broken() const { return broken_; }

 private:
  uint64_t varint() {
    uint64_t value = 0;
    for (uint32_t shift = 0; shift < 64 && !bytes_.empty(); shift += 7) {
      const auto byte = static_cast<uint8_t>(bytes_.front());
      bytes_.remove_prefix(1);
      value |= static_cast<uint64_t>(byte & 0x7F) << shift;
      if ((byte & 0x80) == 0) return value;
    }
    broken_ = true;
    return 0;
  }
  void take(uint64_t count) {
    content_ = {};
    integer_ = 0;
    if (count > bytes_.size()) {
      broken_ = true;
      return;
    }
    content_ = bytes_.substr(0, static_cast<size_t>(count));
    bytes_.remove_prefix(static_cast<size_t>(count));
  }

  std::string_view bytes_;
  uint64_t number_ = 0;
  uint32_t wire_ = 0;
  uint64_t integer_ = 0;
  std::string_view content_;
  bool broken_ = false;
};

double float_of(std::string_view bytes) {
  return static_cast<double>(std::bit_cast<float>(little_endian<uint32_t>(bytes.data())));
}
double double_of(std::string_view bytes) {
  return std::bit_cast<double>(little_endian<uint64_t>(bytes.data()));
}

/// The value of a tensorflow.TensorProto that holds one number.
std::optional<double> scalar_of(std::string_view tensor) {
  enum Type : uint64_t { kFloat = 1, kDouble = 2, kInt32 = 3, kInt64 = 9 };
  uint64_t type = 0;
  bool is_scalar = true;
  std::string_view content;
  std::optional<double> listed;
  for (Fields fields(tensor); fields.next();) {
    const std::string_view bytes = fields.content();
    switch (fields.number()) {
      case 1:
        type = fields.integer();
        break;
      case 2:  // the shape: a dimension is field 2 of it
        for (Fields shape(bytes); shape.next();) is_scalar &= shape.number() != 2;
        break;
      case 4:
        content = bytes;
        break;
      case 5:  // floats, packed or one by one
        if (bytes.size() == sizeof(float)) listed = float_of(bytes);
        break;
      case 6:
        if (bytes.size() == sizeof(double)) listed = double_of(bytes);
        break;
      case 7:  // int32, int64: packed varints or one
      case 10: {
        uint64_t value = fields.integer();
        if (!bytes.empty()) {
          std::string tagged(1, '\x08');
          tagged += bytes;
          Fields packed(tagged);
          if (!packed.next()) break;
          value = packed.integer();
        }
        listed = static_cast<double>(static_cast<int64_t>(value));
        break;
      }
      default:
        break;
    }
  }
  if (!is_scalar) return std::nullopt;
  if (type == kFloat && content.size() == sizeof(float)) return float_of(content);
  if (type == kDouble && content.size() == sizeof(double)) return double_of(content);
  if (type == kInt32 && content.size() == sizeof(int32_t)) {
    return static_cast<double>(static_cast<int32_t>(little_endian<uint32_t>(content.data())));
  }
  if (type == kInt64 && content.size() == sizeof(int64_t)) {
    return static_cast<double>(static_cast<int64_t>(little_endian<uint64_t>(content.data())));
  }
  const bool is_number = type == kFloat || type == kDouble || type == kInt32 || type == kInt64;
  return is_number ? listed : std::nullopt;
}

/// tensorflow.Summary.Value
void read_event_value(std::string_view value, std::string_view split, int64_t step,
                      FileFacts& facts) {
  std::string_view tag;
  std::optional<double> number;
  for (Fields fields(value); fields.next();) {
    if (fields.number() == 1) tag = fields.content();
    if (fields.number() == 2 && fields.content().size() == sizeof(float)) {
      number = float_of(fields.content());
    }
    if (fields.number() == 8) number = scalar_of(fields.content());
  }
  if (number && !tag.empty()) facts.add_point(tag, split, step, *number);
}

/// tensorflow.Event. false: malformed.
bool read_event(std::string_view event, std::string_view split, FileFacts& facts) {
  int64_t step = 0;
  std::string summary;  // a message that is given several times is that of all of its bytes
  Fields fields(event);
  while (fields.next()) {
    if (fields.number() == 2) step = static_cast<int64_t>(fields.integer());
    if (fields.number() == 5) summary += fields.content();
  }
  Fields values(summary);
  while (values.next()) {
    if (values.number() == 1) read_event_value(values.content(), split, step, facts);
  }
  return !fields.broken() && !values.broken();
}

}  // namespace

void read_tensor_board(ByteSource& bytes, std::string_view split, FileFacts& facts) {
  std::string record;
  for (;;) {
    const uint64_t start = bytes.position();
    char header[kHeaderBytes];
    const size_t got = bytes.read(header);
    if (got == 0) return;
    const auto end_here = [&] {
      facts.warn(str_cat("record at byte ", start, ": ends in the middle: read up to there"));
    };
    const auto reject = [&](std::string_view why) {
      facts.reject(str_cat("record at byte ", start, ": ", why));
    };
    if (got < kHeaderBytes) return end_here();
    const auto length = little_endian<uint64_t>(header);
    if (masked_crc({header, sizeof(uint64_t)}) !=
        little_endian<uint32_t>(header + sizeof(uint64_t))) {
      return reject("the checksum of its length is wrong");
    }
    if (length > kEventBytesMax) {
      if (length > UINT64_MAX - kChecksumBytes ||
          bytes.skip(length + kChecksumBytes) < length + kChecksumBytes) {
        return end_here();
      }
      continue;
    }
    record.resize(static_cast<size_t>(length) + kChecksumBytes);
    if (bytes.read(record) < record.size()) return end_here();
    const std::string_view event = std::string_view(record).substr(0, static_cast<size_t>(length));
    if (masked_crc(event) != little_endian<uint32_t>(record.data() + length)) {
      return reject("its checksum is wrong");
    }
    if (!read_event(event, split, facts)) return reject("is no event");
  }
}

}  // namespace tarn
