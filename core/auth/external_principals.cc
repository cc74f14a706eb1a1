#include "core/auth/external_principals.h"

#include <vector>

#include "core/base/error.h"
#include "core/base/str_cat.h"
#include "core/base/wire.h"
#include "core/db/pool.h"
#include "core/model/listing.h"

namespace tarn::auth {
namespace {

constexpr db::Query kSelectPrincipal{"auth_select_principal", R"sql(
  SELECT p.principal_id, u.name, p.settings FROM external_principals p JOIN users u USING (user_id)
  WHERE p.principal_id = $1)sql"};
constexpr db::Query kSelectPage{"auth_select_principals", R"sql(
  SELECT p.principal_id, u.name, p.settings FROM users u JOIN external_principals p USING (user_id)
  WHERE u.name = $4 AND p.principal_id > $1 AND p.principal_id >= $2 AND starts_with(p.principal_id, $2)
  ORDER BY p.principal_id LIMIT $3)sql"};
constexpr db::Query kInsertPrincipal{"auth_insert_principal", R"sql(
  WITH u AS (SELECT user_id FROM users WHERE name = $2 FOR KEY SHARE),
  made AS (INSERT INTO external_principals (principal_id, user_id, settings) SELECT $1, user_id, $3 FROM u
           ON CONFLICT DO NOTHING RETURNING 1)
  SELECT (SELECT count(*) FROM u), (SELECT count(*) FROM made))sql"};
constexpr db::Query kDeletePrincipal{"auth_delete_principal", R"sql(
  DELETE FROM external_principals
  WHERE principal_id = $2 AND user_id = (SELECT user_id FROM users WHERE name = $1))sql"};

using Settings = decltype(ExternalPrincipal::settings);

std::string encode_settings(const Settings& settings) {
  std::string out;
  put_varint(out, settings.size());
  for (const auto& pairs : settings) {
    put_varint(out, pairs.size());
    for (const auto& [name, value] : pairs) {
      put_bytes(out, name);
      put_bytes(out, value);
    }
  }
  return out;
}

Settings decode_settings(std::string_view bytes) {
  WireReader in(bytes, "settings of an external principal");
  Settings out;
  for (uint64_t count = in.varint(); count > 0; --count) {
    auto& pairs = out.emplace_back();
    for (uint64_t left = in.varint(); left > 0; --left) {
      std::string name(in.bytes());
      pairs.insert_or_assign(std::move(name), std::string(in.bytes()));
    }
  }
  in.expect_end();
  return out;
}

ExternalPrincipal principal_from(const db::Rows& rows, size_t row) {
  struct Column {
    enum : int { kPrincipalId, kName, kSettings };
  };
  return {std::string(rows.text(row, Column::kPrincipalId)),
          std::string(rows.text(row, Column::kName)),
          decode_settings(rows.bytes(row, Column::kSettings))};
}

const std::string& id_of_principal(const ExternalPrincipal& principal) { return principal.id; }

}  // namespace

std::optional<ExternalPrincipal> ExternalPrincipals::find(std::string_view id) {
  const db::Rows rows = pool_.run(kSelectPrincipal, {id}, db::Pool::Retry::kRead);
  if (rows.empty()) return std::nullopt;
  return principal_from(rows, 0);
}

Page<ExternalPrincipal> ExternalPrincipals::list(std::string_view user, const PageStart& start) {
  return page_of<ExternalPrincipal>(
      pool_.run(kSelectPage, {start.after, start.prefix, row_limit(start.limit), user},
                db::Pool::Retry::kRead),
      start.limit, principal_from, id_of_principal);
}

Outcome ExternalPrincipals::create(const ExternalPrincipal& principal) {
  struct Column {
    enum : int { kUsers, kMade };
  };
  if (principal.id.empty() || principal.id.size() > kPrincipalBytesMax) {
    throw_invalid(str_cat("principalId: must have 1 to ", kPrincipalBytesMax, " bytes"));
  }
  const std::string settings = encode_settings(principal.settings);
  const db::Rows rows =
      pool_.run(kInsertPrincipal, {principal.id, principal.user, db::Bytes{settings}},
                db::Pool::Retry::kWrite);
  if (rows.integer(0, Column::kUsers) == 0) return Outcome::kNoUser;
  return rows.integer(0, Column::kMade) == 1 ? Outcome::kDone : Outcome::kExists;
}

bool ExternalPrincipals::remove(std::string_view user, std::string_view id) {
  return pool_.run(kDeletePrincipal, {user, id}, db::Pool::Retry::kWrite).affected() == 1;
}

}  // namespace tarn::auth
