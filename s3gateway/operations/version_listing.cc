#include "s3gateway/operations/version_listing.h"

#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "core/branch/refs.h"
#include "s3gateway/operations/listing.h"
#include "s3gateway/operations/lookup.h"
#include "s3gateway/wire/errors.h"

namespace tarn::s3 {
namespace {

using versioning::Engine;
using versioning::VersionPage;

/// The branch that the prefix extends into, with "branch/" as the root of its keys; nullopt for a
/// listing over several branches.
struct ListedBranch {
  std::string name;
  std::string root;
};
std::optional<ListedBranch> listed_branch(const BucketName& bucket, const std::string& prefix) {
  if (bucket.rooted()) return ListedBranch{bucket.ref, ""};
  const size_t slash = prefix.find('/');
  if (slash == std::string::npos) return std::nullopt;
  return ListedBranch{prefix.substr(0, slash), prefix.substr(0, slash + 1)};
}

/// Versions of one branch whose keys begin with `branch.root`.
VersionPage list_branch(Engine& engine, const RepositoryName& repository,
                        const ListedBranch& branch, const ListQuery& query,
                        const std::string& version_marker) {
  const auto after = after_below(branch.root, query.after);
  if (!after) return {};
  // The marker belongs to a key of the branch where the last page ended.
  const bool marked = query.after.starts_with(branch.root) && !parse_commit_id(version_marker);
  versioning::VersionListOptions options{.prefix = query.prefix.size() > branch.root.size()
                                                       ? query.prefix.substr(branch.root.size())
                                                       : "",
                                         .after = {*after, marked ? version_marker : ""},
                                         .delimiter = query.delimiter,
                                         .limit = query.limit};
  VersionPage page;
  try {
    page = versioning::list_versions(engine, repository, BranchName(branch.name), options);
  } catch (const Error& error) {
    // Empty, as a plain listing below a ref that does not exist.
    if (error.reason() != reason::kRefNotFound && error.reason() != reason::kBranchNotFound) throw;
    return {};
  }
  for (versioning::VersionItem& item : page.items) item.path = branch.root + item.path;
  if (page.has_more) page.next.path = branch.root + page.next.path;
  return page;
}

}  // namespace

bool lists_versions(Engine& engine, const BucketName& bucket, const ListQuery& query) {
  const Repository repository = require_existing(engine, bucket);
  const auto branch = listed_branch(bucket, query.prefix);
  // With delimiter "/" the listing consists of branch names, which have no versions.
  if (!branch && query.delimiter == "/") return false;
  if (branch) {
    if (!is_branch_name(branch->name)) return false;
    const auto ref = find_ref(engine, repository, branch->name);
    if (!ref || !ref->staged) return false;
  }
  return versioning::get_versioning(engine, repository) != Versioning::kOff;
}

VersionPage list_versions(Engine& engine, const BucketName& bucket, const ListQuery& query,
                          const std::string& version_marker) {
  if (const auto branch = listed_branch(bucket, query.prefix)) {
    return list_branch(engine, bucket.repository, *branch, query, version_marker);
  }
  if (!query.delimiter.empty()) {
    refuse_unsupported(str_cat("a listing of the versions of several branches with the delimiter ",
                               query.delimiter));
  }
  VersionPage out;
  BranchOrder branches = branches_of(engine, bucket.repository, query);
  ListQuery rest = query;
  std::string last_branch;
  for (uint32_t visited = 0; visited < kBranchesPerPage; ++visited) {
    const auto name = branches.next();
    if (!name) return out;
    rest.limit = query.limit - static_cast<uint32_t>(out.items.size());
    const ListedBranch branch{*name, *name + "/"};
    last_branch = *name;
    if (rest.limit == 0) {
      // Checks whether more versions follow.
      ListQuery probe = query;
      probe.limit = 1;
      if (list_branch(engine, bucket.repository, branch, probe, version_marker).items.empty()) {
        continue;
      }
      out.has_more = true;
      out.next.path = out.items.back().path;
      const auto& last = out.items.back().version;
      out.next.id = last->id ? to_text(*last->id) : "null";
      return out;
    }
    VersionPage page = list_branch(engine, bucket.repository, branch, rest, version_marker);
    for (auto& item : page.items) out.items.push_back(std::move(item));
    if (page.has_more) {
      out.has_more = true;
      out.next = page.next;
      return out;
    }
  }
  // "main0" is greater than every key below "main/" and less than those of all further branches.
  out.has_more = true;
  out.next = {last_branch + static_cast<char>('/' + 1), ""};
  return out;
}

}  // namespace tarn::s3
