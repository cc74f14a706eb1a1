#include "core/accounting/usage_oracle_fixture.h"

#include <algorithm>
#include <optional>

#include "core/branch/aliases.h"
#include "core/branch/refs.h"
#include "core/db/pool.h"
#include "core/meta/commits.h"
#include "core/meta/part_lists.h"
#include "core/objects/objects.h"

namespace tarn::accounting {
namespace {

using branch::Engine;

constexpr db::Query kCommits{"test_accounting_commits",
                             "SELECT commit_id FROM commits WHERE repo_id = $1"};
constexpr db::Query kReaders{"test_accounting_readers", R"sql(
  SELECT r.repo_id, r.name FROM repositories r JOIN repository_readers ON reader_id = r.repo_id
  WHERE owner_id = $1 AND deleted_ms IS NULL)sql"};
constexpr db::Query kStaged{"test_accounting_staged", R"sql(
  SELECT s.val FROM branches b, unnest(b.sealed || b.token) AS t(token) JOIN staging s USING (token)
  WHERE b.repo_id = $1 AND b.name = $2 AND s.kind = 0
  UNION ALL
  SELECT v.val FROM branches b JOIN object_versions v USING (branch_id)
  WHERE b.repo_id = $1 AND b.name = $2 AND v.kind = 0)sql"};
constexpr db::Query kParts{"test_accounting_parts", R"sql(
  SELECT p.entry FROM branches b JOIN uploads u USING (branch_id) JOIN upload_parts p USING (upload_id)
  WHERE b.repo_id = $1 AND b.name = $2)sql"};

void keep_largest(uint64_t& kept, uint64_t size) { kept = std::max(kept, size); }

void see_parts(RepositoryId reader, const meta::PartList& parts, SeenBytes& seen) {
  for (const meta::StoredPart& part : parts) {
    keep_largest(seen.stored[{part.owner.value_or(reader), part.address}], part.size_bytes);
  }
}

void see_rows(Engine& engine, RepositoryId repository, const std::string& branch, SeenBytes& seen) {
  const auto id = static_cast<int32_t>(repository);
  const db::Rows staged = engine.pool.run(kStaged, {id, branch}, db::Pool::Retry::kRead);
  for (size_t row = 0; row < staged.size(); ++row) {
    see(engine, repository, decode_entry(staged.bytes(row, 0)), seen);
  }
  const db::Rows parts = engine.pool.run(kParts, {id, branch}, db::Pool::Retry::kRead);
  for (size_t row = 0; row < parts.size(); ++row) {
    see_parts(repository, meta::decode_parts(parts.bytes(row, 0)), seen);
  }
}

void see_commit(Engine& engine, const Repository& repository, const CommitId& id, SeenBytes& seen) {
  for (const auto& [key, entry] : listing(engine, repository, to_text(id), "")) {
    see(engine, repository.id, entry, seen);
  }
}

std::set<CommitId> history(Engine& engine, const Repository& repository,
                           std::vector<CommitId> waiting) {
  std::set<CommitId> out;
  while (!waiting.empty()) {
    const CommitId id = waiting.back();
    waiting.pop_back();
    if (!out.insert(id).second) continue;
    for (const CommitId& parent : engine.commits.get(repository.id, id).parents) {
      waiting.push_back(parent);
    }
  }
  return out;
}

CommitId commit_of(Engine& engine, const Repository& repository, const std::string& ref) {
  return branch::resolve_commit(engine, repository, ref).id;
}

/// All that refs other than `except` reach, with the rows of branches.
SeenBytes seen_by_refs(Engine& engine, const Repository& repository, const AnyRef* except) {
  SeenBytes seen;
  std::vector<CommitId> heads;
  for (const AnyRef& ref : all_refs(engine, repository)) {
    if (ref.kind == AnyRef::Kind::kCommit) continue;
    if (except != nullptr && except->kind == ref.kind && except->text == ref.text) continue;
    heads.push_back(commit_of(engine, repository, ref.text));
    if (ref.kind == AnyRef::Kind::kBranch) see_rows(engine, repository.id, ref.text, seen);
  }
  for (const CommitId& id : history(engine, repository, heads)) {
    see_commit(engine, repository, id, seen);
  }
  return seen;
}

/// All commits but `except`, and the rows of all branches.
SeenBytes seen_by_commits(Engine& engine, const Repository& repository,
                          const std::optional<CommitId>& except) {
  SeenBytes seen;
  for (const AnyRef& ref : all_refs(engine, repository)) {
    if (ref.kind == AnyRef::Kind::kBranch) see_rows(engine, repository.id, ref.text, seen);
    if (ref.kind != AnyRef::Kind::kCommit) continue;
    const CommitId id = *parse_commit_id(ref.text);
    if (id != except) see_commit(engine, repository, id, seen);
  }
  return seen;
}

Amount sum(const auto& sizes, const auto& counts) {
  Amount out;
  for (const auto& [key, size] : sizes) {
    if (!counts(key)) continue;
    ++out.objects;
    out.bytes += size;
  }
  return out;
}

Amount freed_by(Engine& engine, const Repository& repository, const AnyRef& ref,
                const SeenBytes& others) {
  SeenBytes deleted;
  if (ref.kind == AnyRef::Kind::kBranch) see_rows(engine, repository.id, ref.text, deleted);
  for (const CommitId& id :
       history(engine, repository, {commit_of(engine, repository, ref.text)})) {
    see_commit(engine, repository, id, deleted);
  }
  SeenBytes copies;
  const db::Rows readers =
      engine.pool.run(kReaders, {static_cast<int32_t>(repository.id)}, db::Pool::Retry::kRead);
  for (size_t row = 0; row < readers.size(); ++row) {
    Repository reader = repository;
    reader.id = static_cast<RepositoryId>(readers.integer(row, 0));
    reader.name = RepositoryName(std::string(readers.text(row, 1)));
    copies.stored.merge(seen_by_refs(engine, reader, nullptr).stored);
  }
  return sum(deleted.stored, [&](const auto& key) {
    return key.first == repository.id && !others.stored.contains(key) &&
           !copies.stored.contains(key);
  });
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const Amount& amount) {
  return out << amount.objects << " objects, " << amount.bytes << " bytes";
}
std::ostream& operator<<(std::ostream& out, const UsageItem& item) {
  return out << item.path << ": " << item.logical;
}
std::ostream& operator<<(std::ostream& out, const StoredUsage& usage) {
  return out << "stored " << usage.stored << ", shared " << usage.shared << ", foreign "
             << usage.foreign << ", imported " << usage.imported << ", freed "
             << usage.freed.value_or(Amount{});
}

void see(Engine& engine, RepositoryId reader, const Entry& entry, SeenBytes& seen) {
  if (const auto* own = std::get_if<OwnAddress>(&entry.address)) {
    keep_largest(seen.stored[{reader, *own}], entry.size_bytes);
  } else if (const auto* foreign = std::get_if<ForeignAddress>(&entry.address)) {
    keep_largest(seen.stored[{foreign->repository, foreign->own}], entry.size_bytes);
  } else if (const auto* external = std::get_if<ExternalAddress>(&entry.address)) {
    keep_largest(seen.imported[external->url], entry.size_bytes);
  } else {
    see_parts(reader, *engine.part_lists.get(std::get<PartListAddress>(entry.address).id), seen);
  }
}

std::map<std::string, Entry> listing(Engine& engine, const Repository& repository,
                                     const std::string& ref, const std::string& prefix) {
  std::map<std::string, Entry> out;
  objects::ListOptions options{.prefix = prefix, .after = {}, .delimiter = {}, .limit = 1000};
  for (;;) {
    const auto page = objects::list_objects(engine, repository.name, ref, options);
    for (const objects::ListItem& item : page.items) out.emplace(item.path, *item.entry);
    if (!page.has_more) return out;
    options.after = page.next;
  }
}

StoredUsage slow_stored_usage(Engine& engine, const Repository& repository, const AnyRef* ref,
                              const std::string& prefix) {
  SeenBytes shown;
  SeenBytes others;
  const auto is_own = [&](const auto& key) { return key.first == repository.id; };
  StoredUsage out;
  if (ref == nullptr) {
    shown = seen_by_commits(engine, repository, std::nullopt);
  } else {
    for (const auto& [key, entry] : listing(engine, repository, ref->text, prefix)) {
      see(engine, repository.id, entry, shown);
    }
    others = ref->kind == AnyRef::Kind::kCommit
                 ? seen_by_commits(engine, repository, parse_commit_id(ref->text))
                 : seen_by_refs(engine, repository, ref);
    if (ref->kind != AnyRef::Kind::kCommit && prefix.empty()) {
      out.freed = freed_by(engine, repository, *ref, others);
    }
  }
  out.stored = sum(shown.stored, is_own);
  out.shared = sum(shown.stored,
                   [&](const auto& key) { return is_own(key) && others.stored.contains(key); });
  out.foreign = sum(shown.stored, [&](const auto& key) { return !is_own(key); });
  out.imported = sum(shown.imported, [](const auto&) { return true; });
  return out;
}

Amount slow_logical_size(Engine& engine, const Repository& repository, const std::string& ref,
                         const std::string& prefix) {
  Amount out;
  for (const auto& [key, entry] : listing(engine, repository, ref, prefix)) {
    ++out.objects;
    out.bytes += entry.size_bytes;
  }
  return out;
}

std::vector<UsageItem> slow_usage_by_prefix(Engine& engine, const Repository& repository,
                                            const std::string& ref, const std::string& prefix) {
  std::map<std::string, UsageItem> items;
  for (const auto& [key, entry] : listing(engine, repository, ref, prefix)) {
    const size_t slash = key.find('/', prefix.size());
    const std::string path = key.substr(0, slash == std::string::npos ? slash : slash + 1);
    UsageItem& item = items[path];
    item.path = path;
    item.is_prefix = slash != std::string::npos;
    ++item.logical.objects;
    item.logical.bytes += entry.size_bytes;
  }
  std::vector<UsageItem> out;
  for (auto& [path, item] : items) out.push_back(std::move(item));
  return out;
}

std::vector<AnyRef> all_refs(Engine& engine, const Repository& repository) {
  std::vector<AnyRef> out;
  for (const Branch& b : branch::list_branches(engine, repository, "", "", 1000, true).items) {
    out.push_back({AnyRef::Kind::kBranch, b.name.str()});
  }
  for (const Tag& t : branch::list_tags(engine, repository, "", "", 1000).items) {
    out.push_back({AnyRef::Kind::kTag, t.name.str()});
  }
  for (const Alias& a : branch::list_aliases(engine, repository, "", "", 1000).items) {
    out.push_back({AnyRef::Kind::kAlias, "@" + a.name.str()});
  }
  const db::Rows rows =
      engine.pool.run(kCommits, {static_cast<int32_t>(repository.id)}, db::Pool::Retry::kRead);
  for (size_t row = 0; row < rows.size(); ++row) {
    out.push_back({AnyRef::Kind::kCommit, to_text(commit_id_from_bytes(rows.bytes(row, 0)))});
  }
  return out;
}

}  // namespace tarn::accounting
