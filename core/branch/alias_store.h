// Rows of aliases and their history.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/db/pool.h"
#include "core/model/alias.h"
#include "core/model/names.h"
#include "core/model/page.h"

namespace tarn::branch {

/// A change that is requested.
struct AliasMove {
  AliasName name;
  AliasExpectation expected{};
  std::optional<CommitId> to{};  ///< nullopt removes it
  std::string actor;             ///< name of the user
  std::string reason{};
  /// The id of a promotion or rollback: then the move is a promotion's or rollback's, the only ones
  /// that may move an alias that a policy names.
  std::optional<std::string> promotion{};
  std::optional<std::string> evidence{};  ///< SHA-256, 32 bytes
  Instant at{};
};

/// Safe from any thread.
class AliasStore {
 public:
  explicit AliasStore(db::Pool& pool) : pool_(pool) {}

  std::optional<Alias> find(RepositoryId repository, const AliasName& name);
  /// By name.
  Page<Alias> list(RepositoryId repository, std::string_view prefix, std::string_view after,
                   uint32_t limit);
  /// The newest first, of removed ones too; those below version `before` (0 = all).
  Page<AliasChange> history(RepositoryId repository, const AliasName& name, uint64_t before,
                            uint32_t limit);

  /// SHA-256 of the evidence with which the promotion moved the alias; nullopt: it did not.
  std::optional<std::string> evidence_of(RepositoryId repository, const AliasName& name,
                                         std::string_view promotion);

  // Inside a transaction of the caller, which undoes it by throwing.

  enum class MoveOutcome {
    kMoved,
    kThereAlready,  ///< it is there already: its history gets no row
    kElsewhere,     ///< than expected
  };
  /// Throws: not_found (reason "ref_not_found": no such commit), permission_denied (reason
  /// "protected_alias": a policy names it and this is no promotion).
  static MoveOutcome try_move(db::Connection& connection, RepositoryId repository,
                              const AliasMove& move);
  /// The same as try_move; false: it is at another commit.
  static bool move(db::Connection& connection, RepositoryId repository, const AliasMove& move) {
    return try_move(connection, repository, move) != MoveOutcome::kElsewhere;
  }
  /// Locks it until the transaction ends.
  static std::optional<Alias> find_locked(db::Connection& connection, RepositoryId repository,
                                          const AliasName& name);
  /// From now on only promotions move the alias, which need not be there yet. false: another policy
  /// names it.
  static bool set_policy(db::Connection& connection, RepositoryId repository, const AliasName& name,
                         std::string_view policy);
  /// Clears the policy of every alias that the policy names.
  static void clear_policy(db::Connection& connection, RepositoryId repository,
                           std::string_view policy);

 private:
  db::Pool& pool_;
};

}  // namespace tarn::branch
