#include "tests/integration/pairs/scenario.h"

#include "core/base/digest.h"
#include "core/base/encoding.h"
#include "core/base/error.h"
#include "core/base/wire.h"
#include "core/branch/aliases.h"
#include "core/branch/settings.h"
#include "core/jobs/jobs.h"
#include "core/meta/branches.h"
#include "core/meta/commits.h"
#include "core/promotion/gate_policies.h"
#include "core/promotion/promotions.h"
#include "core/versioning/pull_requests.h"

namespace tarn::pairs {
namespace {

using db::Pool;

constexpr db::Query kCountRows{"test_pairs_count_rows", R"sql(
  SELECT (SELECT count(*) FROM branches WHERE repo_id = $1) + (SELECT count(*) FROM tags WHERE repo_id = $1)
    + (SELECT count(*) FROM aliases WHERE repo_id = $1))sql"};

// Commits keep their ids and share their trees' nodes: both are found by content.
constexpr db::Query kCopyRepository{"test_pairs_copy_repository", R"sql(
  WITH made AS (
    INSERT INTO repositories (name, storage_namespace, default_branch, salt, created_ms)
    SELECT $2, 'local://' || $2, default_branch, salt, created_ms FROM repositories WHERE repo_id = $1
    RETURNING repo_id),
  history AS (
    INSERT INTO commits (repo_id, commit_id, generation, parents, root_nid, root_hash, committer, message, metadata,
                         created_ms)
    SELECT m.repo_id, commit_id, generation, parents, root_nid, root_hash, committer, message, metadata, created_ms
    FROM made m, commits c WHERE c.repo_id = $1),
  refs AS (
    INSERT INTO branches (repo_id, name, head, root_nid, root_hash, token)
    SELECT m.repo_id, name, head, root_nid, root_hash, nextval('staging_tokens')
    FROM made m, branches b WHERE b.repo_id = $1)
  SELECT repo_id FROM made)sql"};

// A transaction that has locked a row keeps its lease: it is past the statements that compare it.
constexpr db::Query kExpireBranches{"test_pairs_expire_branches", R"sql(
  UPDATE branches SET lease_until = clock_timestamp() - interval '1 second'
  WHERE branch_id IN (SELECT branch_id FROM branches WHERE repo_id = $1 AND lease_owner IS NOT NULL
                      FOR UPDATE SKIP LOCKED))sql"};
constexpr db::Query kExpireJobs{"test_pairs_expire_jobs", R"sql(
  UPDATE jobs SET lease_until = clock_timestamp() - interval '1 second'
  WHERE job_id IN (SELECT job_id FROM jobs WHERE repo_id = $1 AND lease_owner IS NOT NULL
                   FOR UPDATE SKIP LOCKED))sql"};

constexpr db::Query kExpirePromotions{"test_pairs_expire_promotions", R"sql(
  UPDATE promotions SET lease_until = clock_timestamp() - interval '1 second'
  WHERE promotion_id IN (SELECT promotion_id FROM promotions WHERE repo_id = $1 AND lease_owner IS NOT NULL
                         FOR UPDATE SKIP LOCKED))sql"};

constexpr db::Query kForgetBranches{"test_pairs_forget_branches", R"sql(
  UPDATE branches SET expires_ms = NULL WHERE repo_id = $1 AND expires_ms IS NOT NULL)sql"};
constexpr db::Query kForgetJobs{"test_pairs_forget_jobs", R"sql(
  UPDATE jobs SET state = 'cancelled' WHERE repo_id = $1 AND state IN ('queued', 'running'))sql"};
constexpr db::Query kForgetPromotions{"test_pairs_forget_promotions", R"sql(
  UPDATE promotions SET due_at = NULL WHERE repo_id = $1 AND due_at IS NOT NULL)sql"};

std::map<std::string, std::string> pairs_of(std::string_view bytes) {
  std::map<std::string, std::string> out;
  WireReader in(bytes, "pairs");
  while (!in.done()) {
    std::string name(in.bytes());
    out[std::move(name)] = std::string(in.bytes());
  }
  return out;
}

std::string state_of(const jobs::Job& job) {
  switch (job.state) {
    case jobs::JobState::kDone:
      return "done";
    case jobs::JobState::kFailed:
      if (job.error.find("dirty branch") != std::string::npos) return "failed dirty_branch";
      if (job.error.find("not found") != std::string::npos) return "failed not_found";
      if (job.error.find("protected branch") != std::string::npos) return "failed protected_branch";
      return "failed " + job.error;
    case jobs::JobState::kCancelled:
      return "cancelled";
    case jobs::JobState::kQueued:
    case jobs::JobState::kRunning:
      return "open";
  }
  return "";
}

}  // namespace

void expire_leases(testing::TestEngine& engine, RepositoryId repository) {
  const auto repo = static_cast<int32_t>(repository);
  engine.pool.run(kExpireBranches, {repo}, Pool::Retry::kRead);
  engine.pool.run(kExpireJobs, {repo}, Pool::Retry::kRead);
  engine.pool.run(kExpirePromotions, {repo}, Pool::Retry::kRead);
}

void leave_nothing_due(testing::TestEngine& engine, RepositoryId repository) {
  for (const db::Query& query : {kForgetBranches, kForgetJobs, kForgetPromotions}) {
    engine.pool.run(query, {static_cast<int32_t>(repository)}, Pool::Retry::kRead);
  }
}

Scenario::Scenario(testing::TestEngine& observer_, RepositoryName name)
    : observer(observer_), repo(observer_.make_repository(name.str())) {
  id = repository(observer).id;
  const auto put = [&](const char* branch, const char* key, const char* text) {
    observer.put(repo, branch, key, text);
  };
  put("main", kKey, "k1");
  put("main", kSourceKey, "source");
  put("main", kAbsentKey, "n1");
  first = observer.commit(repo, "main", "first").id;
  put("main", kKey, "k2");
  observer.remove(repo, "main", kAbsentKey);
  second = observer.commit(repo, "main", "second").id;
  observer.branch(repo, kWork, "main");
  observer.branch(repo, kSide, "main");
  put(kSide, kKey, "k3");
  put(kSide, kAbsentKey, "n3");
  put(kSide, "side/s", "s");
  versioning::CommitRequest request;
  request.committer = "tester";
  request.message = "aside";
  request.metadata["metric.accuracy"] = "0.9";
  aside = versioning::commit_branch(*observer, repository(observer), BranchName(kSide), request).id;
}

Scenario::Scenario(const Scenario& original, RepositoryName name)
    : observer(original.observer),
      repo(std::move(name)),
      first(original.first),
      second(original.second),
      aside(original.aside),
      commits_(original.commits_),
      texts_(original.texts_) {
  const db::Rows made = observer.pool.run(
      kCopyRepository, {static_cast<int32_t>(original.id), repo.str()}, Pool::Retry::kWrite);
  id = static_cast<RepositoryId>(made.integer(0, 0));
  copy_bytes(original.repo);
}

void Scenario::copy_bytes(const RepositoryName& from) {
  const std::string prefix = from.str() + "/";
  for (const auto& item : observer.store->list(prefix, "", 1000).items) {
    if (item.key.starts_with(prefix + "_tarn/collector/")) continue;  // it names its own database
    const auto reader = observer.store->open(item.key, {0, item.size_bytes}, "");
    std::string bytes(item.size_bytes, '\0');
    reader->read(bytes);
    const auto writer =
        observer.store->create(repo.str() + "/" + item.key.substr(prefix.size()), bytes.size());
    writer->write(bytes);
    writer->finish();
  }
}

ModelObject Scenario::object(const std::string& text) {
  return {.text = text, .etag = to_hex(md5(text)), .content_type = "text/plain"};
}

ModelObject Scenario::object_of(const RepositoryName& repository, const Entry& entry) {
  ModelObject out;
  out.etag = entry.etag;
  out.content_type = entry.content_type;
  out.metadata = entry.user_metadata();
  out.tags = pairs_of(entry.extras.get(ExtraTag::kObjectTags));
  if (const auto* external = std::get_if<ExternalAddress>(&entry.address)) out.url = external->url;
  const std::string place = repository == repo ? "" : repository.str();
  const auto [at, fresh] = texts_.try_emplace(place + encode_address(entry.address));
  if (fresh) {
    const auto reader = objects::open_object(
        *observer, branch::get_repository(*observer, repository), entry, {0, entry.size_bytes});
    std::string bytes(entry.size_bytes, '\0');
    size_t filled = 0;
    while (const size_t got = reader->read(std::span<char>(bytes).subspan(filled))) filled += got;
    at->second = bytes.substr(0, filled);
  }
  out.text = at->second;
  return out;
}

ModelTree Scenario::tree_of(const RepositoryName& repository, const std::string& ref) {
  ModelTree out;
  const auto page = objects::list_objects(*observer, repository, ref, {"", "", "", 1000});
  for (const auto& item : page.items) out[item.path] = object_of(repository, *item.entry);
  return out;
}

ModelCommitPtr Scenario::commit(const CommitId& commit_id) {
  return commit_of_repository(repo, commit_id);
}

ModelCommitPtr Scenario::commit_of_repository(const RepositoryName& repository,
                                              const CommitId& commit_id) {
  const auto known = commits_.find(commit_id);
  if (known != commits_.end()) return known->second;
  const Commit found = branch::resolve_commit(
      *observer, branch::get_repository(*observer, repository), to_text(commit_id));
  std::vector<ModelCommitPtr> parents;
  for (const CommitId& parent : found.parents) {
    parents.push_back(commit_of_repository(repository, parent));
  }
  return commits_[commit_id] =
             commit_of(found.committer, found.message, tree_of(repository, to_text(commit_id)),
                       std::move(parents));
}

std::map<std::string, ModelCommitPtr> Scenario::refs_of(const RepositoryName& repository) {
  const Repository found_repository = branch::get_repository(*observer, repository);
  std::map<std::string, ModelCommitPtr> out;
  const auto add = [&](const char* kind, const std::string& name, const CommitId& id_) {
    out[std::string(kind) + " " + name] = commit_of_repository(repository, id_);
  };
  for (const Branch& found :
       branch::list_branches(*observer, found_repository, "", "", 100, true).items) {
    add("branch", found.name.str(), found.head);
  }
  for (const Tag& found : branch::list_tags(*observer, found_repository, "", "", 100).items) {
    add("tag", found.name.str(), found.commit);
  }
  for (const Alias& found : branch::list_aliases(*observer, found_repository, "", "", 100).items) {
    add("alias", found.name.str(), found.commit);
  }
  return out;
}

std::optional<std::map<std::string, ModelCommitPtr>> Scenario::restored_refs() {
  if (!target) return std::nullopt;
  try {
    return refs_of(*target);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kNotFound) throw;
    return std::nullopt;
  }
}

int Scenario::left_behind() {
  return static_cast<int>(
      observer.pool.run(kCountRows, {static_cast<int32_t>(id)}, Pool::Retry::kRead).integer(0, 0));
}

World Scenario::observe() {
  World out;
  out.links = initial.links;
  out.restored = restored_refs();
  for (const std::string& job : jobs) {
    if (const auto found = (*observer).jobs.find(job)) out.jobs[job] = state_of(*found);
  }
  Repository found_repository;
  try {
    found_repository = repository(observer);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kNotFound) throw;
    out.exists = false;
    out.orphans = left_behind();
    return out;
  }
  for (const Branch& found :
       branch::list_branches(*observer, found_repository, "", "", 100, true).items) {
    ModelBranch branch;
    branch.head = commit(found.head);
    branch.expires = found.expires.has_value();
    ModelTree visible = tree_of(repo, found.name.str());
    for (const auto& [key, object] : branch.head->tree) {
      if (!visible.contains(key)) branch.staged[key] = std::nullopt;
    }
    for (const auto& [key, object] : visible) {
      const auto committed = branch.head->tree.find(key);
      if (committed == branch.head->tree.end() || committed->second != object) {
        branch.staged[key] = object;
      }
    }
    out.branches[found.name.str()] = std::move(branch);
  }
  for (const Tag& tag : branch::list_tags(*observer, found_repository, "", "", 100).items) {
    out.tags[tag.name.str()] = commit(tag.commit);
  }
  for (const Alias& alias : branch::list_aliases(*observer, found_repository, "", "", 100).items) {
    out.aliases[alias.name.str()] = commit(alias.commit);
  }
  for (const auto& open : objects::list_multiparts(*observer, repo, "", {}, 100).items) {
    ModelUpload& kept = out.uploads[open.upload_id];
    kept.key = open.branch.str() + "/" + open.key.str();
    for (const auto& part : objects::list_parts(*observer, open, 0, 100).items) {
      kept.parts[static_cast<int>(part.number)] = part.etag;
    }
  }
  for (const BranchRule& rule : branch::get_branch_rules(*observer, found_repository).value) {
    out.branch_rules |= rule.blocks(BranchAction::kStage);
    out.approvals_wanted = static_cast<int>(rule.approvals.value_or(0));
  }
  if (!pull.empty()) {
    const PullRequest found = versioning::get_pull_request(*observer, found_repository, pull);
    ModelPull& kept = out.pulls[pull];
    kept.status = name_of(found.status);
    if (found.merged_commit) kept.merged = commit(*found.merged_commit);
    for (const Approval& approval :
         versioning::list_approvals(*observer, found_repository, pull, {}).items) {
      kept.approvals.insert(approval.user);
    }
  }
  for (const std::string& one : {promotion, promoted}) {
    if (one.empty()) continue;
    const promotion::Promotion found = promotion::get_promotion(*observer, found_repository, one);
    ModelPromotion& kept = out.promotions[one];
    const bool open = !promotion::has_ended(found.state);
    kept.state = open ? "open"
                      : std::string(promotion::name_of(found.state)) +
                            (found.code.empty() ? "" : " " + found.code);
    if (found.result) kept.result = commit(*found.result);
    for (const auto& check :
         promotion::get_promotion_record(*observer, found_repository, found).checks) {
      kept.checks[check.name] = promotion::name_of(check.status);
    }
  }
  if (!promotion.empty()) {
    out.policy_version = promotion::get_gate_policy(*observer, found_repository, "digits").version;
  }
  return out;
}

}  // namespace tarn::pairs
