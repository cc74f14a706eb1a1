// Rows of quotas, and a copy of them in memory, from which a write learns without a round trip
// which quotas count it.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/glob.h"
#include "core/base/mutex.h"
#include "core/db/pool.h"
#include "core/model/quota.h"

namespace tarn::quotas {

/// Maximum age of the copy in memory: a quota that another server set or removed holds here after
/// this time. The counters and limits of quotas that are in it are compared in the database.
constexpr std::chrono::milliseconds kQuotaAgeMax{2'000};

/// Shorter transfers are only counted when they are stored.
constexpr uint64_t kTransferBytesMin = 64 * 1024;

/// SQLSTATE of charge_quotas: a hard limit would be exceeded.
constexpr std::string_view kStateOverQuota = "TN507";

/// An object that a quota of a user or of branches has counted.
struct QuotaObject {
  OwnAddress address{};
  BranchId branch{};
  uint64_t bytes = 0;
};

/// Arrays of charge_quotas: one element for each quota and object.
class ChargeArrays {
 public:
  void add(const Charge& charge);
  bool empty() const { return quotas_.empty(); }
  const std::vector<int32_t>& quotas() const { return quotas_; }
  std::vector<db::Bytes> addresses() const;
  const std::vector<int64_t>& sizes() const { return sizes_; }

 private:
  std::vector<int32_t> quotas_;
  std::vector<OwnAddress> addresses_;
  std::vector<int64_t> sizes_;
};

/// Safe from any thread. What throws over_quota throws resource_exhausted (reason
/// "quota_exceeded") with a message that names the quota, its usage and what frees some.
class Quotas {
 public:
  explicit Quotas(db::Pool& pool) : pool_(pool) {}

  // In memory.

  /// Reads the rows again if the copy is older than `age`. A background loop does, so that writes
  /// need not; at the first use the caller does.
  void refresh(std::chrono::milliseconds age);
  /// Whether there is any quota in the installation.
  bool any() { return !copy()->quotas.empty(); }
  /// The quotas that count what the user does on the branch, by id.
  std::vector<Quota> matching(RepositoryId repository, std::string_view branch,
                              std::string_view user);
  /// The charge of one object; empty when no quota counts it.
  Charge charge(RepositoryId repository, std::string_view branch, std::string_view user,
                const OwnAddress& address, uint64_t bytes);
  class Transfer;
  /// Throws over_quota if so many bytes more exceed a hard limit. A round trip only before it
  /// throws, and at most one a second. Transfers count, except the caller's `own`.
  void check(RepositoryId repository, std::string_view branch, std::string_view user,
             uint64_t bytes, const Transfer* own = nullptr);
  /// The bytes of an upload on its way, which count for its quotas on this server until they are
  /// stored: uploads that run at once do not all get the same room. One thread.
  class Transfer {
   public:
    Transfer(Quotas& quotas, RepositoryId repository, std::string_view branch,
             std::string_view user);
    ~Transfer();
    Transfer(const Transfer&) = delete;
    Transfer& operator=(const Transfer&) = delete;
    /// Throws over_quota if so many bytes in all exceed a hard limit.
    void expect(uint64_t bytes);
    /// Bytes that it adds to a quota.
    uint64_t expected_of(QuotaId id) const;

   private:
    Quotas& quotas_;
    const RepositoryId repository_;
    const std::string branch_;
    const std::string user_;
    const std::vector<QuotaId> ids_;
    uint64_t expected_ = 0;
  };
  /// Counts a charge in the copy; the transaction that stages has counted it in the database.
  void note(const Charge& charge);
  /// Throws over_quota for a charge that the database refused.
  [[noreturn]] void refuse(RepositoryId repository, const Charge& charge);

  /// Whether a quota of what the user does on the branch has a limit of this kind.
  bool limits(RepositoryId repository, std::string_view branch, std::string_view user,
              QuotaLimit QuotaLimits::*limit);

  // Inside a transaction, until whose end others that want the same wait.

  /// Throws over_quota if there are more branches than a hard limit: the new one is counted.
  void admit_branch(db::Connection& connection, RepositoryId repository, std::string_view branch,
                    std::string_view user);
  /// The same of open multipart uploads, also those whose parts the store keeps.
  void admit_upload(db::Connection& connection, RepositoryId repository, std::string_view branch,
                    std::string_view user);

  // Rows.

  /// The quotas of a repository, by id after `after`, at most `limit`; of the repository 0 those of
  /// all repositories.
  std::vector<Quota> list(RepositoryId repository, QuotaId after, uint32_t limit);
  std::optional<Quota> find(const QuotaScope& scope);
  /// Sets the limits; a quota that is new is counted at once in the background. nullopt: there are
  /// kQuotasMax.
  std::optional<Quota> set(const QuotaScope& scope, const QuotaLimits& limits);
  bool remove(const QuotaScope& scope);
  /// Branches and open uploads in the scope, now.
  uint64_t count_branches(const QuotaScope& scope);
  uint64_t count_uploads(const QuotaScope& scope);

  // Recounts.

  /// A quota that must be counted again; no other caller gets it before `claim` has passed.
  std::optional<Quota> claim_due(std::chrono::seconds claim);
  /// Makes the quotas that count objects of the repository due now.
  void make_due(RepositoryId repository);
  /// The state of a quota in a snapshot.
  struct Counted {
    int64_t recounts = 0;
    int64_t bytes = 0;
    int64_t objects = 0;
  };
  static std::optional<Counted> counted(db::Connection& snapshot, QuotaId id);
  /// The same, and the sums over the objects that the quota has counted, of one moment.
  struct Summed {
    Counted counted;
    int64_t bytes = 0;
    int64_t objects = 0;
  };
  std::optional<Summed> summed(QuotaId id);
  /// Repositories with objects that the quota has counted.
  enum class PlaceState {
    kThere = 0,
    kDeleted = 1,  ///< it can be restored, so its objects are stored and count
    kPurged = 2,
  };
  struct Place {
    RepositoryId repository{};
    PlaceState state = PlaceState::kThere;
  };
  std::vector<Place> places(QuotaId id);
  /// Objects by address after `after`, at most `limit`.
  static std::vector<QuotaObject> objects(db::Connection& connection, QuotaId id,
                                          RepositoryId repository, const OwnAddress& after,
                                          uint32_t limit);
  /// Drops at most `limit` objects of a repository; returns how many.
  uint64_t drop_some(QuotaId id, RepositoryId repository, uint32_t limit);
  /// Drops objects from the quota and its counters.
  void drop_objects(QuotaId id, RepositoryId repository, const std::vector<OwnAddress>& addresses);
  /// Adds the differences to the counters, unless another recount was applied since `seen`.
  /// Returns false if one was.
  bool correct(QuotaId id, const Counted& seen, int64_t bytes, int64_t objects, Instant now,
               std::chrono::seconds next);
  /// Counts the metadata of a quota that limits it again; what is added meanwhile is kept.
  void recount_metadata(QuotaId id);

 private:
  Quota with_transfers(Quota quota, const Transfer* own);
  struct Held {
    Quota quota;
    std::optional<Glob> branches;
    std::string repository_name;
    bool counts(RepositoryId repository, std::string_view branch, std::string_view user) const;
  };
  struct Copy {
    std::chrono::steady_clock::time_point read{};
    std::vector<Held> quotas;  ///< by id
  };
  struct Added {
    uint64_t bytes = 0;
    uint64_t objects = 0;
  };

  std::shared_ptr<const Copy> copy();
  [[noreturn]] void refuse(const Held& held, RepositoryId repository, uint64_t bytes);
  template <typename Count>
  void admit(db::Connection& connection, RepositoryId repository, std::string_view branch,
             std::string_view user, std::string_view what, QuotaLimit QuotaLimits::*limit,
             const Count& count);

  db::Pool& pool_;
  Mutex reading_;  ///< one reader at a time; taken before mutex_
  Mutex mutex_;
  std::shared_ptr<const Copy> copy_ TARN_GUARDED_BY(mutex_);        // shared with those who read it
  std::map<QuotaId, Added> added_ TARN_GUARDED_BY(mutex_);          ///< since the copy was read
  std::map<QuotaId, uint64_t> on_the_way_ TARN_GUARDED_BY(mutex_);  ///< bytes of transfers
};

}  // namespace tarn::quotas
