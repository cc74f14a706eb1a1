#include "core/gc/store_listing.h"

#include "core/base/str_cat.h"

namespace tarn::versioning {
namespace {

constexpr std::string_view kFolder = "data/";

}  // namespace

int64_t list_stored_objects(blob::Stores& stores, const Repository& repository,
                            const std::function<void(const ListedObject&)>& visit) {
  const blob::Located at = stores.locate(str_cat(repository.storage_namespace, "/data"));
  const std::string prefix = at.key + "/";
  const size_t root_bytes = prefix.size() - kFolder.size();
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

void remove_stored_object(blob::Stores& stores, const Repository& repository,
                          const OwnAddress& address) {
  const blob::Located at =
      stores.locate(str_cat(repository.storage_namespace, "/", relative_path(address)));
  at.store->remove(at.key);
}

}  // namespace tarn::versioning
