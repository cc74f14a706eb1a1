// A source's listing as edits of a tree.
#pragma once

#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "core/base/mutex.h"
#include "core/blob/stores.h"
#include "core/branch/engine.h"
#include "core/imports/import.h"
#include "core/tree/cursor.h"
#include "core/tree/edit.h"

namespace tarn::imports {

/// Lists on a thread of its own, at most kBatchesMax batches ahead of the one who builds the tree.
/// One thread.
class ImportSource final : public tree::ChangeSource {
 public:
  /// Reads objects after `after` (a key of the source), at most `limit`; calls `on_object` for
  /// each, which may throw to stop. Throws what the store throws; not_found (reason
  /// "import_source_empty") if a single object does not exist; as branch::check_new_path.
  ImportSource(branch::Engine& engine, const Repository& repository, const ImportPath& path,
               std::string after, uint64_t limit, std::function<void()> on_object);
  ~ImportSource() override;

  std::optional<tree::Change> next() override;
  /// Whether the source has no more objects after what next() returned.
  bool exhausted() const { return exhausted_; }
  /// Key at the source of the last object returned.
  const std::string& last_key() const { return last_key_; }

 private:
  using Batch = std::vector<blob::BlobStat>;
  void list(const std::string& after);
  bool hand_over(Batch batch);
  void finish(std::exception_ptr error);
  bool next_batch();
  tree::Change edit_of(const blob::BlobStat& stat) const;

  static constexpr size_t kBatchItems = 1000;
  static constexpr size_t kBatchesMax = 16;

  const Repository repository_;
  const ImportPath path_;
  const blob::Located at_;
  const std::string destination_;
  size_t relative_from_ = 0;  ///< keys are relative to the last '/' of the source's prefix
  std::string url_root_;      ///< the source's URL up to its keys
  const bool from_start_;
  const uint64_t limit_;
  const std::function<void()> on_object_;
  uint64_t returned_ = 0;
  bool exhausted_ = false;
  std::string last_key_;
  Batch batch_;
  size_t in_batch_ = 0;

  Mutex mutex_;
  CondVar changed_;
  std::deque<Batch> ready_ TARN_GUARDED_BY(mutex_);
  bool listed_ TARN_GUARDED_BY(mutex_) = false;
  bool stop_ TARN_GUARDED_BY(mutex_) = false;
  std::exception_ptr error_ TARN_GUARDED_BY(mutex_);
  std::thread lister_;
};

/// Every entry of an imported tree as an edit.
class ImportedRanges final : public tree::ChangeSource {
 public:
  ImportedRanges(tree::NodeSource& nodes, const TreeRoot& root, std::function<void()> keep_alive)
      : cursor_(nodes, root), keep_alive_(std::move(keep_alive)) {
    cursor_.seek("");
  }
  std::optional<tree::Change> next() override;

 private:
  tree::Cursor cursor_;
  const std::function<void()> keep_alive_;
  uint64_t returned_ = 0;
};

}  // namespace tarn::imports
