// A blocking HTTP client with kept connections, for S3-compatible stores (on libcurl).
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "core/http/message.h"

namespace tarn::http {

struct ClientOptions {
  std::chrono::milliseconds connect_timeout{5'000};
  std::chrono::milliseconds stall_timeout{30'000};  ///< no byte moved for so long
  uint32_t connections_max = 64;                    ///< kept for reuse; more are opened and closed
};

/// One request to a server. The URL's path and query are sent exactly as given (already encoded).
struct ClientRequest {
  std::string method = "GET";
  std::string url{};
  Headers headers{};
  std::string body{};  ///< used when `upload` is empty
  /// Rewindable upload of exactly `upload_bytes`: called with the offset and the space to fill.
  std::function<size_t(uint64_t offset, std::span<char> out)> upload{};
  uint64_t upload_bytes = 0;
  std::optional<uint64_t> expected_bytes{};             ///< of the answer's body, if known; a hint
  std::optional<std::chrono::milliseconds> deadline{};  ///< for the whole exchange
};

struct ClientResponse {
  int status = 0;
  Headers headers;
  std::string body;
};

/// Safe from any thread; a call leases a connection for its duration.
class Client {
 public:
  static std::unique_ptr<Client> create(ClientOptions options);
  virtual ~Client() = default;
  /// Returns responses of every status. Body at most `body_bytes_max` (else resource_exhausted).
  /// Throws unavailable for transient errors (connect, reset, timeout).
  virtual ClientResponse send(const ClientRequest& request, size_t body_bytes_max) = 0;
  /// Returns when the head has arrived; the body is then read from the source, with backpressure.
  /// For a status outside 2xx the source holds the error body.
  struct Stream {
    int status = 0;
    Headers headers;
    std::unique_ptr<BodySource> body;
  };
  virtual Stream open(const ClientRequest& request) = 0;
};

}  // namespace tarn::http
