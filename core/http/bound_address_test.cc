#include "core/http/bound_address.h"

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/http/client.h"
#include "core/http/socket.h"
#include "core/http/testing/test_server.h"

namespace tarn::http {
namespace {

int status_at(uint16_t port) {
  const auto client = Client::create({});
  return client->send({.method = "GET", .url = str_cat("http://127.0.0.1:", port, "/")}, 1000)
      .status;
}

TEST(BoundAddress, RefusesConnectionsUntilAServerIsStarted) {
  BoundAddress address = BoundAddress::bind("127.0.0.1", 0);
  const uint16_t port = address.port();
  EXPECT_NE(port, 0);
  EXPECT_THROW(status_at(port), Error);
  const auto server = Server::start(std::move(address), {.workers = 2}, testing::echo);
  EXPECT_EQ(server->port(), port);
  EXPECT_EQ(status_at(port), 200);
}

TEST(BoundAddress, IsRefusedWhereAServerListens) {
  const auto server = testing::serve(testing::echo);
  EXPECT_THROW(BoundAddress::bind("127.0.0.1", server->port()), Error);
}

TEST(BoundAddress, TakesOverAListeningSocket) {
  const Listener listener = bind_to("127.0.0.1", 0);
  start_listening(listener.fd);
  const auto server =
      Server::start(BoundAddress::adopt(listener.fd), {.workers = 2}, testing::echo);
  EXPECT_EQ(server->port(), listener.port);
  EXPECT_EQ(status_at(listener.port), 200);
}

TEST(BoundAddress, TakesOverNothingElse) {
  const BoundAddress bound = BoundAddress::bind("127.0.0.1", 0);
  BoundAddress copy = BoundAddress::bind("127.0.0.1", 0);
  const int silent = copy.release();
  EXPECT_THROW(BoundAddress::adopt(silent), Error) << "it does not listen";
  EXPECT_THROW(BoundAddress::adopt(0), Error) << "it is no socket";
  ::close(silent);
}

}  // namespace
}  // namespace tarn::http
