#include "core/branch/repositories.h"

#include <charconv>

#include "core/base/acting_user.h"
#include "core/base/digest.h"
#include "core/base/error.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "core/blob/stores.h"
#include "core/branch/hooks.h"
#include "core/branch/namespace_marker.h"
#include "core/branch/store_owner.h"
#include "core/db/pool.h"
#include "core/meta/branches.h"
#include "core/meta/commits.h"
#include "core/meta/repositories.h"
#include "core/quotas/quotas.h"

namespace tarn::branch {
namespace {

constexpr std::string_view kFirstMessage = "Repository created";

[[noreturn]] void throw_not_found() {
  throw Error(ErrorCode::kNotFound, reason::kRepositoryNotFound, "repository not found");
}

[[noreturn]] void throw_namespace_in_use(std::string_view url, bool bare = false) {
  throw Error(
      ErrorCode::kInvalidArgument, reason::kNamespaceInUse,
      str_cat("failed to create repository: \"", url, "\": storage namespace already in use",
              bare ? "; give the bare repository a namespace of its own, a restore brings no bytes"
                     " and reads objects where they are"
                   : ""));
}

/// Whether a creation that ended without a repository left the marker, which is replaced.
bool take_abandoned_namespace(Engine& engine, const Repository& repository) {
  return engine.pool.transaction([&](db::Connection& connection) {
    return meta::Repositories::lock_free_namespace(connection,
                                                   repository.storage_namespace + "/") &&
           replace_abandoned_marker(engine.stores, repository, engine.owners.identity(),
                                    engine.clock.now());
  });
}

/// Throws if the store is not writable or the namespace is in use, also by another installation.
void take_namespace(Engine& engine, const Repository& repository) {
  try {
    if (!mark_namespace(engine.stores, repository, engine.owners.identity()) &&
        !take_abandoned_namespace(engine, repository)) {
      throw_namespace_in_use(repository.storage_namespace);
    }
    try {
      // Looked for behind the marker: of two that are made at once, one at least sees the other.
      if (!nested_namespace(engine.stores, repository).empty()) {
        throw_namespace_in_use(repository.storage_namespace);
      }
    } catch (const Error&) {
      unmark_namespace(engine.stores, repository);
      throw;
    }
  } catch (const Error& error) {
    if (error.reason() == reason::kNamespaceInUse || error.code() == ErrorCode::kUnavailable) throw;
    throw Error(
        ErrorCode::kInvalidArgument, reason::kNamespaceNotWritable,
        str_cat("failed to create repository: failed to access storage: ", error.message()));
  }
}

/// A bare repository may have a namespace that cannot be written: without the marker nothing is
/// collected there. false = it has no marker.
bool try_to_take_namespace(Engine& engine, const Repository& repository) {
  try {
    take_namespace(engine, repository);
    return true;
  } catch (const Error& error) {
    if (error.reason() != reason::kNamespaceNotWritable) throw;
    return false;
  }
}

/// A name or namespace that was taken meanwhile; an unknown end of the transaction is none.
bool was_refused(const Error& error) { return error.code() != ErrorCode::kUnavailable; }

void check_not_read_only(const Repository& repository, bool force) {
  if (!repository.read_only || force) return;
  throw Error(ErrorCode::kPermissionDenied, reason::kReadOnlyRepository, "read-only repository");
}

}  // namespace

void check_writable(Engine& engine, const Repository& repository, bool force) {
  check_not_read_only(repository, force);
  engine.owners.require(repository);
}

Repository create_repository(Engine& engine, const RepositoryCreation& creation) {
  if (engine.repositories.find(creation.name)) {
    throw Error(ErrorCode::kAlreadyExists, "error creating repository: not unique");
  }
  Repository repository;
  repository.name = creation.name;
  repository.storage_namespace = engine.stores.check_namespace(creation.storage_namespace);
  repository.default_branch = creation.default_branch;
  repository.salt = random_u64();
  repository.read_only = creation.read_only;
  repository.strict_paths = creation.strict_paths;
  repository.bucket_kind = creation.bucket_kind;
  repository.created = engine.clock.now();
  if (!engine.repositories.overlapping_namespaces(repository.storage_namespace + "/").empty()) {
    throw_namespace_in_use(repository.storage_namespace, creation.bare);
  }
  bool marked = false;
  if (creation.bare && !creation.read_only) {
    marked = try_to_take_namespace(engine, repository);
  } else if (!creation.read_only) {
    take_namespace(engine, repository);
    marked = true;
  }

  Commit first;
  first.message = kFirstMessage;
  first.created = repository.created;
  first.id = compute_commit_id(first);
  const auto insert = [&](db::Connection& connection) {
    if (!meta::Repositories::lock_free_namespace(connection, repository.storage_namespace + "/")) {
      throw_namespace_in_use(repository.storage_namespace, creation.bare);
    }
    const auto id = meta::Repositories::insert(connection, repository);
    if (!id) throw Error(ErrorCode::kAlreadyExists, "error creating repository: not unique");
    repository.id = *id;
    if (creation.bare) return;
    meta::Commits::insert(connection, *id, first, {});
    meta::Branches::create_first(connection, *id, repository.default_branch, first.id);
  };
  try {
    engine.pool.transaction(insert);
  } catch (const Error& error) {
    if (marked && was_refused(error)) unmark_namespace(engine.stores, repository);
    throw;
  }
  return repository;
}

Repository get_repository(Engine& engine, const RepositoryName& name) {
  auto repository = engine.repositories.find(name);
  if (!repository) throw_not_found();
  return *std::move(repository);
}

void check_exists(Engine& engine, const Repository& repository) {
  const auto found = engine.repositories.find(repository.name);
  if (!found || found->id != repository.id) throw_not_found();
}

std::optional<BranchName> bucket_root(Engine& engine, const RepositoryName& name) {
  return engine.repositories.bucket_root(name);
}

Page<Repository> list_repositories(Engine& engine, std::string_view prefix, std::string_view search,
                                   std::string_view after, uint32_t limit,
                                   const std::function<bool(const Repository&)>& visible) {
  Page<Repository> out{.next_of = [](const Repository& one) { return one.name.str(); }};
  std::string from(after);
  for (bool more = true; more;) {
    Page<Repository> page = engine.repositories.list(prefix, search, from, limit);
    more = page.has_more;
    from = std::move(page.next);
    for (Repository& repository : page.items) {
      if (visible && !visible(repository)) continue;
      if (out.items.size() == limit) {
        out.end_here();
        return out;
      }
      out.items.push_back(std::move(repository));
    }
  }
  return out;
}

void delete_repository(Engine& engine, const RepositoryName& name,
                       const RepositoryDeletion& deletion) {
  if (deletion.grace && (deletion.grace->count() < 0 || *deletion.grace > kDeletionGraceMax)) {
    throw_invalid(str_cat("deleting a repository: the grace may be up to ",
                          kDeletionGraceMax.count(), " days"));
  }
  // Nothing goes from the store before a collection, which asks for its owner.
  check_not_read_only(get_repository(engine, name), deletion.force);
  if (!engine.repositories.remove(name, ActingUser::name(), engine.clock.now(), deletion.grace))
    throw_not_found();
}

void delete_repository(Engine& engine, const RepositoryName& name, bool force) {
  delete_repository(engine, name, RepositoryDeletion{.force = force});
}

Page<meta::DeletedRepository> list_deleted_repositories(
    Engine& engine, std::string_view after, uint32_t limit, std::chrono::seconds grace,
    const std::function<bool(const Repository&)>& visible) {
  int32_t before = INT32_MAX;
  if (!after.empty()) {
    const auto [end, error] = std::from_chars(after.data(), after.data() + after.size(), before);
    if (error != std::errc() || end != after.data() + after.size()) {
      throw_invalid(str_cat("after: \"", after, "\" is no id of a deleted repository"));
    }
  }
  Page<meta::DeletedRepository> page{.next_of = [](const meta::DeletedRepository& one) {
    return std::to_string(static_cast<int32_t>(one.repository.id));
  }};
  for (;;) {
    const auto rows =
        engine.repositories.list_deleted(before, limit + 1, engine.clock.now(), grace);
    for (const meta::DeletedRepository& row : rows) {
      before = static_cast<int32_t>(row.repository.id);
      if (visible && !visible(row.repository)) continue;
      if (page.items.size() == limit) {
        page.end_here();
        return page;
      }
      page.items.push_back(row);
    }
    if (rows.size() <= limit) return page;
  }
}

Repository restore_repository(Engine& engine, const RepositoryRestoration& restoration) {
  const RepositoryName as = restoration.as.value_or(restoration.name);
  switch (engine.repositories.restore(restoration.name, restoration.id, as, engine.clock.now(),
                                      restoration.grace)) {
    case meta::Repositories::Restored::kDone: {
      Repository restored = get_repository(engine, as);
      engine.quotas.make_due(restored.id);  // its quotas were not counted while it was deleted
      return restored;
    }
    case meta::Repositories::Restored::kNotFound:
      throw Error(ErrorCode::kNotFound, reason::kRepositoryNotFound,
                  str_cat("restoring repository ", restoration.name.str(),
                          ": no repository of this name was deleted whose grace is not over: not "
                          "found"));
    case meta::Repositories::Restored::kNameTaken:
      break;
  }
  throw Error(ErrorCode::kAlreadyExists,
              str_cat("restoring repository ", restoration.name.str(), ": the name ", as.str(),
                      " is taken, give it another one (--as NAME): not unique"));
}

void delete_empty_repository(Engine& engine, const Repository& repository) {
  check_not_read_only(repository, /*force=*/false);
  if (!engine.repositories.remove_empty(repository, ActingUser::name(), engine.clock.now()))
    throw_not_found();
}

void set_strict_paths(Engine& engine, const RepositoryName& name, bool strict) {
  const Repository repository = get_repository(engine, name);
  check_writable(engine, repository, /*force=*/false);
  if (!engine.repositories.set_strict_paths(repository.id, strict)) throw_not_found();
}

void check_new_path(const Repository& repository, std::string_view path) {
  if (!repository.strict_paths || is_plain_path(path)) return;
  throw Error(ErrorCode::kInvalidArgument, reason::kUnplainPath,
              str_cat("path \"", path,
                      "\": holds an empty, \".\" or \"..\" segment, a backslash or a control "
                      "character, which repository \"",
                      repository.name.str(),
                      "\" refuses: name it otherwise, or permit any path: tarn repo paths ",
                      repository.name.str(), " any"));
}

Metadata get_repository_metadata(Engine& engine, const RepositoryName& name) {
  return engine.repositories.metadata(get_repository(engine, name).id);
}

void set_repository_metadata(Engine& engine, const RepositoryName& name, const Metadata& pairs) {
  const Repository repository = get_repository(engine, name);
  check_writable(engine, repository, /*force=*/false);
  engine.repositories.set_metadata(repository.id, pairs, {});
}

void delete_repository_metadata(Engine& engine, const RepositoryName& name,
                                const std::vector<std::string>& keys) {
  const Repository repository = get_repository(engine, name);
  check_writable(engine, repository, /*force=*/false);
  engine.repositories.set_metadata(repository.id, {}, keys);
}

}  // namespace tarn::branch
