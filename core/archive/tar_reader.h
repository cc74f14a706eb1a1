// A reader of tar archives, piece by piece.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "core/archive/writer.h"

namespace tarn::archive {

/// Takes what make_tar_writer writes: files and directories in POSIX ustar, with pax records for
/// names and sizes. Throws data_loss for anything else: names that are not is_safe_name, links,
/// devices, a wrong checksum, an archive that is cut. One thread at a time.
class TarReader {
 public:
  /// Called for each member, before its content.
  using Begin = std::function<void(const Member&)>;
  /// Called with the content of the member that began last.
  using Content = std::function<void(std::string_view)>;

  TarReader(Begin begin, Content content);

  /// The next piece of the archive, of any size.
  void feed(std::string_view bytes);
  /// Must be called after the last piece.
  void finish() const;

 private:
  void take_header(std::string_view header);
  void take_records();

  const Begin begin_;
  const Content content_;
  std::string header_;   ///< of the next member, until it is complete
  std::string records_;  ///< of pax, until they are complete
  uint64_t content_left_ = 0;
  uint64_t padding_left_ = 0;
  bool in_records_ = false;
  bool ended_ = false;
  std::string pax_name_;   ///< "" = the header's
  uint64_t pax_size_ = 0;  ///< 0 = the header's
};

/// The longest pax records of one member.
constexpr uint64_t kPaxBytesMax = 64 << 10;

}  // namespace tarn::archive
