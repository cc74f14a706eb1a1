#include "core/http/parking_lot.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

namespace tarn::http {
namespace {

int made_socket() { return ::socket(AF_UNIX, SOCK_STREAM, 0); }

// epoll refuses files as it refuses sockets past the system's limit of watches.
TEST(ParkingLot, ConnectionThatTheSystemDoesNotWatchIsGivenBack) {
  ParkingLot lot(1);
  auto unwatched = std::make_unique<Connection>(::open("/proc/self/status", O_RDONLY), "peer");
  EXPECT_FALSE(lot.add(unwatched));
  ASSERT_NE(unwatched, nullptr);
  EXPECT_EQ(lot.size(), 0u);
  auto other = std::make_unique<Connection>(made_socket(), "peer");
  EXPECT_TRUE(lot.add(other)) << "the place is free again";
  auto third = std::make_unique<Connection>(made_socket(), "peer");
  EXPECT_FALSE(lot.add(third));
}

// Otherwise a network that holds nothing would count as the busiest, and no room would be made.
TEST(ParkingLot, ConnectionsThatAreGivenBackCountForNoNetwork) {
  ParkingLot lot(2);
  for (int i = 0; i < 3; ++i) {
    auto unwatched = std::make_unique<Connection>(::open("/proc/self/status", O_RDONLY), "peer", 7);
    EXPECT_FALSE(lot.add(unwatched));
  }
  int pair[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
  const Socket other_end(pair[1]);
  auto idle = std::make_unique<Connection>(pair[0], "other", 1);
  const Connection* const parked = idle.get();
  EXPECT_TRUE(lot.add(idle));
  EXPECT_EQ(lot.take_idle_of_busiest(), parked);
}

}  // namespace
}  // namespace tarn::http
