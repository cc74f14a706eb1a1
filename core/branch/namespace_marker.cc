#include "core/branch/namespace_marker.h"

#include <algorithm>
#include <array>
#include <vector>

#include "core/base/digest.h"
#include "core/base/encoding.h"
#include "core/base/error.h"
#include "core/base/str_cat.h"

namespace tarn::branch {
namespace {

constexpr std::string_view kKey = "_tarn/repository";
constexpr size_t kDigestBytes = 16;
constexpr uint64_t kBytesMax = 1024;
/// Folders of a namespace that collections list and remove from.
constexpr std::array<std::string_view, 2> kFolders = {"data", "_tarn"};

blob::Located located(blob::Stores& stores, const Repository& repository) {
  return stores.locate(str_cat(repository.storage_namespace, "/", kKey));
}

/// Keys outside the prefix that a server may use are not looked at.
bool has_marker(blob::Stores& stores, const std::string& url) {
  const blob::Located at = stores.locate(str_cat(url, "/", kKey));
  try {
    return at.store->stat(at.key).has_value();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kPermissionDenied) throw;
    return false;
  }
}

/// The part of `text` before its first line end, which is removed with it.
std::string_view take_line(std::string_view& text) {
  const size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

}  // namespace

// Not the salt itself, which protects the shape of trees against chosen keys: readers of the
// store must not learn it.
std::string marker_digits(const Repository& repository) {
  const std::string digest = sha256(str_cat("tarn namespace ", repository.salt));
  return to_hex(std::string_view(digest).substr(0, kDigestBytes));
}

bool mark_namespace(blob::Stores& stores, const Repository& repository, std::string_view owner) {
  const blob::Located at = located(stores, repository);
  const std::string marker =
      str_cat(repository.name.str(), "\n", marker_digits(repository), "\n", owner, "\n");
  const auto writer = at.store->create(at.key, marker.size());
  writer->write(marker);
  return writer->finish();
}

// A copy of the database may have another repository here, which the database does not know: it is
// empty, or its objects and the records of its owner keep it.
bool replace_abandoned_marker(blob::Stores& stores, const Repository& repository,
                              std::string_view owner, Instant now) {
  const std::optional<NamespaceMarker> marker = read_marker(stores, repository);
  if (!marker || marker->owner != owner || owner.empty()) return false;
  const blob::Located at = located(stores, repository);
  const auto stat = at.store->stat(at.key);
  const auto age = now.time_since_epoch() - std::chrono::nanoseconds(stat ? stat->mtime_ns : 0);
  if (!stat || age < kMarkerAbandonedAfter) return false;
  try {
    const std::string base = at.key.substr(0, at.key.size() - kKey.size());
    if (at.store->list(base, "", 2).items.size() != 1) return false;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kPermissionDenied) throw;
    return false;
  }
  at.store->remove(at.key);
  return mark_namespace(stores, repository, owner);
}

void unmark_namespace(blob::Stores& stores, const Repository& repository) {
  if (!owns_namespace(stores, repository)) return;
  const blob::Located at = located(stores, repository);
  at.store->remove(at.key);
}

// The name does not count: a repository may get another one.
std::optional<NamespaceMarker> read_marker(blob::Stores& stores, const Repository& repository) {
  const blob::Located at = located(stores, repository);
  const auto text = blob::read_small(*at.store, at.key, kBytesMax);
  if (!text) return std::nullopt;
  std::string_view rest = *text;
  take_line(rest);
  NamespaceMarker out;
  out.ours = take_line(rest) == marker_digits(repository);
  out.owner = take_line(rest);
  return out;
}

bool owns_namespace(blob::Stores& stores, const Repository& repository) {
  const auto marker = read_marker(stores, repository);
  return marker && marker->ours;
}

std::string nested_namespace(blob::Stores& stores, const Repository& repository) {
  const std::string& url = repository.storage_namespace;
  const size_t root = url.find('/', url.find("://") + 3);  // behind the bucket
  for (size_t at = url.rfind('/'); root != std::string::npos && at >= root;
       at = url.rfind('/', at - 1)) {
    const std::string around = url.substr(0, at);
    if (has_marker(stores, around)) return around;
  }
  const std::string own = located(stores, repository).key;
  const std::string base = own.substr(0, own.size() - kKey.size());
  for (const std::string_view folder : kFolders) {
    const std::string within = str_cat(url, "/", folder);
    if (has_marker(stores, within)) return within;
    const std::string prefix = str_cat(base, folder, "/");
    std::vector<blob::BlobStat> items;
    try {
      items = located(stores, repository).store->list(prefix, "", kNestedKeysLookedAt).items;
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kPermissionDenied) throw;  // then nothing is collected either
    }
    for (const blob::BlobStat& stat : items) {
      if (stat.key == own || !stat.key.ends_with(str_cat("/", kKey))) continue;
      const std::string_view key = stat.key;
      return str_cat(url, "/", key.substr(base.size(), key.size() - base.size() - kKey.size() - 1));
    }
  }
  return "";
}

}  // namespace tarn::branch
