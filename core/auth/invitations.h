// Invitations: links with which users make their own access keys, each once.
//
// Who may create keys of a user makes the invitation and sends its link. Opening the link makes
// the key in the transaction that deletes the invitation, so no secret exists before, none is
// stored but sealed as of every key, and of two who open it at once one gets it. The token of a
// link is 256 random bits; the row has its digest alone. The end is judged by the database's clock.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "core/auth/authenticator.h"
#include "core/auth/credentials.h"

namespace tarn::auth {

constexpr std::chrono::hours kInvitationLife{72};

struct Invitation {
  std::string token;  ///< shown once; base64url
  Instant expires{};
};

/// An invitation that waits for its user.
struct OpenInvitation {
  std::string made_by;
  Instant expires{};
};

struct AcceptedInvitation {
  std::string user;
  NewKey key;
};

/// Safe from any thread.
class Invitations {
 public:
  /// `master_key` (32 bytes) seals secrets.
  Invitations(db::Pool& pool, std::string master_key)
      : pool_(pool), master_key_(std::move(master_key)) {}

  /// `maker` asked from `address`. An earlier invitation of the user ends. nullopt = no such user.
  std::optional<Invitation> create(std::string_view user, const User& maker,
                                   std::string_view address);
  /// nullopt = none is open.
  std::optional<OpenInvitation> find(std::string_view user);
  /// false = none was open.
  bool withdraw(std::string_view user);
  /// Makes the key of which the invitation is. Throws not_found (reason "invitation_over") for a
  /// token that is wrong, used, withdrawn or expired, and when its maker may create no keys of the
  /// user any more; resource_exhausted after too many wrong tokens from `address`;
  /// invalid_argument past kKeysPerUserMax, and the invitation stays open.
  AcceptedInvitation accept(std::string_view token, Authenticator& authenticator,
                            std::string_view address, Instant now);

 private:
  db::Pool& pool_;
  const std::string master_key_;
};

}  // namespace tarn::auth
