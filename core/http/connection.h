// A client connection between requests.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "core/http/head_scanner.h"
#include "core/http/parser.h"
#include "core/http/socket.h"

namespace tarn::http {

using SteadyTime = std::chrono::steady_clock::time_point;

/// Belongs to one thread at a time: the one that claimed it from the parking lot. An idle
/// connection holds no buffer; the start of a head that has not arrived in full is kept in `held`.
struct Connection {
  enum class Phase {
    kIdle,       ///< no byte of the next request has arrived
    kHead,       ///< part of a head has arrived
    kLingering,  ///< answered and closed for sending; further input is dropped
  };

  Connection(int fd, std::string peer_address, size_t peer_network = 0)
      : socket(fd), peer(std::move(peer_address)), network(peer_network) {}

  Socket socket;
  const std::string peer;
  const size_t network;   ///< of the peer; see Accepted
  bool answered = false;  ///< a request; until then the deadline is that of the first head
  Phase phase = Phase::kIdle;
  std::string held;
  std::unique_ptr<RequestHead> head;  ///< of a queued request; `held` follows it
  HeadScanner scanner;
  SteadyTime deadline{};  ///< of the present phase
  uint64_t linger_bytes_left = 0;
  uint64_t place = 0;  ///< the parking lot's
};

}  // namespace tarn::http
