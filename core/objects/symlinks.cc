#include "core/objects/symlinks.h"

#include <map>

#include "core/base/digest.h"
#include "core/base/encoding.h"
#include "core/base/error.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "core/blob/stores.h"
#include "core/branch/repositories.h"
#include "core/objects/objects.h"

namespace tarn::objects {
namespace {

constexpr uint32_t kObjectsPerPage = 1000;
constexpr size_t kFolderBytes = 8;

/// The lines of the file of each directory.
std::map<std::string, std::string> lines_of(branch::Engine& engine, const Repository& repository,
                                            std::string_view ref, std::string_view prefix) {
  std::map<std::string, std::string> lines;
  uint64_t objects = 0;
  ListOptions options{
      .prefix = std::string(prefix), .after = "", .delimiter = "", .limit = kObjectsPerPage};
  for (bool more = true; more;) {
    const Page<ListItem> page = list_objects(engine, repository.name, ref, options);
    for (const ListItem& item : page.items) {
      if (++objects > kSymlinkedObjectsMax) {
        throw_invalid(str_cat("symlinks: there are more than ", kSymlinkedObjectsMax, " objects"));
      }
      if (std::holds_alternative<PartListAddress>(item.entry->address)) {
        throw_invalid(str_cat("symlinks: \"", item.path, "\" is stored in parts"));
      }
      const size_t slash = item.path.rfind('/');
      const std::string directory =
          slash == std::string::npos ? "" : item.path.substr(0, slash + 1);
      lines[directory] += str_cat(physical_address(engine, repository, *item.entry), "\n");
    }
    more = page.has_more;
    options.after = page.next;
  }
  return lines;
}

}  // namespace

std::string create_symlinks(branch::Engine& engine, const RepositoryName& repository,
                            std::string_view ref, std::string_view prefix) {
  const Repository repo = branch::get_repository(engine, repository);
  const std::string folder =
      str_cat(repo.storage_namespace, "/_tarn/symlinks/", to_hex(random_bytes(kFolderBytes)), "/");
  for (const auto& [directory, text] : lines_of(engine, repo, ref, prefix)) {
    const blob::Located at = engine.stores.locate(str_cat(folder, directory, "symlink.txt"));
    const auto writer = at.store->create(at.key, text.size());
    writer->write(text);
    if (!writer->finish()) {
      throw Error(ErrorCode::kUnavailable, reason::kAddressTaken, "symlinks: try again");
    }
  }
  return folder;
}

}  // namespace tarn::objects
