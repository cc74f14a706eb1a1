// Rows of gate policies: every version that was ever set, and which one holds.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/time.h"
#include "core/db/pool.h"
#include "core/model/commit.h"
#include "core/model/names.h"
#include "core/model/page.h"

namespace tarn::promotion {

/// The data that a policy measures with: what its URI meant when the policy was set.
struct PinnedData {
  RepositoryId repository{};
  CommitId commit{};
  bool operator==(const PinnedData&) const = default;
};

struct GatePolicyVersion {
  std::string name;
  int64_t version = 0;  ///< from 1
  /// nullopt: this version removed the policy.
  struct Body {
    BranchName destination;
    std::string document;
    std::string digest;  ///< SHA-256 of the document, 32 bytes
    /// The commits of the document's refs at the time it was set; nullopt when it has no such ref,
    /// or was set before these commits were kept.
    std::optional<CommitId> ancestor{};
    std::optional<CommitId> unchanged_since{};
    /// The ids of the document's users at that time, by name; 0 = there was no such user.
    std::map<std::string, int32_t> users{};
    std::map<std::string, int32_t> groups{};   ///< so those of its groups
    std::map<std::string, PinnedData> data{};  ///< by the name of the evaluation
  };
  std::optional<Body> body{};
  std::string author;  ///< name of the user
  Instant at{};
};

/// A change of a policy that waits for a second user.
struct GatePolicyProposal {
  int64_t base = 0;                     ///< the version that it changes
  std::optional<std::string> document;  ///< nullopt: it removes the policy
  std::string author;                   ///< name of the user
  Instant at{};
};

/// Safe from any thread.
class GatePolicyStore {
 public:
  explicit GatePolicyStore(db::Pool& pool) : pool_(pool) {}

  struct Setting {
    std::string name;
    BranchName destination;
    std::string alias{};                           ///< "" = none
    std::vector<std::string> stages{};             ///< aliases of the stages before the last
    bool confirms = false;                         ///< the next change needs a second user
    std::chrono::milliseconds champion_expires{};  ///< 0 = never
    std::string document;
    std::string digest;
    std::optional<CommitId> ancestor{};
    std::optional<CommitId> unchanged_since{};
    std::map<std::string, int32_t> users{};
    std::map<std::string, int32_t> groups{};
    std::map<std::string, PinnedData> data{};
    std::string author;
    Instant at{};
    std::optional<int64_t> expected{};  ///< the expected version; 0 = none is in force
  };
  enum class Outcome {
    kDone,
    kUnchanged,  ///< it holds with this document, these users and groups already
    kProposed,   ///< it waits for a second user
    kRepositoryGone,
    kBranchGone,        ///< there is no such destination
    kDataGone,          ///< a commit of `data` is
    kDestinationTaken,  ///< another policy guards it
    kAliasTaken,        ///< another policy names it
    kMoved,             ///< the version is not the expected one
    kAbsent,            ///< removing: none is in force
  };
  struct Result {
    Outcome outcome = Outcome::kDone;
    int64_t version = 0;  ///< that holds now
    std::string other{};  ///< the policy that has the destination or the alias
  };
  /// Event champion.expired of each champion that is older than its policy lets it be a bar, once;
  /// returns how many.
  size_t tell_expired_champions(Instant now);
  /// One change of a repository's settings at a time, over all servers. Its settings' version grows
  /// and branches know their gate in the same transaction. If the policy in force wants its changes
  /// confirmed, the change is proposed, and made when another user asks for the same. A setting
  /// that holds already withdraws what is proposed.
  Result set(RepositoryId repository, const Setting& setting);
  Result remove(RepositoryId repository, std::string_view name, std::string_view author, Instant at,
                std::optional<int64_t> expected);

  /// The ids of users by name; 0 = there is no such user.
  std::map<std::string, int32_t> user_ids(const std::vector<std::string>& names);
  /// So those of groups.
  std::map<std::string, int32_t> group_ids(const std::vector<std::string>& names);

  /// Whether this version holds, and keeps holding until the caller's transaction ends.
  static bool hold(db::Connection& connection, RepositoryId repository, std::string_view name,
                   int64_t version);

  /// The change of the policy that waits for a second user.
  std::optional<GatePolicyProposal> proposal(RepositoryId repository, std::string_view name);

  /// The version in force; nullopt if there is none.
  std::optional<GatePolicyVersion> find(RepositoryId repository, std::string_view name);
  std::optional<GatePolicyVersion> find_version(RepositoryId repository, std::string_view name,
                                                int64_t version);
  /// The policy that guards the branch.
  std::optional<GatePolicyVersion> find_by_destination(RepositoryId repository,
                                                       const BranchName& destination);
  /// The policies in force, by name.
  Page<GatePolicyVersion> list(RepositoryId repository, std::string_view prefix,
                               std::string_view after, uint32_t limit);
  /// All versions of one, the newest first; `before` 0 = from the newest.
  Page<GatePolicyVersion> versions(RepositoryId repository, std::string_view name, int64_t before,
                                   uint32_t limit);

 private:
  db::Pool& pool_;
};

}  // namespace tarn::promotion
