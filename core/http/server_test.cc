// The front door as a peer on the wire sees it: answers, order, connections.
#include "core/http/server.h"

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/base/str_cat.h"
#include "core/http/testing/raw_client.h"

namespace tarn::http {
namespace {

using testing::RawClient;
using testing::status_of;
using std::chrono::milliseconds;

/// Answers with what it saw: method, target, body.
Response echo(Request& request) {
  Response response;
  response.body = str_cat(request.method, " ", request.target, " ", read_all(*request.body, 1 << 20));
  return response;
}

std::unique_ptr<Server> serve(Handler handler, ServerLimits limits = {}) {
  limits.workers = std::min(limits.workers, 4u);
  return Server::start("127.0.0.1", 0, limits, std::move(handler));
}

TEST(Server, AnswersInOrderOnOneConnection) {
  const auto server = serve(echo);
  RawClient client(server->port());
  client.send("GET /1 HTTP/1.1\r\nHost: h\r\n\r\nGET /2 HTTP/1.1\r\nHost: h\r\n\r\nGET /3 HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_EQ(client.read_answer()->body, "GET /1 ");
  EXPECT_EQ(client.read_answer()->body, "GET /2 ");
  EXPECT_EQ(client.read_answer()->body, "GET /3 ");
  client.send("PUT /4 HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhelloGET /5 HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_EQ(client.read_answer()->body, "PUT /4 hello");
  EXPECT_EQ(client.read_answer()->body, "GET /5 ");
}

}  // namespace
}  // namespace tarn::http
