// An HTTP client that returns scripted responses and records requests.
#pragma once

#include <algorithm>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

#include "core/base/error.h"
#include "core/base/mutex.h"
#include "core/http/client.h"

namespace tarn::testing {

/// Returns responses in the order in which they were added. If none is left, and for a status of 0,
/// the exchange fails like a broken connection. Safe from any thread.
class ScriptedClient final : public http::Client {
 public:
  struct Seen {
    http::ClientRequest request;
    std::string body;  ///< uploaded or given
  };

  void answer(int status, std::string body = "", http::Headers headers = {}) {
    MutexLock lock(mutex_);
    answers_.push_back({status, std::move(headers), std::move(body)});
  }
  std::vector<Seen> seen() const {
    MutexLock lock(mutex_);
    return seen_;
  }
  /// "PUT http://host/path?query" of each request.
  std::vector<std::string> lines() const {
    std::vector<std::string> out;
    for (const Seen& one : seen()) out.push_back(one.request.method + " " + one.request.url);
    return out;
  }

  http::ClientResponse send(const http::ClientRequest& request, size_t) override {
    return next(request);
  }
  Stream open(const http::ClientRequest& request) override {
    http::ClientResponse response = next(request);
    return {response.status, std::move(response.headers),
            std::make_unique<Body>(std::move(response.body))};
  }

 private:
  /// Can be read and spliced.
  class Body final : public http::BodySource {
   public:
    explicit Body(std::string bytes) : bytes_(std::move(bytes)) {}
    size_t read(std::span<char> out) override {
      const size_t count = bytes_.copy(out.data(), out.size(), at_);
      at_ += count;
      return count;
    }
    std::optional<size_t> splice(int pipe, size_t limit) override {
      const ssize_t count =
          ::write(pipe, bytes_.data() + at_, std::min(limit, bytes_.size() - at_));
      if (count < 0) throw Error(ErrorCode::kInternal, "writing to a pipe");
      at_ += static_cast<size_t>(count);
      return static_cast<size_t>(count);
    }

   private:
    const std::string bytes_;
    size_t at_ = 0;
  };

  http::ClientResponse next(const http::ClientRequest& request) {
    std::string body = request.body;
    if (request.upload) {
      body.resize(request.upload_bytes);
      size_t at = 0;
      while (const size_t count = request.upload(at, std::span(body).subspan(at))) at += count;
    }
    MutexLock lock(mutex_);
    seen_.push_back({request, std::move(body)});
    seen_.back().request.upload = nullptr;  // its target does not outlive the call
    http::ClientResponse response;
    if (!answers_.empty()) {
      response = std::move(answers_.front());
      answers_.pop_front();
    }
    if (response.status == 0)
      throw Error(ErrorCode::kUnavailable, "sending a request: connection reset");
    return response;
  }

  mutable Mutex mutex_;
  std::deque<http::ClientResponse> answers_ TARN_GUARDED_BY(mutex_);
  std::vector<Seen> seen_ TARN_GUARDED_BY(mutex_);
};

}  // namespace tarn::testing
