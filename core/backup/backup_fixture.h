// The fixture of tests of backups: an installation, a target that can fail, and copies.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/backup/backup.h"
#include "core/backup/restore.h"
#include "core/gc/collection_fixture.h"
#include "tests/support/forwarding_store.h"

namespace tarn::backup {

/// A store that fails after a number of objects were created.
class FailingStore final : public testing::ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  std::unique_ptr<blob::BlobWriter> create(std::string_view key,
                                           std::optional<uint64_t> size) override {
    if (key.starts_with("objects/") && left-- <= 0) {
      throw Error(ErrorCode::kUnavailable, "the store fails");
    }
    if (key.starts_with("objects/")) ++created;
    return store_.create(key, size);
  }

  std::atomic<int> left{1'000'000};
  std::atomic<int> created{0};
};

/// A copy of the installation: another database, another store.
struct Copy {
  explicit Copy(blob::MemoryStore* store) {
    stores.set_local_root(std::make_unique<FailingStore>(*store));
  }

  testing::TestDatabase database{testing::TestDatabase::Schema::kEmpty};
  blob::Stores stores;
};

class BackupTest : public gc::CollectionTest {
 protected:
  BackupOptions backup_options(bool objects) {
    BackupOptions out;
    out.database_url = database.url();
    out.target_name = "memory";
    out.tarn_version = "test";
    out.master_key = std::string(32, 'k');
    out.key_origin = "a test";
    out.copy_objects = objects;
    out.kept = std::chrono::hours{1};
    return out;
  }
  Manifest take(bool objects) { return take(backup_options(objects)); }
  Manifest take(const BackupOptions& taken) {
    return take_backup(engine.pool, engine.stores, target, taken);
  }
  RestoreOptions restore_options(const std::string& url, bool objects = true) {
    RestoreOptions out;
    out.database_url = url;
    out.scratch = ::testing::TempDir();
    out.with_objects = objects;
    return out;
  }
  std::string failure_of(const std::function<void()>& call) {
    try {
      call();
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return "";
  }
  uint64_t below(blob::BlobStore& store, std::string_view prefix) {
    uint64_t objects = 0;
    store.walk(prefix, "", [&](const blob::BlobStat&) { return ++objects > 0; });
    return objects;
  }

  blob::MemoryStore backups;
  FailingStore place{backups};
  Target target{&place, ""};
};

}  // namespace tarn::backup
