#include <string>

#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "core/branch/engine.h"
#include "core/branch/object_versions.h"
#include "core/branch/refs.h"
#include "core/branch/repositories.h"
#include "core/objects/version_listing.h"
#include "s3gateway/operations/authorise.h"
#include "s3gateway/operations/listing.h"
#include "s3gateway/operations/lookup.h"
#include "s3gateway/operations/operations.h"
#include "s3gateway/wire/address.h"
#include "s3gateway/wire/errors.h"
#include "s3gateway/wire/list_query.h"
#include "s3gateway/xml/documents.h"

namespace tarn::s3 {
namespace {

using branch::Engine;
using objects::VersionPage;

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
  objects::VersionListOptions options{.prefix = query.prefix.size() > branch.root.size()
                                                    ? query.prefix.substr(branch.root.size())
                                                    : "",
                                      .after = {*after, marked ? version_marker : ""},
                                      .delimiter = query.delimiter,
                                      .limit = query.limit};
  VersionPage page;
  try {
    page = objects::list_versions(engine, repository, BranchName(branch.name), options);
  } catch (const Error& error) {
    // Empty, as a plain listing below a ref that does not exist.
    if (error.reason() != reason::kRefNotFound && error.reason() != reason::kBranchNotFound) throw;
    return {};
  }
  for (objects::VersionItem& item : page.items) item.path = branch.root + item.path;
  if (page.has_more) page.next.path = branch.root + page.next.path;
  return page;
}

/// Whether the listing covers branches that may have versions; otherwise each key is listed once,
/// in its state at the ref. Throws NoSuchBucket.
bool lists_versions(Engine& engine, const BucketName& bucket, const ListQuery& query) {
  const Repository repository = require_existing(engine, bucket);
  const auto branch = listed_branch(bucket, query.prefix);
  // The listing with delimiter "/" consists of branch names, which have no versions.
  if (!branch && query.delimiter == "/") return false;
  if (branch) {
    if (!is_branch_name(branch->name)) return false;
    const auto ref = find_ref(engine, repository, branch->name);
    if (!ref || !ref->staged) return false;
  }
  return branch::get_versioning(engine, repository) != Versioning::kOff;
}

/// Paths in the page are keys of the bucket. `version_marker` comes from the last page, "" = none.
/// Throws NotImplemented for a delimiter over several branches, NoSuchBucket.
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

/// A version id marker requires the key marker that it belongs to.
void check_markers(const ListObjectVersions& endpoint) {
  const std::string marker = endpoint.version_id_marker.value_or("");
  if (marker.empty()) return;
  if (endpoint.key_marker.value_or("").empty()) {
    throw Refusal(failure::kInvalidArgument,
                  "A version-id marker cannot be specified without a key marker.",
                  {{"ArgumentName", "version-id-marker"}, {"ArgumentValue", marker}});
  }
  if (marker == kNullVersion || parse_version_id(marker) || parse_commit_id(marker)) return;
  throw Refusal(failure::kInvalidArgument, "Invalid version id specified",
                {{"ArgumentName", "version-id-marker"}, {"ArgumentValue", marker}});
}

/// The version id of objects at a ref without versions: "null" on a branch, the commit's id on a
/// tag or a commit, as in their reads.
std::string version_shown(Call& call, const BucketName& bucket, const std::string& prefix) {
  const Location listed = locate(bucket, prefix);
  if (!listed.has_path) return std::string(kNullVersion);
  const auto ref =
      find_ref(call.engine(), branch::get_repository(call.engine(), listed.repository), listed.ref);
  return ref && !ref->staged ? to_text(ref->commit.id) : std::string(kNullVersion);
}

xml::ListVersionsResult result_for(Call& call, const ListObjectVersions& endpoint,
                                   const ListQuery& query) {
  xml::ListVersionsResult result;
  result.listing.bucket = endpoint.bucket;
  result.listing.prefix = query.prefix;
  result.listing.delimiter = query.delimiter;
  result.listing.url_encoding = query.url_encoding;
  result.listing.max_keys = query.limit;
  result.listing.owner = xml::Owner{call.context.options.owner_id, call.context.options.owner_name};
  result.key_marker = query.after;
  result.version_id_marker = endpoint.version_id_marker.value_or("");
  return result;
}

/// Lists every key once, as a plain listing does.
xml::ListVersionsResult list_states(Call& call, const BucketName& bucket, const ListQuery& query,
                                    xml::ListVersionsResult result) {
  KeyPage page = list_keys(call.engine(), bucket, query);
  const std::string version = version_shown(call, bucket, query.prefix);
  result.listing.truncated = page.truncated;
  for (ListedKey& key : page.keys) {
    if (key.entry) {
      result.versions.push_back({listed_object(std::move(key.key), *key.entry), version});
    } else {
      result.listing.common_prefixes.push_back(std::move(key.key));
    }
  }
  if (page.truncated) {
    result.next_key_marker = page.next;
    result.next_version_id_marker = version;
  }
  return result;
}

xml::ListVersionsResult list_kept(Call& call, const BucketName& bucket, const ListQuery& query,
                                  xml::ListVersionsResult result) {
  authorise_versions(call, bucket.repository);
  objects::VersionPage page = list_versions(call.engine(), bucket, query, result.version_id_marker);
  result.listing.truncated = page.has_more;
  for (objects::VersionItem& item : page.items) {
    if (!item.version) {
      result.listing.common_prefixes.push_back(std::move(item.path));
      continue;
    }
    const branch::ObjectVersion& version = *item.version;
    xml::ListedVersion listed;
    if (version.entry) {
      listed.object = listed_object(std::move(item.path), *version.entry);
    } else {
      listed.object.key = std::move(item.path);
      listed.object.modified = version.created;
      listed.delete_marker = true;
    }
    listed.version_id = version.id ? to_text(*version.id) : std::string(kNullVersion);
    listed.latest = version.latest;
    result.versions.push_back(std::move(listed));
  }
  if (page.has_more) {
    result.next_key_marker = page.next.path;
    result.next_version_id_marker = page.next.id;
  }
  return result;
}

}  // namespace

http::Response run(Call& call, const ListObjectVersions& endpoint) {
  const BucketName bucket = require_bucket(call, endpoint.bucket);
  check_markers(endpoint);
  const ListQuery query =
      check_list_parameters(endpoint.parameters, "max-keys", endpoint.key_marker.value_or(""));
  xml::ListVersionsResult result = result_for(call, endpoint, query);
  const bool kept = query.limit > 0 && lists_versions(call.engine(), bucket, query);
  return xml_response(200, to_xml(kept ? list_kept(call, bucket, query, std::move(result))
                                       : list_states(call, bucket, query, std::move(result))));
}

}  // namespace tarn::s3
