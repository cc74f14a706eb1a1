// Parked connections, which wait for their next bytes without a thread.
#pragma once

#include <atomic>
#include <limits>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "core/base/mutex.h"
#include "core/http/connection.h"

namespace tarn::http {

/// Owns all connections. A connection is parked (armed in epoll, without an owner) or claimed by
/// exactly one thread, which then parks or closes it. Any number of threads wait at once; the
/// kernel wakes one per ready connection, the latest sleeper first, so that no thread hands
/// requests to another. Safe from any thread.
///
/// Events name a place and its generation, not a pointer: an event that was under way when its
/// connection was closed finds another generation and is dropped.
class ParkingLot {
 public:
  /// Throws unavailable when the system has no more descriptors.
  explicit ParkingLot(uint32_t connections_max);
  ~ParkingLot();

  /// False when the lot is full, or the system watches no more descriptors: the connection is then
  /// closed by the caller's destructor.
  /// Otherwise parked.
  bool add(std::unique_ptr<Connection>& connection);
  /// Gives the claimed connection back until its next bytes or its deadline.
  void park(Connection& connection);
  /// Destroys the claimed connection.
  void close(Connection& connection);

  struct Arrival {
    enum class Kind { kConnection, kSignal, kNothing, kEnd };
    Kind kind = Kind::kNothing;
    Connection* connection = nullptr;  ///< claimed
  };
  /// Waits for a parked connection with input, for a signal, or for the end.
  Arrival wait();
  /// All parked connections that have input now, claimed; at most a batch.
  std::vector<Connection*> take_ready();
  /// One thread in `wait` gets kSignal for every call.
  void signal();
  /// From now on every `wait` returns kEnd.
  void end();

  /// Parked connections whose deadline has passed, claimed.
  std::vector<Connection*> take_expired(SteadyTime now);
  /// Parked connections that wait for a request and have no input, claimed.
  std::vector<Connection*> take_idle();
  /// The parked connection without input that would expire first, claimed, of the networks with the
  /// most connections; nullptr if these have none.
  Connection* take_idle_of_busiest();
  /// Cuts every connection, parked or claimed.
  void cut_all();
  size_t size() const { return size_.load(std::memory_order_relaxed); }

 private:
  struct Place {
    Mutex mutex;
    std::unique_ptr<Connection> connection TARN_GUARDED_BY(mutex);
    uint32_t generation TARN_GUARDED_BY(mutex) = 0;
    bool parked TARN_GUARDED_BY(mutex) = false;
    // The deadline of a parked connection; the sweep examines it before it takes the lock.
    std::atomic<int64_t> deadline{std::numeric_limits<int64_t>::max()};
    std::atomic<size_t> network{0};  // of the connection
  };

  Connection* claim(uint64_t place);
  bool arm(Connection& connection, int operation);
  void free_place(uint32_t index, size_t network);

  const int epoll_;
  const int signals_;
  const int end_;
  std::vector<Place> places_;
  std::atomic<size_t> size_{0};
  std::atomic<uint32_t> places_used_{0};  // no place at or above it was ever taken
  Mutex mutex_;                           // taken before that of a place
  std::vector<uint32_t> free_ TARN_GUARDED_BY(mutex_);
  std::unordered_map<size_t, uint32_t> held_ TARN_GUARDED_BY(mutex_);  // connections by network
};

}  // namespace tarn::http
