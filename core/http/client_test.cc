#include "core/http/client.h"

#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <thread>

#include "core/base/error.h"
#include "core/base/str_cat.h"
#include "core/http/server.h"

namespace tarn::http {
namespace {

constexpr size_t kBodyMax = 1 << 20;

std::unique_ptr<Server> serve(Handler handler) {
  ServerLimits limits;
  limits.workers = 4;
  return Server::start("127.0.0.1", 0, limits, std::move(handler));
}

std::string url_of(const Server& server, std::string_view target) {
  return str_cat("http://127.0.0.1:", server.port(), target);
}

/// Answers with the request as it arrived, one header a line.
Response describe(Request& request) {
  Response response;
  response.body = str_cat(request.method, " ", request.target, "\n");
  for (const auto& [name, value] : request.headers.all()) {
    if (name != "Host") response.body += str_cat(name, ": ", value, "\n");
  }
  response.body += read_all(*request.body, kBodyMax);
  response.headers.add("X-Two", "a");
  response.headers.add("X-Two", "b");
  response.headers.add("X-Empty", "");
  return response;
}

TEST(Client, SendsWhatItIsGivenAndNothingElse) {
  const auto server = serve(describe);
  const auto client = Client::create({});
  ClientRequest request;
  request.url = url_of(*server, "/a%20b//../c%2Fd?x=+&y=%2f&z");
  request.headers.add("X-A", "1");
  request.headers.add("X-Empty", "");
  const ClientResponse answer = client->send(request, kBodyMax);
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body, "GET /a%20b//../c%2Fd?x=+&y=%2f&z\nX-A: 1\nX-Empty: \n");
  EXPECT_EQ(answer.headers.count("X-Two"), 2u);
  EXPECT_EQ(*answer.headers.find("X-Empty"), "");
}

TEST(Client, SendsBodiesOfEveryMethod) {
  const auto server = serve(describe);
  const auto client = Client::create({});
  for (const char* method : {"PUT", "POST", "DELETE", "PATCH"}) {
    ClientRequest request;
    request.method = method;
    request.url = url_of(*server, "/x");
    request.body = "bytes";
    EXPECT_EQ(client->send(request, kBodyMax).body,
              str_cat(method, " /x\nContent-Length: 5\nbytes"));
  }
  ClientRequest request;
  request.method = "POST";
  request.url = url_of(*server, "/x");
  EXPECT_EQ(client->send(request, kBodyMax).body, "POST /x\nContent-Length: 0\n");
  request.method = "DELETE";
  EXPECT_EQ(client->send(request, kBodyMax).body, "DELETE /x\n");
}

}  // namespace
}  // namespace tarn::http
