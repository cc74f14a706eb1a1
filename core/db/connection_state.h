// State of a Connection: the libpq session, its prepared statements and where it stands in a
// transaction. Private to core/db.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <libpq-fe.h>

#include "core/base/memory_share.h"
#include "core/base/metrics.h"
#include "core/db/connection.h"

namespace tarn::db {

struct ResultDeleter {
  void operator()(PGresult* result) const { PQclear(result); }
};
using Result = std::unique_ptr<PGresult, ResultDeleter>;

struct Rows::State {
  Result result;
  MemoryHold memory{};  ///< of the result
};

/// A statement as one connection has prepared it. A query called with other parameter types is
/// another statement.
struct Statement {
  std::string name;
  const char* sql;
  std::vector<Oid> types;
  bool ready = false;  ///< the server knows it
  metrics::Histogram* seconds;

  bool takes(std::span<const Param> params) const;
};

/// Parameters in the arrays libpq wants. The pointers live as long as the Params.
struct BoundParams {
  std::vector<const char*> values;
  std::vector<int> lengths;
  std::vector<int> formats;

  void bind(std::span<const Param> params);
  int count() const { return static_cast<int>(values.size()); }
};

bool succeeded(const PGresult* result);

struct Connection::State {
  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State();

  bool lost() const { return broken || PQstatus(conn) != CONNECTION_OK; }
  /// Reads the session's properties and throws if they are unsuitable.
  void check_session();
  /// Throws unavailable on a broken connection.
  void require_usable(std::string_view doing) const;
  /// Throws the DbError for a failed or missing result. `lasting`: the statement's effect would be
  /// durable although its answer was lost (a COMMIT, or a statement that is its own transaction).
  [[noreturn]] void fail(const PGresult* result, std::string_view doing, bool lasting);
  /// The next result; null at the end of the results, and if the connection broke.
  Result next_result();
  /// The last result of one statement; null when the connection broke before its end.
  Result last_result();
  /// Sends what libpq has queued. false: the connection broke.
  bool flush();
  /// Waits for the socket; false: not before `deadline`, and the connection is broken.
  using Deadline = std::chrono::steady_clock::time_point;
  bool wait(short events, Deadline deadline);
  Deadline deadline() const { return std::chrono::steady_clock::now() + answer_limit; }
  /// Runs simple-protocol SQL and throws unless it succeeded or gave `also_fine`.
  Result execute(const char* sql, std::string_view doing, bool lasting,
                 ExecStatusType also_fine = PGRES_COMMAND_OK);
  /// Sends a BEGIN that still waits for its first statement (COPY and scripts need it on its own).
  void send_pending_begin();
  /// The statement for `query` with these parameter types; not necessarily prepared yet.
  Statement& statement_for(const Query& query, std::span<const Param> params);
  /// One round trip: pending BEGIN, PREPARE if new, the run. Its result, or that of the end of its
  /// transaction where that failed. Throws when the connection broke or BEGIN or PREPARE failed.
  /// `position`, if it is not null, is prepared and run after it, in the same transaction, and gets
  /// its result.
  Result run_first(Statement& statement, std::span<const Param> params,
                   Statement* position = nullptr, Result* position_result = nullptr);
  /// COMMIT, after the statement that asks for its position. The result of that.
  Result commit_with(Statement& position);
  bool has_witness() const { return witness != nullptr && !pooled; }
  /// Tells the witness of a commit. `result`: one row with its position at the end.
  void tell_witness(const Connection& self, const PGresult* result, std::string_view doing);
  bool autocommit() const { return !in_transaction; }
  /// The moments around a statement at which tests inject faults. Throws the DbError of a
  /// connection that broke at that moment. `after` also refuses the answer of a commit that did not
  /// wait for its standby.
  void before(std::string_view statement);
  void after(std::string_view statement, bool lasting);
  static Rows rows_of(Result result) {
    MemoryHold memory(PQresultMemorySize(result.get()));
    return Rows(std::make_shared<Rows::State>(Rows::State{std::move(result), std::move(memory)}));
  }

  PGconn* conn = nullptr;
  bool broken = false;
  bool in_transaction = false;          ///< between begin() and commit() or rollback()
  bool read_only = false;               ///< begin_snapshot()
  const char* pending_begin = nullptr;  ///< BEGIN not sent yet
  std::unordered_map<std::string_view, std::vector<Statement>> statements;
  BoundParams bound;
  Faults* faults = nullptr;
  Witness* witness = nullptr;
  bool pooled = false;  ///< a pooler leads to other servers without a word
  std::string server;
  std::string timeline;
  size_t host = 0;
  std::chrono::milliseconds answer_limit{5'000};  ///< while opening
  std::chrono::milliseconds usual_limit{0};       ///< as OpenOptions says
  bool no_answer = false;                         ///< why it is broken: a deadline passed
  bool unreplicated = false;                      ///< the server gave up waiting for a standby
  /// The socket under a number of its own: libpq may close its own at any time.
  int socket_copy = -1;
  std::atomic<std::chrono::steady_clock::rep> waits_since{0};  ///< 0: no answer is waited for

 private:
  void send(const Statement& statement, std::span<const Param> params, const Statement* position);
  void end_pipeline(std::string_view doing, bool lasting, Result& result);
  Result next_answer(std::string_view doing, bool lasting);
};

}  // namespace tarn::db
