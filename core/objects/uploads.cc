#include "core/objects/uploads.h"

#include "core/base/acting_user.h"
#include "core/base/digest.h"
#include "core/base/encoding.h"
#include "core/base/str_cat.h"
#include "core/base/wire.h"
#include "core/quotas/quotas.h"

namespace tarn::objects {
namespace {

// The ids of an owner have a common prefix, so counting them scans that part of the primary key, up
// to the limit. Concurrent requests do not see each other and may exceed it by their number.
constexpr db::Query kInsert{"uploads_insert_row", R"sql(
  INSERT INTO uploads (upload_id, kind, repo_id, branch_id, key, entry, owner, checksum_algorithm,
                       checksum_type, created_ms, expires_at)
  SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, clock_timestamp() + $11 * interval '1 second'
  WHERE $14 = '' OR $13 > (
    SELECT count(*) FROM (
      SELECT FROM uploads u JOIN branches b USING (branch_id)
      WHERE u.upload_id >= $12 AND u.upload_id < $12 || '~' AND u.owner = $7 AND u.expires_at > clock_timestamp()
      LIMIT $13) AS open))sql"};

// The join excludes uploads of deleted branches, and names the branch as it is called now.
constexpr db::Query kSelectMultipart{"uploads_select_multipart",
                                     R"sql(
  SELECT u.upload_id, u.repo_id, u.branch_id, b.name, u.key, u.entry, u.owner, u.checksum_algorithm, u.checksum_type,
    u.created_ms
  FROM uploads u JOIN branches b USING (branch_id)
  WHERE u.upload_id = $1 AND u.kind = 'multipart' AND u.expires_at > clock_timestamp())sql"};

constexpr db::Query kPutPart{"uploads_put_part", R"sql(
  INSERT INTO upload_parts (upload_id, part_number, entry, makers)
  SELECT u.upload_id, $2, $3, $5 FROM uploads u JOIN branches b USING (branch_id)
  WHERE u.upload_id = $1 AND writer_lives($4) FOR KEY SHARE OF u
  ON CONFLICT (upload_id, part_number) DO UPDATE SET entry = excluded.entry, makers = excluded.makers)sql"};

// The same as kPutPart, in the form of a status: 1 = nothing was stored.
constexpr db::Query kPutPartCharged{"uploads_put_part_charged", R"sql(
  WITH upload AS (
    SELECT u.upload_id, u.branch_id FROM uploads u JOIN branches b USING (branch_id)
    WHERE u.upload_id = $1 AND writer_lives($4) FOR KEY SHARE OF u),
  put AS (
    INSERT INTO upload_parts (upload_id, part_number, entry, makers) SELECT upload_id, $2, $3, $5 FROM upload
    ON CONFLICT (upload_id, part_number) DO UPDATE SET entry = excluded.entry, makers = excluded.makers
    RETURNING upload_id)
  SELECT charge_quotas(0, upload.branch_id, $6, $7, $8) FROM upload JOIN put USING (upload_id))sql"};

constexpr db::Query kWriterLives{"uploads_writer_lives", "SELECT writer_lives($1)"};

constexpr db::Query kHasPart{"uploads_has_part", R"sql(
  SELECT EXISTS (SELECT 1 FROM upload_parts WHERE upload_id = $1 AND part_number = $2 AND entry = $3))sql"};

constexpr db::Query kSelectParts{"uploads_select_parts", R"sql(
  SELECT part_number, entry FROM upload_parts WHERE upload_id = $1 AND part_number > $2
  ORDER BY part_number LIMIT $3)sql"};

constexpr db::Query kSelectMakers{"uploads_select_makers", R"sql(
  SELECT u.owner FROM uploads u WHERE u.upload_id = $1
  UNION SELECT unnest(p.makers) FROM upload_parts p WHERE p.upload_id = $1)sql"};

// Waits for running uploads of parts and prevents further ones.
constexpr db::Query kLock{"uploads_lock_row",
                          "SELECT upload_id FROM uploads WHERE upload_id = $1 FOR UPDATE"};

constexpr db::Query kDelete{"uploads_delete_row", "DELETE FROM uploads WHERE upload_id = $1"};

constexpr db::Query kDeleteUnderSettings{"uploads_delete_under_settings", R"sql(
  DELETE FROM uploads WHERE upload_id = $1 AND EXISTS (
    SELECT 1 FROM repositories WHERE repo_id = $2 AND settings_version = $3))sql"};

// An address may have two rows: the one that handed it out, and the one of the store's own upload.
constexpr db::Query kDeleteLinks{"uploads_delete_links", R"sql(
  DELETE FROM uploads WHERE branch_id = $1 AND key = $2 AND kind = 'link' AND entry = $3
  RETURNING charged)sql"};

#define TARN_IS_LINK                                                             \
  "u.branch_id = b.branch_id AND b.repo_id = $1 AND b.name = $2 AND u.key = $3 " \
  "AND u.kind = 'link' AND u.entry = $4 AND u.expires_at > clock_timestamp()"

constexpr db::Query kIsHandedOut{
    "uploads_is_handed_out",
    "SELECT EXISTS (SELECT 1 FROM uploads u, branches b WHERE " TARN_IS_LINK ")"};

constexpr db::Query kChargeLink{
    "uploads_charge_link",
    "WITH filled AS (UPDATE uploads u SET charged = true FROM branches b"
    " WHERE " TARN_IS_LINK
    " AND NOT u.charged RETURNING u.branch_id)"
    " SELECT charge_quotas(0, branch_id, $5, $6, $7)"
    " FROM (SELECT DISTINCT branch_id FROM filled) f"};

constexpr db::Query kTakeBackLink{"uploads_take_back_link",
                                  "DELETE FROM uploads u USING branches b WHERE " TARN_IS_LINK
                                  " AND NOT u.charged"};

constexpr db::Query kChargeHandedOut{"uploads_charge_handed_out", R"sql(
  WITH filled AS (
    UPDATE uploads SET charged = true WHERE repo_id = $1 AND kind = 'link' AND entry = $2 AND NOT charged
    RETURNING branch_id)
  SELECT charge_quotas(0, $3, $4, $5, $6) FROM (SELECT 1 FROM filled LIMIT 1) AS one)sql"};

constexpr db::Query kCharge{"uploads_charge_object", "SELECT charge_quotas(0, $1, $2, $3, $4)"};

constexpr db::Query kSelectPage{"uploads_select_page", R"sql(
  SELECT u.upload_id, u.repo_id, u.branch_id, b.name, u.key, u.entry, u.owner, u.checksum_algorithm, u.checksum_type,
    u.created_ms
  FROM uploads u JOIN branches b USING (branch_id),
  LATERAL (SELECT convert_to(b.name || '/', 'UTF8') || u.key AS full_key) f
  WHERE u.repo_id = $1 AND u.kind = 'multipart' AND u.expires_at > clock_timestamp()
    AND substring(f.full_key FOR length($2::bytea)) = $2
    AND (f.full_key, substring(u.upload_id FROM 9)) > ($3, $4)
  ORDER BY f.full_key, substring(u.upload_id FROM 9) LIMIT $5)sql"};

constexpr db::Query kSweep{"uploads_delete_expired", R"sql(
  DELETE FROM uploads WHERE upload_id IN (
    SELECT upload_id FROM uploads WHERE expires_at < clock_timestamp()
    ORDER BY expires_at LIMIT $1 FOR UPDATE SKIP LOCKED))sql"};

UploadRow upload_from(const db::Rows& rows, size_t row) {
  struct Column {
    enum : int {
      kUploadId,
      kRepoId,
      kBranchId,
      kName,
      kKey,
      kEntry,
      kOwner,
      kChecksumAlgorithm,
      kChecksumType,
      kCreatedMs
    };
  };
  UploadRow u;
  u.id = rows.text(row, Column::kUploadId);
  u.repository = static_cast<RepositoryId>(rows.integer(row, Column::kRepoId));
  u.branch = static_cast<BranchId>(rows.integer(row, Column::kBranchId));
  u.branch_name = BranchName(std::string(rows.text(row, Column::kName)));
  u.key = Key(std::string(rows.bytes(row, Column::kKey)));
  u.entry = rows.bytes(row, Column::kEntry);
  u.owner = rows.text(row, Column::kOwner);
  u.checksum_algorithm = rows.text(row, Column::kChecksumAlgorithm);
  u.checksum_type = rows.text(row, Column::kChecksumType);
  u.created = from_millis(rows.integer(row, Column::kCreatedMs));
  return u;
}

constexpr size_t kOwnerBytes = 5;
constexpr size_t kOwnerChars = 8;  // of base32hex; kSelectPage orders by what follows

std::string owner_prefix(std::string_view owner) {
  return to_base32hex(sha256(owner).substr(0, kOwnerBytes));
}

/// After the owner's prefix the ids sort by time, then randomly: uploads of one key are listed in
/// the order of their creation.
std::string new_upload_id(std::string_view owner, Instant now) {
  std::string time;
  put_u64be(time, static_cast<uint64_t>(to_millis(now)));
  return owner_prefix(owner) + to_base32hex(time.substr(2) + random_bytes(14));
}

std::vector<NumberedPart> parts_from(const db::Rows& rows) {
  struct Column {
    enum : int { kPartNumber, kEntry };
  };
  std::vector<NumberedPart> out;
  for (size_t row = 0; row < rows.size(); ++row) {
    out.push_back({static_cast<uint32_t>(rows.integer(row, Column::kPartNumber)),
                   meta::decode_parts(rows.bytes(row, Column::kEntry)).at(0)});
  }
  return out;
}

std::string entry_of_link(const OwnAddress& address) {
  Entry entry;
  entry.address = address;
  return encode_entry(entry);
}

UploadRow row_of_link(RepositoryId repository, const Branch& branch, const Key& key,
                      const OwnAddress& address) {
  UploadRow row;
  row.repository = repository;
  row.branch = branch.id;
  row.branch_name = branch.name;
  row.key = key;
  row.entry = entry_of_link(address);
  return row;
}

}  // namespace

bool Uploads::insert(std::string_view kind, UploadRow& row, std::chrono::seconds lifetime,
                     const Limit& limit, const std::function<void(db::Connection&)>& within) {
  row.created = clock_.now();
  row.id = new_upload_id(limit.holder, row.created);
  const std::string prefix = owner_prefix(limit.holder);
  const std::initializer_list<db::Param> params = {row.id,
                                                   kind,
                                                   static_cast<int32_t>(row.repository),
                                                   static_cast<int32_t>(row.branch),
                                                   db::Bytes{row.key.str()},
                                                   db::Bytes{row.entry},
                                                   row.owner,
                                                   row.checksum_algorithm,
                                                   row.checksum_type,
                                                   to_millis(row.created),
                                                   static_cast<int64_t>(lifetime.count()),
                                                   prefix,
                                                   static_cast<int64_t>(limit.most),
                                                   limit.holder};
  if (!within) return pool_.run(kInsert, params, db::Pool::Retry::kWrite).affected() == 1;
  return pool_.transaction([&](db::Connection& connection) {
    if (connection.run(kInsert, params).affected() == 0) return false;
    within(connection);
    return true;
  });
}

std::optional<UploadRow> Uploads::create_multipart(
    UploadRow row, const std::function<void(db::Connection&)>& within) {
  if (!insert("multipart", row, multipart_lifetime_, {row.owner, open_max_}, within)) {
    return std::nullopt;
  }
  return row;
}

std::optional<UploadRow> Uploads::find_multipart(std::string_view id) {
  if (id.find('\0') != std::string_view::npos || !is_utf8(id)) return std::nullopt;
  const db::Rows rows = pool_.run(kSelectMultipart, {id}, db::Pool::Retry::kRead);
  if (rows.empty()) return std::nullopt;
  return upload_from(rows, 0);
}

bool Uploads::put_part(std::string_view upload_id, uint32_t number, const meta::StoredPart& part,
                       int64_t writer, const Within& within, const Charge& charge) {
  const std::string bytes = meta::encode_parts({part});
  const auto number_column = static_cast<int32_t>(number);
  const std::initializer_list<db::Param> row = {upload_id, number_column, db::Bytes{bytes}};
  const std::vector<std::string> makers = ActingUser::makers();
  const std::initializer_list<db::Param> put = {upload_id, number_column, db::Bytes{bytes}, writer,
                                                makers};
  const auto run = [&](auto& database, auto... retry) {
    if (charge.empty()) return database.run(kPutPart, put, retry...).affected() == 1;
    quotas::ChargeArrays charges;
    charges.add(charge);
    return !database
                .run(kPutPartCharged,
                     {upload_id, number_column, db::Bytes{bytes}, writer, makers, charges.quotas(),
                      charges.addresses(), charges.sizes()},
                     retry...)
                .empty();
  };
  try {
    const bool done = within ? pool_.transaction([&](db::Connection& connection) {
      const bool stored = run(connection);
      within(connection);
      return stored;
    })
                             : run(pool_, db::Pool::Retry::kWrite);
    if (!done && !pool_.run(kWriterLives, {writer}, db::Pool::Retry::kRead).boolean(0, 0)) {
      throw Error(ErrorCode::kUnavailable, reason::kWriterLost,
                  "storing a part: this server lost its registration in the database, try again");
    }
    return done;
  } catch (const db::DbError& error) {
    // Do not send it again: that would undo a later part with this number. The address is unique,
    // so finding it shows that the part was stored.
    const bool found = error.in_doubt() && pool_
                                               .look_durably([&](db::Connection& connection) {
                                                 return connection.run(kHasPart, row).boolean(0, 0);
                                               })
                                               .value_or(false);
    if (!found) throw;
    return true;
  }
}

std::set<std::string> Uploads::makers(std::string_view upload_id) {
  const db::Rows rows = pool_.run(kSelectMakers, {upload_id}, db::Pool::Retry::kRead);
  std::set<std::string> out;
  for (size_t row = 0; row < rows.size(); ++row) out.emplace(rows.text(row, 0));
  return out;
}

std::vector<NumberedPart> Uploads::parts(std::string_view upload_id, uint32_t after,
                                         uint32_t limit) {
  return parts_from(pool_.run(kSelectParts,
                              {upload_id, static_cast<int32_t>(after), static_cast<int64_t>(limit)},
                              db::Pool::Retry::kRead));
}

bool Uploads::remove(std::string_view upload_id) {
  return pool_.run(kDelete, {upload_id}, db::Pool::Retry::kWrite).affected() == 1;
}

bool Uploads::remove_under_settings(std::string_view upload_id, RepositoryId repository,
                                    int64_t settings_version) {
  return pool_
             .run(kDeleteUnderSettings,
                  {upload_id, static_cast<int32_t>(repository), settings_version},
                  db::Pool::Retry::kWrite)
             .affected() == 1;
}

Uploads::Taken Uploads::take_multipart(db::Connection& connection, std::string_view upload_id,
                                       const std::vector<NumberedPart>& parts) {
  if (connection.run(kLock, {upload_id}).empty()) return Taken::kGone;
  // Reads one more than expected, so that an added part is noticed.
  const auto limit = static_cast<int64_t>(parts.size() + 1);
  if (parts_from(connection.run(kSelectParts, {upload_id, int32_t{0}, limit})) != parts) {
    return Taken::kPartsChanged;
  }
  connection.run(kDelete, {upload_id});
  return Taken::kDone;
}

std::vector<UploadRow> Uploads::list(RepositoryId repository, std::string_view prefix,
                                     std::string_view after_key, std::string_view after_id,
                                     uint32_t limit) {
  const std::string_view after_time =
      after_id.size() > kOwnerChars ? after_id.substr(kOwnerChars) : after_id;
  const db::Rows rows = pool_.run(kSelectPage,
                                  {static_cast<int32_t>(repository), db::Bytes{prefix},
                                   db::Bytes{after_key}, after_time, static_cast<int64_t>(limit)},
                                  db::Pool::Retry::kRead);
  std::vector<UploadRow> out;
  for (size_t row = 0; row < rows.size(); ++row) out.push_back(upload_from(rows, row));
  return out;
}

bool Uploads::create_link(RepositoryId repository, const Branch& branch, const Key& key,
                          const OwnAddress& address, std::string_view owner,
                          std::chrono::hours lifetime, const Within& within) {
  UploadRow row = row_of_link(repository, branch, key, address);
  row.owner = owner;
  return insert("link", row, lifetime, {row.owner, open_max_}, within);
}

bool Uploads::hand_out(RepositoryId repository, const Branch& branch, const Key& key,
                       const OwnAddress& address, std::string_view user,
                       std::chrono::hours lifetime) {
  UploadRow row = row_of_link(repository, branch, key, address);
  // The ids do not count as open uploads of the user, since user names have no line breaks.
  return insert("link", row, lifetime, {str_cat("link\n", user), kHandedOutPerUserMax});
}

bool Uploads::is_handed_out(const Link& link) {
  return pool_
      .run(kIsHandedOut,
           {static_cast<int32_t>(link.repository), link.branch.str(), db::Bytes{link.key.str()},
            db::Bytes{entry_of_link(link.address)}},
           db::Pool::Retry::kRead)
      .boolean(0, 0);
}

void Uploads::charge_link(const Link& link, const Charge& charge) {
  if (charge.empty()) return;
  quotas::ChargeArrays charges;
  charges.add(charge);
  pool_.run(kChargeLink,
            {static_cast<int32_t>(link.repository), link.branch.str(), db::Bytes{link.key.str()},
             db::Bytes{entry_of_link(link.address)}, charges.quotas(), charges.addresses(),
             charges.sizes()},
            db::Pool::Retry::kWrite);
}

bool Uploads::take_back(const Link& link) {
  return pool_
             .run(kTakeBackLink,
                  {static_cast<int32_t>(link.repository), link.branch.str(),
                   db::Bytes{link.key.str()}, db::Bytes{entry_of_link(link.address)}},
                  db::Pool::Retry::kWrite)
             .affected() > 0;
}

bool Uploads::charge_handed_out(db::Connection& connection, RepositoryId repository,
                                BranchId branch, const Charge& charge) {
  quotas::ChargeArrays charges;
  charges.add(charge);
  return !connection
              .run(kChargeHandedOut,
                   {static_cast<int32_t>(repository), db::Bytes{entry_of_link(charge.address)},
                    static_cast<int32_t>(branch), charges.quotas(), charges.addresses(),
                    charges.sizes()})
              .empty();
}

void Uploads::charge(db::Connection& connection, BranchId branch, const Charge& charge) {
  if (charge.empty()) return;
  quotas::ChargeArrays charges;
  charges.add(charge);
  connection.run(kCharge, {static_cast<int32_t>(branch), charges.quotas(), charges.addresses(),
                           charges.sizes()});
}

std::optional<bool> Uploads::take_links(db::Connection& connection, BranchId branch, const Key& key,
                                        const OwnAddress& address) {
  const db::Rows rows = connection.run(
      kDeleteLinks,
      {static_cast<int32_t>(branch), db::Bytes{key.str()}, db::Bytes{entry_of_link(address)}});
  if (rows.empty()) return std::nullopt;
  bool charged = false;
  for (size_t row = 0; row < rows.size(); ++row) charged = charged || rows.boolean(row, 0);
  return charged;
}

bool Uploads::remove_links(BranchId branch, const Key& key, const OwnAddress& address) {
  return pool_.transaction([&](db::Connection& connection) {
    return take_links(connection, branch, key, address).has_value();
  });
}

uint64_t Uploads::sweep() {
  return pool_.run(kSweep, {static_cast<int64_t>(kSweptUploadsMax)}, db::Pool::Retry::kWrite)
      .affected();
}

}  // namespace tarn::objects
