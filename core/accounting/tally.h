// Sums over distinct bytes, and the marks of those that something else refers to.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <vector>

#include "core/accounting/object_set.h"
#include "core/accounting/references.h"
#include "core/accounting/usage.h"

namespace tarn::accounting {

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

}  // namespace tarn::accounting
