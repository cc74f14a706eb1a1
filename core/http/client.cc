#include "core/http/client.h"

#include <utility>
#include <vector>

#include "core/base/mutex.h"
#include "core/http/transfer.h"

namespace tarn::http {
namespace {

/// Idle handles, last used first: its connection is the most likely to be alive. Safe from any
/// thread.
class HandlePool {
 public:
  explicit HandlePool(size_t kept_max) : kept_max_(kept_max) {}

  std::unique_ptr<CurlHandles> take() {
    {
      MutexLock lock(mutex_);
      if (!kept_.empty()) {
        std::unique_ptr<CurlHandles> handles = std::move(kept_.back());
        kept_.pop_back();
        return handles;
      }
    }
    return std::make_unique<CurlHandles>();
  }

  void give_back(std::unique_ptr<CurlHandles> handles) {
    MutexLock lock(mutex_);
    if (kept_.size() < kept_max_) kept_.push_back(std::move(handles));
  }

 private:
  const size_t kept_max_;
  Mutex mutex_;
  std::vector<std::unique_ptr<CurlHandles>> kept_ TARN_GUARDED_BY(mutex_);
};

/// Shared by the client and its open streams, which may outlive it.
using SharedPool = std::shared_ptr<HandlePool>;

/// Handles for one exchange; returned to the pool afterwards.
class Lease {
 public:
  explicit Lease(SharedPool pool) : pool_(std::move(pool)), handles_(pool_->take()) {}
  ~Lease() { pool_->give_back(std::move(handles_)); }
  Lease(const Lease&) = delete;
  CurlHandles& handles() { return *handles_; }

 private:
  SharedPool pool_;
  std::unique_ptr<CurlHandles> handles_;
};

class StreamedBody final : public BodySource {
 public:
  StreamedBody(SharedPool pool, const ClientRequest& request, const ClientOptions& options)
      : request_(request),
        lease_(std::move(pool)),
        transfer_(lease_.handles(), request_, options) {}

  Transfer& transfer() { return transfer_; }
  size_t read(std::span<char> out) override { return transfer_.read(out); }
  std::optional<size_t> splice(int pipe, size_t limit) override {
    return transfer_.splice(pipe, limit);
  }

 private:
  const ClientRequest request_;  // a copy: the caller's may be gone while the body is read
  Lease lease_;
  Transfer transfer_;
};

class CurlClient final : public Client {
 public:
  explicit CurlClient(ClientOptions options)
      : options_(options), pool_(std::make_shared<HandlePool>(options.connections_max)) {}

  ClientResponse send(const ClientRequest& request, size_t body_bytes_max) override {
    Lease lease(pool_);
    return Transfer(lease.handles(), request, options_).run_to_end(body_bytes_max);
  }

  Stream open(const ClientRequest& request) override {
    auto body = std::make_unique<StreamedBody>(pool_, request, options_);
    body->transfer().run_to_head();
    Stream stream;
    stream.status = body->transfer().status();
    stream.headers = body->transfer().take_headers();
    stream.body = std::move(body);
    return stream;
  }

 private:
  const ClientOptions options_;
  const SharedPool pool_;
};

}  // namespace

std::unique_ptr<Client> Client::create(ClientOptions options) {
  return std::make_unique<CurlClient>(options);
}

}  // namespace tarn::http
