// S3Store::walk: a second thread fetches pages ahead of the visit.
#include <deque>
#include <exception>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "core/base/mutex.h"
#include "core/blob/s3_store.h"

namespace tarn::blob {
namespace {

constexpr size_t kPagesAheadMax = 4;

/// Pages from one thread to another. Safe from both.
class PageQueue {
 public:
  /// Waits for room. false = no more pages are wanted.
  bool push(ListPage page) {
    MutexLock lock(mutex_);
    pages_.push_back(std::move(page));
    changed_.notify_all();
    // No deadline: the visit, which empties the queue, may be slow, and closes it in any case.
    while (pages_.size() > kPagesAheadMax && !closed_) changed_.wait(lock);
    return !closed_;
  }
  void end(std::exception_ptr error) {
    MutexLock lock(mutex_);
    ended_ = true;
    error_ = std::move(error);
    changed_.notify_all();
  }
  /// Nothing at the end. Throws what end() was given, after the pages before it.
  std::optional<ListPage> pop() {
    MutexLock lock(mutex_);
    while (pages_.empty() && !ended_) changed_.wait(lock);  // requests have deadlines
    if (pages_.empty()) {
      if (error_) std::rethrow_exception(error_);
      return std::nullopt;
    }
    ListPage page = std::move(pages_.front());
    pages_.pop_front();
    changed_.notify_all();
    return page;
  }
  void close() {
    MutexLock lock(mutex_);
    closed_ = true;
    changed_.notify_all();
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  std::deque<ListPage> pages_ TARN_GUARDED_BY(mutex_);
  bool ended_ TARN_GUARDED_BY(mutex_) = false;
  bool closed_ TARN_GUARDED_BY(mutex_) = false;
  std::exception_ptr error_ TARN_GUARDED_BY(mutex_);
};

/// Closes the queue when the visit is over, so that the fetching thread can be joined.
class Closing {
 public:
  explicit Closing(PageQueue& queue) : queue_(queue) {}
  ~Closing() { queue_.close(); }
  Closing(const Closing&) = delete;

 private:
  PageQueue& queue_;
};

}  // namespace

void S3Store::walk(std::string_view prefix, std::string_view after, const Visit& visit) {
  PageQueue queue;
  const std::jthread fetching([&] {
    std::string position(after);
    try {
      while (true) {
        ListPage page = list(prefix, position, kListItemsMax);
        const bool has_more = page.has_more && !page.items.empty();
        if (has_more) position = page.items.back().key;
        if (!queue.push(std::move(page)) || !has_more) break;
      }
      queue.end(nullptr);
    } catch (...) {
      queue.end(std::current_exception());
    }
  });
  const Closing closing(queue);
  while (const auto page = queue.pop()) {
    for (const BlobStat& item : page->items) {
      if (!visit(item)) return;
    }
  }
}

}  // namespace tarn::blob
