#include "core/gc/store_owner.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <utility>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/base/str_cat.h"
#include "core/branch/namespace_marker.h"

namespace tarn::versioning {
namespace {

constexpr std::string_view kOwnerFolder = "/_tarn/collector/";
constexpr size_t kNumberDigits = 8;
constexpr size_t kIdentityBytesMax = 200;
/// Records that a killed server left unfinished take their numbers.
constexpr uint64_t kSkippedMax = 16;

constexpr db::Query kIdentity{"store_owner_select_identity", R"sql(
  SELECT s.system_identifier::text || '-' || d.oid::text || '-'
         || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8)
  FROM pg_control_system() s, pg_database d WHERE d.datname = current_database())sql"};

struct Record {
  uint64_t number = 0;  ///< 0 = there is none
  std::string identity;
};

blob::Located folder_of(blob::Stores& stores, const Repository& repository) {
  blob::Located at = stores.locate(str_cat(repository.storage_namespace, kOwnerFolder, "0"));
  at.key.pop_back();
  return at;
}

std::string read_small(blob::BlobStore& store, const blob::BlobStat& stat) {
  const uint64_t length = std::min<uint64_t>(stat.size_bytes, kIdentityBytesMax);
  const auto reader = store.open(stat.key, {0, length});
  std::string out;
  if (!reader) return out;
  std::array<char, kIdentityBytesMax> buffer{};
  while (const size_t count = reader->read(buffer)) out.append(buffer.data(), count);
  return out;
}

Record newest_record(const blob::Located& folder) {
  blob::BlobStat newest;
  folder.store->walk(folder.key, "", [&](const blob::BlobStat& stat) {
    newest = stat;
    return true;
  });
  Record out;
  if (newest.key.empty()) return out;
  const std::string_view digits = std::string_view(newest.key).substr(folder.key.size());
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), out.number);
  if (parsed.ec != std::errc() || out.number == 0) {
    throw Error(ErrorCode::kDataLoss,
                str_cat("reading the owner of a store: ", newest.key, " is no record of Tarn"));
  }
  out.identity = read_small(*folder.store, newest);
  return out;
}

/// false: another server wrote a record first.
bool write_record(const blob::Located& folder, uint64_t number, const std::string& identity) {
  std::string digits = std::to_string(number);
  if (digits.size() < kNumberDigits) digits.insert(0, kNumberDigits - digits.size(), '0');
  const auto writer = folder.store->create(folder.key + digits, identity.size());
  writer->write(identity);
  return writer->finish();
}

/// Makes `identity` the owner if `permits` agrees to replace the present one. Returns the owner
/// that it was not permitted to replace.
template <typename Permits>
std::optional<std::string> take(const blob::Located& folder, const std::string& identity,
                                Permits permits) {
  for (uint64_t skipped = 0;; ++skipped) {
    const Record newest = newest_record(folder);
    if (newest.identity == identity) return std::nullopt;
    if (newest.number > 0 && !permits(newest.identity)) return newest.identity;
    if (write_record(folder, newest.number + 1 + skipped, identity)) return std::nullopt;
    if (skipped == kSkippedMax) {
      throw Error(ErrorCode::kUnavailable, "writing the owner of a store: others write it too");
    }
  }
}

}  // namespace

std::string database_identity(db::Pool& pool) {
  return std::string(pool.run(kIdentity, {}, db::Pool::Retry::kRead).text(0, 0));
}

std::string OwnIdentities::note(db::Pool& pool) {
  std::string identity = database_identity(pool);
  MutexLock lock(mutex_);
  identities_.insert(identity);
  return identity;
}

bool OwnIdentities::contains(const std::string& identity) const {
  MutexLock lock(mutex_);
  return identities_.count(identity) > 0;
}

bool OwnIdentities::empty() const {
  MutexLock lock(mutex_);
  return identities_.empty();
}

std::optional<std::string> store_owner(blob::Stores& stores, const Repository& repository) {
  Record newest = newest_record(folder_of(stores, repository));
  if (newest.number == 0) return std::nullopt;
  return std::move(newest.identity);
}

std::optional<std::string> claim_store(blob::Stores& stores, const Repository& repository,
                                       db::Pool& pool, OwnIdentities& identities) {
  const std::string own = identities.note(pool);
  if (!store_owner(stores, repository) && !owns_namespace(stores, repository)) return std::nullopt;
  const auto owner = take(folder_of(stores, repository), own,
                          [&](const std::string& present) { return identities.contains(present); });
  if (!owner) return std::nullopt;
  return str_cat("the objects in ", repository.storage_namespace, " belong to another database (",
                 *owner, "; this one is ", own,
                 "), of which this may be a copy; if that database is no longer used, take them "
                 "over: tarn gc run ",
                 repository.name.str(), " --adopt");
}

void adopt_store(blob::Stores& stores, const Repository& repository, db::Pool& pool) {
  const std::string own = database_identity(pool);
  take(folder_of(stores, repository), own, [&](const std::string& present) {
    log::warn("store_adopted", {{"repository", repository.name.str()},
                                {"namespace", repository.storage_namespace},
                                {"former_owner", present},
                                {"owner", own}});
    return true;
  });
}

}  // namespace tarn::versioning
