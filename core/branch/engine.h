// The engine: the context of every verb. server/assembly/assembly.cc makes it; all members outlive
// it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "core/base/time.h"
#include "core/base/waiter_limit.h"
#include "core/model/names.h"

namespace tarn::db {
class Pool;
}  // namespace tarn::db

namespace tarn::blob {
class Stores;
}  // namespace tarn::blob

namespace tarn::branch {
class AliasStore;
class PullRequestStore;
}  // namespace tarn::branch

namespace tarn::jobs {
class Jobs;
}  // namespace tarn::jobs

namespace tarn::meta {
class Branches;
class Commits;
class NodeStore;
class ObjectVersions;
class PartLists;
class ReadLeases;
class Repositories;
class RepositorySettings;
class Staging;
class Tags;
class Writer;
}  // namespace tarn::meta

namespace tarn::objects {
class LifecycleScans;
class RangeSummaries;
class Uploads;
}  // namespace tarn::objects

namespace tarn::quotas {
class Quotas;
}  // namespace tarn::quotas

namespace tarn::versioning {
class Sstables;
}  // namespace tarn::versioning

namespace tarn::branch {

// Permission checks inside verbs: rights that depend on the change, and rights that background work
// needs again.

enum class Right : uint8_t {
  kWriteHooks,  ///< on the repository: change files below kActionFilesPrefix
  kPromote,     ///< on the branch
  kApprovePromotion,
  kRollBack,
  kDeleteBranch,
  kCreateRun,
};

struct RightsQuestion {
  Right right{};
  std::string user{};
  std::string address{};  ///< IP of the user's request; "" = unknown
  std::string limits;     ///< of the key with which the user asked (ActingUser::limits)
  RepositoryName repository{};
  std::string branch{};       ///< "" = the right is one on the repository
  bool all_branches = false;  ///< on every branch of the repository
};

/// Whether the user has the right now. Safe from any thread; not inside a transaction.
using Rights = std::function<bool(const RightsQuestion&)>;

class BranchQueues;
class Hooks;
class StoreOwners;

/// The stores of core/meta and the queue of jobs, by reference; cheap to pass. A feature makes the
/// stores of its own folder from `pool` where it uses them: they hold no other state. Safe from any
/// thread.
struct Engine {
  const Clock& clock;
  db::Pool& pool;
  blob::Stores& stores;
  meta::Repositories& repositories;
  meta::RepositorySettings& settings;
  meta::Branches& branches;
  meta::Tags& tags;
  AliasStore& aliases;
  meta::Commits& commits;
  meta::NodeStore& nodes;
  objects::RangeSummaries& summaries;
  meta::Staging& staging;
  meta::ReadLeases& read_leases;  ///< reads of branches that may be answered from memory
  objects::Uploads& uploads;
  meta::PartLists& part_lists;
  jobs::Jobs& jobs;
  PullRequestStore& pull_requests;
  meta::ObjectVersions& versions;
  objects::LifecycleScans& lifecycle_scans;
  versioning::Sstables& sstables;
  quotas::Quotas& quotas;
  meta::Writer& writer;
  StoreOwners& owners;   ///< which stores this database may write to
  BranchQueues& queues;  ///< first come, first served per branch inside this process
  WaiterLimit& waiters;  ///< of requests that wait for promotions
  /// Authenticates the tokens of handed-out physical addresses; 32 bytes.
  std::string link_key;
  // Set once, before anything runs.
  Hooks* hooks = nullptr;  ///< nullptr = no hooks run
  Rights rights{};         ///< empty = everybody has every right
};

}  // namespace tarn::branch
