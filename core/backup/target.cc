#include "core/backup/target.h"

#include <array>

#include "core/base/encoding.h"
#include "core/base/error.h"
#include "core/base/str_cat.h"

namespace tarn::backup {
namespace {

constexpr size_t kPieceBytes = 256 * 1024;
constexpr size_t kManifestBytesMax = size_t{256} << 20;  // about a million repositories
constexpr std::string_view kBackups = "backups/";
constexpr std::string_view kManifest = "/manifest.json";

[[noreturn]] void damaged(const std::string& key, std::string_view why) {
  throw Error(ErrorCode::kDataLoss, str_cat("reading ", key, " of a backup: ", why));
}

/// Calls `sink` for each piece; returns the number of bytes.
uint64_t read_all(blob::BlobReader& reader, const std::function<void(std::string_view)>& sink) {
  std::vector<char> buffer(kPieceBytes);
  uint64_t bytes = 0;
  while (const size_t count = reader.read(buffer)) {
    sink({buffer.data(), count});
    bytes += count;
  }
  return bytes;
}

/// false: the key exists.
bool copy_bytes(blob::BlobStore& from, const std::string& from_key, blob::BlobStore& to,
                const std::string& to_key, uint64_t size_bytes) {
  const std::string doing = str_cat("copying the object ", from_key);
  const auto source = from.stat(from_key);
  if (!source) throw Error(ErrorCode::kNotFound, str_cat(doing, ": it is missing"));
  if (source->size_bytes != size_bytes) {
    damaged(from_key, str_cat("it has ", source->size_bytes, " bytes instead of ", size_bytes));
  }
  const auto writer = to.create(to_key, size_bytes);
  if (size_bytes > 0) {
    const auto reader = from.open(from_key, {0, size_bytes});
    if (!reader) throw Error(ErrorCode::kNotFound, str_cat(doing, ": it is missing"));
    const uint64_t copied =
        read_all(*reader, [&](std::string_view piece) { writer->write(piece); });
    if (copied != size_bytes) damaged(from_key, "it ended early");
  }
  return writer->finish();
}

}  // namespace

std::string Target::part(std::string_view id, std::string_view name) const {
  return str_cat(folder, kBackups, id, "/", name);
}

std::string Target::objects(std::string_view installation, int64_t repository) const {
  return str_cat(folder, "objects/", installation, "/", repository, "/");
}

PartWriter::PartWriter(const Target& target, std::string_view id, std::string_view name)
    : key_(target.part(id, name)), writer_(target.store->create(key_, std::nullopt)) {}

void PartWriter::write(std::string_view bytes) {
  writer_->write(bytes);
  digest_.update(bytes);
  size_bytes_ += bytes.size();
}

Part PartWriter::finish() {
  if (!writer_->finish()) {
    throw Error(ErrorCode::kAlreadyExists, str_cat("writing ", key_, " of a backup: it exists"));
  }
  return {size_bytes_, to_hex(digest_.finish())};
}

void read_part(const Target& target, std::string_view id, std::string_view name, const Part& part,
               const std::function<void(std::string_view)>& sink) {
  const std::string key = target.part(id, name);
  const auto stat = target.store->stat(key);
  if (!stat) damaged(key, "it is missing");
  if (stat->size_bytes != part.size_bytes)
    damaged(key, "it has another size than the manifest says");
  const auto reader = target.store->open(key, {0, part.size_bytes});
  if (!reader) damaged(key, "it is missing");
  Digest digest(DigestAlgorithm::kSha256);
  read_all(*reader, [&](std::string_view piece) {
    digest.update(piece);
    sink(piece);
  });
  if (to_hex(digest.finish()) != part.sha256) {
    damaged(key, "its bytes are not those that were written");
  }
}

std::optional<std::string> read_small_part(const Target& target, std::string_view id,
                                           std::string_view name, size_t bytes_max) {
  const std::string key = target.part(id, name);
  const auto stat = target.store->stat(key);
  if (!stat) return std::nullopt;
  if (stat->size_bytes > bytes_max) damaged(key, "it is too large");
  const auto reader = target.store->open(key, {0, stat->size_bytes});
  if (!reader) return std::nullopt;
  std::string out;
  read_all(*reader, [&](std::string_view piece) { out += piece; });
  return out;
}

std::vector<std::string> complete_backups(const Target& target) {
  const std::string prefix = target.folder + std::string(kBackups);
  std::vector<std::string> out;
  target.store->walk(prefix, "", [&](const blob::BlobStat& stat) {
    const std::string_view rest = std::string_view(stat.key).substr(prefix.size());
    if (rest.ends_with(kManifest)) out.emplace_back(rest.substr(0, rest.size() - kManifest.size()));
    return true;
  });
  return out;
}

Manifest read_manifest(const Target& target, std::string_view id) {
  const auto text = read_small_part(target, id, kManifest.substr(1), kManifestBytesMax);
  if (!text) {
    throw Error(ErrorCode::kNotFound,
                str_cat("reading the backup ", id, ": there is no complete backup of this id"));
  }
  Manifest manifest = parse_manifest(*text);
  if (manifest.id != id) damaged(target.part(id, "manifest.json"), "it is of another backup");
  return manifest;
}

void copy_object(blob::BlobStore& from, const std::string& from_key, blob::BlobStore& to,
                 const std::string& to_key, uint64_t size_bytes) {
  constexpr int kTriesMax = 2;  // the second after the leftover of a killed copy was removed
  for (int attempt = 1; attempt <= kTriesMax; ++attempt) {
    const auto present = to.stat(to_key);
    if (present && present->size_bytes != size_bytes) {
      damaged(to_key, str_cat("it has ", present->size_bytes, " bytes instead of ", size_bytes));
    }
    if (present) return;
    if (attempt > 1) to.remove(to_key);
    if (copy_bytes(from, from_key, to, to_key, size_bytes)) return;
  }
  throw Error(ErrorCode::kConflict, str_cat("copying the object ", to_key,
                                            ": another process writes it: run the command again"));
}

}  // namespace tarn::backup
