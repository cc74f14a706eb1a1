// Multipart uploads in progress and handed-out addresses.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/db/pool.h"
#include "core/meta/part_lists.h"
#include "core/model/page.h"
#include "core/model/quota.h"
#include "core/model/repository.h"

namespace tarn::objects {

/// Addresses that a user has been given and has neither linked nor let expire.
constexpr uint32_t kHandedOutPerUserMax = 1'000;
/// Uploads that one sweep removes: each may have 10,000 parts.
constexpr uint32_t kSweptUploadsMax = 100;

struct UploadRow {
  std::string id;
  RepositoryId repository{};
  BranchId branch{};
  BranchName branch_name;
  Key key;
  std::string entry;  ///< encoded entry: the attributes of the object to be
  std::string owner;
  std::string checksum_algorithm;
  std::string checksum_type;
  Instant created{};
};

struct NumberedPart {
  uint32_t number = 0;
  meta::StoredPart part;

  bool operator==(const NumberedPart&) const = default;
};

/// Safe from any thread.
class Uploads {
 public:
  /// `open_max`: uploads that one owner may have open.
  Uploads(db::Pool& pool, const Clock& clock, std::chrono::seconds multipart_lifetime,
          uint32_t open_max)
      : pool_(pool), clock_(clock), multipart_lifetime_(multipart_lifetime), open_max_(open_max) {}

  uint32_t open_max() const { return open_max_; }
  /// Fills in id and created time; nullopt: its owner has open_max.
  /// `within` runs in the transaction that inserts it; an exception undoes both.
  std::optional<UploadRow> create_multipart(
      UploadRow row, const std::function<void(db::Connection&)>& within = {});
  /// nullopt if it is unknown or expired, or its branch is gone.
  std::optional<UploadRow> find_multipart(std::string_view id);
  /// Runs in the transaction that writes a part, after it was written.
  using Within = std::function<void(db::Connection&)>;
  /// false if the upload is gone. `writer`: that keeps the part until then. Throws unavailable
  /// (reason "writer_lost"); (reason "in_doubt"): the response was lost and the part is another
  /// one; and what `within` throws, which undoes the part.
  /// With a charge it is counted in the same transaction; DbError kStateOverQuota: a hard limit
  /// would be exceeded.
  bool put_part(std::string_view upload_id, uint32_t number, const meta::StoredPart& part,
                int64_t writer, const Within& within = {}, const Charge& charge = {});
  std::vector<NumberedPart> parts(std::string_view upload_id, uint32_t after, uint32_t limit);
  /// Names of the users whose work the upload is: who began it, who sent parts, and whose objects
  /// were copied into parts. Read after the parts, it has at least theirs.
  std::set<std::string> makers(std::string_view upload_id);
  /// false if the upload is gone. Throws unavailable (reason "in_doubt"): the response was lost.
  bool remove(std::string_view upload_id);
  /// The same as remove, while the repository's settings are those of this version: of an abortion
  /// that they ask for.
  bool remove_under_settings(std::string_view upload_id, RepositoryId repository,
                             int64_t settings_version);
  enum class Taken { kDone, kGone, kPartsChanged };
  /// Removes the upload in a transaction of the caller if `parts` are still all of its parts.
  static Taken take_multipart(db::Connection& connection, std::string_view upload_id,
                              const std::vector<NumberedPart>& parts);
  /// Ordered by "branch/key", then id; after (after_key, after_id).
  std::vector<UploadRow> list(RepositoryId repository, std::string_view prefix,
                              std::string_view after_key, std::string_view after_id,
                              uint32_t limit);
  /// A handed-out address is a floor for collection until it expires. With an owner it is one of
  /// the owner's open uploads, whose parts the store keeps; false: there are open_max.
  bool create_link(RepositoryId repository, const Branch& branch, const Key& key,
                   const OwnAddress& address, std::string_view owner, std::chrono::hours lifetime,
                   const Within& within = {});
  /// Adds a link row without an owner for an address that `user` fills and links. false: the user
  /// has kHandedOutPerUserMax.
  bool hand_out(RepositoryId repository, const Branch& branch, const Key& key,
                const OwnAddress& address, std::string_view user, std::chrono::hours lifetime);
  /// A handed-out address of a branch and key that has not expired.
  struct Link {
    RepositoryId repository{};
    BranchName branch;
    Key key;
    OwnAddress address{};
  };
  bool is_handed_out(const Link& link);
  /// Counts the bytes that have arrived at the address, once. Nothing happens if it was linked
  /// meanwhile, which has counted them. Throws DbError kStateOverQuota.
  void charge_link(const Link& link, const Charge& charge);
  /// Removes the rows of an address whose bytes no quota counts. false: there is none, for it was
  /// linked or counted meanwhile.
  bool take_back(const Link& link);
  /// Counts the object at an address that was handed out and not counted yet, in the caller's
  /// transaction. false: there is no such address. Throws DbError kStateOverQuota.
  static bool charge_handed_out(db::Connection& connection, RepositoryId repository,
                                BranchId branch, const Charge& charge);
  /// Removes the rows of an address that was handed out, in the caller's transaction; whether its
  /// bytes were counted. nullopt if there are none.
  static std::optional<bool> take_links(db::Connection& connection, BranchId branch, const Key& key,
                                        const OwnAddress& address);
  /// Counts an object in the caller's transaction. Throws DbError kStateOverQuota.
  static void charge(db::Connection& connection, BranchId branch, const Charge& charge);
  /// The same as take_links, in a transaction of its own. Throws unavailable (reason "in_doubt"):
  /// the answer was lost.
  bool remove_links(BranchId branch, const Key& key, const OwnAddress& address);
  /// Removes expired uploads, at most kSweptUploadsMax; returns the number. Concurrent sweeps take
  /// different ones.
  uint64_t sweep();

 private:
  struct Limit {
    std::string holder;  ///< whose ids are counted; "" = no limit
    uint32_t most = 0;
  };
  bool insert(std::string_view kind, UploadRow& row, std::chrono::seconds lifetime,
              const Limit& limit, const std::function<void(db::Connection&)>& within = {});

  db::Pool& pool_;
  const Clock& clock_;
  const std::chrono::seconds multipart_lifetime_;
  const uint32_t open_max_;
};

}  // namespace tarn::objects
