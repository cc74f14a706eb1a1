// Messages between the server and the child process that runs a script, over a socket.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace tarn::actions {

/// Longest message; objects that scripts read whole must fit.
constexpr size_t kMessageBytesMax = 32u << 20;

/// One message: its kind, a JSON part, and raw bytes (a body, a printed line).
struct Message {
  enum class Kind : uint8_t {
    kStart = 1,   ///< to the child: the script to run
    kPrint = 2,   ///< from the child: text for the output
    kCall = 3,    ///< from the child: something only the server can do
    kAnswer = 4,  ///< to the child: the result
    kDone = 5,    ///< from the child: the script ended; `bytes` is its error or empty
  };
  Kind kind{};
  std::string json{};
  std::string bytes{};
};

/// Reads and writes whole messages on a socket that it does not own. One thread.
class Channel {
 public:
  /// `wait` is called before each read or write that would block, with whether it is for reading;
  /// absent: block. false from it: give up.
  using Wait = std::function<bool(bool reading)>;
  explicit Channel(int fd, Wait wait = {}) : fd_(fd), wait_(std::move(wait)) {}

  /// false: the other end is closed, or waiting was cancelled.
  bool send(const Message& message);
  /// nullopt: as for send, or the message is malformed or too long.
  std::optional<Message> receive();

 private:
  bool read_exactly(char* to, size_t bytes);
  bool write_exactly(std::string_view bytes);

  const int fd_;
  const Wait wait_;
};

}  // namespace tarn::actions
