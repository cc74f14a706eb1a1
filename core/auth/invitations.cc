#include "core/auth/invitations.h"

#include "core/auth/resource.h"
#include "core/base/digest.h"
#include "core/base/encoding.h"
#include "core/base/error.h"
#include "core/base/log.h"
#include "core/base/reasons.h"
#include "core/db/pool.h"

namespace tarn::auth {
namespace {

constexpr size_t kTokenBytes = 32;

// The user and the maker are those who have the names at this moment; the maker's creation tells
// them from another user who bore the name before.
constexpr db::Query kPut{"auth_put_invitation", R"sql(
  INSERT INTO invitations (user_id, token_digest, made_by, made_from, expires_at)
  SELECT u.user_id, $3, m.user_id, $4, clock_timestamp() + $5 * interval '1 second'
  FROM users u, users m WHERE u.name = $1 AND m.name = $2 AND m.created_ms = $6
  ON CONFLICT (user_id) DO UPDATE SET token_digest = excluded.token_digest,
    made_by = excluded.made_by, made_from = excluded.made_from, expires_at = excluded.expires_at
  RETURNING (extract(epoch FROM expires_at) * 1000)::bigint)sql"};
constexpr db::Query kSelectOfUser{"auth_select_invitation", R"sql(
  SELECT m.name AS maker, (extract(epoch FROM i.expires_at) * 1000)::bigint AS expires_ms
  FROM users u JOIN invitations i USING (user_id) JOIN users m ON m.user_id = i.made_by
  WHERE u.name = $1 AND i.expires_at > clock_timestamp())sql"};
constexpr db::Query kDeleteOfUser{"auth_delete_invitation", R"sql(
  DELETE FROM invitations WHERE user_id = (SELECT user_id FROM users WHERE name = $1)
  RETURNING expires_at > clock_timestamp())sql"};
constexpr db::Query kSelectOfToken{"auth_select_token", R"sql(
  SELECT u.user_id, u.name, m.name AS maker, i.made_from
  FROM invitations i JOIN users u USING (user_id) JOIN users m ON m.user_id = i.made_by
  WHERE i.token_digest = $1 AND i.expires_at > clock_timestamp())sql"};
// A deletion of the user locks the user before the invitation, too.
constexpr db::Query kLockUser{"auth_lock_invited_user", R"sql(
  SELECT user_id FROM users WHERE user_id = $1 FOR NO KEY UPDATE)sql"};
constexpr db::Query kUse{"auth_use_invitation", R"sql(
  DELETE FROM invitations
  WHERE token_digest = $1 AND user_id = $2 AND expires_at > clock_timestamp())sql"};

struct Invited {
  int32_t user_id;
  std::string user;
  std::string maker;
  std::string made_from;
};

std::optional<Invited> invited_by(db::Pool& pool, std::string_view digest) {
  struct Column {
    enum : int { kUserId, kName, kMaker, kMadeFrom };
  };
  const db::Rows rows = pool.run(kSelectOfToken, {db::Bytes{digest}}, db::Pool::Retry::kRead);
  if (rows.empty()) return std::nullopt;
  return Invited{static_cast<int32_t>(rows.integer(0, Column::kUserId)),
                 std::string(rows.text(0, Column::kName)),
                 std::string(rows.text(0, Column::kMaker)),
                 std::string(rows.text(0, Column::kMadeFrom))};
}

bool may_create_keys(Authenticator& authenticator, const Invited& invited) {
  const auto maker = authenticator.find_user(invited.maker);
  return maker && maker->permissions->allows(Action::kCreateCredentials, user_arn(invited.user),
                                             invited.made_from);
}

[[noreturn]] void throw_over() {
  throw Error(ErrorCode::kNotFound, reason::kInvitationOver,
              "invitation: the link was used, has expired, was withdrawn, or is incomplete; ask an "
              "administrator for another one: tarn auth credentials create USER --send-once");
}

}  // namespace

std::optional<Invitation> Invitations::create(std::string_view user, const User& maker,
                                              std::string_view address) {
  Invitation out{to_base64url(random_bytes(kTokenBytes)), {}};
  const db::Rows rows =
      pool_.run(kPut,
                {user, maker.name, db::Bytes{sha256(out.token)}, address,
                 int64_t{std::chrono::seconds(kInvitationLife).count()}, to_millis(maker.created)},
                db::Pool::Retry::kWrite);
  if (rows.empty()) return std::nullopt;
  out.expires = from_millis(rows.integer(0, 0));
  return out;
}

std::optional<OpenInvitation> Invitations::find(std::string_view user) {
  struct Column {
    enum : int { kMaker, kExpiresMs };
  };
  const db::Rows rows = pool_.run(kSelectOfUser, {user}, db::Pool::Retry::kRead);
  if (rows.empty()) return std::nullopt;
  return OpenInvitation{std::string(rows.text(0, Column::kMaker)),
                        from_millis(rows.integer(0, Column::kExpiresMs))};
}

bool Invitations::withdraw(std::string_view user) {
  const db::Rows rows = pool_.run(kDeleteOfUser, {user}, db::Pool::Retry::kWrite);
  return !rows.empty() && rows.boolean(0, 0);
}

AcceptedInvitation Invitations::accept(std::string_view token, Authenticator& authenticator,
                                       std::string_view address, Instant now) {
  authenticator.expect_few_failures(address);
  const std::string digest = sha256(token);
  auto invited = invited_by(pool_, digest);
  if (!invited) {
    authenticator.note_wrong_token(address);
    throw_over();
  }
  if (!may_create_keys(authenticator, *invited)) throw_over();
  const auto key = pool_.transaction([&](db::Connection& connection) -> std::optional<NewKey> {
    if (connection.run(kLockUser, {invited->user_id}).empty()) return std::nullopt;
    if (connection.run(kUse, {db::Bytes{digest}, invited->user_id}).affected() == 0) {
      return std::nullopt;
    }
    return add_key(connection, master_key_, invited->user_id, now);
  });
  if (!key) throw_over();
  log::info("invitation_accepted",
            {{"user", invited->user}, {"access_key_id", key->id}, {"address", address}});
  return {std::move(invited->user), *key};
}

}  // namespace tarn::auth
