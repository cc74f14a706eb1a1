#include "server/stores.h"

#include <filesystem>
#include <functional>
#include <utility>

#include "core/base/digest.h"
#include "core/base/encoding.h"
#include "core/base/error.h"
#include "core/base/str_cat.h"
#include "core/blob/cached_store.h"
#include "core/blob/local_store.h"
#include "core/blob/s3_store.h"
#include "core/blob/store_metrics.h"

namespace tarn::server {
namespace {

blob::Stores::BucketFactory factory_of(const S3StoreConfig& store, http::Client& client,
                                       std::shared_ptr<blob::DiskCache> cache, bool checks_reads) {
  return [store, &client, cache,
          checks_reads](const std::string& bucket) -> std::unique_ptr<blob::BlobStore> {
    auto opened = std::make_unique<blob::S3Store>(
        blob::S3Options{.endpoint = store.endpoint,
                        .presign_endpoint = store.presign_endpoint,
                        .region = store.region,
                        .key = {store.access_key_id, store.secret_access_key},
                        .bucket = bucket,
                        .path_style = store.path_style,
                        .remove_versions = store.remove_versions},
        client);
    if (!cache) return opened;
    return std::make_unique<blob::CachedStore>(std::move(opened), cache,
                                               str_cat(store.endpoint, "\n", bucket), checks_reads);
  };
}

/// The setting that holds the id of the local root.
constexpr std::string_view kStoreIdSetting = "local_store_id";
constexpr size_t kStoreIdBytes = 16;

/// The id in the root, made when it has none. Only a new database may take a root without one: an
/// empty directory in place of the one that holds the objects must be noticed.
std::string store_id_of(blob::LocalStore& store, bool is_new_database, const std::string& doing) {
  if (const std::optional<std::string> id = store.read_store_id()) return *id;
  if (!is_new_database) {
    throw Error(ErrorCode::kPreconditionFailed,
                str_cat(doing, ": it is not the directory that this database was set up with"));
  }
  std::string id = to_hex(random_bytes(kStoreIdBytes));
  try {
    store.write_store_id(id);
  } catch (const Error& error) {
    // Another server that starts at the same time was first; its id is as good.
    if (error.code() != ErrorCode::kPreconditionFailed) throw;
    return store.read_store_id().value_or("");
  }
  return id;
}

/// Objects of another database, or an empty directory, would read as lost data.
void check_belongs(blob::LocalStore& store, const std::string& root, meta::Settings& settings) {
  const std::string doing = str_cat("opening the local store ", root);
  const std::optional<std::string> known = settings.find(kStoreIdSetting);
  const std::string id = store_id_of(store, !known, doing);
  if (settings.set_once(kStoreIdSetting, id) != id) {
    throw Error(ErrorCode::kPreconditionFailed,
                str_cat(doing, ": it belongs to another database; name the directory that this ",
                        "database was set up with as store.local.root"));
  }
}

void add_s3_stores(blob::Stores& stores, const Config& config, http::Client& client,
                   const std::shared_ptr<blob::DiskCache>& cache) {
  for (const S3StoreConfig& store : config.s3_stores()) {
    stores.add_s3(store.buckets,
                  factory_of(store, client, cache, config.store_verify_reads == "all"));
  }
}

/// `check` is called with the local root before it is used.
std::unique_ptr<blob::Stores> open_all(
    const Config& config, http::Client& client, const std::shared_ptr<blob::DiskCache>& cache,
    const std::function<void(blob::LocalStore&, const std::string& root)>& check) {
  blob::corruptions();  // shown from the start
  auto stores = std::make_unique<blob::Stores>();
  if (has_local_root(config)) {
    const std::string root = config.local_root();
    make_private_directory(root);
    auto store = blob::LocalStore::open(root, blob::LocalMode::kObjects);
    check(*store, root);
    stores->set_local_root(std::move(store));
  }
  for (const std::string& root : config.store_local_import_roots) {
    stores->add_import_root(root, blob::LocalStore::open(root, blob::LocalMode::kImportRoot));
  }
  add_s3_stores(*stores, config, client, cache);
  if (stores->has_type("s3")) stores->set_default_type("s3");
  return stores;
}

}  // namespace

std::shared_ptr<blob::DiskCache> open_cache(const Config& config) {
  if (config.store_cache_directory.empty() || config.s3_stores().empty()) return nullptr;
  return std::make_shared<blob::DiskCache>(
      blob::DiskCacheOptions{.directory = config.store_cache_directory,
                             .bytes_max = config.store_cache_bytes_max,
                             .object_bytes_max = config.store_cache_object_bytes_max});
}

void make_private_directory(const std::string& path) {
  std::error_code error;  // what is wrong shows when the store is opened
  if (std::filesystem::create_directories(path, error)) {
    std::filesystem::permissions(path, std::filesystem::perms::owner_all, error);
  }
}

bool has_local_root(const Config& config) {
  return !config.store_local_root.empty() || config.database.empty() || config.s3_stores().empty();
}

std::unique_ptr<blob::Stores> open_stores(const Config& config, http::Client& client,
                                          meta::Settings& settings,
                                          const std::shared_ptr<blob::DiskCache>& cache) {
  return open_all(config, client, cache, [&](blob::LocalStore& store, const std::string& root) {
    check_belongs(store, root, settings);
  });
}

std::unique_ptr<blob::Stores> open_s3_stores(const Config& config, http::Client& client) {
  auto stores = std::make_unique<blob::Stores>();
  add_s3_stores(*stores, config, client, nullptr);
  return stores;
}

std::unique_ptr<blob::Stores> open_stores_to_restore(const Config& config, http::Client& client,
                                                     const std::string& store_id) {
  return open_all(config, client, nullptr, [&](blob::LocalStore& store, const std::string& root) {
    const std::optional<std::string> present = store.read_store_id();
    if (present && *present != store_id) {
      throw Error(ErrorCode::kPreconditionFailed,
                  str_cat("opening the local store ", root,
                          ": it belongs to another database; name another directory as "
                          "store.local.root"));
    }
    if (!present && !store_id.empty()) store.write_store_id(store_id);
  });
}

}  // namespace tarn::server
