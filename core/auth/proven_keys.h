// Access keys that were recently verified, with the client addresses.
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>

#include "core/base/mutex.h"

namespace tarn::auth {

/// `now` is the uptime. Safe from any thread. Holds only verified keys, so unauthenticated clients
/// cannot fill it.
class ProvenKeys {
 public:
  static constexpr std::chrono::minutes kLife{10};  ///< after the last proof
  static constexpr size_t kKeysMax = 10'000;        ///< beyond, all are forgotten

  void add(std::string_view access_key_id, std::string_view address, std::chrono::milliseconds now);
  bool contains(std::string_view access_key_id, std::string_view address,
                std::chrono::milliseconds now) const;

 private:
  mutable Mutex mutex_;
  std::map<std::string, std::chrono::milliseconds, std::less<>> last_proof_ TARN_GUARDED_BY(mutex_);
};

}  // namespace tarn::auth
