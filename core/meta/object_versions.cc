#include "core/meta/object_versions.h"

#include <limits>

#include "core/base/acting_user.h"
#include "core/meta/staging.h"

namespace tarn::meta {
namespace {

#define TARN_VERSION_COLUMNS "key, number, version, is_null, kind, val, created_ms, makers"

constexpr db::Query kSelectNewest{"object_versions_select_newest",
                                  "SELECT " TARN_VERSION_COLUMNS R"sql( FROM object_versions
  WHERE branch_id = $1 AND key = $2 ORDER BY number LIMIT $3)sql"};

constexpr db::Query kSelectOne{"object_versions_select_one",
                               "SELECT " TARN_VERSION_COLUMNS R"sql( FROM object_versions
  WHERE version = $3 AND branch_id = $1 AND key = $2)sql"};

constexpr db::Query kSelectNull{"object_versions_select_null",
                                "SELECT " TARN_VERSION_COLUMNS R"sql( FROM object_versions
  WHERE branch_id = $1 AND key = $2 AND is_null)sql"};

constexpr db::Query kSelectPage{"object_versions_select_page",
                                "SELECT " TARN_VERSION_COLUMNS R"sql( FROM object_versions
  WHERE branch_id = $1 AND (key, number) > ($2, $3) AND ($4::bytea IS NULL OR key < $4)
  ORDER BY key, number LIMIT $5)sql"};

constexpr db::Query kRecord{
    "object_versions_record",
    "SELECT record_object_version($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)"};

constexpr db::Query kRemove{"object_versions_remove",
                            "SELECT remove_object_version($1, $2, $3, $4, $5)"};

constexpr db::Query kRemoveUnderSettings{"object_versions_remove_under_settings", R"sql(
  SELECT CASE WHEN hold_repository($6) = $7 THEN remove_object_version($1, $2, $3, $4, $5) ELSE false END)sql"};

constexpr db::Query kSelectNumber{"object_versions_select_number", R"sql(
  SELECT number FROM object_versions
  WHERE branch_id = $1 AND key = $2 AND (version = $3 OR ($3::bytea IS NULL AND is_null)))sql"};

// Each step finds the next branch that has versions, so the cost depends on the number of branches,
// not of rows.
constexpr db::Query kSweep{"object_versions_sweep", R"sql(
  WITH RECURSIVE kept AS (
    (SELECT branch_id FROM object_versions ORDER BY branch_id LIMIT 1)
    UNION ALL
    SELECT (SELECT v.branch_id FROM object_versions v WHERE v.branch_id > kept.branch_id
            ORDER BY v.branch_id LIMIT 1)
    FROM kept WHERE kept.branch_id IS NOT NULL),
  gone AS (
    SELECT v.branch_id, v.key, v.number FROM kept
    CROSS JOIN LATERAL (
      SELECT branch_id, key, number FROM object_versions o WHERE o.branch_id = kept.branch_id LIMIT $1) v
    WHERE NOT EXISTS (SELECT 1 FROM branches b WHERE b.branch_id = kept.branch_id)
      AND NOT EXISTS (SELECT 1 FROM deleted_branches d WHERE d.branch_id = kept.branch_id)
    LIMIT $1)
  DELETE FROM object_versions o USING gone
  WHERE o.branch_id = gone.branch_id AND o.key = gone.key AND o.number = gone.number)sql"};

ObjectVersionRow row_from(const db::Rows& rows, size_t row) {
  struct Column {
    enum : int { kKey, kNumber, kVersion, kIsNull, kKind, kVal, kCreatedMs, kMakers };
  };
  ObjectVersionRow out;
  out.key = std::string(rows.bytes(row, Column::kKey));
  out.number = rows.integer(row, Column::kNumber);
  out.version = version_id_from_bytes(rows.bytes(row, Column::kVersion));
  out.is_null = rows.boolean(row, Column::kIsNull);
  if (rows.integer(row, Column::kKind) == kStagedEntry)
    out.entry = decode_entry(rows.bytes(row, Column::kVal));
  out.created = from_millis(rows.integer(row, Column::kCreatedMs));
  out.makers = rows.strings(row, Column::kMakers);
  return out;
}

std::vector<ObjectVersionRow> rows_from(const db::Rows& rows) {
  std::vector<ObjectVersionRow> out;
  out.reserve(rows.size());
  for (size_t row = 0; row < rows.size(); ++row) out.push_back(row_from(rows, row));
  return out;
}

std::optional<ObjectVersionRow> first_of(const db::Rows& rows) {
  if (rows.empty()) return std::nullopt;
  return row_from(rows, 0);
}

std::optional<int64_t> number_at(const std::vector<ObjectVersionRow>& rows, size_t at) {
  return at < rows.size() ? std::optional<int64_t>(rows[at].number) : std::nullopt;
}

}  // namespace

std::vector<ObjectVersionRow> ObjectVersions::newest(BranchId branch, const Key& key,
                                                     uint32_t limit) {
  return rows_from(
      pool_.run(kSelectNewest,
                {static_cast<int32_t>(branch), db::Bytes{key.str()}, static_cast<int64_t>(limit)},
                db::Pool::Retry::kRead));
}

std::optional<ObjectVersionRow> ObjectVersions::find(BranchId branch, const Key& key,
                                                     const VersionId& version) {
  return first_of(pool_.run(
      kSelectOne, {static_cast<int32_t>(branch), db::Bytes{key.str()}, db::Bytes{view_of(version)}},
      db::Pool::Retry::kRead));
}

std::optional<ObjectVersionRow> ObjectVersions::find_null(BranchId branch, const Key& key) {
  return first_of(pool_.run(kSelectNull, {static_cast<int32_t>(branch), db::Bytes{key.str()}},
                            db::Pool::Retry::kRead));
}

bool ObjectVersions::record(db::Connection& connection, BranchId branch, const Key& key,
                            const ObjectVersionRecord& record) {
  const std::string base = record.base ? encode_entry(*record.base) : std::string();
  const std::string value = record.entry ? encode_entry(*record.entry) : std::string();
  const VersionId base_version = new_version_id();
  const auto base_bytes =
      record.base ? std::optional<db::Bytes>(db::Bytes{base}) : std::optional<db::Bytes>();
  return connection
      .run(kRecord,
           {static_cast<int32_t>(branch), db::Bytes{key.str()}, record.newest, base_bytes,
            db::Bytes{view_of(base_version)},
            record.base ? to_millis(record.base->mtime) : int64_t{0},
            db::Bytes{view_of(record.version)}, record.entry ? kStagedEntry : kStagedDeletion,
            db::Bytes{value}, to_millis(record.created), ActingUser::makers()})
      .boolean(0, 0);
}

bool ObjectVersions::remove(db::Connection& connection, BranchId branch, const Key& key,
                            int64_t number, const std::vector<ObjectVersionRow>& newest_two) {
  return connection
      .run(kRemove, {static_cast<int32_t>(branch), db::Bytes{key.str()}, number,
                     number_at(newest_two, 0), number_at(newest_two, 1)})
      .boolean(0, 0);
}

bool ObjectVersions::remove(const BranchLookup& seen, const Key& key, int64_t number,
                            const std::vector<ObjectVersionRow>& newest_two) {
  return pool_
      .run(kRemoveUnderSettings,
           {static_cast<int32_t>(seen.branch.id), db::Bytes{key.str()}, number,
            number_at(newest_two, 0), number_at(newest_two, 1),
            static_cast<int32_t>(seen.repository), seen.branch.settings_version},
           db::Pool::Retry::kWrite)
      .boolean(0, 0);
}

std::optional<int64_t> ObjectVersions::find_number(db::Connection& connection, BranchId branch,
                                                   const Key& key,
                                                   const std::optional<VersionId>& version) {
  const std::optional<db::Bytes> id =
      version ? std::optional<db::Bytes>(db::Bytes{view_of(*version)}) : std::nullopt;
  const db::Rows rows =
      connection.run(kSelectNumber, {static_cast<int32_t>(branch), db::Bytes{key.str()}, id});
  return rows.empty() ? std::nullopt : std::optional<int64_t>(rows.integer(0, 0));
}

std::vector<ObjectVersionRow> ObjectVersions::page(db::Connection& connection, BranchId branch,
                                                   const ObjectVersionPlace& from,
                                                   std::string_view end, uint32_t limit) {
  const std::optional<db::Bytes> stop =
      end.empty() ? std::nullopt : std::optional<db::Bytes>(db::Bytes{end});
  // Numbers are negative: all of a key's are between the smallest integer and 0.
  const int64_t after =
      from.skips_key ? 0 : (from.after == 0 ? std::numeric_limits<int64_t>::min() : from.after);
  return rows_from(connection.run(kSelectPage, {static_cast<int32_t>(branch), db::Bytes{from.key},
                                                after, stop, static_cast<int64_t>(limit)}));
}

uint64_t ObjectVersions::sweep(uint32_t rows_max) {
  return pool_.run(kSweep, {static_cast<int64_t>(rows_max)}, db::Pool::Retry::kRepeatable)
      .affected();
}

}  // namespace tarn::meta
