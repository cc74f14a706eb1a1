#include "core/archive/tar_reader.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "core/base/error.h"
#include "core/base/str_cat.h"

namespace tarn::archive {
namespace {

constexpr size_t kHeaderBytes = 512;
constexpr size_t kSumAt = 148;
constexpr size_t kNumberBytes = 8;
constexpr size_t kSizeAt = 124;
constexpr size_t kSizeBytes = 12;
constexpr size_t kTypeAt = 156;
constexpr size_t kNameBytes = 100;
constexpr size_t kPrefixAt = 345;
constexpr size_t kPrefixBytes = 155;

[[noreturn]] void fail(std::string_view problem) {
  throw Error(ErrorCode::kDataLoss, str_cat("reading a tar archive: ", problem));
}

/// Up to the first NUL.
std::string_view text_of(std::string_view field) { return field.substr(0, field.find('\0')); }

/// Octal digits, with blanks or a NUL behind them.
uint64_t number_of(std::string_view field) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), number, 8);
  const std::string_view rest = field.substr(static_cast<size_t>(end - field.data()));
  if (error != std::errc() || rest.find_first_not_of(std::string_view(" \0", 2)) != rest.npos)
    fail("a number that is not octal");
  return number;
}

uint64_t sum_of(std::string_view header) {
  uint64_t sum = 0;
  for (size_t i = 0; i < header.size(); ++i) {
    const bool in_sum = i >= kSumAt && i < kSumAt + kNumberBytes;
    sum += in_sum ? static_cast<unsigned char>(' ') : static_cast<unsigned char>(header[i]);
  }
  return sum;
}

uint64_t decimal(std::string_view digits) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc() || end != digits.data() + digits.size())
    fail("a pax record whose number is not decimal");
  return number;
}

}  // namespace

TarReader::TarReader(Begin begin, Content content)
    : begin_(std::move(begin)), content_(std::move(content)) {}

void TarReader::take_records() {
  for (std::string_view rest = records_; !rest.empty();) {
    const size_t blank = std::min(rest.find(' '), rest.size());
    const uint64_t length = decimal(rest.substr(0, blank));
    if (length <= blank + 1 || length > rest.size() || rest[length - 1] != '\n')
      fail("a pax record with a wrong length");
    const std::string_view record = rest.substr(blank + 1, length - blank - 2);
    const size_t equals = std::min(record.find('='), record.size() - 1);
    const std::string_view value = record.substr(equals + 1);
    if (record.starts_with("path=")) pax_name_ = value;
    if (record.starts_with("size=")) pax_size_ = decimal(value);
    rest.remove_prefix(length);
  }
  records_.clear();
  in_records_ = false;
}

void TarReader::take_header(std::string_view header) {
  if (header.find_first_not_of('\0') == header.npos) {
    if (in_records_ || !pax_name_.empty()) fail("pax records without a member");
    ended_ = true;
    return;
  }
  if (number_of(header.substr(kSumAt, kNumberBytes)) != sum_of(header)) fail("a wrong checksum");
  uint64_t size = number_of(header.substr(kSizeAt, kSizeBytes));
  const char type = header[kTypeAt];
  if (type == 'x') {
    if (size == 0 || size > kPaxBytesMax) fail("pax records of a size that is not allowed");
    in_records_ = true;
  } else if (type == '0' || type == '\0' || type == '5') {
    if (pax_size_ > 0) size = pax_size_;
    std::string name = std::move(pax_name_);
    if (name.empty()) {
      const std::string_view prefix = text_of(header.substr(kPrefixAt, kPrefixBytes));
      name = str_cat(prefix, prefix.empty() ? "" : "/", text_of(header.substr(0, kNameBytes)));
    }
    pax_name_.clear();
    pax_size_ = 0;
    if (!is_safe_name(name)) fail(str_cat("the name \"", name, "\" leaves the folder"));
    if (name.ends_with('/') != (type == '5') || (type == '5' && size > 0))
      fail(str_cat("\"", name, "\" is neither a file nor a directory"));
    begin_({.name = std::move(name), .size_bytes = size});
  } else {
    fail("a member that is neither a file nor a directory");
  }
  content_left_ = size;
  padding_left_ = (kHeaderBytes - size % kHeaderBytes) % kHeaderBytes;
}

void TarReader::feed(std::string_view bytes) {
  while (!bytes.empty() && !ended_) {
    if (content_left_ > 0) {
      const std::string_view piece = bytes.substr(0, content_left_);
      if (in_records_) {
        records_ += piece;
      } else {
        content_(piece);
      }
      content_left_ -= piece.size();
      bytes.remove_prefix(piece.size());
      if (content_left_ == 0 && in_records_) take_records();
    } else if (padding_left_ > 0) {
      const size_t skipped = std::min<uint64_t>(padding_left_, bytes.size());
      padding_left_ -= skipped;
      bytes.remove_prefix(skipped);
    } else {
      const size_t taken = std::min(kHeaderBytes - header_.size(), bytes.size());
      header_ += bytes.substr(0, taken);
      bytes.remove_prefix(taken);
      if (header_.size() < kHeaderBytes) return;
      take_header(header_);
      header_.clear();
    }
  }
}

void TarReader::finish() const {
  if (!ended_) fail("it is cut");
}

}  // namespace tarn::archive
