// A listing of a bucket's keys in S3's order: of one ref, or over the branches of a repository.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/branch/engine.h"
#include "core/model/entry.h"
#include "s3gateway/operations/branch_order.h"
#include "s3gateway/wire/address.h"
#include "s3gateway/wire/list_query.h"
#include "s3gateway/xml/documents.h"

namespace tarn::s3 {

struct ListedKey {
  std::string key;             ///< of the bucket, the ref included; or a common prefix
  std::optional<Entry> entry;  ///< absent for a common prefix
};

struct KeyPage {
  std::vector<ListedKey> keys;
  bool truncated = false;
  std::string next;  ///< when truncated: continue after this key
};

/// A prefix that extends into a ref lists that ref (branch, tag, commit, expression). A shorter one
/// lists the branches: with delimiter "/" their names as common prefixes, else all their keys. A
/// ref that does not exist has no keys. Throws NoSuchBucket if the repository, or the ref of a
/// rooted bucket, does not exist.
KeyPage list_keys(branch::Engine& engine, const BucketName& bucket, const ListQuery& query);

/// An object in the form of the three listings.
xml::ListedObject listed_object(std::string key, const Entry& entry);

/// Maximum number of branches to query for one page: empty ones cost a query each and yield
/// nothing.
constexpr uint32_t kBranchesPerPage = 1000;
/// The branches to query in a listing over several.
BranchOrder branches_of(branch::Engine& engine, const RepositoryName& repository,
                        const ListQuery& query);
/// The position of `after` below `root` ("main/"); nullopt if `after` is greater than every key
/// below it.
std::optional<std::string> after_below(const std::string& root, const std::string& after);

}  // namespace tarn::s3
