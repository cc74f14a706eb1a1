// A server that answers with what it reads from another, as reads of an S3 store do.
#include <atomic>
#include <thread>

#include <gtest/gtest.h>

#include "core/http/client.h"
#include "core/http/testing/raw_client.h"
#include "core/http/testing/test_server.h"

namespace tarn::http {
namespace {

using std::chrono::milliseconds;
using testing::head;
using testing::RawClient;
using Clock = std::chrono::steady_clock;

constexpr uint64_t kObjectBytes = uint64_t{1} << 30;

/// The bytes that the store has sent, and whether more are still requested.
struct Upstream {
  std::atomic<uint64_t> bytes{0};
  std::atomic<int> open{0};
};

/// An endless object that comes in pieces, one every `pause`.
class Pieces final : public BodySource {
 public:
  Pieces(Upstream& upstream, milliseconds pause) : upstream_(upstream), pause_(pause) {
    ++upstream_.open;
  }
  ~Pieces() override { --upstream_.open; }
  size_t read(std::span<char> out) override {
    std::this_thread::sleep_for(pause_);
    const size_t count = std::min<size_t>(out.size(), 64 * 1024);
    std::fill_n(out.begin(), count, 'x');
    upstream_.bytes += count;
    return count;
  }

 private:
  Upstream& upstream_;
  const milliseconds pause_;
};

class Relay : public ::testing::Test {
 protected:
  /// From the end of a client to the end of the read that served it.
  milliseconds read_outlasts_client();

  Upstream upstream_;
  std::atomic<int> pause_ms_{0};
  std::unique_ptr<Server> store_ = testing::serve([this](Request&) {
    Response response;
    response.source = std::make_unique<Pieces>(upstream_, milliseconds(pause_ms_));
    response.content_length = kObjectBytes;
    return response;
  });
  std::unique_ptr<Client> client_ = Client::create({});
  std::unique_ptr<Server> front_ = testing::serve([this](Request& request) {
    ClientRequest asked;
    asked.url = str_cat("http://127.0.0.1:", store_->port(), request.target);
    Client::Stream stream = client_->open(asked);
    Response response;
    response.source = std::move(stream.body);
    response.content_length = std::stoull(std::string(stream.headers.get("Content-Length")));
    return response;
  });
};

milliseconds Relay::read_outlasts_client() {
  {
    RawClient client(front_->port());
    client.send(head("GET /big"));
    EXPECT_FALSE(client.read_some().empty());
    EXPECT_FALSE(client.read_some().empty());
  }
  const auto gone = Clock::now();
  while (upstream_.open > 0 && Clock::now() - gone < std::chrono::seconds(5)) {
    std::this_thread::sleep_for(milliseconds(5));
  }
  const auto outlasted = std::chrono::duration_cast<milliseconds>(Clock::now() - gone);
  EXPECT_LT(upstream_.bytes, kObjectBytes / 16);
  return outlasted;
}

TEST_F(Relay, DisconnectedClientEndsTheReadWithinASecond) {
  for (const int pause_ms : {0, 50, 200}) {
    pause_ms_ = pause_ms;
    milliseconds fastest = milliseconds::max();
    // Other programs may hold the processors for a while.
    for (int i = 0; i < 5 && fastest >= milliseconds(1000); ++i) {
      upstream_.bytes = 0;
      fastest = std::min(fastest, read_outlasts_client());
    }
    EXPECT_LT(fastest, milliseconds(1000)) << "pieces every ms: " << pause_ms;
  }
}

TEST_F(Relay, AClientThatStopsReadingStopsTheStore) {
  RawClient client(front_->port());
  client.send(head("GET /big"));
  EXPECT_FALSE(client.read_some().empty());
  uint64_t before = 0;
  const auto start = Clock::now();
  do {
    before = upstream_.bytes;
    std::this_thread::sleep_for(milliseconds(500));
  } while (upstream_.bytes != before && Clock::now() - start < std::chrono::seconds(4));
  // The memory of sockets and buffers of both connections, however large the object is.
  EXPECT_LT(upstream_.bytes, uint64_t{64} << 20);
}

/// Bytes of one letter, which may end early.
class Letters final : public BodySource {
 public:
  Letters(char letter, uint64_t bytes) : letter_(letter), left_(bytes) {}
  size_t read(std::span<char> out) override {
    const size_t count = static_cast<size_t>(std::min<uint64_t>(out.size(), left_));
    std::fill_n(out.begin(), count, letter_);
    left_ -= count;
    return count;
  }

 private:
  const char letter_;
  uint64_t left_;
};

/// Answers "/LETTER" with 40 MB of it, of which "/cut" has half.
class LetterRelay : public ::testing::Test {
 protected:
  static constexpr uint64_t kBytes = 40'000'000;
  std::unique_ptr<Server> store_ = testing::serve([](Request& request) {
    Response response;
    const bool cut = request.target == "/cut";
    response.source = std::make_unique<Letters>(request.target[1], cut ? kBytes / 2 : kBytes);
    response.content_length = kBytes;
    return response;
  });
  std::unique_ptr<Client> client_ = Client::create({});
  std::unique_ptr<Server> front_ = testing::serve(
      [this](Request& request) {
        Client::Stream stream =
            client_->open({.url = str_cat("http://127.0.0.1:", store_->port(), request.target)});
        Response response;
        response.source = std::move(stream.body);
        response.content_length = kBytes;
        return response;
      },
      {.workers = 1});

  std::optional<std::string> answer(RawClient& client, std::string_view target) {
    client.send(head(str_cat("GET ", target)));
    auto got = client.read_answer();
    return got ? std::optional(std::move(got->body)) : std::nullopt;
  }
};

TEST_F(LetterRelay, PassesLongBodiesOnUnchanged) {
  RawClient client(front_->port());
  for (const char letter : {'a', 'b', 'c'}) {
    EXPECT_TRUE(answer(client, std::string{'/', letter}) == std::string(kBytes, letter));
  }
}

TEST_F(LetterRelay, CutsTheAnswerWhenTheStoreDoes) {
  RawClient client(front_->port());
  EXPECT_EQ(answer(client, "/cut"), std::nullopt);
  RawClient next(front_->port());
  EXPECT_TRUE(answer(next, "/a") == std::string(kBytes, 'a'));
}

TEST_F(LetterRelay, BytesOfAClientThatLeftReachNoOther) {
  for (int i = 0; i < 5; ++i) {
    {
      RawClient leaving(front_->port());
      leaving.send(head("GET /a"));
      for (int piece = 0; piece < 50; ++piece) EXPECT_FALSE(leaving.read_some().empty());
    }
    RawClient next(front_->port());
    EXPECT_TRUE(answer(next, "/b") == std::string(kBytes, 'b'));
  }
}

}  // namespace
}  // namespace tarn::http
