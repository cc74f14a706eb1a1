#include "core/http/parking_lot.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <limits>

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "core/base/abort.h"
#include "core/base/error.h"
#include "core/base/str_cat.h"

namespace tarn::http {
namespace {

constexpr uint64_t kSignalPlace = std::numeric_limits<uint64_t>::max();
constexpr uint64_t kEndPlace = kSignalPlace - 1;
constexpr int kBatch = 256;
constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

int require(int fd) {
  if (fd < 0) {
    throw Error(ErrorCode::kUnavailable, str_cat("making an epoll set: ", std::strerror(errno)));
  }
  return fd;
}

void watch_event(int epoll, int fd, uint64_t place) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = place;
  require(::epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event));
}

void add_one(int event_fd) {
  const uint64_t one = 1;
  TARN_CHECK_OR_ABORT(::write(event_fd, &one, sizeof one) == sizeof one);
}

uint32_t index_of(uint64_t place) { return static_cast<uint32_t>(place); }
uint32_t generation_of(uint64_t place) { return static_cast<uint32_t>(place >> 32); }
uint64_t place_of(uint32_t index, uint32_t generation) {
  return (uint64_t{generation} << 32) | index;
}

}  // namespace

ParkingLot::ParkingLot(uint32_t connections_max)
    : epoll_(require(::epoll_create1(EPOLL_CLOEXEC))),
      signals_(require(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK | EFD_SEMAPHORE))),
      end_(require(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK))),
      places_(connections_max) {
  free_.reserve(connections_max);
  for (uint32_t i = connections_max; i > 0; --i) free_.push_back(i - 1);
  watch_event(epoll_, signals_, kSignalPlace);
  watch_event(epoll_, end_, kEndPlace);
}

ParkingLot::~ParkingLot() {
  ::close(end_);
  ::close(signals_);
  ::close(epoll_);
}

bool ParkingLot::add(std::unique_ptr<Connection>& connection) {
  uint32_t index = 0;
  {
    MutexLock lock(mutex_);
    if (free_.empty()) return false;
    index = free_.back();
    free_.pop_back();
    if (index >= places_used_) places_used_ = index + 1;
    ++held_[connection->network];
  }
  size_.fetch_add(1, std::memory_order_relaxed);
  Place& place = places_[index];
  {
    MutexLock lock(place.mutex);
    connection->place = place_of(index, place.generation);
    place.deadline = connection->deadline.time_since_epoch().count();
    place.network = connection->network;
    place.parked = true;
    place.connection = std::move(connection);
    if (arm(*place.connection, EPOLL_CTL_ADD)) return true;
    place.parked = false;
    place.deadline = kNever;
    connection = std::move(place.connection);
  }
  free_place(index, connection->network);
  return false;
}

void ParkingLot::free_place(uint32_t index, size_t network) {
  size_.fetch_sub(1, std::memory_order_relaxed);
  MutexLock lock(mutex_);
  free_.push_back(index);
  if (const auto at = held_.find(network); --at->second == 0) held_.erase(at);
}

bool ParkingLot::arm(Connection& connection, int operation) {
  epoll_event event{};
  event.events = EPOLLIN | EPOLLRDHUP | EPOLLONESHOT;
  event.data.u64 = connection.place;
  return ::epoll_ctl(epoll_, operation, connection.socket.fd(), &event) == 0;
}

void ParkingLot::park(Connection& connection) {
  Place& place = places_[index_of(connection.place)];
  MutexLock lock(place.mutex);  // held while arming, so that an event waits for this
  place.deadline = connection.deadline.time_since_epoch().count();
  place.parked = true;
  TARN_CHECK_OR_ABORT(arm(connection, EPOLL_CTL_MOD));
}

void ParkingLot::close(Connection& connection) {
  const uint32_t index = index_of(connection.place);
  const size_t network = connection.network;
  Place& place = places_[index];
  {
    MutexLock lock(place.mutex);
    ++place.generation;
    place.connection.reset();
  }
  free_place(index, network);
}

Connection* ParkingLot::claim(uint64_t at) {
  Place& place = places_[index_of(at)];
  MutexLock lock(place.mutex);
  if (!place.parked || place.generation != generation_of(at)) return nullptr;
  place.parked = false;
  place.deadline = kNever;
  return place.connection.get();
}

ParkingLot::Arrival ParkingLot::wait() {
  epoll_event event{};
  if (::epoll_wait(epoll_, &event, 1, -1) <= 0) return {};
  if (event.data.u64 == kEndPlace) return {Arrival::Kind::kEnd, nullptr};
  if (event.data.u64 == kSignalPlace) {
    uint64_t count = 0;
    const bool mine = ::read(signals_, &count, sizeof count) == sizeof count;
    return {mine ? Arrival::Kind::kSignal : Arrival::Kind::kNothing, nullptr};
  }
  Connection* connection = claim(event.data.u64);
  return {connection != nullptr ? Arrival::Kind::kConnection : Arrival::Kind::kNothing, connection};
}

std::vector<Connection*> ParkingLot::take_ready() {
  std::array<epoll_event, kBatch> events;
  const int count = ::epoll_wait(epoll_, events.data(), kBatch, 0);
  std::vector<Connection*> taken;
  for (int i = 0; i < count; ++i) {
    const uint64_t at = events[static_cast<size_t>(i)].data.u64;
    if (at == kSignalPlace || at == kEndPlace) continue;
    if (Connection* connection = claim(at)) taken.push_back(connection);
  }
  return taken;
}

void ParkingLot::signal() { add_one(signals_); }

void ParkingLot::end() { add_one(end_); }

std::vector<Connection*> ParkingLot::take_expired(SteadyTime now) {
  const int64_t limit = now.time_since_epoch().count();
  std::vector<Connection*> taken;
  for (uint32_t i = 0; i < places_used_; ++i) {
    Place& place = places_[i];
    if (place.deadline.load(std::memory_order_relaxed) > limit) continue;
    MutexLock lock(place.mutex);
    if (!place.parked || place.deadline > limit) continue;
    place.parked = false;
    place.deadline = kNever;
    taken.push_back(place.connection.get());
  }
  return taken;
}

std::vector<Connection*> ParkingLot::take_idle() {
  std::vector<Connection*> taken;
  for (uint32_t i = 0; i < places_used_; ++i) {
    Place& place = places_[i];
    MutexLock lock(place.mutex);
    if (!place.parked) continue;
    const Connection& connection = *place.connection;
    if (connection.phase == Connection::Phase::kLingering || connection.socket.has_input())
      continue;
    place.parked = false;
    place.deadline = kNever;
    taken.push_back(place.connection.get());
  }
  return taken;
}

Connection* ParkingLot::take_idle_of_busiest() {
  MutexLock lock(mutex_);
  uint32_t most = 0;
  for (const auto& [network, count] : held_) most = std::max(most, count);
  Place* found = nullptr;
  uint32_t generation = 0;
  int64_t earliest = kNever;
  for (uint32_t i = 0; i < places_used_; ++i) {
    Place& place = places_[i];
    if (place.deadline.load(std::memory_order_relaxed) >= earliest) continue;
    const auto held = held_.find(place.network.load(std::memory_order_relaxed));
    if (held == held_.end() || held->second != most) continue;
    MutexLock place_lock(place.mutex);
    if (!place.parked || place.connection->socket.has_input()) continue;
    found = &place;
    generation = place.generation;
    earliest = place.deadline;
  }
  if (found == nullptr) return nullptr;
  MutexLock place_lock(found->mutex);
  if (!found->parked || found->generation != generation) return nullptr;
  found->parked = false;
  found->deadline = kNever;
  return found->connection.get();
}

void ParkingLot::cut_all() {
  for (uint32_t i = 0; i < places_used_; ++i) {
    MutexLock lock(places_[i].mutex);
    if (places_[i].connection) places_[i].connection->socket.cut();
  }
}

}  // namespace tarn::http
