// A writer of one file of a local store.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "core/blob/blob_store.h"
#include "core/blob/descriptor.h"
#include "core/blob/directory_cache.h"

namespace tarn::blob {

/// Made by LocalStore::create. Without a file: the key exists already, what is written goes
/// nowhere.
class LocalWriter final : public BlobWriter {
 public:
  LocalWriter(DirectoryCache::Shared directory, std::string name, std::string key, Descriptor file);
  ~LocalWriter() override;

  void write(std::string_view bytes) override;
  bool finish() override;

 private:
  void start_writeback();
  void unlink() noexcept;

  DirectoryCache::Shared directory_;
  std::string name_;
  std::string key_;
  Descriptor file_;
  uint64_t written_bytes_ = 0;
  uint64_t writeback_begun_ = 0;
};

}  // namespace tarn::blob
