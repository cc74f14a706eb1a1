// An HTTP client with failing exchanges, either before the server received the request or after it
// responded, and with bodies that are damaged on their way.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include "core/base/error.h"
#include "core/http/client.h"
#include "tests/support/faulty_store.h"

namespace tarn::testing {

/// Forwards every request except each n-th. Safe from any thread.
class FaultyClient final : public http::Client {
 public:
  explicit FaultyClient(http::Client& client) : client_(client) {}

  /// 0 = no failures. Resets the count.
  void fail_every(uint64_t n, Fault fault) {
    requests_ = 0;
    fault_ = fault;
    every_ = n;
  }

  http::ClientResponse send(const http::ClientRequest& request, size_t body_bytes_max) override {
    const bool fails = next_fails();
    if (fails && fault_ == Fault::kFails) throw_fault();
    const bool damages = request.method == "PUT" && to_damage_ > 0 && to_damage_-- > 0;
    http::ClientResponse response =
        client_.send(damages ? damaged(request) : request, body_bytes_max);
    if (fails) throw_fault();
    return response;
  }

  /// Flips a bit of the next `count` bodies of PUTs on their way to the server.
  void damage_bodies(int count) { to_damage_ = count; }

  Stream open(const http::ClientRequest& request) override {
    const bool fails = next_fails();
    if (fails && fault_ == Fault::kFails) throw_fault();
    Stream stream = client_.open(request);
    if (fails) stream.body = std::make_unique<BrokenBody>(std::move(stream.body));
    return stream;
  }

 private:
  bool next_fails() {
    const uint64_t number = ++requests_;
    return every_ != 0 && number % every_ == 0;
  }
  static http::ClientRequest damaged(const http::ClientRequest& request) {
    http::ClientRequest out = request;
    if (!out.body.empty()) out.body[0] ^= 1;
    if (out.upload) {
      out.upload = [&request](uint64_t offset, std::span<char> space) {
        const size_t count = request.upload(offset, space);
        if (offset == 0 && count > 0) space[0] ^= 1;
        return count;
      };
    }
    return out;
  }
  [[noreturn]] static void throw_fault() {
    throw Error(ErrorCode::kUnavailable, "sending a request: a fault was injected");
  }

  /// A body that breaks after its first bytes.
  class BrokenBody final : public http::BodySource {
   public:
    explicit BrokenBody(std::unique_ptr<http::BodySource> body) : body_(std::move(body)) {}
    size_t read(std::span<char> out) override {
      constexpr size_t kBytesMax = 1000;
      if (std::exchange(used_, true)) throw_fault();
      return body_->read(out.first(std::min(out.size(), kBytesMax)));
    }

   private:
    std::unique_ptr<http::BodySource> body_;
    bool used_ = false;
  };

  http::Client& client_;
  std::atomic<uint64_t> requests_ = 0;
  std::atomic<int> to_damage_ = 0;
  std::atomic<uint64_t> every_ = 0;
  std::atomic<Fault> fault_ = Fault::kFails;
};

}  // namespace tarn::testing
