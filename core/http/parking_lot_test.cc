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

}  // namespace
}  // namespace tarn::http
