// Bodies of a client's stream that are moved from its socket into a pipe.
#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "core/base/error.h"
#include "core/base/str_cat.h"
#include "core/http/client.h"
#include "core/http/testing/pattern_body.h"
#include "core/http/testing/test_server.h"

namespace tarn::http {
namespace {

using std::chrono::milliseconds;
using testing::byte_at;
using testing::pattern_answer;
using testing::serve;

constexpr uint64_t kLong = 40'000'001;
constexpr size_t kPieceBytes = 40'000;  // less than a pipe holds

class Splice : public ::testing::Test {
 protected:
  Splice() { EXPECT_EQ(::pipe(pipe_.data()), 0); }
  ~Splice() override {
    for (const int end : pipe_) ::close(end);
  }

  Client::Stream open(const Server& server, std::string_view target, Headers headers = {}) {
    return client_->open({.url = str_cat("http://127.0.0.1:", server.port(), target),
                          .headers = std::move(headers)});
  }
  /// The next bytes, spliced if the body can, else read; adds to `spliced_`.
  std::string_view next(BodySource& body) {
    const auto count = body.splice(pipe_[1], kPieceBytes);
    if (!count) return {piece_.data(), body.read(piece_)};
    spliced_ += *count;
    if (*count > 0) {
      EXPECT_EQ(::read(pipe_[0], piece_.data(), piece_.size()), static_cast<ssize_t>(*count));
    }
    return {piece_.data(), *count};
  }

  std::unique_ptr<Client> client_ = Client::create({.stall_timeout = milliseconds(1000)});
  std::array<int, 2> pipe_{};
  std::vector<char> piece_ = std::vector<char>(100'000);
  uint64_t spliced_ = 0;
};

TEST_F(Splice, TakesLongBodiesOfKnownLengthOnly) {
  std::atomic<uint64_t> given{0};
  const auto server = serve([&](Request& request) {
    Response response = pattern_answer(std::stoull(request.target.substr(1)), given);
    if (request.headers.find("X-Chunked")) response.content_length.reset();
    return response;
  });
  const auto spliced = [&](uint64_t bytes, Headers headers = {}) {
    const Client::Stream stream = open(*server, str_cat("/", bytes), std::move(headers));
    spliced_ = 0;
    uint64_t at = 0;
    for (std::string_view piece = next(*stream.body); !piece.empty(); piece = next(*stream.body)) {
      for (const char byte : piece) {
        if (byte != byte_at(at++)) {
          ADD_FAILURE() << "byte " << at - 1 << " of " << bytes;
          return uint64_t{0};
        }
      }
    }
    EXPECT_EQ(at, bytes);
    return spliced_;
  };
  for (int i = 0; i < 3; ++i) {  // on one connection that was kept, and on new ones
    EXPECT_EQ(spliced(1'000'000), 0u);
    EXPECT_GT(spliced(kLong), 35'000'000u);
  }
  Headers chunked;
  chunked.add("X-Chunked", "1");
  EXPECT_EQ(spliced(kLong, chunked), 0u);
}

TEST_F(Splice, ReadsGoOnAfterIt) {
  std::atomic<uint64_t> given{0};
  const auto server = serve([&](Request&) { return pattern_answer(kLong, given); });
  const Client::Stream stream = open(*server, "/x");
  uint64_t at = 0;
  while (spliced_ == 0) at += next(*stream.body).size();
  while (const size_t got = stream.body->read(piece_)) {
    ASSERT_EQ(piece_[0], byte_at(at));
    at += got;
  }
  EXPECT_EQ(at, kLong);
}

/// Half of what was announced, then the end, or nothing while `stalls`.
class HalfBody final : public BodySource {
 public:
  explicit HalfBody(const std::atomic<bool>& stalls) : stalls_(stalls) {}
  size_t read(std::span<char> out) override {
    if (given_ < kLong / 2) {
      given_ += out.size();
      return out.size();
    }
    while (stalls_) std::this_thread::sleep_for(milliseconds(10));
    return 0;
  }

 private:
  const std::atomic<bool>& stalls_;
  uint64_t given_ = 0;
};

TEST_F(Splice, FailsWhenTheBodyEndsEarlyOrStalls) {
  std::atomic<bool> stalls{false};
  const auto server = serve([&](Request&) {
    Response response;
    response.source = std::make_unique<HalfBody>(stalls);
    response.content_length = kLong;
    return response;
  });
  const auto failure = [&] {
    const Client::Stream stream = open(*server, "/x");
    spliced_ = 0;
    std::string message;
    try {
      while (!next(*stream.body).empty()) {
      }
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kUnavailable);
      message = error.message();
    }
    EXPECT_GT(spliced_, 0u);
    return message;
  };
  EXPECT_NE(failure().find("bytes early"), std::string::npos);
  stalls = true;
  EXPECT_NE(failure().find("no byte arrived for 1000 ms"), std::string::npos);
  stalls = false;
}

}  // namespace
}  // namespace tarn::http
