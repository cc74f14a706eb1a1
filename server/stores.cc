#include "server/stores.h"

#include <utility>

#include "core/blob/local_store.h"

namespace tarn::server {

std::unique_ptr<blob::Stores> open_stores(const Config& config) {
  auto stores = std::make_unique<blob::Stores>();
  stores->set_local_root(blob::LocalStore::open(config.local_root(), blob::LocalMode::kObjects));
  for (const std::string& root : config.store_local_import_roots) {
    stores->add_import_root(root, blob::LocalStore::open(root, blob::LocalMode::kImportRoot));
  }
  return stores;
}

}  // namespace tarn::server
