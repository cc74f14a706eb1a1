#include "server/stores.h"

#include <filesystem>
#include <utility>

#include "core/blob/local_store.h"

namespace tarn::server {
namespace {

/// Nobody else may read the objects behind the server's back.
void make_private_directory(const std::string& path) {
  std::error_code error;  // what is wrong shows when the store is opened
  if (std::filesystem::create_directories(path, error)) {
    std::filesystem::permissions(path, std::filesystem::perms::owner_all, error);
  }
}

}  // namespace

std::unique_ptr<blob::Stores> open_stores(const Config& config) {
  auto stores = std::make_unique<blob::Stores>();
  make_private_directory(config.local_root());
  stores->set_local_root(blob::LocalStore::open(config.local_root(), blob::LocalMode::kObjects));
  for (const std::string& root : config.store_local_import_roots) {
    stores->add_import_root(root, blob::LocalStore::open(root, blob::LocalMode::kImportRoot));
  }
  return stores;
}

}  // namespace tarn::server
