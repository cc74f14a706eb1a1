// A tar writer: POSIX ustar headers, and pax records for values that do not fit.
#pragma once

#include "core/archive/writer.h"

namespace tarn::archive {

class TarWriter final : public Writer {
 public:
  std::string begin(const Member& member) override;
  void content(std::string_view) override {}
  std::string end() override;
  std::string finish() override;

 private:
  uint64_t size_bytes_ = 0;  // of the member that is open
};

}  // namespace tarn::archive
