// Opening a connection, running statements on it, transactions.
#include "core/db/connection.h"

#include <libpq-fe.h>
#include <poll.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "core/base/log.h"
#include "core/base/str_cat.h"
#include "core/db/connection_state.h"

namespace tarn::db {
namespace {

constexpr int kServerVersionMin = 150000;

/// What we set unless the connection string says otherwise. The time limits: a peer that vanished is noticed before
/// the request that waits for it gives up.
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

/// Settings travel in the start-up packet, so no reconnect can lose them; those of the connection string come after
/// ours and win. One plan per statement: the fixed statements have one good plan, and planning costs more than them.
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
  ~Timer() {
    seconds_.observe(std::chrono::duration<double>(Clock::now() - start_).count());
  }
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
      throw_invalid("reading the database's connection string: neither key=value pairs nor a postgresql:// URI");
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

/// A pooler in between may have dropped our settings; writes are only safe against lost updates at read committed.
void require_isolation(PGconn* conn) {
  const Result result(PQexec(conn, "SHOW transaction_isolation"));
  if (!succeeded(result.get())) {
    throw DbError(ErrorCode::kUnavailable, "08006",
                  str_cat("opening the database: ", one_line(PQerrorMessage(conn))), false);
  }
  const std::string_view isolation = PQgetvalue(result.get(), 0, 0);
  if (isolation != "read committed") {
    throw Error(ErrorCode::kInternal, str_cat("opening the database: its transactions default to \"",
                                              isolation, "\", not \"read committed\""));
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
    throw Error(ErrorCode::kInternal, str_cat("opening the database: PostgreSQL 15 or newer is needed, not ",
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
    result.reset(PQexecPrepared(s.conn, statement.name.c_str(), s.bound.count(), s.bound.values.data(),
                                s.bound.lengths.data(), s.bound.formats.data(), 1));
  } else {
    State::Answers answers = s.pipeline(statement, {&params, 1});
    const bool undone = succeeded(answers.results[0].get()) && answers.at_end;
    result = std::move(undone ? answers.at_end : answers.results[0]);
  }
  if (!succeeded(result.get())) s.fail(result.get(), query.name, s.autocommit());
  return Rows(std::make_shared<Rows::State>(Rows::State{std::move(result)}));
}

void Connection::run_script(const std::string& sql) {
  State& s = *state_;
  s.send_pending_begin();
  s.execute(sql.c_str(), "script", s.autocommit(), PGRES_EMPTY_QUERY);
}

std::vector<Rows> Connection::run_pipelined(const Query& query,
                                            std::span<const std::vector<Param>> params) {
  std::vector<Rows> out;
  out.reserve(params.size());
  std::exception_ptr first_failure;
  while (!params.empty()) {
    const auto piece = params.first(std::min(params.size(), kPipelineRunsMax));
    params = params.subspan(piece.size());
    run_piece(query, piece, out, first_failure);
  }
  if (first_failure) std::rethrow_exception(first_failure);
  return out;
}

/// One round trip of run_pipelined. Appends one Rows per run, an empty one for a failed run.
void Connection::run_piece(const Query& query, std::span<const std::vector<Param>> piece,
                           std::vector<Rows>& out, std::exception_ptr& first_failure) {
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
  if (failed == answers.results.end() && !answers.at_end) {
    for (Result& result : answers.results) {
      out.push_back(Rows(std::make_shared<Rows::State>(Rows::State{std::move(result)})));
    }
    return;
  }
  if (!s.autocommit()) {
    s.fail(failed == answers.results.end() ? answers.at_end.get() : failed->get(), query.name, false);
  }
  // The shared transaction is undone: every run again, each on its own, but for the one known to fail.
  for (size_t i = 0; i < runs.size(); ++i) {
    try {
      const Result& result = answers.results[i];
      if (!succeeded(result.get()) && PQresultStatus(result.get()) != PGRES_PIPELINE_ABORTED) {
        s.fail(result.get(), query.name, false);
      }
      out.push_back(run(query, runs[i]));
    } catch (const DbError&) {
      if (!first_failure) first_failure = std::current_exception();
      if (broken()) throw;
      out.emplace_back();
    }
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
                    "running commit: a statement of the transaction had failed, all is undone", false);
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
