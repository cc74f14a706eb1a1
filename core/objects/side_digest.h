// A digest that a thread of its own computes beside the work of its owner.
#pragma once

#include <atomic>
#include <exception>
#include <string>
#include <string_view>
#include <thread>

#include "core/base/digest.h"

namespace tarn::objects {

/// A running digest. The thread begins with the first piece that is not the last, so that small
/// objects need none. One thread at a time.
class SideDigest {
 public:
  explicit SideDigest(DigestAlgorithm algorithm) : digest_(algorithm) {}
  ~SideDigest();

  /// The bytes must stay until the next call has returned.
  void update(std::string_view piece, bool last);
  /// The raw digest of all pieces, once.
  std::string finish();

 private:
  enum State : int { kIdle, kBusy, kEnding };
  void settle();
  void work();

  Digest digest_;
  std::string_view piece_;
  std::exception_ptr error_;
  std::atomic<int> state_{kIdle};  // kBusy: piece_, digest_ and error_ belong to the thread
  std::thread thread_;
};

}  // namespace tarn::objects
