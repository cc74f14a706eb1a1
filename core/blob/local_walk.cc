// LocalStore::walk: one thread reads the directories and calls the visitor, others fetch file
// metadata ahead of it.
#include <condition_variable>
#include <deque>
#include <exception>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "core/base/mutex.h"
#include "core/blob/directory_cursor.h"
#include "core/blob/local_file.h"
#include "core/blob/local_store.h"

namespace tarn::blob {
namespace {

// Enough to keep a cold disk or a network file system busy; more do not help on two warm cores.
constexpr size_t kWalkThreads = 4;
constexpr size_t kRunFilesMax = 512;
// Each keeps a directory open.
constexpr size_t kRunsAheadMax = 64;

/// Files whose metadata is to be fetched.
struct Batch {
  enum class State { kQueued, kTaken, kDone };

  FileRun run;
  std::vector<BlobStat> stats;
  std::exception_ptr error;
  State state = State::kQueued;
};

void fill(Batch& batch, LocalMode mode) {
  try {
    batch.stats.reserve(batch.run.end - batch.run.first);
    for (size_t i = batch.run.first; i < batch.run.end; ++i) {
      if (auto stat = stat_listed(*batch.run.directory, i, mode))
        batch.stats.push_back(std::move(*stat));
    }
  } catch (...) {
    batch.error = std::current_exception();
  }
}

/// A queue of batches that workers fill, returned in the original order. push and pop are called by
/// one thread.
class BatchQueue {
 public:
  explicit BatchQueue(LocalMode mode) : mode_(mode) {}

  ~BatchQueue() {
    {
      MutexLock lock(mutex_);
      stopping_ = true;
    }
    queued_.notify_all();
  }

  size_t size() const { return batches_.size(); }

  void push(FileRun run) {
    auto batch = std::make_shared<Batch>();
    batch->run = std::move(run);
    batches_.push_back(batch);
    if (batches_.size() > 1 && threads_.empty()) {
      for (size_t i = 0; i < kWalkThreads; ++i) threads_.emplace_back([this] { work(); });
    }
    {
      MutexLock lock(mutex_);
      waiting_.push_back(std::move(batch));
    }
    queued_.notify_one();
  }

  /// Throws the error of fetching the metadata.
  std::vector<BlobStat> pop() {
    const std::shared_ptr<Batch> batch = std::move(batches_.front());
    batches_.pop_front();
    MutexLock lock(mutex_);
    if (batch->state == Batch::State::kQueued) {
      batch->state = Batch::State::kTaken;  // workers skip it
      lock.unlock();
      fill(*batch, mode_);
      lock.lock();
    } else {
      // No deadline: a worker only waits for the file system, as this thread would.
      while (batch->state != Batch::State::kDone) done_.wait(lock);
    }
    if (batch->error) std::rethrow_exception(batch->error);
    return std::move(batch->stats);
  }

 private:
  void work() {
    MutexLock lock(mutex_);
    while (true) {
      while (!stopping_ && waiting_.empty()) queued_.wait(lock);
      if (stopping_) return;
      const std::shared_ptr<Batch> batch = std::move(waiting_.front());
      waiting_.pop_front();
      if (batch->state != Batch::State::kQueued) continue;
      batch->state = Batch::State::kTaken;
      lock.unlock();
      fill(*batch, mode_);
      lock.lock();
      batch->state = Batch::State::kDone;
      done_.notify_one();
    }
  }

  const LocalMode mode_;
  std::deque<std::shared_ptr<Batch>> batches_;  // shared with the thread that fills it
  Mutex mutex_;
  CondVar queued_;
  CondVar done_;
  std::deque<std::shared_ptr<Batch>> waiting_ TARN_GUARDED_BY(mutex_);
  bool stopping_ TARN_GUARDED_BY(mutex_) = false;
  std::vector<std::jthread> threads_;  // last member: joined while the others still exist
};

}  // namespace

void LocalStore::walk(std::string_view prefix, std::string_view after, const Visit& visit) {
  DirectoryCursor cursor(directory_.get(), prefix, after);
  BatchQueue queue(mode_);
  bool at_end = false;
  while (true) {
    while (!at_end && queue.size() < kRunsAheadMax) {
      auto run = cursor.next(kRunFilesMax);
      at_end = !run.has_value();
      if (run) queue.push(std::move(*run));
    }
    if (queue.size() == 0) break;
    for (const BlobStat& stat : queue.pop()) {
      if (!visit(stat)) return;
    }
  }
  check_root_exists();
}

}  // namespace tarn::blob
