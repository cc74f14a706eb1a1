#include "s3gateway/operations/listing.h"

#include <algorithm>

#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "core/branch/refs.h"
#include "core/branch/repositories.h"
#include "core/objects/objects.h"
#include "s3gateway/operations/lookup.h"
#include "s3gateway/operations/object_headers.h"
#include "s3gateway/wire/checksums.h"
#include "s3gateway/wire/errors.h"

namespace tarn::s3 {
namespace {

/// Greater than every byte of UTF-8: a prefix followed by it is greater than every key below it.
constexpr char kPastEveryKey = '\xff';

using branch::Engine;
using objects::ListItem;

}  // namespace

std::optional<std::string> after_below(const std::string& root, const std::string& after) {
  if (after.starts_with(root)) return after.substr(root.size());
  return after > root ? std::nullopt : std::optional<std::string>("");
}

BranchOrder branches_of(Engine& engine, const RepositoryName& name, const ListQuery& query) {
  BranchPages pages = [&engine, repository = branch::get_repository(engine, name)](
                          std::string_view prefix, std::string_view after, uint32_t limit) {
    Page<Branch> page = branch::list_branches(engine, repository, prefix, after, limit,
                                              /*show_hidden=*/false);
    Page<std::string> names;
    for (Branch& branch : page.items) names.items.push_back(branch.name.str());
    names.has_more = page.has_more;
    return names;
  };
  const uint32_t page_size = std::min(query.limit + 1, kPageItemsMax);
  return BranchOrder(std::move(pages), query.prefix, query.after, page_size);
}

namespace {

/// nullopt if the ref does not exist.
std::optional<Page<ListItem>> list_ref(Engine& engine, const RepositoryName& repository,
                                       std::string_view ref, const objects::ListOptions& options) {
  try {
    return objects::list_objects(engine, repository, ref, options, kCommitDigitsMin);
  } catch (const Error& error) {
    if (error.reason() != reason::kRefNotFound && error.reason() != reason::kBranchNotFound &&
        error.reason() != "invalid_argument") {
      throw;
    }
    branch::get_repository(engine, repository);  // throws when that is what is missing
    return std::nullopt;
  }
}

/// Keys of one ref, each with `root` prepended.
KeyPage list_inside(Engine& engine, const RepositoryName& repository, const std::string& ref,
                    const std::string& root, const ListQuery& query) {
  KeyPage out;
  const std::optional<std::string> after = after_below(root, query.after);
  if (!after) {
    branch::get_repository(engine, repository);
    return out;
  }
  auto page = list_ref(engine, repository, ref,
                       {query.prefix.substr(root.size()), *after, query.delimiter, query.limit});
  if (!page) return out;
  out.keys.reserve(page->items.size());
  for (ListItem& item : page->items) {
    out.keys.push_back({root + item.path, std::move(item.entry)});
  }
  out.truncated = page->has_more;
  if (out.truncated) out.next = root + page->next;
  return out;
}

KeyPage list_rooted(Engine& engine, const BucketName& bucket, const ListQuery& query) {
  auto page = list_ref(engine, bucket.repository, bucket.ref,
                       {query.prefix, query.after, query.delimiter, query.limit});
  KeyPage out;
  if (!page) {
    require_existing(engine, bucket);  // throws: the ref was not found
    return out;
  }
  for (ListItem& item : page->items) {
    out.keys.push_back({std::move(item.path), std::move(item.entry)});
  }
  out.truncated = page->has_more;
  out.next = std::move(page->next);
  return out;
}

/// Removes keys beyond the limit and marks the page as truncated.
void cut(KeyPage& page, uint32_t limit) {
  if (page.keys.size() <= limit) return;
  page.keys.resize(limit);
  page.truncated = true;
  page.next = page.keys.back().key;
}

KeyPage list_branch_names(Engine& engine, const RepositoryName& repository,
                          const ListQuery& query) {
  KeyPage out;
  BranchOrder branches = branches_of(engine, repository, query);
  while (out.keys.size() <= query.limit) {
    const auto name = branches.next();
    if (!name) break;
    std::string prefix = *name + "/";
    if (prefix != query.after) out.keys.push_back({std::move(prefix), std::nullopt});
  }
  cut(out, query.limit);
  return out;
}

/// The keys of all branches, one branch after another, grouped by an arbitrary delimiter.
class RootKeys {
 public:
  RootKeys(Engine& engine, const RepositoryName& repository, const ListQuery& query)
      : engine_(engine), repository_(repository), query_(query) {}

  KeyPage list() {
    BranchOrder branches = branches_of(engine_, repository_, query_);
    for (uint32_t visited = 0; out_.keys.size() <= query_.limit; ++visited) {
      const auto branch = branches.next();
      if (!branch) break;
      if (visited == kBranchesPerPage) {
        // "main0" is greater than every key below "main/" and less than those of all further
        // branches.
        out_.truncated = true;
        out_.next = last_branch_ + static_cast<char>('/' + 1);
        break;
      }
      add_branch(*branch);
      if (out_.truncated) break;
      last_branch_ = *branch;
    }
    cut(out_, query_.limit);
    return std::move(out_);
  }

 private:
  void add_branch(const std::string& branch) {
    const std::string root = branch + "/";
    std::optional<std::string> after = after_below(root, query_.after);
    while (after && out_.keys.size() <= query_.limit) {
      const uint32_t wanted = query_.limit + 1 - static_cast<uint32_t>(out_.keys.size());
      auto page =
          list_ref(engine_, repository_, branch, {"", *after, "", std::min(wanted, kPageItemsMax)});
      if (!page) return;  // deleted meanwhile
      after = page->has_more ? std::optional<std::string>(page->next) : std::nullopt;
      const bool work_is_done = page->has_more && page->items.empty();
      if (work_is_done) {
        out_.truncated = true;
        out_.next = root + page->next;
        return;
      }
      add_page(root, *page, after);
    }
  }

  /// Stops at the first key that falls into a group and sets `after` past that group.
  void add_page(const std::string& root, Page<ListItem>& page, std::optional<std::string>& after) {
    for (ListItem& item : page.items) {
      std::string key = root + item.path;
      const std::optional<std::string> group = group_of(key);
      if (!group) {
        out_.keys.push_back({std::move(key), std::move(item.entry)});
        continue;
      }
      const bool shown =
          *group == query_.after || (!out_.keys.empty() && out_.keys.back().key == *group);
      if (!shown) out_.keys.push_back({*group, std::nullopt});
      // A group that ends inside "branch/" contains the whole branch.
      after = group->size() > root.size()
                  ? std::optional<std::string>(group->substr(root.size()) + kPastEveryKey)
                  : std::nullopt;
      return;
    }
  }

  std::optional<std::string> group_of(const std::string& key) const {
    if (query_.delimiter.empty()) return std::nullopt;
    const size_t at = key.find(query_.delimiter, query_.prefix.size());
    if (at == std::string::npos) return std::nullopt;
    return key.substr(0, at + query_.delimiter.size());
  }

  Engine& engine_;
  const RepositoryName& repository_;
  const ListQuery& query_;
  KeyPage out_;
  std::string last_branch_;
};

}  // namespace

KeyPage list_keys(Engine& engine, const BucketName& bucket, const ListQuery& query) {
  if (query.limit == 0) {
    require_existing(engine, bucket);
    return {};
  }
  if (bucket.rooted()) return list_rooted(engine, bucket, query);
  if (const size_t slash = query.prefix.find('/'); slash != std::string::npos) {
    const std::string root = query.prefix.substr(0, slash + 1);
    return list_inside(engine, bucket.repository, root.substr(0, slash), root, query);
  }
  if (query.delimiter == "/") return list_branch_names(engine, bucket.repository, query);
  return RootKeys(engine, bucket.repository, query).list();
}

xml::ListedObject listed_object(std::string key, const Entry& entry) {
  xml::ListedObject out;
  out.key = std::move(key);
  out.modified = entry.mtime;
  out.etag = entry.etag;
  out.size_bytes = entry.size_bytes;
  out.storage_class = std::string(storage_class_of(entry));
  if (const std::vector<Checksum> checksums = entry.checksums(); !checksums.empty()) {
    out.checksum_algorithm = upper_name_of(checksums.front().algorithm);
    out.checksum_type = type_of(checksums.front());
  }
  return out;
}

}  // namespace tarn::s3
