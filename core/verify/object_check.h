// Questions to the stores about the objects that trees and staged rows refer to.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/base/cancellation.h"
#include "core/base/mutex.h"
#include "core/base/pause.h"
#include "core/branch/engine.h"
#include "core/model/entry.h"
#include "core/model/repository.h"
#include "core/verify/collected.h"
#include "core/verify/verify_store.h"

namespace tarn::blob {
struct Located;
}  // namespace tarn::blob

namespace tarn::tree {
class LeafNode;
struct EntryFields;
}  // namespace tarn::tree

namespace tarn::verify {

/// A limit of the bytes that a verification reads in a second. Safe from any thread: all share it.
class Pace {
 public:
  /// 0 = no limit.
  explicit Pace(uint64_t bytes_per_second) : bytes_per_second_(bytes_per_second) {}

  /// Waits until `bytes` may be read; ends early when the thread's work is cancelled.
  void wait(uint64_t bytes) {
    if (bytes_per_second_ == 0) return;
    const std::chrono::duration<double> cost(static_cast<double>(bytes) /
                                             static_cast<double>(bytes_per_second_));
    const auto now = Clock::now();
    Clock::time_point turn;
    {
      MutexLock lock(mutex_);
      turn = next_ < now ? now : next_;
      next_ = turn + std::chrono::duration_cast<Clock::duration>(cost);
    }
    if (turn <= now) return;
    pause(cancellation_token(), std::chrono::ceil<std::chrono::milliseconds>(turn - now));
  }

 private:
  using Clock = std::chrono::steady_clock;

  const uint64_t bytes_per_second_;
  Mutex mutex_;
  Clock::time_point next_ TARN_GUARDED_BY(mutex_){};
};

enum class ObjectMode : uint8_t { kNone, kSample, kAll };

/// Objects of a sample, chosen at random among all distinct ones; all of them if there are fewer.
constexpr size_t kSampledObjectsMax = 10'000;
/// Questions to the stores at once, for one verification.
constexpr size_t kVerifyStoreThreads = 8;

struct ObjectCheckOptions {
  ObjectMode mode = ObjectMode::kSample;
  bool deep = false;                                ///< also reads and compares the bytes
  uint64_t bytes_per_second = uint64_t{100} << 20;  ///< of deep reads; 0 = no limit
};

/// Part lists are checked in every mode. Memory: with kAll up to 32 bytes for each distinct object.
/// One thread at a time; it asks the stores on several.
class ObjectCheck {
 public:
  /// `alive` is called often, from several threads; it may throw to stop the work.
  ObjectCheck(branch::Engine& engine, const Repository& repository, VerifyStore& store,
              const ObjectCheckOptions& options, Collected& findings, std::function<void()> alive);

  /// Entries of a range that `origin` shows. Throws unavailable.
  void see(const tree::LeafNode& range, uint32_t origin);
  void see(const std::string& path, const Entry& entry, const Origin& origin);
  /// Asks what was not asked yet.
  void finish();

  /// Fills in the counts that this knows.
  void count_into(VerifyReport& report) const;

 private:
  struct Question {
    std::string path;
    Entry entry;
    Origin origin;
    std::string part{};  ///< of a part: the encoded address of its list
  };
  struct Sampled {
    uint64_t hash = 0;
    Question question;
  };
  using MakeQuestion = std::function<Question()>;

  bool wants(uint64_t hash);
  void take(uint64_t hash, Question question);
  void see_list(int64_t id, uint64_t hash, const MakeQuestion& question);
  void ask_lists();
  void check_list(const Question& question, int64_t id, const std::string* body);
  void ask(std::vector<Question>& questions);
  void ask_one(const Question& question);
  void check_copy(const Question& question, const blob::Located& at);
  void compare(const Question& question, const std::string& url);
  void report(FindingKind kind, const Question& question, std::string address, std::string expected,
              std::string found);

  branch::Engine& engine_;
  const Repository& repository_;
  VerifyStore& store_;
  const ObjectCheckOptions options_;
  Collected& findings_;
  const std::function<void()> alive_;
  Pace pace_;
  const uint64_t seed_;

  std::unordered_set<uint64_t> seen_;  ///< hashes of distinct objects, or of the sample
  std::vector<Sampled> sample_;        ///< a heap: those with the smallest hashes
  std::vector<Question> waiting_;
  std::unordered_set<uint64_t> lists_seen_;
  std::vector<std::pair<int64_t, Question>> lists_waiting_;
  uint64_t part_lists_ = 0;
  std::atomic<uint64_t> checked_ = 0;
  std::atomic<uint64_t> compared_ = 0;
  std::atomic<uint64_t> bytes_read_ = 0;
};

}  // namespace tarn::verify
