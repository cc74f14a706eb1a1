// COPY to the server in PostgreSQL's binary form.
#include <libpq-fe.h>

#include "core/db/connection.h"
#include "core/db/connection_state.h"
#include "core/db/types.h"

namespace tarn::db {
namespace {

/// Rows are combined into pieces of this size: fewer, larger writes to the socket.
constexpr size_t kCopyPieceBytes = 256 * 1024;

/// Signature, flags, length of the header extension. Source: PostgreSQL manual, COPY, "Binary
/// Format".
constexpr std::string_view kHeader("PGCOPY\n\377\r\n\0\0\0\0\0\0\0\0\0", 19);
constexpr int16_t kTrailer = -1;

}  // namespace

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

}  // namespace tarn::db
