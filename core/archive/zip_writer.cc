#include <algorithm>
#include <chrono>

#include "core/archive/writer.h"
#include "core/base/crc.h"
#include "core/base/error.h"
#include "core/base/str_cat.h"

namespace tarn::archive {
namespace {

constexpr uint32_t kLocalSignature = 0x04034b50;
constexpr uint32_t kDescriptorSignature = 0x08074b50;
constexpr uint32_t kDirectorySignature = 0x02014b50;
constexpr uint32_t kEnd64Signature = 0x06064b50;
constexpr uint32_t kLocator64Signature = 0x07064b50;
constexpr uint32_t kEndSignature = 0x06054b50;
constexpr uint16_t kVersion = 20;
constexpr uint16_t kVersion64 = 45;
constexpr uint16_t kMadeByUnix = 3U << 8U;
constexpr uint16_t kFlagCrcBehind = 1U << 3U;
constexpr uint16_t kFlagUtf8 = 1U << 11U;
constexpr uint16_t kExtra64 = 0x0001;
constexpr uint16_t kExtraTime = 0x5455;
constexpr uint32_t kFileMode = 0100644;
constexpr uint32_t kDirectoryMode = 040755;
constexpr uint32_t kDosDirectory = 0x10;
constexpr uint64_t kMax16 = 0xffff;
constexpr uint64_t kMax32 = 0xffffffff;

/// Little-endian integers one after another.
class Record {
 public:
  Record& u16(uint64_t value) { return put(value, 2); }
  Record& u32(uint64_t value) { return put(value, 4); }
  Record& u64(uint64_t value) { return put(value, 8); }
  Record& text(std::string_view bytes) {
    bytes_ += bytes;
    return *this;
  }
  std::string take() { return std::move(bytes_); }

 private:
  Record& put(uint64_t value, unsigned width) {
    for (unsigned i = 0; i < width; ++i) bytes_ += static_cast<char>((value >> (8 * i)) & 0xffU);
    return *this;
  }
  std::string bytes_;
};

bool is_large(uint64_t size_bytes) { return size_bytes >= kMax32; }
uint64_t capped(uint64_t value) { return std::min(value, kMax32); }

/// Date and time of MS-DOS: from 1980 to 2107, in steps of two seconds; UTC.
uint32_t dos_time(Instant mtime) {
  using std::chrono::days;
  using std::chrono::seconds;
  constexpr int64_t kFirst = 315'532'800;   // 1980-01-01
  constexpr int64_t kLast = 4'354'819'198;  // 2107-12-31 23:59:58
  const seconds time(std::clamp(to_seconds(mtime), kFirst, kLast));
  const std::chrono::sys_days day(std::chrono::floor<days>(time));
  const std::chrono::year_month_day date(day);
  const auto within = static_cast<uint32_t>((time - day.time_since_epoch()).count());
  const auto year = static_cast<uint32_t>(static_cast<int>(date.year()) - 1980);
  return year << 25U | static_cast<uint32_t>(static_cast<unsigned>(date.month())) << 21U |
         static_cast<uint32_t>(static_cast<unsigned>(date.day())) << 16U | (within / 3600) << 11U |
         (within / 60 % 60) << 5U | (within % 60) / 2;
}

/// The time in UTC: dos_time has no time zone.
std::string time_extra(Instant mtime) {
  const int64_t seconds = to_seconds(mtime);
  if (seconds < INT32_MIN || seconds > INT32_MAX) return {};
  return Record().u16(kExtraTime).u16(5).text("\x01").u32(static_cast<uint64_t>(seconds)).take();
}

std::string large_extra(std::initializer_list<uint64_t> values) {
  Record record;
  record.u16(kExtra64).u16(8 * values.size());
  for (const uint64_t value : values) record.u64(value);
  return record.take();
}

uint64_t flags_of(bool crc_behind) { return kFlagUtf8 | (crc_behind ? kFlagCrcBehind : 0); }

/// A zip writer: members are stored uncompressed, so lengths are known in advance.
class ZipWriter final : public Writer {
 public:
  std::string begin(const Member& member) override;
  void content(std::string_view bytes) override;
  std::string end() override;
  std::string finish() override;

 private:
  void add_to_directory(uint32_t crc32);

  Member member_;               // the one that is open
  std::optional<Crc> running_;  // of a content whose CRC is not known
  uint64_t member_offset_ = 0;  // where its header begins
  uint64_t offset_ = 0;         // bytes of the archive so far
  uint64_t members_ = 0;
  std::string directory_;
};

}  // namespace

std::string ZipWriter::begin(const Member& member) {
  if (++members_ > kZipMembersMax) {
    throw_invalid(str_cat("a zip holds at most ", kZipMembersMax,
                          " objects here; take a tar, or parts of the prefix"));
  }
  member_ = member;
  member_offset_ = offset_;
  running_.reset();
  if (member.size_bytes == 0) member_.crc32 = 0;
  if (!member_.crc32) running_.emplace(CrcKind::kCrc32);
  const uint64_t size = member.size_bytes;
  std::string extra = time_extra(member.mtime);
  if (is_large(size)) extra += large_extra({size, size});
  // The lengths come first even when the CRC does not, for streaming readers.
  std::string out = Record()
                        .u32(kLocalSignature)
                        .u16(is_large(size) ? kVersion64 : kVersion)
                        .u16(flags_of(running_.has_value()))
                        .u16(0)
                        .u32(dos_time(member.mtime))
                        .u32(member_.crc32.value_or(0))
                        .u32(capped(size))
                        .u32(capped(size))
                        .u16(member.name.size())
                        .u16(extra.size())
                        .text(member.name)
                        .text(extra)
                        .take();
  offset_ += out.size() + size;
  return out;
}

void ZipWriter::content(std::string_view bytes) {
  if (running_) running_->update(bytes);
}

std::string ZipWriter::end() {
  std::string out;
  if (running_) {
    const uint64_t size = member_.size_bytes;
    Record descriptor;
    descriptor.u32(kDescriptorSignature).u32(running_->value());
    if (is_large(size)) {
      descriptor.u64(size).u64(size);
    } else {
      descriptor.u32(size).u32(size);
    }
    out = descriptor.take();
  }
  add_to_directory(running_ ? static_cast<uint32_t>(running_->value()) : *member_.crc32);
  offset_ += out.size();
  return out;
}

void ZipWriter::add_to_directory(uint32_t crc32) {
  const uint64_t size = member_.size_bytes;
  const bool far = member_offset_ >= kMax32;
  std::string extra = time_extra(member_.mtime);
  if (is_large(size) && far) extra += large_extra({size, size, member_offset_});
  if (is_large(size) && !far) extra += large_extra({size, size});
  if (!is_large(size) && far) extra += large_extra({member_offset_});
  const bool is_directory = member_.name.ends_with('/');
  const uint64_t attributes =
      is_directory ? kDirectoryMode << 16U | kDosDirectory : kFileMode << 16U;
  const uint16_t version = is_large(size) || far ? kVersion64 : kVersion;
  directory_ += Record()
                    .u32(kDirectorySignature)
                    .u16(kMadeByUnix | version)
                    .u16(version)
                    .u16(flags_of(running_.has_value()))
                    .u16(0)
                    .u32(dos_time(member_.mtime))
                    .u32(crc32)
                    .u32(capped(size))
                    .u32(capped(size))
                    .u16(member_.name.size())
                    .u16(extra.size())
                    .u16(0)  // comment
                    .u16(0)  // disk
                    .u16(0)  // internal attributes
                    .u32(attributes)
                    .u32(capped(member_offset_))
                    .text(member_.name)
                    .text(extra)
                    .take();
}

std::string ZipWriter::finish() {
  const uint64_t at = offset_;
  const uint64_t length = directory_.size();
  Record out;
  out.text(directory_);
  if (members_ >= kMax16 || at >= kMax32 || length >= kMax32) {
    out.u32(kEnd64Signature)
        .u64(44)  // length of this record after this field
        .u16(kMadeByUnix | kVersion64)
        .u16(kVersion64)
        .u32(0)
        .u32(0)
        .u64(members_)
        .u64(members_)
        .u64(length)
        .u64(at);
    out.u32(kLocator64Signature).u32(0).u64(at + length).u32(1);
  }
  out.u32(kEndSignature)
      .u16(0)
      .u16(0)
      .u16(std::min(members_, kMax16))
      .u16(std::min(members_, kMax16))
      .u32(capped(length))
      .u32(capped(at))
      .u16(0);
  return out.take();
}

std::unique_ptr<Writer> make_zip_writer() { return std::make_unique<ZipWriter>(); }

}  // namespace tarn::archive
