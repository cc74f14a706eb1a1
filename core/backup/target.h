// The place of backups: a folder of an object store, with the layout of what is in it.
//
//   backups/ID/database.dump   the database, as pg_dump writes it in custom format
//   backups/ID/objects.txt     one line for each object: repository, path, bytes
//   backups/ID/master.key      if it was asked for
//   backups/ID/manifest.json   written last: without it, the backup is incomplete
//   objects/INSTALLATION/REPOSITORY/data/...   bytes, shared by all backups
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/backup/manifest.h"
#include "core/base/digest.h"
#include "core/blob/blob_store.h"

namespace tarn::backup {

/// `store` outlives it. Safe from any thread.
struct Target {
  blob::BlobStore* store = nullptr;
  std::string folder;  ///< "" or with a trailing slash

  std::string part(std::string_view id, std::string_view name) const;
  std::string objects(std::string_view installation, int64_t repository) const;
};

/// Writes one part of a backup, counting and hashing.
class PartWriter {
 public:
  PartWriter(const Target& target, std::string_view id, std::string_view name);
  void write(std::string_view bytes);
  /// Throws already_exists: nothing in a backup is ever overwritten.
  Part finish();

 private:
  std::string key_;
  std::unique_ptr<blob::BlobWriter> writer_;
  Digest digest_{DigestAlgorithm::kSha256};
  uint64_t size_bytes_ = 0;
};

/// Hands the bytes of a part to `sink` in pieces, then compares size and checksum: `sink` may have
/// seen wrong bytes before this throws data_loss.
void read_part(const Target& target, std::string_view id, std::string_view name, const Part& part,
               const std::function<void(std::string_view)>& sink);
/// A part of at most `bytes_max`, unchecked; nullopt = there is none.
std::optional<std::string> read_small_part(const Target& target, std::string_view id,
                                           std::string_view name, size_t bytes_max);

/// Ids of complete backups, the newest last.
std::vector<std::string> complete_backups(const Target& target);
/// Throws not_found, data_loss.
Manifest read_manifest(const Target& target, std::string_view id);

/// Copies an object that never changes, unless it is there. Throws not_found (the source has none),
/// data_loss (either has another size).
void copy_object(blob::BlobStore& from, const std::string& from_key, blob::BlobStore& to,
                 const std::string& to_key, uint64_t size_bytes);

}  // namespace tarn::backup
