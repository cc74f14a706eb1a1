#include <algorithm>
#include <cstdio>
#include <cstring>

#include "core/archive/writer.h"
#include "core/base/str_cat.h"

namespace tarn::archive {
namespace {

constexpr size_t kBlockBytes = 512;
constexpr size_t kNameBytesMax = 100;
/// Maximum of eleven octal digits.
constexpr uint64_t kNumberMax = (uint64_t{1} << 33) - 1;
constexpr std::string_view kPaxName = "././@PaxHeader";

/// The position of a field in the header.
struct Field {
  size_t offset;
  size_t width;
};
constexpr Field kName{0, 100};
constexpr Field kMode{100, 8};
constexpr Field kUserId{108, 8};
constexpr Field kGroupId{116, 8};
constexpr Field kSize{124, 12};
constexpr Field kMtime{136, 12};
constexpr Field kSum{148, 8};
constexpr Field kType{156, 1};
constexpr Field kMagic{257, 8};

void put_text(std::string& header, Field field, std::string_view text) {
  header.replace(field.offset, std::min(text.size(), field.width), text.substr(0, field.width));
}

/// Octal digits and a NUL.
void put_number(std::string& header, Field field, uint64_t value) {
  for (size_t i = field.width - 1; i-- > 0; value >>= 3U) {
    header[field.offset + i] = static_cast<char>('0' + (value & 7U));
  }
}

std::string header_of(std::string_view name, char type, uint64_t mode, uint64_t size_bytes,
                      uint64_t mtime_seconds) {
  std::string header(kBlockBytes, '\0');
  put_text(header, kName, name);
  put_number(header, kMode, mode);
  put_number(header, kUserId, 0);
  put_number(header, kGroupId, 0);
  put_number(header, kSize, size_bytes);
  put_number(header, kMtime, mtime_seconds);
  header[kType.offset] = type;
  put_text(header, kMagic, std::string_view("ustar\00000", 8));
  put_text(header, kSum, "        ");
  uint64_t sum = 0;
  for (const char c : header) sum += static_cast<unsigned char>(c);
  put_number(header, {kSum.offset, kSum.width - 1}, sum);
  header[kSum.offset + kSum.width - 2] = '\0';
  return header;
}

std::string padding(uint64_t size_bytes) {
  return std::string((kBlockBytes - size_bytes % kBlockBytes) % kBlockBytes, '\0');
}

/// "<length> <key>=<value>\n", where the length counts its own digits.
std::string record(std::string_view key, std::string_view value) {
  const size_t rest = key.size() + value.size() + 3;
  size_t length = rest;
  while (std::to_string(length).size() + rest != length) {
    length = std::to_string(length).size() + rest;
  }
  return str_cat(length, ' ', key, '=', value, '\n');
}

bool is_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

/// A tar writer: POSIX ustar headers, and pax records for values that do not fit.
class TarWriter final : public Writer {
 public:
  std::string begin(const Member& member) override;
  void content(std::string_view) override {}
  std::string end() override;
  std::string finish() override;

 private:
  uint64_t size_bytes_ = 0;  // of the member that is open
};

}  // namespace

std::string TarWriter::begin(const Member& member) {
  size_bytes_ = member.size_bytes;
  const int64_t seconds = to_seconds(member.mtime);
  const bool time_fits = seconds >= 0 && static_cast<uint64_t>(seconds) <= kNumberMax;
  std::string records;
  if (member.name.size() > kNameBytesMax || !is_ascii(member.name)) {
    records += record("path", member.name);
  }
  if (size_bytes_ > kNumberMax) records += record("size", std::to_string(size_bytes_));
  if (!time_fits) records += record("mtime", std::to_string(seconds));

  std::string out;
  if (!records.empty()) {
    out = header_of(kPaxName, 'x', 0644, records.size(), 0);
    out += records;
    out += padding(records.size());
  }
  const bool directory = member.name.ends_with('/');
  out += header_of(member.name, directory ? '5' : '0', directory ? 0755 : 0644,
                   size_bytes_ > kNumberMax ? 0 : size_bytes_,
                   time_fits ? static_cast<uint64_t>(seconds) : 0);
  return out;
}

std::string TarWriter::end() { return padding(size_bytes_); }

std::string TarWriter::finish() { return std::string(2 * kBlockBytes, '\0'); }

std::unique_ptr<Writer> make_tar_writer() { return std::make_unique<TarWriter>(); }

}  // namespace tarn::archive
