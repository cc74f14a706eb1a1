// COPY in PostgreSQL's binary form, both ways.
#include <chrono>

#include <libpq-fe.h>
#include <poll.h>

#include "core/base/str_cat.h"
#include "core/db/connection.h"
#include "core/db/connection_state.h"
#include "core/db/types.h"

namespace tarn::db {
namespace {

/// Rows are gathered to pieces of this size: fewer, larger writes to the socket.
constexpr size_t kCopyPieceBytes = 256 * 1024;

/// Signature, flags, length of the header extension. Source: PostgreSQL manual, COPY, "Binary
/// Format".
constexpr std::string_view kHeader("PGCOPY\n\377\r\n\0\0\0\0\0\0\0\0\0", 19);
constexpr size_t kExtensionLengthAt = 15;
constexpr int16_t kTrailer = -1;

struct CopyBufferDeleter {
  void operator()(char* buffer) const { PQfreemem(buffer); }
};

/// Cuts a stream of COPY data into rows, wherever the pieces end.
class RowReader {
 public:
  using Row = std::function<void(std::span<const std::optional<std::string_view>>)>;
  explicit RowReader(const Row& row) : row_(row) {}

  void feed(std::string_view piece) {
    pending_.append(piece);
    std::string_view left = pending_;
    if (!header_read_ && !skip_header(left)) return;
    while (take_row(left)) {
    }
    pending_.erase(0, pending_.size() - left.size());
  }

 private:
  bool skip_header(std::string_view& left) {
    if (left.size() < kHeader.size()) return false;
    const size_t whole = kHeader.size() + get_be<uint32_t>(left.substr(kExtensionLengthAt));
    if (left.size() < whole) return false;
    left.remove_prefix(whole);
    header_read_ = true;
    return true;
  }

  /// Takes one whole row off the front; leaves `left` alone when its end has not arrived.
  bool take_row(std::string_view& left) {
    std::string_view rest = left;
    if (rest.size() < sizeof(int16_t)) return false;
    const auto count = get_be<int16_t>(rest);
    rest.remove_prefix(sizeof(int16_t));
    fields_.clear();
    for (int16_t i = 0; i < count; ++i) {
      if (rest.size() < sizeof(int32_t)) return false;
      const auto length = get_be<int32_t>(rest);
      rest.remove_prefix(sizeof(int32_t));
      if (length == kNullLength) {
        fields_.emplace_back(std::nullopt);
        continue;
      }
      const auto bytes = static_cast<size_t>(length);
      if (rest.size() < bytes) return false;
      fields_.emplace_back(rest.substr(0, bytes));
      rest.remove_prefix(bytes);
    }
    left = rest;
    if (count != kTrailer) row_(fields_);
    return true;
  }

  const Row& row_;
  bool header_read_ = false;
  std::string pending_;
  std::vector<std::optional<std::string_view>> fields_;
};

}  // namespace

int Connection::State::next_piece(char** piece) {
  const Deadline end = deadline();
  for (;;) {
    const int length = PQgetCopyData(conn, piece, 1);
    if (length != 0) return length;
    if (!wait(POLLIN, end) || PQconsumeInput(conn) != 1) return -1;
  }
}

Connection::CopyIn::CopyIn(Connection& connection, const std::string& sql)
    : connection_(connection), buffer_(kHeader) {
  State& s = *connection_.state_;
  s.require_usable("copy_in");
  s.send_pending_begin();
  const Result result = s.execute(sql.c_str(), "copy_in", s.autocommit(), PGRES_COPY_IN);
  if (PQresultStatus(result.get()) != PGRES_COPY_IN) {
    done_ = true;
    throw Error(ErrorCode::kInternal, "running copy_in: the statement is no COPY FROM STDIN");
  }
}

Connection::CopyIn::~CopyIn() {
  if (done_ || connection_.broken()) return;
  State& s = *connection_.state_;
  if (PQputCopyEnd(s.conn, "abandoned") != 1 || !s.flush()) s.broken = true;
  while (s.next_result()) {
  }
}

void Connection::CopyIn::row(std::initializer_list<Param> fields) {
  put_be<int16_t>(buffer_, static_cast<int16_t>(fields.size()));
  for (const Param& field : fields) {
    put_be<int32_t>(buffer_,
                    field.null() ? kNullLength : static_cast<int32_t>(field.bytes().size()));
    buffer_.append(field.bytes());
  }
  if (buffer_.size() < kCopyPieceBytes) return;
  send_buffer();
}

void Connection::CopyIn::send_buffer() {
  State& s = *connection_.state_;
  s.require_usable("copy_in");
  if (PQputCopyData(s.conn, buffer_.data(), static_cast<int>(buffer_.size())) != 1 || !s.flush()) {
    s.fail(nullptr, "copy_in", false);
  }
  buffer_.clear();
}

void Connection::CopyIn::finish() {
  TARN_CHECK(!done_);
  State& s = *connection_.state_;
  put_be<int16_t>(buffer_, kTrailer);
  send_buffer();
  done_ = true;
  if (PQputCopyEnd(s.conn, nullptr) != 1 || !s.flush()) {
    s.broken = true;
    s.fail(nullptr, "copy_in", s.autocommit());
  }
  const Result result = s.last_result();
  if (!succeeded(result.get())) s.fail(result.get(), "copy_in", s.autocommit());
  s.after("copy_in", s.autocommit());
}

void Connection::copy_out(
    const std::string& sql,
    const std::function<void(std::span<const std::optional<std::string_view>>)>& row) {
  State& s = *state_;
  s.require_usable("copy_out");
  s.send_pending_begin();
  const Result start = s.execute(sql.c_str(), "copy_out", false, PGRES_COPY_OUT);
  if (PQresultStatus(start.get()) != PGRES_COPY_OUT) {
    throw Error(ErrorCode::kInternal, "running copy_out: the statement is no COPY TO STDOUT");
  }
  RowReader reader(row);
  for (;;) {
    char* piece = nullptr;
    const int length = s.next_piece(&piece);
    if (length < 0) break;
    const std::unique_ptr<char, CopyBufferDeleter> owner(piece);
    try {
      reader.feed({piece, static_cast<size_t>(length)});
    } catch (...) {
      s.broken = true;
      throw;
    }
  }
  const Result result = s.last_result();
  if (!succeeded(result.get())) s.fail(result.get(), "copy_out", false);
}

}  // namespace tarn::db
