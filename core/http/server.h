// The HTTP server: epoll parks idle and half-read connections, a bounded pool of threads runs whole
// requests.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "core/http/bound_address.h"
#include "core/http/message.h"

namespace tarn::http {

/// Every limit of the HTTP server, each with its reason. Docs: docs/configuration.md.
struct ServerLimits {
  uint32_t workers = 64;  ///< requests run at once for one share; more wait in the queue
  /// The same while requests of other shares are about; 0 = twice the processors, 4 at least.
  uint32_t contended_workers = 0;
  /// Workers that compute or wait for a connection; 0: by the number of processors.
  uint32_t running_workers = 0;
  uint32_t queued_requests_max = 1024;              ///< beyond: 503 and close
  uint32_t queued_per_share_max = 512;              ///< beyond: 503 and close
  std::chrono::milliseconds queue_timeout{30'000};  ///< from head to start; beyond: 503 and close
  uint32_t connections_max = 8192;                  ///< beyond: accepted and closed with 503
  uint32_t head_bytes_max = 32 * 1024;              ///< request line and header fields; beyond: 431
  uint32_t target_bytes_max = 16 * 1024;            ///< beyond: 414
  uint32_t header_fields_max = 128;                 ///< beyond: 431
  std::chrono::milliseconds head_deadline{
      10'000};  ///< from the first byte to the whole head; beyond: 408 and close
  std::chrono::milliseconds idle_timeout{75'000};  ///< a kept connection without a request
  std::chrono::milliseconds body_idle_timeout{
      30'000};  ///< no byte of a body moved in either direction
  /// Bodies slower than this, in either direction, over `body_idle_timeout` of waiting are cut.
  uint64_t body_bytes_per_second_min = 256;
  uint64_t drain_unread_bytes_max =
      64 * 1024;  ///< unread body that is skipped to keep the connection
};

/// Why a request is refused that was well-formed.
enum class Overload {
  kShareFull,   ///< too many requests of its share wait
  kServerFull,  ///< too many requests wait
  kWaitedTooLong,
};

/// Decisions about a request before its handler runs. Safe from any thread; quick, without
/// I/O; the request has no body yet.
struct AdmissionPolicy {
  /// Requests of one name share workers and queue; one name cannot starve another. Empty function:
  /// all are one share. Names should be few: each is remembered for a second. "" is for probes:
  /// their coming is no reason to give a user fewer workers.
  std::function<std::string(const Request&)> share_of;
  /// The answer to a request that is refused; the connection then ends. Empty function: a bare 503.
  std::function<Response(const Request&, Overload)> refuse;
  /// The answer to a head beyond a limit, 414 or 431; the request is that of
  /// read_partial_head. Empty function or nullopt: that status with a line of text.
  std::function<std::optional<Response>(const Request&, int status)> refuse_head{};
};

/// Serves one address. Safe from any thread.
class Server {
 public:
  /// Starts serving. `handler` runs on many threads at once. Its exceptions become a bare 500, so
  /// callers should wrap it with their own error encoding. Throws unavailable if the address cannot
  /// be listened on. The program must ignore SIGPIPE, because files and pipes are sent without
  /// MSG_NOSIGNAL.
  static std::unique_ptr<Server> start(BoundAddress address, ServerLimits limits, Handler handler,
                                       AdmissionPolicy admission = {});
  /// Binds first.
  static std::unique_ptr<Server> start(const std::string& host, uint16_t port, ServerLimits limits,
                                       Handler handler, AdmissionPolicy admission = {});
  virtual ~Server() = default;
  virtual uint16_t port() const = 0;
  /// Stops accepting, closes parked connections, lets running requests finish with "Connection:
  /// close" for at most `grace`, then closes them. Returns after all threads, and hence all
  /// handlers, have ended. Idempotent; must not be called by a handler.
  virtual void stop(std::chrono::milliseconds grace) = 0;
};

}  // namespace tarn::http
