// HTTP/1.1 messages as the rest of the program sees them.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/memory_share.h"

namespace tarn::http {

/// Header fields in the order of arrival, values verbatim (trimmed of outer blanks only); names
/// compare without case.
class Headers {
 public:
  using Field = std::pair<std::string, std::string>;

  void add(std::string name, std::string value) {
    fields_.emplace_back(std::move(name), std::move(value));
  }
  void reserve(size_t fields) { fields_.reserve(fields); }
  /// Replaces every field of that name.
  void set(std::string_view name, std::string value);
  void remove(std::string_view name);
  /// The first value, or nullptr.
  const std::string* find(std::string_view name) const;
  /// The first value, or "".
  std::string_view get(std::string_view name) const;
  size_t count(std::string_view name) const;
  const std::vector<Field>& all() const { return fields_; }

 private:
  std::vector<Field> fields_;
};

/// A body read piece by piece. One thread at a time.
class BodySource {
 public:
  virtual ~BodySource() = default;
  /// Fills at most `out.size()` bytes and returns how many; 0 = the end. Blocks. Throws
  /// invalid_argument (broken framing; closed early: reason "body_incomplete"), unavailable (reason
  /// "body_too_slow"), with the framing limits of the server.
  virtual size_t read(std::span<char> out) = 0;
  /// The same as read, but moves at most `limit` bytes into `pipe`, which is empty, without copying
  /// them. nullopt: the next bytes have to be read.
  virtual std::optional<size_t> splice([[maybe_unused]] int pipe, [[maybe_unused]] size_t limit) {
    return std::nullopt;
  }
  /// Waits for the peer end at `deadline` at the latest, with "body_too_slow". Sources that wait
  /// for no client ignore it.
  virtual void end_by(std::chrono::steady_clock::time_point deadline) {
    static_cast<void>(deadline);
  }
};

/// In which a document (JSON, XML, the fields of a form) has to arrive whole.
constexpr std::chrono::seconds kDocumentTimeMax{30};

/// An empty source.
std::unique_ptr<BodySource> empty_body();
/// A source over bytes it owns.
std::unique_ptr<BodySource> string_body(std::string bytes);
/// Reads to the end; throws resource_exhausted (reason "body_too_large") past `limit_bytes`.
std::string read_all(BodySource& body, size_t limit_bytes);
/// The same as read_all, of a client: within kDocumentTimeMax.
std::string read_document(BodySource& body, size_t limit_bytes);

struct Request {
  std::string method;  ///< upper case as received; unknown ones too
  std::string target;  ///< raw request target, for example "/a%20b?x=1"
  Headers headers;
  std::optional<uint64_t> content_length;  ///< absent for a chunked or missing body
  bool chunked = false;
  std::string peer;  ///< peer address without port
  bool tls = false;
  std::string id;  ///< request id, made by the server
  /// Never null. The first read sends "100 Continue" when the client waits for it, so a handler
  /// that refuses before reading costs the client nothing. It may be moved into the response's
  /// `source`, and is of no use once the answer is sent.
  std::unique_ptr<BodySource> body;

  /// The target up to the first '?', undecoded.
  std::string_view raw_path() const;
  /// The part after the first '?', undecoded; "" if there is none.
  std::string_view raw_query() const;
};

/// One part of a file to send: the server uses sendfile on plain connections. Owns the descriptor.
struct FileSlice {
  int fd = -1;
  uint64_t offset = 0;
  uint64_t length = 0;
  FileSlice() = default;
  FileSlice(int f, uint64_t o, uint64_t n) : fd(f), offset(o), length(n) {}
  ~FileSlice();
  FileSlice(FileSlice&& other) noexcept;
  FileSlice& operator=(FileSlice&& other) noexcept;
};

/// The answer. Exactly one of the three body forms is used: `body`, `source` with `content_length`,
/// or `file`.
struct Response {
  int status = 200;
  Headers headers;  ///< the server adds Date, Server, Content-Length and Connection
  std::string body;
  std::unique_ptr<BodySource> source;
  std::optional<uint64_t>
      content_length;  ///< of `source`; absent = chunked. For HEAD: the length to announce
  std::optional<FileSlice> file;
  MemoryHold memory{};  ///< of `body`

  /// Counts `body` for the user of the thread. Throws unavailable for the answer of GET beyond the
  /// user's share; others have had their effect and are only counted.
  void hold_memory(std::string_view method);
};

/// Standard reason phrase, for example "Conflict"; clients show it.
std::string_view reason_phrase(int status);

/// Query parameters in order, each side decoded ('+' is a space). Undecodable pairs throw
/// invalid_argument.
class Query {
 public:
  static Query parse(std::string_view raw);
  /// First value of the name, or nullptr.
  const std::string* find(std::string_view name) const;
  std::vector<std::string> values(std::string_view name) const;
  bool has(std::string_view name) const { return find(name) != nullptr; }
  const std::vector<std::pair<std::string, std::string>>& all() const { return pairs_; }

 private:
  std::vector<std::pair<std::string, std::string>> pairs_;
};

using Handler = std::function<Response(Request&)>;

}  // namespace tarn::http
