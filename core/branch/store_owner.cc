#include "core/branch/store_owner.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "core/base/digest.h"
#include "core/base/encoding.h"
#include "core/base/error.h"
#include "core/base/log.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "core/branch/namespace_marker.h"
#include "core/meta/repositories.h"

namespace tarn::branch {
namespace {

constexpr std::string_view kOwnerFolder = "/_tarn/collector/";
constexpr size_t kNumberDigits = 8;
constexpr uint64_t kRecordBytesMax = 400;
constexpr size_t kNonceBytes = 16;
/// Records that a killed server left unfinished take their numbers.
constexpr uint64_t kSkippedMax = 16;
/// Records that stay in a store when a collection begins, and rows of `store_claims`.
constexpr uint64_t kRecordsKept = 100;

constexpr db::Query kIdentity{"store_owner_select_identity", R"sql(
  SELECT s.system_identifier::text || '-' || d.oid::text || '-'
         || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8)
  FROM pg_control_system() s, pg_database d WHERE d.datname = current_database())sql"};

// One that is claimed again counts as the newest.
constexpr db::Query kInsertClaim{"store_claims_insert_row", R"sql(
  WITH again AS (UPDATE store_claims SET claim_id = DEFAULT WHERE repo_id = $1 AND nonce = $2 RETURNING claim_id),
       made AS (INSERT INTO store_claims (repo_id, nonce) SELECT $1, $2 WHERE NOT EXISTS (SELECT 1 FROM again)
                RETURNING claim_id)
  SELECT claim_id FROM again UNION ALL SELECT claim_id FROM made)sql"};

// Runs once the newest record is in the store: until then the one before it needs its claim.
constexpr db::Query kDeleteOldClaims{"store_claims_delete_old", R"sql(
  DELETE FROM store_claims WHERE repo_id = $1 AND claim_id <= (
    SELECT claim_id FROM store_claims WHERE repo_id = $1 ORDER BY claim_id DESC OFFSET $2 LIMIT 1))sql"};

constexpr db::Query kHasClaim{"store_claims_exists", R"sql(
  SELECT EXISTS (SELECT 1 FROM store_claims WHERE repo_id = $1 AND nonce = $2 AND claim_id >= $3))sql"};

blob::Located folder_of(blob::Stores& stores, const std::string& storage_namespace) {
  blob::Located at = stores.locate(str_cat(storage_namespace, kOwnerFolder, "0"));
  at.key.pop_back();
  return at;
}

blob::Located folder_of(blob::Stores& stores, const Repository& repository) {
  return folder_of(stores, repository.storage_namespace);
}

std::string digits_of(uint64_t number) {
  std::string digits = std::to_string(number);
  if (digits.size() < kNumberDigits) digits.insert(0, kNumberDigits - digits.size(), '0');
  return digits;
}

uint64_t number_of(std::string_view key, const blob::Located& folder) {
  const std::string_view digits = key.substr(folder.key.size());
  uint64_t number = 0;
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (parsed.ec == std::errc() && parsed.ptr == digits.data() + digits.size() && number > 0) {
    return number;
  }
  throw Error(ErrorCode::kDataLoss,
              str_cat("reading the owner of a store: ", key, " is no record of Tarn"));
}

OwnerRecord parsed(uint64_t number, std::string_view text) {
  const auto next_word = [&text] {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    return word;
  };
  OwnerRecord out{.number = number};
  out.identity = next_word();
  out.nonce = next_word();
  std::from_chars(text.data(), text.data() + text.size(), out.claim);
  return out;
}

/// The newest record with a greater number than `known`, else `known`.
OwnerRecord newest_record(const blob::Located& folder, const OwnerRecord& known) {
  std::string newest;
  folder.store->walk(folder.key, known.number == 0 ? "" : folder.key + digits_of(known.number),
                     [&](const blob::BlobStat& stat) {
                       newest = stat.key;
                       return true;
                     });
  if (newest.empty()) return known;
  const uint64_t number = number_of(newest, folder);
  return parsed(number, blob::read_small(*folder.store, newest, kRecordBytesMax).value_or(""));
}

/// false: another server wrote a record first.
bool write_record(const blob::Located& folder, const OwnerRecord& record) {
  const std::string text = record.nonce.empty()
                               ? record.identity
                               : str_cat(record.identity, " ", record.nonce, " ", record.claim);
  const auto writer = folder.store->create(folder.key + digits_of(record.number), text.size());
  writer->write(text);
  return writer->finish();
}

void remove_old_records(const blob::Located& folder, uint64_t newest) {
  std::vector<std::string> old;
  folder.store->walk(folder.key, "", [&](const blob::BlobStat& stat) {
    if (number_of(stat.key, folder) + kRecordsKept > newest) return false;
    old.push_back(stat.key);
    return true;
  });
  for (const std::string& key : old) folder.store->remove(key);
}

/// Whether two identities differ by the timeline alone, and `former` has the lower one. Timelines
/// are eight hexadecimal digits.
bool is_earlier_timeline(std::string_view former, std::string_view own) {
  const size_t at = own.rfind('-');
  return at != std::string_view::npos && former.size() == own.size() &&
         former.substr(0, at) == own.substr(0, at) && former.substr(at) < own.substr(at);
}

/// The owner that the marker names, as a record before the first; nullopt: the namespace has no
/// marker. Throws precondition_failed if the marker is another repository's.
std::optional<OwnerRecord> marked_owner(blob::Stores& stores, const Repository& repository) {
  const std::optional<NamespaceMarker> marker = read_marker(stores, repository);
  if (!marker) return std::nullopt;
  if (!marker->ours) {
    throw Error(ErrorCode::kPreconditionFailed, reason::kOwnedByAnotherDatabase,
                str_cat("the objects in ", repository.storage_namespace,
                        " belong to another repository: their _tarn/repository lacks the line ",
                        marker_digits(repository)));
  }
  return OwnerRecord{.number = 0, .identity = marker->owner, .nonce = ""};
}

}  // namespace

std::string database_identity(db::Pool& pool) {
  return std::string(pool.run(kIdentity, {}, db::Pool::Retry::kRead).text(0, 0));
}

std::optional<std::string> store_owner(blob::Stores& stores, const Repository& repository) {
  OwnerRecord newest = newest_record(folder_of(stores, repository), {});
  if (newest.number == 0) {
    const std::optional<NamespaceMarker> marker = read_marker(stores, repository);
    if (marker && marker->ours) newest.identity = marker->owner;
  }
  if (newest.number == 0 && newest.identity.empty()) return std::nullopt;
  return std::move(newest.identity);
}

void name_store_owner(blob::Stores& stores, const std::string& storage_namespace,
                      const std::string& identity) {
  const blob::Located folder = folder_of(stores, storage_namespace);
  for (uint64_t skipped = 0; skipped <= kSkippedMax; ++skipped) {
    const OwnerRecord newest = newest_record(folder, {});
    if (newest.number > 0 && newest.identity == identity && newest.nonce.empty()) return;
    if (write_record(folder, {.number = newest.number + 1 + skipped, .identity = identity})) {
      return;
    }
  }
  throw Error(ErrorCode::kUnavailable, "writing the owner of a store: others write it too");
}

StoreOwners::StoreOwners(db::Pool& pool, blob::Stores& stores, StoreOwnerOptions options)
    : pool_(pool), stores_(stores), options_(std::move(options)) {}

std::string StoreOwners::identity() {
  std::string own = options_.identify ? options_.identify() : database_identity(pool_);
  const uint64_t losses = options_.losses ? options_.losses() : 0;
  MutexLock lock(mutex_);
  if (std::exchange(losses_, losses) != losses) {
    lost_.insert(std::find(identities_.begin(), identities_.end(), own), identities_.end());
  }
  if (lost_.erase(own) > 0) std::erase(identities_, own);  // it is the newest from now on
  if (std::find(identities_.begin(), identities_.end(), own) == identities_.end()) {
    identities_.push_back(own);
  }
  return own;
}

/// Whether `own` is the newest identity of the database that this process has seen, and `former`
/// one of those before.
bool StoreOwners::succeeds(const std::string& own, const std::string& former) const {
  MutexLock lock(mutex_);
  return identities_.back() == own &&
         std::find(identities_.begin(), identities_.end(), former) != identities_.end();
}

bool StoreOwners::went_back(const std::string& own) const {
  MutexLock lock(mutex_);
  return identities_.back() != own;
}

/// Writes a record of this database behind `newest`; nullopt: others have written one meanwhile.
/// `nonce`: of a former try whose record is not in the store, and then of this one; "" = none.
std::optional<OwnerRecord> StoreOwners::take(const Repository& repository,
                                             const OwnerRecord& newest, const std::string& own,
                                             std::string& nonce) {
  const blob::Located folder = folder_of(stores_, repository);
  const auto id = static_cast<int32_t>(repository.id);
  if (nonce.empty()) nonce = to_hex(random_bytes(kNonceBytes));
  OwnerRecord record{.number = newest.number, .identity = own, .nonce = nonce};
  record.claim = pool_.run(kInsertClaim, {id, nonce}, db::Pool::Retry::kRepeatable).integer(0, 0);
  for (uint64_t skipped = 0; skipped <= kSkippedMax; ++skipped) {
    ++record.number;
    if (write_record(folder, record)) {
      nonce.clear();
      pool_.run(kDeleteOldClaims, {id, int64_t{kRecordsKept}}, db::Pool::Retry::kRepeatable);
      return record;
    }
    if (newest_record(folder, newest).number != newest.number) return std::nullopt;
  }
  throw Error(ErrorCode::kUnavailable, "writing the owner of a store: others write it too");
}

/// Asks the store. `known` is what was known before, and is brought up to date.
void StoreOwners::look(const Repository& repository, Record wanted, Known& known) {
  known.refusal.reset();
  const std::string own = known.own = identity();
  const auto refuse = [&](std::string_view why) {
    known.refusal =
        str_cat("the objects in ", repository.storage_namespace, " belong to another database (",
                known.newest.identity, "; this one is ", own, "), ", why,
                "; if that database is no longer used, take them over: tarn admin adopt ",
                repository.name.str());
  };
  for (uint64_t round = 0; round <= kSkippedMax; ++round) {
    bool may_list = true;
    try {
      known.newest = newest_record(folder_of(stores_, repository), known.newest);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kPermissionDenied) throw;
      may_list = false;  // then nothing can be collected there, and the marker counts
    }
    if (known.newest.number == 0 || !known.answered || wanted == Record::kAlways) {
      std::optional<OwnerRecord> marked;
      try {
        marked = marked_owner(stores_, repository);
      } catch (const Error& error) {
        if (error.reason() != reason::kOwnedByAnotherDatabase) throw;
        known.refusal = error.message();
        return;
      }
      if (known.newest.number == 0) {
        if (!marked) return;  // a bare repository without a namespace of its own
        known.newest = *std::move(marked);
      }
    }
    const OwnerRecord& newest = known.newest;
    const bool unnamed = newest.number == 0 && newest.identity.empty();
    if (newest.identity != own && went_back(own)) {
      return refuse("to whose past this server's database has gone back");
    }
    const bool failed_over =
        succeeds(own, newest.identity) ||
        (options_.adopts_failovers && is_earlier_timeline(newest.identity, own));
    if (!unnamed && newest.identity != own && !failed_over) {
      return refuse("of which this may be a copy");
    }
    if (newest.identity == own && !newest.nonce.empty() && !has_claim(repository, newest)) {
      return refuse("a copy of the same files");
    }
    if (newest.identity == own && known.recorded && wanted == Record::kOnce) return;
    if (!may_list) return;
    try {
      if (const auto taken = take(repository, newest, own, known.nonce)) {
        known.newest = *taken;
        known.recorded = true;
        if (wanted == Record::kAlways) {
          remove_old_records(folder_of(stores_, repository), taken->number);
        }
        return;
      }
    } catch (const Error& error) {
      // A store that cannot be written takes no objects either, and a full one must be collected.
      if (newest.identity != own) throw;
      log::debug("store_owner_not_recorded", {{"error", error.message()}});
      return;
    }
  }
  throw Error(ErrorCode::kUnavailable, "writing the owner of a store: others write it too");
}

bool StoreOwners::has_claim(const Repository& repository, const OwnerRecord& record) {
  return pool_
      .run(kHasClaim, {static_cast<int32_t>(repository.id), record.nonce, record.claim},
           db::Pool::Retry::kRead)
      .boolean(0, 0);
}

std::optional<std::string> StoreOwners::ask(const Repository& repository, Record wanted) {
  Known known;
  {
    MutexLock lock(mutex_);
    Known& entry = known_[repository.id];
    entry.name = repository.name.str();
    if (entry.answered && wanted == Record::kOnce) {
      const auto trusted = entry.refusal ? kRefusalTrusted : kOwnerTrusted;
      if (entry.being_asked || SteadyClock::now() - entry.asked < trusted) return entry.refusal;
    }
    entry.being_asked = true;
    known = entry;
  }
  const auto asked = SteadyClock::now();
  std::exception_ptr failure;
  try {
    look(repository, wanted, known);
    known.answered = true;
    known.failed = false;
  } catch (const std::exception& error) {
    failure = std::current_exception();
    log::warn("store_owner_unknown",
              {{"repository", repository.name.str()}, {"error", error.what()}});
  }
  MutexLock lock(mutex_);
  Known& entry = known_[repository.id];
  entry.failed = failure != nullptr;
  entry.nonce = known.nonce;
  if (!failure) {
    if (known.refusal && known.refusal != entry.refusal) {
      log::error("owned_by_another_database",
                 {{"repository", repository.name.str()}, {"message", *known.refusal}});
    }
    entry = known;
  } else if (!entry.answered || wanted == Record::kAlways) {
    entry.being_asked = false;
    std::rethrow_exception(failure);
  }
  entry.asked = asked;
  entry.being_asked = false;
  return entry.refusal;
}

std::optional<std::string> StoreOwners::refusal(const Repository& repository) {
  return ask(repository, Record::kOnce);
}

std::optional<std::string> StoreOwners::refusal_to_collect(const Repository& repository) {
  return ask(repository, Record::kAlways);
}

void StoreOwners::require(const Repository& repository) {
  if (const auto why = refusal(repository)) {
    throw Error(ErrorCode::kPermissionDenied, reason::kOwnedByAnotherDatabase, *why);
  }
}

void StoreOwners::adopt(const Repository& repository) {
  const std::string own = identity();
  std::string nonce;
  for (uint64_t round = 0; round <= kSkippedMax; ++round) {
    OwnerRecord newest = newest_record(folder_of(stores_, repository), {});
    if (!read_marker(stores_, repository) && newest.number == 0) return;
    const auto marked = marked_owner(stores_, repository);
    if (newest.number == 0 && marked) newest = *marked;
    if (const auto taken = take(repository, newest, own, nonce)) {
      log::warn("store_adopted", {{"repository", repository.name.str()},
                                  {"namespace", repository.storage_namespace},
                                  {"former_owner", newest.identity},
                                  {"owner", own}});
      return forget(repository.id);
    }
  }
  throw Error(ErrorCode::kUnavailable, "writing the owner of a store: others write it too");
}

bool StoreOwners::watch(meta::Repositories& repositories, uint32_t limit) {
  const std::string own = identity();
  std::string after;
  {
    MutexLock lock(mutex_);
    if (watched_identity_ != own) {
      for (auto& [id, known] : known_) {
        if (known.own != own) known.asked = {};  // an answer under the former identity
      }
      watched_identity_ = own;
      watched_until_.clear();
      watched_all_ = watch_again_ = false;
    }
    if (watched_all_) return false;
    after = watched_until_;
  }
  const Page<Repository> page = repositories.list("", "", after, limit);
  bool all_answered = true;
  for (const Repository& repository : page.items) {
    if (!repository.read_only && !is_answered(repository)) all_answered = false;
  }
  MutexLock lock(mutex_);
  if (watched_identity_ != own) return true;
  watch_again_ = watch_again_ || !all_answered;
  if (page.has_more) {
    watched_until_ = page.items.back().name.str();
    return true;
  }
  watched_until_.clear();
  watched_all_ = !std::exchange(watch_again_, false);
  return false;
}

/// Asks, and returns whether there was an answer.
bool StoreOwners::is_answered(const Repository& repository) {
  try {
    refusal(repository);
  } catch (const std::exception&) {
    return false;  // ask() has logged it
  }
  MutexLock lock(mutex_);
  return !known_[repository.id].failed;
}

void StoreOwners::forget(RepositoryId id) {
  MutexLock lock(mutex_);
  known_.erase(id);
}

std::vector<RefusedStore> StoreOwners::refused(size_t limit) const {
  std::vector<RefusedStore> out;
  MutexLock lock(mutex_);
  for (const auto& [id, known] : known_) {
    if (known.refusal && out.size() < limit) out.push_back({id, known.name, *known.refusal});
  }
  return out;
}

}  // namespace tarn::branch
