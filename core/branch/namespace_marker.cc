#include "core/branch/namespace_marker.h"

#include <string_view>

#include "core/base/digest.h"
#include "core/base/encoding.h"
#include "core/base/str_cat.h"

namespace tarn::versioning {
namespace {

constexpr std::string_view kKey = "_tarn/repository";
constexpr size_t kDigestBytes = 16;
constexpr uint64_t kBytesMax = 1024;

blob::Located located(blob::Stores& stores, const Repository& repository) {
  return stores.locate(str_cat(repository.storage_namespace, "/", kKey));
}

std::string read_marker(blob::BlobStore& store, const std::string& key) {
  const auto stat = store.stat(key);
  if (!stat || stat->size_bytes > kBytesMax) return "";
  const auto reader = store.open(key, {0, stat->size_bytes});
  std::string found(stat->size_bytes, '\0');
  size_t filled = 0;
  while (const size_t got =
             reader ? reader->read({found.data() + filled, found.size() - filled}) : 0) {
    filled += got;
  }
  found.resize(filled);
  return found;
}

}  // namespace

// Not the salt itself, which protects the shape of trees against chosen keys: readers of the
// store must not learn it.
std::string marker_digits(const Repository& repository) {
  const std::string digest = sha256(str_cat("tarn namespace ", repository.salt));
  return to_hex(std::string_view(digest).substr(0, kDigestBytes));
}

bool mark_namespace(blob::Stores& stores, const Repository& repository) {
  const blob::Located at = located(stores, repository);
  const std::string marker = str_cat(repository.name.str(), "\n", marker_digits(repository), "\n");
  const auto writer = at.store->create(at.key, marker.size());
  writer->write(marker);
  return writer->finish();
}

// The name does not count: a repository may get another one.
bool owns_namespace(blob::Stores& stores, const Repository& repository) {
  const blob::Located at = located(stores, repository);
  return read_marker(*at.store, at.key).ends_with(str_cat("\n", marker_digits(repository), "\n"));
}

}  // namespace tarn::versioning
