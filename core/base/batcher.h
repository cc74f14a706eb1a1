// Batching: concurrent callers share one round trip.
#pragma once

#include <deque>
#include <exception>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/base/memory_share.h"
#include "core/base/mutex.h"
#include "core/base/wait_scope.h"

namespace tarn {

/// Leader and followers: a caller that finds fewer than `leaders_max` batches running takes
/// everything queued (at most `batch_max`) and runs it at once; the others wait for their answer.
/// While batches run, a further one begins only with `beside_min` requests. An idle caller
/// therefore never waits for company, and under load batches grow by themselves.
/// Answers come back in the order of the requests. Safe from any thread. Throws what `run` throws,
/// to every caller of that batch.
template <typename Request, typename Answer>
class Batcher {
 public:
  using Run = std::function<std::vector<Answer>(std::span<const Request>)>;

  Batcher(size_t batch_max, size_t leaders_max, Run run, size_t beside_min = 1)
      : batch_max_(batch_max),
        leaders_max_(leaders_max),
        beside_min_(beside_min),
        run_(std::move(run)) {}

  Answer submit(Request request) {
    Slot slot{std::move(request)};
    MutexLock lock(mutex_);
    queue_.push_back(&slot);
    while (!slot.done) {
      if (may_lead()) {
        lead(lock);
      } else {
        const WaitScope waits;
        slot.changed.wait(lock);
      }
    }
    if (slot.error) std::rethrow_exception(slot.error);
    return std::move(*slot.answer);
  }

 private:
  struct Slot {
    explicit Slot(Request r) : request(std::move(r)) {}
    Request request;
    std::optional<Answer> answer;
    std::exception_ptr error;
    bool done = false;
    CondVar changed;  // one a caller: waking all of them for every batch costs more than the batch
  };

  bool may_lead() const TARN_REQUIRES(mutex_) {
    return leaders_ < leaders_max_ && queue_.size() >= (leaders_ == 0 ? 1 : beside_min_);
  }

  // Unlocks around `run`, which the analysis cannot follow through a parameter.
  void lead(MutexLock& lock) TARN_REQUIRES(mutex_) TARN_ATTRIBUTE(no_thread_safety_analysis) {
    std::vector<Slot*> batch;
    while (!queue_.empty() && batch.size() < batch_max_) {
      batch.push_back(queue_.front());
      queue_.pop_front();
    }
    ++leaders_;
    lock.unlock();
    std::vector<Request> requests;
    requests.reserve(batch.size());
    for (Slot* slot : batch) requests.push_back(std::move(slot->request));
    std::vector<Answer> answers;
    std::exception_ptr error;
    try {
      const MemoryScope of_all;  // one caller must not fail for another's memory
      answers = run_(requests);
      TARN_CHECK(answers.size() == batch.size());
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    --leaders_;
    for (size_t i = 0; i < batch.size(); ++i) {
      if (error) {
        batch[i]->error = error;
      } else {
        batch[i]->answer = std::move(answers[i]);
      }
      batch[i]->done = true;
      batch[i]->changed.notify_one();
    }
    if (!queue_.empty()) queue_.front()->changed.notify_one();  // the next leader
  }

  const size_t batch_max_;
  const size_t leaders_max_;
  const size_t beside_min_;
  const Run run_;
  Mutex mutex_;
  std::deque<Slot*> queue_ TARN_GUARDED_BY(mutex_);
  size_t leaders_ TARN_GUARDED_BY(mutex_) = 0;
};

}  // namespace tarn
