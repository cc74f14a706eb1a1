// A complete engine over a fresh database and a memory store, for tests of versioning.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "core/base/time.h"
#include "core/blob/stores.h"
#include "core/branch/refs.h"
#include "core/branch/repositories.h"
#include "core/db/pool.h"
#include "core/objects/objects.h"
#include "core/objects/upload.h"
#include "core/versioning/commit.h"
#include "server/assembly/assembly.h"
#include "tests/support/memory_store_fixture.h"
#include "tests/support/postgres_test.h"

namespace tarn::testing {

/// Bytes of an upload from memory.
class TextBody final : public objects::UploadBody {
 public:
  explicit TextBody(std::string text) : text_(std::move(text)) {}
  size_t read(std::span<char> out) override;
  objects::UploadDigests digests() override;

 private:
  std::string text_;
  size_t at_ = 0;
};

/// A repository of a test, where verbs take it and where they take its name.
struct TestRepository : Repository {
  operator const RepositoryName&() const { return name; }
  const std::string& str() const { return name.str(); }
};

/// An engine as one process has it: several of them on one database and one store represent several
/// servers.
class TestEngine {
 public:
  /// `identify` replaces the identity of the database, as a failover does. `faults` (may be null)
  /// are called before and after every statement of this engine.
  explicit TestEngine(const std::string& database_url, blob::MemoryStore* shared = nullptr,
                      db::Faults* faults = nullptr, bool takes_read_leases = false,
                      std::function<std::string()> identify = {});
  branch::Engine& operator*() { return assembly->engine(); }
  server::Assembly& parts() { return *assembly; }

  TestRepository make_repository(const std::string& name);
  /// Uploads `text` to a branch.
  Entry put(const RepositoryName& repo, const std::string& branch, const std::string& key,
            std::string text, const branch::Condition& condition = {});
  void remove(const RepositoryName& repo, const std::string& branch, const std::string& key);
  Commit commit(const RepositoryName& repo, const std::string& branch,
                const std::string& message = "m");
  CommitId head(const RepositoryName& repo, const std::string& branch);
  void branch(const RepositoryName& repo, const std::string& name, const std::string& source);
  /// Writes bytes to a handed-out address (with its token), as a client does.
  void send(const std::string& handed_out, std::string_view bytes);
  /// The object's bytes, or "<absent>".
  std::string read(const RepositoryName& repo, const std::string& ref, const std::string& key);
  /// All visible keys of a ref, joined by blanks.
  std::string keys(const RepositoryName& repo, const std::string& ref);

  SystemClock clock;
  db::Pool pool;
  blob::Stores stores;
  blob::MemoryStore* store = nullptr;  ///< shared by the engines of one test
  std::unique_ptr<server::Assembly> assembly;
};

}  // namespace tarn::testing
