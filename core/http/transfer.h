// One request to a server, on a leased pair of libcurl handles.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "core/http/client.h"

struct curl_sockaddr;
struct sockaddr;

namespace tarn::http {

/// An easy handle and the private multi handle that drives it and keeps its connections. One thread
/// at a time.
class CurlHandles {
 public:
  CurlHandles();
  ~CurlHandles();
  void* easy() const { return easy_; }
  void* multi() const { return multi_; }
  /// The socket of the exchange that runs; -1 if it cannot be distinguished.
  int socket() const;
  /// Has the easy handle note the sockets that it opens from now on.
  void note_sockets();

 private:
  struct Callbacks;

  std::vector<int> sockets_;  // open ones; outlives the handles, which close them
  void* easy_;
  void* multi_;
};

/// Limits of an exchange with a server that a user named. It also keeps proxies away.
struct TransferFence {
  /// Asked about every address before it is connected to; throws to end the exchange.
  std::function<void(const sockaddr&)> judge;
  bool only_judge = false;  ///< connect to nothing; the exchange then fails as unavailable
  std::vector<std::string> known_names{};  ///< "HOST:PORT:ADDRESS[,ADDRESS]", not looked up
  std::stop_token stop{};                  ///< ends the exchange
};

/// Runs on the calling thread: bytes move only inside `run_to_end`, `run_to_head` and `read`, which
/// gives backpressure. One thread at a time.
class Transfer {
 public:
  /// `handles`, `request` and `fence` outlive the object.
  Transfer(CurlHandles& handles, const ClientRequest& request, const ClientOptions& options,
           const TransferFence* fence = nullptr);
  ~Transfer();
  Transfer(const Transfer&) = delete;

  /// Runs the whole exchange. Throws: unavailable, resource_exhausted, and the exceptions of the
  /// request's `upload`.
  ClientResponse run_to_end(size_t body_bytes_max);

  /// Until the head of the final answer has arrived.
  void run_to_head();
  /// After run_to_head: the next bytes of the body, 0 at its end. A failure is thrown after the
  /// bytes before it.
  size_t read(std::span<char> out);
  /// The same as BodySource::splice. The first bytes taken so end the connection with this
  /// exchange, so only long bodies are worth it.
  std::optional<size_t> splice(int pipe, size_t limit);

  int status() const;
  Headers take_headers() { return std::move(headers_); }

 private:
  struct Callbacks;
  /// The rest of a body that is taken from the socket, past libcurl.
  struct SocketBody {
    int fd = -1;
    uint64_t left = 0;
  };

  void set_options(const ClientOptions& options);
  void set_fence();
  void set_method();
  void set_headers();
  void perform();
  void wait();
  int open_socket(const curl_sockaddr& address);
  size_t on_header_line(std::string_view line);
  size_t on_body(std::string_view bytes);
  size_t on_body_whole(std::string_view bytes);
  size_t on_upload(std::span<char> out);
  void throw_if_failed() const;
  bool take_socket();
  template <typename Take>
  size_t take_from_socket(size_t limit, const Take& take);
  std::string subject() const;
  /// Runs the work of a callback. libcurl is C, so exceptions are stored until the call into it has
  /// returned.
  template <typename Work>
  size_t guarded(size_t failure, Work work);

  CurlHandles& handles_;
  const ClientRequest& request_;
  const std::chrono::milliseconds stall_timeout_;
  const TransferFence* const fence_;                    // may be null
  std::unique_ptr<void, void (*)(void*)> header_list_;  // a curl_slist
  std::unique_ptr<void, void (*)(void*)> known_names_;  // a curl_slist
  std::array<char, 256> error_text_{};                  // libcurl's CURL_ERROR_SIZE
  Headers headers_;
  size_t head_bytes_ = 0;
  uint64_t upload_offset_ = 0;
  bool head_done_ = false;
  bool done_ = false;
  int result_ = 0;
  std::exception_ptr thrown_;

  bool whole_ = false;  // collect the body, or hand it out piece by piece
  std::string body_;
  size_t body_bytes_max_ = 0;

  std::span<char> wanted_;  // of the read that runs
  size_t given_ = 0;        // bytes of it that were filled
  std::string early_;       // arrived before anyone asked
  size_t early_used_ = 0;
  bool paused_ = false;
  std::optional<SocketBody> socket_body_;
};

}  // namespace tarn::http
