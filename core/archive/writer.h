// The framing of archives, for streamed contents.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/time.h"

namespace tarn::archive {

/// One file or directory.
struct Member {
  std::string name;  ///< UTF-8, is_safe_name; a directory's ends with '/'
  uint64_t size_bytes = 0;
  Instant mtime{};                     ///< kept in whole seconds
  std::optional<uint32_t> crc32 = {};  ///< of the content, when it is known beforehand
};

enum class Format { kTar, kZip };

/// Most members of a zip: its directory is held in memory until the end.
constexpr uint64_t kZipMembersMax = 200'000;

/// For each member begin(), its content in any pieces, end(); at last finish(). The same members
/// give the same bytes, and the same lengths whatever the contents. One thread at a time.
class Writer {
 public:
  virtual ~Writer() = default;
  /// The bytes before the content. Throws invalid_argument (more than kZipMembersMax).
  virtual std::string begin(const Member& member) = 0;
  /// Must be called with the content, piece by piece; the caller itself writes it to the archive.
  virtual void content(std::string_view bytes) = 0;
  /// The bytes that follow the content, whose length must have been the member's size.
  virtual std::string end() = 0;
  /// The bytes that close the archive.
  virtual std::string finish() = 0;
};

std::unique_ptr<Writer> make_tar_writer();
std::unique_ptr<Writer> make_zip_writer();
std::unique_ptr<Writer> make_writer(Format format);

/// Whether unpacking the name stays below the directory it is unpacked in, on every system: no
/// empty segment, "." or "..", no '/' in front, no backslash, no drive letter, no NUL. A '/' at the
/// end is fine.
bool is_safe_name(std::string_view name);

}  // namespace tarn::archive
