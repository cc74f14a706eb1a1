// Sizes computed the slow way, from listings and rows, for tests that compare.
#pragma once

#include <map>
#include <ostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/accounting/usage.h"
#include "core/branch/engine.h"
#include "core/model/entry.h"
#include "core/model/repository.h"

namespace tarn::accounting {

std::ostream& operator<<(std::ostream& out, const Amount& amount);
std::ostream& operator<<(std::ostream& out, const UsageItem& item);
std::ostream& operator<<(std::ostream& out, const StoredUsage& usage);

/// Distinct bytes with their sizes.
struct SeenBytes {
  std::map<std::pair<RepositoryId, OwnAddress>, uint64_t> stored;
  std::map<std::string, uint64_t> imported;
};

/// Adds what the address means in repository `reader`.
void see(branch::Engine& engine, RepositoryId reader, const Entry& entry, SeenBytes& seen);

/// Every object that the ref lists.
std::map<std::string, Entry> listing(branch::Engine& engine, const Repository& repository,
                                     const std::string& ref, const std::string& prefix);

/// A ref that exists, as refs name it.
struct AnyRef {
  enum class Kind { kBranch, kTag, kAlias, kCommit };
  Kind kind;
  std::string text;
};

/// By the definitions of stored_usage.h. AnyRef absent (nullptr): the whole repository.
StoredUsage slow_stored_usage(branch::Engine& engine, const Repository& repository,
                              const AnyRef* ref, const std::string& prefix);
Amount slow_logical_size(branch::Engine& engine, const Repository& repository,
                         const std::string& ref, const std::string& prefix);
std::vector<UsageItem> slow_usage_by_prefix(branch::Engine& engine, const Repository& repository,
                                            const std::string& ref, const std::string& prefix);

/// Every branch, tag and alias of the repository, and every commit.
std::vector<AnyRef> all_refs(branch::Engine& engine, const Repository& repository);

}  // namespace tarn::accounting
