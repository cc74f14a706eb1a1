// Memory of a user's answers under construction, with a limit over all requests of the user.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <string_view>

namespace tarn {

/// Maximum memory for the answers of one user on one server: results of the database, and documents
/// until they are sent.
constexpr size_t kAnswerBytesPerUserMax = 256 * 1024 * 1024;
/// Smaller pieces are not counted; the number of requests that run at once bounds them.
constexpr size_t kAnswerPieceBytesMin = 256 * 1024;

/// The pieces that this thread makes belong to the user until the scope ends. One thread.
class MemoryScope {
 public:
  explicit MemoryScope(std::string_view user);
  /// Counts nothing.
  MemoryScope();
  ~MemoryScope();
  MemoryScope(const MemoryScope&) = delete;
  MemoryScope& operator=(const MemoryScope&) = delete;

 private:
  std::shared_ptr<std::atomic<size_t>> outer_;
};

/// A piece of memory, counted until it is destroyed, also on another thread.
class MemoryHold {
 public:
  MemoryHold() = default;
  /// Counts nothing outside a scope. Throws unavailable (reason "overloaded") beyond
  /// kAnswerBytesPerUserMax.
  explicit MemoryHold(size_t bytes);
  /// Counts the piece in any case: the answer of a change that was made must not be refused.
  static MemoryHold unlimited(size_t bytes);
  ~MemoryHold();
  MemoryHold(MemoryHold&& other) noexcept;
  MemoryHold& operator=(MemoryHold&& other) noexcept;

 private:
  bool count(size_t bytes);
  std::shared_ptr<std::atomic<size_t>> used_;
  size_t bytes_ = 0;
};

}  // namespace tarn
