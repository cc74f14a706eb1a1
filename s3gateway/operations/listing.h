// Keys of a bucket in S3's order: inside one ref, or over the branches of a repository.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/branch/engine.h"
#include "core/model/entry.h"
#include "s3gateway/operations/branch_order.h"
#include "s3gateway/wire/address.h"
#include "s3gateway/wire/list_query.h"
#include "s3gateway/xml/list_objects.h"

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

/// A prefix that reaches into a ref lists that ref (branch, tag, commit, expression); one that does
/// not lists the branches: with delimiter "/" their names as common prefixes, else all their keys.
/// A ref that does not exist has no keys. Throws NoSuchBucket for a repository, or the ref of a
/// rooted bucket, that does not exist.
KeyPage list_keys(versioning::Engine& engine, const BucketName& bucket, const ListQuery& query);

/// An object as the three listings show it.
xml::ListedObject listed_object(std::string key, const Entry& entry);

/// Branches looked into for one page: empty ones cost a query each and yield nothing.
constexpr uint32_t kBranchesPerPage = 1000;
/// The branches that a listing over several has to look into.
BranchOrder branches_of(versioning::Engine& engine, const RepositoryName& repository,
                        const ListQuery& query);
/// The position of `after` below `root` ("main/"): nullopt when every key below comes before it.
std::optional<std::string> after_below(const std::string& root, const std::string& after);

}  // namespace tarn::s3
