// One connection to PostgreSQL on libpq: prepared statements with binary parameters and results,
// transactions, pipelines and COPY. The only folder that sees libpq.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/base/reasons.h"
#include "core/db/faults.h"
#include "core/db/witness.h"

namespace tarn::db {

/// A statement with its name: the prepared statement, the metric label and the log field. `name` is
/// <store>_<verb>_<noun>, [a-z_]+, unique in the program. One statement, values only as $n, every
/// column listed. Both are literals: connections keep pointers to them.
struct Query {
  const char* name;
  const char* sql;
  /// The last two columns are TARN_COMMIT_POSITION; other writes pay for a statement more.
  bool has_position = false;
};

/// The columns of a CommitPosition; they must come after everything that the statement writes.
#define TARN_COMMIT_POSITION "pg_current_xact_id_if_assigned(), pg_current_wal_insert_lsn()"

/// The reason of errors after which the caller must check the state before it retries.
constexpr std::string_view kInDoubt = reason::kInDoubt;

/// The reason of errors of a statement that found no room on the database's disk.
constexpr std::string_view kDatabaseFull = reason::kDatabaseFull;
/// The SQLSTATE of a full disk.
constexpr std::string_view kDiskFullState = "53100";

/// SQLSTATE of ours: the database lacks commits that were acknowledged.
constexpr std::string_view kStateWentBack = "TN046";

/// Raised by the schema in statements that would change what a server may read from memory; those
/// did nothing.
constexpr std::string_view kStateReadLeased = "TN455";

/// An error of PostgreSQL, with its SQLSTATE. Derives from Error: unavailable for connection loss,
/// shutdown and resource limits (classes 08, 53, 57P), conflict for 40001 and 40P01 (retry the
/// transaction), already_exists for 23505, else internal. `in_doubt()`: the statement may or may
/// not have taken effect; the reason is then kInDoubt. That of a full disk is kDatabaseFull, that
/// of kStateWentBack kDatabaseWentBack.
class DbError : public Error {
 public:
  DbError(ErrorCode code, std::string sqlstate, std::string message, bool in_doubt)
      : Error(code,
              in_doubt                     ? kInDoubt
              : sqlstate == kDiskFullState ? kDatabaseFull
              : sqlstate == kStateWentBack ? reason::kDatabaseWentBack
                                           : name_of(code),
              std::move(message)),
        sqlstate_(std::move(sqlstate)),
        in_doubt_(in_doubt) {}
  const std::string& sqlstate() const { return sqlstate_; }
  bool in_doubt() const { return in_doubt_; }

 private:
  std::string sqlstate_;
  bool in_doubt_;
};

/// A bytea parameter (std::string and string_view parameters are text and refuse NUL).
struct Bytes {
  std::string_view value;
};

/// One parameter in binary form. Implicitly made from what SQL types here need: bool, int16/32/64,
/// text, Bytes, optional of these, and arrays (vector of int64, int32, int16, string (text[]),
/// Bytes (bytea[])).
class Param {
 public:
  Param(bool v);
  Param(int16_t v);
  Param(int32_t v);
  Param(int64_t v);
  Param(double v);
  Param(std::string_view v);
  Param(const std::string& v) : Param(std::string_view(v)) {}
  Param(const char* v) : Param(std::string_view(v)) {}
  Param(Bytes v);
  Param(std::nullopt_t);
  template <typename T>
  Param(const std::optional<T>& v) : Param(v ? Param(*v) : null_like(Param(T{}))) {}
  Param(std::span<const int64_t> v);
  Param(const std::vector<int64_t>& v) : Param(std::span<const int64_t>(v)) {}
  Param(const std::vector<int32_t>& v);
  Param(const std::vector<int16_t>& v);
  Param(const std::vector<std::string>& v);  ///< text[]
  Param(const std::vector<Bytes>& v);        ///< bytea[]

  const std::string& bytes() const { return bytes_; }
  bool null() const { return null_; }
  /// 0 for a bare nullopt, whose type the server infers.
  uint32_t type_oid() const { return type_oid_; }

 private:
  static Param null_like(Param typed) {
    typed.bytes_.clear();
    typed.null_ = true;
    return typed;
  }

  std::string bytes_;
  bool null_ = false;
  uint32_t type_oid_ = 0;
};

/// A result in binary form. Immutable; views into it live as long as it does. Reading NULL or a
/// column of another type throws internal: both are programming errors that tests must show.
class Rows {
 public:
  Rows() = default;
  size_t size() const;
  bool empty() const { return size() == 0; }
  uint64_t affected() const;

  size_t row_bytes(size_t row) const;  ///< of all values
  bool null(size_t row, int column) const;
  bool boolean(size_t row, int column) const;
  int64_t integer(size_t row, int column) const;  ///< int2, int4, int8, pg_lsn or xid8
  double real(size_t row, int column) const;      ///< float8
  /// text, varchar, name; also the raw bytes of a bytea
  std::string_view text(size_t row, int column) const;
  std::string_view bytes(size_t row, int column) const;            ///< bytea
  std::vector<int64_t> integers(size_t row, int column) const;     ///< int2[], int4[], int8[]
  std::vector<std::string> strings(size_t row, int column) const;  ///< text[] or bytea[]

 private:
  friend class Connection;
  struct State;
  explicit Rows(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  std::string_view field(size_t row, int column) const;
  uint32_t type(int column) const;
  std::shared_ptr<const State> state_;  // shared by copies of these rows
};

/// SQLSTATE of ours: the answer did not come in time.
constexpr std::string_view kStateNoAnswer = "TN008";

/// An answer may take the server's statement_timeout and this much more. Then the server hangs and
/// the connection is given up: the server's own limit does not count while it is stopped, or while
/// a commit waits for a standby.
constexpr std::chrono::milliseconds kAnswerMargin{10'000};

struct OpenOptions {
  Faults* faults = nullptr;      ///< may be null; outlives the connection
  Witness* witness = nullptr;    ///< of its commits; may be null
  size_t first_host = 0;         ///< which host of a URL with several is tried first
  bool only_first_host = false;  ///< and no other
  /// For all hosts together; then no answer (kStateNoAnswer). Absent = the URL's connect_timeout
  /// or 5 s, for each host.
  std::optional<std::chrono::milliseconds> connect_limit{};
  std::optional<std::chrono::milliseconds> answer_limit{};  ///< absent = as kAnswerMargin says
};

/// The number of hosts of a URL. Throws invalid_argument.
size_t hosts_of(const std::string& url);

/// One thread at a time but for interrupt() and waits_since(). A connection that broke stays
/// broken: the pool replaces it. Every wait for the server ends: what is not answered in time is
/// unavailable, and in doubt if it would have lasted. The server is not asked to cancel it: a
/// commit that is cancelled while it waits for its standby counts as done without it.
class Connection {
 public:
  /// `url` is a libpq connection string or URI. Sets application_name, statement_timeout and the
  /// isolation level, and refuses (internal) a server whose default is not read committed, that
  /// has no statement_timeout, or that is older than 15. Throws unavailable.
  static std::unique_ptr<Connection> open(const std::string& url, const OpenOptions& options = {});
  ~Connection();

  /// Which process answers: the start of the postmaster, and on a primary the timeline and the end
  /// of the recovery that it began with. A server that was restarted or promoted is another.
  const std::string& server() const;
  /// The cluster's timeline, which every promotion of a standby ends; "" on a standby.
  const std::string& timeline() const;
  /// Index of its host in the URL.
  size_t host() const;

  /// From now on an answer may take this long; nullopt = as it was at first.
  void limit_answers(std::optional<std::chrono::milliseconds> limit);
  /// Breaks the connection: a wait for a response on it fails at once.
  void interrupt() noexcept;
  /// Start of the current wait for a response; nullopt = none.
  std::optional<std::chrono::steady_clock::time_point> waits_since() const;

  bool broken() const;
  /// Whether the server still holds its end open and a statement may be sent: no round trip, under
  /// a microsecond. A connection found dead is broken from then on.
  bool alive();

  /// Prepares on first use, then runs in one round trip. Without begin() it is its own transaction.
  Rows run(const Query& query, std::initializer_list<Param> params = {});
  Rows run(const Query& query, std::span<const Param> params);
  /// Runs a statement that writes and is its own transaction, and reports its commit to the
  /// witness.
  Rows run_write(const Query& query, std::initializer_list<Param> params);
  /// SQL without parameters, possibly several statements (migrations only).
  void run_script(const std::string& sql);

  /// BEGIN travels with the first statement: no round trip of its own.
  void begin();
  void begin_snapshot();  ///< repeatable read, read only: every statement sees the same state
  /// Tells the witness. Throws DbError: with in_doubt() when the answer was lost; internal when a
  /// statement had failed before.
  void commit();
  void rollback() noexcept;

  /// COPY ... FROM STDIN BINARY: `sql` is the whole COPY statement; rows are sent in large pieces.
  /// COPY casts nothing: each field has exactly the type of its column. A connection does nothing
  /// else until finish() or the end of this.
  class CopyIn {
   public:
    explicit CopyIn(Connection& connection, const std::string& sql);
    ~CopyIn();  ///< abandons unless finish() was called
    void row(std::initializer_list<Param> fields);
    void finish();

   private:
    void send_buffer();

    Connection& connection_;
    std::string buffer_;
    bool done_ = false;
  };

 private:
  Connection();
  Rows run_statement(const Query& query, std::span<const Param> params, bool tells);
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tarn::db
