#include "core/objects/cache_warming.h"

#include <chrono>
#include <vector>

#include "core/base/cancellation.h"
#include "core/base/error.h"
#include "core/base/parallel.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "core/blob/cached_store.h"
#include "core/blob/stores.h"
#include "core/branch/repositories.h"
#include "core/objects/objects.h"
#include "core/objects/stored_bytes.h"

namespace tarn::objects {
namespace {

// A page is listed at once and fetched before the next.
constexpr uint32_t kPageItems = 100;

struct Fetch {
  bool cached_store = false;
  bool copied = false;
  bool left_out = false;
  bool missing = false;
  uint64_t bytes = 0;  // copied
};

void fetch_one(branch::Engine& engine, const StoredBytes& bytes, Fetch& fetch) {
  const blob::Located at = engine.stores.locate(bytes.url);
  auto* store = dynamic_cast<blob::CachedStore*>(at.store);
  if (store == nullptr) {
    fetch.left_out = true;
    return;
  }
  fetch.cached_store = true;
  if (bytes.may_change && bytes.etag.empty()) {
    fetch.left_out = true;
    return;
  }
  switch (store->warm(at.key, bytes.recorded())) {
    case blob::CachedStore::Warmth::kPresent:
      return;
    case blob::CachedStore::Warmth::kCopied:
      fetch.copied = true;
      fetch.bytes += bytes.size_bytes;
      return;
    case blob::CachedStore::Warmth::kNotKept:
      fetch.left_out = true;
      return;
    case blob::CachedStore::Warmth::kMissing:
      fetch.missing = true;
      return;
  }
}

Fetch fetch_object(branch::Engine& engine, const Repository& repository, const Entry& entry) {
  Fetch fetch;
  try {
    for (const StoredBytes& bytes : stored_bytes(engine, repository, entry)) {
      if (bytes.size_bytes > 0) fetch_one(engine, bytes, fetch);
    }
  } catch (const Error& error) {
    // The failure is of this object alone; a store that cannot be reached ends the request.
    if (error.code() == ErrorCode::kUnavailable || error.code() == ErrorCode::kInternal) throw;
    fetch.missing = true;
  }
  return fetch;
}

std::vector<Fetch> fetch_all(branch::Engine& engine, const Repository& repository,
                             const std::vector<ListItem>& items) {
  std::vector<Fetch> fetches(items.size());
  for_each_parallel(items.size(), kWarmThreads, [&](size_t i) {
    fetches[i] = fetch_object(engine, repository, *items[i].entry);
  });
  return fetches;
}

void add(const Fetch& fetch, Warmed& out) {
  ++out.objects;
  out.copied_bytes += fetch.bytes;
  if (fetch.missing) {
    ++out.missing;
  } else if (fetch.copied) {
    ++out.copied;
  } else if (fetch.left_out) {
    ++out.left_out;
  } else {
    ++out.present;
  }
}

}  // namespace

Warmed warm_cache(branch::Engine& engine, const RepositoryName& repository, std::string_view ref,
                  const WarmOptions& options) {
  const auto deadline = std::chrono::steady_clock::now() + kWarmTime;
  const Repository found = branch::get_repository(engine, repository);
  Warmed out;
  out.next = options.after;
  bool has_cache = false;
  do {
    throw_if_cancelled();
    const Page<ListItem> page = list_objects(
        engine, repository, ref,
        {.prefix = options.prefix, .after = out.next, .delimiter = {}, .limit = kPageItems});
    for (const ListItem& item : page.items) options.allow(item.path);
    for (const Fetch& fetch : fetch_all(engine, found, page.items)) {
      has_cache = has_cache || fetch.cached_store;
      add(fetch, out);
    }
    out.has_more = page.has_more;
    if (!page.items.empty()) out.next = page.items.back().path;
    if (page.has_more) out.next = page.next;
  } while (out.has_more && out.copied_bytes < kWarmedBytesPerRequest &&
           std::chrono::steady_clock::now() < deadline);
  if (!has_cache && out.left_out > 0) {
    throw Error(ErrorCode::kPreconditionFailed, reason::kNoStoreCache,
                str_cat("filling the cache with objects of \"", repository.str(),
                        "\": this server keeps no copies of the objects of their store (set "
                        "store.cache.directory; only objects of S3 stores are copied)"));
  }
  return out;
}

}  // namespace tarn::objects
