// Rows of the object versions of a branch.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/time.h"
#include "core/db/pool.h"
#include "core/model/names.h"
#include "core/model/object_version.h"

namespace tarn::meta {

struct BranchLookup;

/// One version of a key.
struct ObjectVersionRow {
  std::string key;
  int64_t number = 0;  ///< of two versions of a key the newer has the smaller number
  VersionId version;
  bool is_null = false;        ///< clients know it as "null"
  std::optional<Entry> entry;  ///< absent: a deletion
  Instant created{};
  std::vector<std::string> makers{};  ///< users whose work it is; empty: its commit tells
};

/// The rows that are added with a version.
struct ObjectVersionRecord {
  std::optional<int64_t> newest;  ///< number of the newest version, as the caller has read it
  /// The entry that the branch showed, if no version has it: kept as the null version.
  std::optional<Entry> base{};
  VersionId version;
  std::optional<Entry> entry;  ///< absent: a deletion
  Instant created{};
};

/// The start of a page of versions: after a version, or at `key`.
struct ObjectVersionPlace {
  std::string key;
  int64_t after = 0;  ///< a number of `key`; 0 = before the newest
  bool skips_key = false;
};

/// Cheap to make. Safe from any thread.
class ObjectVersions {
 public:
  explicit ObjectVersions(db::Pool& pool) : pool_(pool) {}

  /// The newest versions of a key, newest first; at most `limit`.
  std::vector<ObjectVersionRow> newest(BranchId branch, const Key& key, uint32_t limit);
  std::optional<ObjectVersionRow> find(BranchId branch, const Key& key, const VersionId& version);
  std::optional<ObjectVersionRow> find_null(BranchId branch, const Key& key);

  /// In the transaction that stages the version, as work of ActingUser::makers(). false, and
  /// nothing was done: `newest` is another one by now.
  static bool record(db::Connection& connection, BranchId branch, const Key& key,
                     const ObjectVersionRecord& record);
  /// Removes the version `number`. false, and nothing was done: the newest two, as the caller has
  /// read them, are others by now.
  static bool remove(db::Connection& connection, BranchId branch, const Key& key, int64_t number,
                     const std::vector<ObjectVersionRow>& newest_two);
  /// The same, in a transaction of its own and only under the settings that permitted it.
  bool remove(const BranchLookup& seen, const Key& key, int64_t number,
              const std::vector<ObjectVersionRow>& newest_two);

  /// `version` absent: the null version. nullopt if it does not exist.
  static std::optional<int64_t> find_number(db::Connection& connection, BranchId branch,
                                            const Key& key,
                                            const std::optional<VersionId>& version);

  /// The versions from `from` on with keys below `end` ("" = no end), by key, newest first.
  static std::vector<ObjectVersionRow> page(db::Connection& connection, BranchId branch,
                                            const ObjectVersionPlace& from, std::string_view end,
                                            uint32_t limit);

  /// Deletes versions of deleted branches, at most `rows_max`; returns the number.
  uint64_t sweep(uint32_t rows_max);

 private:
  db::Pool& pool_;
};

}  // namespace tarn::meta
