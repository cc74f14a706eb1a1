// A reader of one file of a local store.
#pragma once

#include <string>
#include <string_view>

#include "core/base/descriptor.h"
#include "core/blob/blob_store.h"

namespace tarn::blob {

class LocalReader final : public BlobReader {
 public:
  /// `etag` is the file's when it was opened; with `check_etag`, reading the end of the range fails
  /// if it has changed.
  LocalReader(Descriptor file, BlobStat stat, ByteRange range, bool check_etag);

  size_t read(std::span<char> out) override;
  int duplicate_fd() const override;
  uint64_t file_offset() const override { return range_.offset; }
  std::optional<uint64_t> object_bytes() const override { return stat_.size_bytes; }

 private:
  void check_unchanged();

  Descriptor file_;
  BlobStat stat_;
  ByteRange range_;
  uint64_t read_bytes_ = 0;
  bool check_etag_;
};

}  // namespace tarn::blob
