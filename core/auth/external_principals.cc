#include "core/auth/external_principals.h"

#include <vector>

#include "core/auth/listing.h"
#include "core/base/error.h"
#include "core/base/str_cat.h"
#include "core/db/pool.h"

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

ExternalPrincipal principal_from(const db::Rows& rows, size_t row) {
  ExternalPrincipal out{std::string(rows.text(row, 0)), std::string(rows.text(row, 1)), {}};
  const std::vector<std::string> pairs = rows.strings(row, 2);
  for (size_t i = 0; i + 1 < pairs.size(); i += 2) out.settings[pairs[i]] = pairs[i + 1];
  return out;
}

const std::string& id_of_principal(const ExternalPrincipal& principal) { return principal.id; }

}  // namespace

std::optional<ExternalPrincipal> ExternalPrincipals::find(std::string_view id) {
  const db::Rows rows = pool_.run(kSelectPrincipal, {id}, db::Pool::Retry::kRead);
  if (rows.empty()) return std::nullopt;
  return principal_from(rows, 0);
}

Page<ExternalPrincipal> ExternalPrincipals::list(std::string_view user, std::string_view prefix,
                                                 std::string_view after, uint32_t limit) {
  return page_of<ExternalPrincipal>(
      pool_.run(kSelectPage, {after, prefix, row_limit(limit), user}, db::Pool::Retry::kRead),
      limit, principal_from, id_of_principal);
}

Outcome ExternalPrincipals::create(const ExternalPrincipal& principal) {
  if (principal.id.empty() || principal.id.size() > kPrincipalBytesMax) {
    throw_invalid(str_cat("principalId: must have 1 to ", kPrincipalBytesMax, " bytes"));
  }
  std::vector<std::string> pairs;
  for (const auto& [name, value] : principal.settings) {
    pairs.push_back(name);
    pairs.push_back(value);
  }
  const db::Rows rows =
      pool_.run(kInsertPrincipal, {principal.id, principal.user, pairs}, db::Pool::Retry::kWrite);
  if (rows.integer(0, 0) == 0) return Outcome::kNoUser;
  return rows.integer(0, 1) == 1 ? Outcome::kDone : Outcome::kExists;
}

bool ExternalPrincipals::remove(std::string_view user, std::string_view id) {
  return pool_.run(kDeletePrincipal, {user, id}, db::Pool::Retry::kWrite).affected() == 1;
}

}  // namespace tarn::auth
