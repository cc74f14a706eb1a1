#include "core/gc/store_listing.h"

#include <utility>

#include "core/base/error.h"
#include "core/base/str_cat.h"

namespace tarn::gc {
namespace {

constexpr std::string_view kDataFolder = "data/";

}  // namespace

int64_t list_stored_objects(blob::Stores& stores, const Repository& repository,
                            const std::function<void(const ListedObject&)>& visit) {
  const blob::Located at = stores.locate(str_cat(repository.storage_namespace, "/data"));
  const std::string prefix = at.key + "/";
  const size_t root_bytes = prefix.size() - kDataFolder.size();
  int64_t strangers = 0;
  at.store->walk(prefix, "", [&](const blob::BlobStat& stat) {
    const auto address = parse_relative_path(std::string_view(stat.key).substr(root_bytes));
    if (address) {
      visit({*address, stat.size_bytes});
    } else {
      ++strangers;
    }
    return true;
  });
  return strangers;
}

std::vector<UnremovedObject> remove_stored_objects(blob::Stores& stores,
                                                   const Repository& repository,
                                                   std::span<const OwnAddress> addresses) {
  const blob::Located at = stores.locate(str_cat(repository.storage_namespace, "/data"));
  const std::string root = at.key.substr(0, at.key.size() + 1 - kDataFolder.size());
  std::vector<std::string> keys;
  for (const OwnAddress& address : addresses) keys.push_back(root + relative_path(address));
  std::vector<UnremovedObject> out;
  for (blob::RemovalFailure& failure : at.store->remove_all(keys)) {
    const auto address = parse_relative_path(std::string_view(failure.key).substr(root.size()));
    TARN_CHECK(address.has_value());
    out.push_back({*address, std::move(failure.message)});
  }
  return out;
}

void remove_derived_files(blob::Stores& stores, const Repository& repository,
                          std::span<const std::string> files) {
  for (const std::string& file : files) {
    const blob::Located at = stores.locate(str_cat(repository.storage_namespace, "/", file));
    at.store->remove(at.key);
  }
}

std::vector<std::string> list_files(blob::Stores& stores, const Repository& repository,
                                    std::string_view folder, Instant written_before) {
  const blob::Located at = stores.locate(str_cat(repository.storage_namespace, "/", folder));
  const size_t root_bytes = at.key.size() - folder.size();
  std::vector<std::string> out;
  at.store->walk(at.key + "/", "", [&](const blob::BlobStat& stat) {
    if (stat.mtime_ns / 1'000'000 < to_millis(written_before)) {
      out.push_back(stat.key.substr(root_bytes));
    }
    return true;
  });
  return out;
}

int64_t remove_unfinished_files(blob::Stores& stores, const Repository& repository,
                                std::string_view folder, Instant begun_before) {
  const blob::Located at = stores.locate(str_cat(repository.storage_namespace, "/", folder));
  return static_cast<int64_t>(at.store->remove_unfinished(at.key + "/", begun_before));
}

}  // namespace tarn::gc
