// Stored sizes of repositories and refs, exact: every entry is read.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string_view>
#include <vector>

#include "core/accounting/object_set.h"
#include "core/accounting/references.h"
#include "core/accounting/usage.h"
#include "core/branch/engine.h"
#include "core/model/repository.h"

namespace tarn::accounting {

// Sums over distinct bytes, and the marks of those that something else refers to.

/// Distinct bytes by place, as seen from one repository. One thread at a time.
class Tally final : public BytesSink {
 public:
  explicit Tally(RepositoryId repository) : repository_(repository) {}

  void stored(RepositoryId owner, const OwnAddress& address, uint64_t size_bytes,
              bool marked) override;
  void imported(std::string_view head, std::string_view tail, uint64_t size_bytes,
                bool marked) override;

  /// After the last bytes.
  void seal();
  /// Marks own bytes of the repository. Requires seal().
  void mark(const OwnAddress& address) { own_.mark(address.id); }

  // All require seal().
  bool contains(const OwnAddress& address) { return own_.contains(address.id); }
  Amount own() const;
  Amount marked() const;
  Amount unmarked() const;
  Amount foreign() const;
  Amount imported() const;

 private:
  const RepositoryId repository_;
  ObjectSet<13> own_;
  ObjectSet<17> foreign_;
  ObjectSet<16> imported_;
};

/// Marks bytes of one repository in tallies.
class Marker final : public BytesSink {
 public:
  Marker(RepositoryId repository, std::vector<Tally*> tallies)
      : repository_(repository), tallies_(std::move(tallies)) {}

  void stored(RepositoryId owner, const OwnAddress& address, uint64_t, bool) override {
    if (owner != repository_) return;
    for (Tally* tally : tallies_) tally->mark(address);
  }
  void imported(std::string_view, std::string_view, uint64_t, bool) override {}

 private:
  const RepositoryId repository_;
  const std::vector<Tally*> tallies_;
};

/// Computations of one server at once, since each holds a database connection and up to 100 bytes
/// of memory for each distinct object.
constexpr size_t kStoredUsagesMax = 2;

/// Bytes stored for the objects below `prefix` that a ref shows, of a branch with its staged
/// changes; or, with the ref "", for the whole repository: all its commits, also those that no ref
/// reaches, staged entries, versions of objects and parts of open uploads.
///
/// All of it is of one moment: one snapshot of the database, open until the end.
///
/// `shared` and `freed` compare with what remains without the ref:
/// - the commits that other branches, tags and aliases reach through any parents;
/// - of every other branch: staged entries (also those that newer rows of its staging area hide),
///   versions of objects, and parts of open uploads;
/// - for a commit (also `branch@` and expressions such as `main~2`): all other commits of the
///   repository, every branch's rows included.
/// Stored bytes are shared if any of these refers to them. Freed is what the branch's head, its
/// history, staged entries, versions and open uploads (of a tag or alias: the commit and its
/// history) refer to and none of these does, nor the same roots of a repository that copied objects
/// from this one. Commits that no ref reaches, history of aliases, and uploads that have expired
/// keep nothing.
///
/// Memory: 30 bytes for each distinct object (36 for imported ones) twice, as `stored` and as
/// candidates for `freed`, and 10 bytes for each leaf. URLs are compared by the first 16 bytes of
/// their SHA-256.
///
/// Throws not_found (the ref), invalid_argument (its grammar), unavailable (reason
/// "too_many_operations": kStoredUsagesMax run already), conflict (cancelled).
StoredUsage stored_usage(branch::Engine& engine, const Repository& repository, std::string_view ref,
                         std::string_view prefix);

/// The distinct objects of a whole repository, as stored_usage() with the ref "" counts them.
/// `examine` runs in the same snapshot; the tally is sealed. Throws as stored_usage.
void examine_stored(branch::Engine& engine, const Repository& repository,
                    const std::function<void(db::Connection& snapshot, Tally& stored)>& examine);

}  // namespace tarn::accounting
