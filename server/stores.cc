#include "server/stores.h"

#include <filesystem>
#include <utility>

#include "core/blob/local_store.h"
#include "core/blob/s3_store.h"

namespace tarn::server {
namespace {

/// Nobody else may read the objects behind the server's back.
void make_private_directory(const std::string& path) {
  std::error_code error;  // what is wrong shows when the store is opened
  if (std::filesystem::create_directories(path, error)) {
    std::filesystem::permissions(path, std::filesystem::perms::owner_all, error);
  }
}

blob::Stores::BucketFactory factory_of(const S3StoreConfig& store, http::Client& client) {
  return [store, &client](const std::string& bucket) -> std::unique_ptr<blob::BlobStore> {
    return std::make_unique<blob::S3Store>(
        blob::S3Options{.endpoint = store.endpoint,
                        .region = store.region,
                        .key = {store.access_key_id, store.secret_access_key},
                        .bucket = bucket,
                        .path_style = store.path_style},
        client);
  };
}

}  // namespace

std::unique_ptr<blob::Stores> open_stores(const Config& config, http::Client& client) {
  auto stores = std::make_unique<blob::Stores>();
  make_private_directory(config.local_root());
  stores->set_local_root(blob::LocalStore::open(config.local_root(), blob::LocalMode::kObjects));
  for (const std::string& root : config.store_local_import_roots) {
    stores->add_import_root(root, blob::LocalStore::open(root, blob::LocalMode::kImportRoot));
  }
  for (const S3StoreConfig& store : config.s3_stores())
    stores->add_s3(store.buckets, factory_of(store, client));
  if (stores->has_type("s3")) stores->set_default_type("s3");
  return stores;
}

}  // namespace tarn::server
