// A zip writer: members are stored uncompressed, so lengths are known in advance.
#pragma once

#include "core/archive/writer.h"
#include "core/base/crc.h"

namespace tarn::archive {

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

}  // namespace tarn::archive
