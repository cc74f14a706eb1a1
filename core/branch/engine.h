// The engine: the context of every verb. server/assembly/assembly.cc makes it; all members outlive
// it.
#pragma once

#include <memory>
#include <string>

#include "core/base/time.h"
#include "core/base/waiter_limit.h"
#include "core/branch/rights.h"

namespace tarn::db {
class Pool;
}
namespace tarn::blob {
class Stores;
}
namespace tarn::meta {
class Aliases;
class Branches;
class Commits;
class Jobs;
class LifecycleScans;
class NodeStore;
class ObjectVersions;
class PartLists;
class PullRequests;
class Quotas;
class RangeSummaries;
class ReadLeases;
class Repositories;
class RepositorySettings;
class Sstables;
class Staging;
class Tags;
class Uploads;
class Writer;
}  // namespace tarn::meta

namespace tarn::versioning {

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
  meta::Aliases& aliases;
  meta::Commits& commits;
  meta::NodeStore& nodes;
  meta::RangeSummaries& summaries;
  meta::Staging& staging;
  meta::ReadLeases& read_leases;  ///< reads of branches that may be answered from memory
  meta::Uploads& uploads;
  meta::PartLists& part_lists;
  meta::Jobs& jobs;
  meta::PullRequests& pull_requests;
  meta::ObjectVersions& versions;
  meta::LifecycleScans& lifecycle_scans;
  meta::Sstables& sstables;
  meta::Quotas& quotas;
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

}  // namespace tarn::versioning
