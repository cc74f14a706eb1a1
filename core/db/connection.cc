// Opening a connection, running statements on it, transactions.
#include "core/db/connection.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <exception>

#include <libpq-fe.h>
#include <poll.h>

#include "core/base/log.h"
#include "core/base/str_cat.h"
#include "core/db/connection_state.h"

namespace tarn::db {
namespace {

constexpr int kServerVersionMin = 150000;

/// What we set unless the connection string says otherwise. The time limits: a peer that vanished
/// is noticed before the request that waits for it gives up.
constexpr std::pair<const char*, const char*> kDefaults[] = {
    {"fallback_application_name", "tarnd"},
    {"client_encoding", "UTF8"},
    {"connect_timeout", "5"},
    {"keepalives_idle", "30"},
    {"keepalives_interval", "10"},
    {"keepalives_count", "3"},
    {"tcp_user_timeout", "30000"},
    // After a failover a replica must not pass for the primary.
    {"target_session_attrs", "read-write"},
};

/// Settings travel in the start-up packet, so no reconnect can lose them; those of the connection
/// string come after ours and win. One plan per statement: the fixed statements have one good plan,
/// and planning costs more than them.
constexpr const char* kSettings =
    "-c statement_timeout=60s"
    " -c idle_in_transaction_session_timeout=30s"
    " -c default_transaction_isolation=read\\ committed"
    " -c plan_cache_mode=force_generic_plan"
    " -c jit=off"
    " -c client_min_messages=warning";

/// Most runs sent before their answers are read.
constexpr size_t kPipelineRunsMax = 256;

class Timer {
 public:
  explicit Timer(metrics::Histogram& seconds) : seconds_(seconds) {}
  ~Timer() { seconds_.observe(std::chrono::duration<double>(Clock::now() - start_).count()); }
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

 private:
  using Clock = std::chrono::steady_clock;
  metrics::Histogram& seconds_;
  const Clock::time_point start_ = Clock::now();
};

struct OptionsDeleter {
  void operator()(PQconninfoOption* options) const { PQconninfoFree(options); }
};

/// The keywords of `url` and ours, for PQconnectdbParams.
class ConnectionOptions {
 public:
  explicit ConnectionOptions(const std::string& url)
      : given_(PQconninfoParse(url.c_str(), nullptr)) {
    if (!given_) {  // libpq's words may quote a piece of the password
      throw_invalid(
          "reading the database's connection string: neither key=value pairs nor a postgresql:// "
          "URI");
    }
    for (const PQconninfoOption* o = given_.get(); o->keyword; ++o) {
      if (o->val && std::strcmp(o->keyword, "options") != 0) add(o->keyword, o->val);
      if (o->val && std::strcmp(o->keyword, "options") == 0) settings_ += str_cat(' ', o->val);
    }
    for (const auto& [keyword, value] : kDefaults) {
      if (!has(keyword)) add(keyword, value);
    }
    add("options", settings_.c_str());
  }

  PGconn* connect() {
    std::vector<const char*> keywords = keywords_;
    std::vector<const char*> values = values_;
    keywords.push_back(nullptr);
    values.push_back(nullptr);
    return PQconnectdbParams(keywords.data(), values.data(), 0);
  }

 private:
  void add(const char* keyword, const char* value) {
    keywords_.push_back(keyword);
    values_.push_back(value);
  }
  bool has(std::string_view keyword) const {
    return std::any_of(keywords_.begin(), keywords_.end(),
                       [keyword](const char* one) { return one == keyword; });
  }

  std::unique_ptr<PQconninfoOption, OptionsDeleter> given_;
  std::string settings_ = kSettings;
  std::vector<const char*> keywords_;
  std::vector<const char*> values_;
};

void log_notice(void*, const PGresult* result) {
  const char* message = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
  log::debug("sql_notice", {{"message", message ? message : ""}});
}

std::string one_line(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

/// A pooler in between may have dropped our settings; writes are only safe against lost updates at
/// read committed.
void require_isolation(PGconn* conn) {
  const Result result(PQexec(conn, "SHOW transaction_isolation"));
  if (!succeeded(result.get())) {
    throw DbError(ErrorCode::kUnavailable, "08006",
                  str_cat("opening the database: ", one_line(PQerrorMessage(conn))), false);
  }
  const std::string_view isolation = PQgetvalue(result.get(), 0, 0);
  if (isolation != "read committed") {
    throw Error(ErrorCode::kInternal,
                str_cat("opening the database: its transactions default to \"", isolation,
                        "\", not \"read committed\""));
  }
}

}  // namespace

Connection::Connection() : state_(std::make_unique<State>()) {}
Connection::~Connection() = default;

std::unique_ptr<Connection> Connection::open(const std::string& url) {
  std::unique_ptr<Connection> connection(new Connection());
  PGconn*& conn = connection->state_->conn;
  conn = ConnectionOptions(url).connect();
  if (PQstatus(conn) != CONNECTION_OK) {
    throw DbError(ErrorCode::kUnavailable, "08001",
                  str_cat("opening the database: ", one_line(PQerrorMessage(conn))), false);
  }
  if (PQserverVersion(conn) < kServerVersionMin) {
    throw Error(ErrorCode::kInternal,
                str_cat("opening the database: PostgreSQL 15 or newer is needed, not ",
                        PQserverVersion(conn) / 10000));
  }
  PQsetNoticeReceiver(conn, log_notice, nullptr);
  require_isolation(conn);
  return connection;
}

bool Connection::broken() const { return state_->broken || state_->lost(); }

bool Connection::alive() {
  while (!broken()) {
    pollfd socket{PQsocket(state_->conn), POLLIN, 0};
    if (poll(&socket, 1, 0) == 0) return true;
    // Something waits unasked: a notice, or the server's farewell and the end of the stream.
    if (PQconsumeInput(state_->conn) != 1) state_->broken = true;
  }
  return false;
}

Rows Connection::run(const Query& query, std::initializer_list<Param> params) {
  return run(query, std::span<const Param>(params.begin(), params.size()));
}

Rows Connection::run(const Query& query, std::span<const Param> params) {
  State& s = *state_;
  s.require_usable(query.name);
  Statement& statement = s.statement_for(query, params);
  const Timer timer(*statement.seconds);
  Result result;
  if (statement.ready && !s.pending_begin) {
    s.bound.bind(params);
    result.reset(PQexecPrepared(s.conn, statement.name.c_str(), s.bound.count(),
                                s.bound.values.data(), s.bound.lengths.data(),
                                s.bound.formats.data(), 1));
  } else {
    State::Answers answers = s.pipeline(statement, {&params, 1});
    const bool undone = succeeded(answers.results[0].get()) && answers.at_end;
    result = std::move(undone ? answers.at_end : answers.results[0]);
  }
  if (!succeeded(result.get())) s.fail(result.get(), query.name, s.autocommit());
  return State::rows_of(std::move(result));
}

void Connection::run_script(const std::string& sql) {
  State& s = *state_;
  s.send_pending_begin();
  s.execute(sql.c_str(), "script", s.autocommit(), PGRES_EMPTY_QUERY);
}

/// What the runs of a pipeline have come to so far.
struct Connection::PipelineOutcome {
  std::vector<Rows> rows;  ///< one per run done; empty for one that failed
  std::exception_ptr first_failure;
};

std::vector<Rows> Connection::run_pipelined(const Query& query,
                                            std::span<const std::vector<Param>> params) {
  PipelineOutcome outcome;
  outcome.rows.reserve(params.size());
  try {
    while (!params.empty()) {
      const auto piece = params.first(std::min(params.size(), kPipelineRunsMax));
      params = params.subspan(piece.size());
      run_piece(query, piece, outcome);
    }
  } catch (const DbError& error) {
    if (!state_->autocommit() || outcome.rows.empty()) throw;
    // Whatever became of the run that failed: runs before it have taken effect.
    throw DbError(error.code(), error.sqlstate(), error.message(), true);
  }
  if (outcome.first_failure) std::rethrow_exception(outcome.first_failure);
  return std::move(outcome.rows);
}

/// One round trip of run_pipelined.
void Connection::run_piece(const Query& query, std::span<const std::vector<Param>> piece,
                           PipelineOutcome& outcome) {
  State& s = *state_;
  s.require_usable(query.name);
  Statement& statement = s.statement_for(query, piece[0]);
  const std::vector<std::span<const Param>> runs(piece.begin(), piece.end());
  for (const std::span<const Param> run : runs) {
    if (!statement.takes(run)) {
      throw Error(ErrorCode::kInternal,
                  str_cat("running ", query.name, " in a pipeline: its runs differ in types"));
    }
  }
  State::Answers answers;
  {
    const Timer timer(*statement.seconds);
    answers = s.pipeline(statement, runs);
  }
  const auto failed = std::find_if(answers.results.begin(), answers.results.end(),
                                   [](const Result& r) { return !succeeded(r.get()); });
  const bool all_ran = failed == answers.results.end();
  if (all_ran && !answers.at_end) {
    for (Result& result : answers.results)
      outcome.rows.push_back(State::rows_of(std::move(result)));
    return;
  }
  try {
    s.fail(all_ran ? answers.at_end.get() : failed->get(), query.name, false);
  } catch (const DbError&) {
    if (!s.autocommit() || broken()) throw;
    // A failure at the end names no run: the one that caused it fails again below.
    if (!all_ran && !outcome.first_failure) outcome.first_failure = std::current_exception();
  }
  rerun_apart(query, runs, outcome, static_cast<size_t>(failed - answers.results.begin()));
}

/// After a failure undid the shared transaction: every run in its own, but for the one that failed.
void Connection::rerun_apart(const Query& query, std::span<const std::span<const Param>> runs,
                             PipelineOutcome& outcome, size_t failed) {
  for (size_t i = 0; i < runs.size(); ++i) {
    Rows rows;
    try {
      if (i != failed) rows = run(query, runs[i]);
    } catch (const DbError&) {
      if (broken()) throw;
      if (!outcome.first_failure) outcome.first_failure = std::current_exception();
    }
    outcome.rows.push_back(std::move(rows));
  }
}

void Connection::begin() {
  TARN_CHECK(!state_->in_transaction);
  state_->require_usable("begin");
  state_->in_transaction = true;
  state_->pending_begin = "BEGIN";
}

void Connection::begin_snapshot() {
  begin();
  state_->read_only = true;
  state_->pending_begin = "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY";
}

void Connection::commit() {
  State& s = *state_;
  TARN_CHECK(s.in_transaction);
  if (!s.pending_begin) {
    const Result result = s.execute("COMMIT", "commit", !s.read_only);
    // PostgreSQL answers COMMIT of a failed transaction with success, having undone it.
    if (std::string_view(PQcmdStatus(result.get())) != "COMMIT") {
      throw DbError(ErrorCode::kInternal, "25P02",
                    "running commit: a statement of the transaction had failed, all is undone",
                    false);
    }
  }
  s.pending_begin = nullptr;
  s.in_transaction = s.read_only = false;
}

void Connection::rollback() noexcept {
  State& s = *state_;
  s.pending_begin = nullptr;
  s.in_transaction = s.read_only = false;
  if (broken() || PQtransactionStatus(s.conn) == PQTRANS_IDLE) return;
  if (!succeeded(Result(PQexec(s.conn, "ROLLBACK")).get())) s.broken = true;
}

}  // namespace tarn::db
