#include "tests/integration/pairs/driver.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <thread>

#include "core/base/error.h"
#include "core/base/mutex.h"
#include "core/branch/repositories.h"
#include "core/branch/store_owner.h"
#include "core/db/connection.h"

namespace tarn::pairs {
namespace {

using std::chrono::milliseconds;

/// A timeout that only a hanging test reaches.
constexpr std::chrono::seconds kPatience{60};
constexpr milliseconds kLookAgain{2};
/// Number of consecutive lease requests after which a verb counts as waiting for it.
constexpr int kLeaseAsksOfAWaiter = 2;

// In this database only the verbs of this program wait for locks, one at a time.
constexpr db::Query kAnyWaits{"test_pairs_any_waits", R"sql(
  SELECT EXISTS (SELECT 1 FROM pg_stat_activity
                 WHERE datname = current_database() AND wait_event_type = 'Lock'))sql"};

/// The result of a verb.
struct Answer {
  std::string text;
  bool failed = false;    ///< the text is that of an error
  bool refused = false;   ///< nothing happened, try again
  bool in_doubt = false;  ///< the verb does not know whether it took effect
};

Answer perform(const Verb& verb, Scenario& scenario, testing::TestEngine& engine, Role role) {
  try {
    return {verb.act(scenario, engine, role)};
  } catch (const Error& error) {
    Answer out;
    out.failed = true;
    out.text = error.code() == ErrorCode::kNotFound ? "not_found" : std::string(error.reason());
    out.refused = error.reason() == "branch_locked" || error.reason() == "too_many_attempts";
    out.in_doubt = error.code() == ErrorCode::kUnavailable;
    if (error.code() == ErrorCode::kInternal) out.text += std::string(": ") + error.what();
    return out;
  }
}

/// An event that one thread signals and another waits for.
class Event {
 public:
  void set() {
    MutexLock lock(mutex_);
    set_ = true;
    changed_.notify_all();
  }
  bool wait_for(std::chrono::steady_clock::duration time) {
    MutexLock lock(mutex_);
    return changed_.wait_until(lock, std::chrono::steady_clock::now() + time,
                               [&]() TARN_REQUIRES(mutex_) { return set_; });
  }
  void wait() { TARN_CHECK(wait_for(kPatience)); }

 private:
  Mutex mutex_;
  CondVar changed_;
  bool set_ TARN_GUARDED_BY(mutex_) = false;
};

/// A verb on its own thread.
class Running {
 public:
  Running(const Verb& verb, Scenario& scenario, testing::TestEngine& engine, Role role)
      : thread_([this, &verb, &scenario, &engine, role] {
          answer_ = perform(verb, scenario, engine, role);
          done.set();
        }) {}
  Answer answer() {
    done.wait();
    if (thread_.joinable()) thread_.join();
    return answer_;
  }

  Event done;

 private:
  Answer answer_;
  std::jthread thread_;
};

/// The observations of two verbs.
struct History {
  World first;                   ///< before both
  std::optional<World> stopped;  ///< while A waited at the point and B had not begun
  std::optional<World>
      between;  ///< between the two: B had ended while A stood, or A before B began
  World last;
  Answer a, b;
};

/// Searches for an order of the verbs that explains a history.
class Explanation {
 public:
  Explanation(const Verb& a, const Verb& b, Scenario& scenario, const History& history)
      : a_(a), b_(b), scenario_(scenario), seen_(history) {}

  /// A took effect while it waited, or later, or before; B between the two observations.
  bool overlapping() { return a_first(true) || b_first(true); }
  /// A had ended when B began.
  bool in_order() { return a_first(false); }
  const std::string& tried() const { return tried_; }

 private:
  struct Effect {
    World after;
    bool happened = true;
  };

  static bool agrees(const std::string& expected, const std::string& said) {
    return expected == said || (said == kCommitted && expected.starts_with(kCommitted));
  }

  /// The states that a verb can lead to, given its result; any error text is accepted for a
  /// repository that is gone. `sources`: states in which it may have resolved refs.
  std::vector<Effect> effects(const Verb& verb, Role role, const World& world,
                              const std::vector<const World*>& sources, const Answer& answer) {
    std::vector<Effect> out;
    if (answer.refused || answer.in_doubt) out.push_back({world, false});
    if (answer.refused) return out;
    for (const World* source : sources) {
      if (source != &world && !verb.reads_refs) continue;
      for (Step& step : verb.model(world, *source, scenario_, role)) {
        if (answer.in_doubt || agrees(step.answer, answer.text) ||
            (!world.exists && answer.failed)) {
          out.push_back({std::move(step.after)});
        } else {
          tried_ += "    " + verb.name + " by " + name_of(role) +
                    " would have answered: " + step.answer + "\n";
        }
      }
    }
    return out;
  }

  bool look(std::string_view when, const World& expected, const std::optional<World>& observed) {
    if (!observed) return true;
    const std::string left = render(expected), right = render(*observed);
    if (left == right) return true;
    tried_ += "    " + std::string(when) + " (- expected, + observed):\n" + difference(left, right);
    return false;
  }

  bool a_first(bool overlap) {
    tried_ += "  A, then B:\n";
    const World& start = seen_.first;
    for (const Effect& a : effects(a_, Role::kA, start, {&start}, seen_.a)) {
      // After B has begun, A may have taken effect after the first observation.
      const bool early = look("while A stood", a.after, seen_.stopped);
      const bool late = !early && overlap && look("while A stood", start, seen_.stopped);
      if (!early && !late) continue;
      if (late && a_.seals && b_.stages && sealed(a.after)) return true;
      if (!overlap && !look("between", a.after, seen_.between)) continue;
      std::vector<const World*> sources = {&a.after};
      if (late || !seen_.stopped) sources.push_back(&start);
      for (const Effect& b : effects(b_, Role::kB, a.after, sources, seen_.b)) {
        if (overlap && !look("after B", b.after, seen_.between)) continue;
        if (look("at the end", b.after, seen_.last)) return true;
      }
    }
    return false;
  }

  /// A sealed the staging area, B staged on top of it and was observed, then A published what it
  /// had sealed. Counts as if B came second, if B would have had the same result.
  bool sealed(const World& after_a) {
    const World& start = seen_.first;
    const std::vector<Effect> upon = effects(b_, Role::kB, start, {&start}, seen_.b);
    const bool shown = std::any_of(upon.begin(), upon.end(), [&](const Effect& b) {
      return look("after B, which A's seal left out", b.after, seen_.between);
    });
    if (!shown) return false;
    const std::vector<Effect> later = effects(b_, Role::kB, after_a, {&after_a, &start}, seen_.b);
    return std::any_of(later.begin(), later.end(),
                       [&](const Effect& b) { return look("at the end", b.after, seen_.last); });
  }

  bool b_first(bool overlap) {
    tried_ += "  B, then A:\n";
    const World& start = seen_.first;
    if (!overlap || !look("while A stood", start, seen_.stopped)) return false;
    for (const Effect& b : effects(b_, Role::kB, start, {&start}, seen_.b)) {
      if (!look("after B", b.after, seen_.between)) continue;
      for (const Effect& a : effects(a_, Role::kA, b.after, {&b.after, &start}, seen_.a)) {
        if (look("at the end", a.after, seen_.last)) return true;
      }
    }
    return false;
  }

  const Verb& a_;
  const Verb& b_;
  Scenario& scenario_;
  const History& seen_;
  std::string tried_;
};

/// Replaces commit ids by the commits' content, because ids differ between runs.
void spell_out(Answer& answer, Scenario& scenario, bool exists) {
  const auto id = parse_commit_id(answer.text);
  if (!id) return;
  answer.text = kCommitted;
  if (exists) answer.text += render(scenario.commit(*id));
}

/// No server crashes here, and waiting for the disk would take nine tenths of the time.
std::string without_flushes(const std::string& url) {
  db::Connection::open(url)->run_script(
      "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET synchronous_commit = off', "
      "current_database()); END $$");
  return url;
}

std::string describe(const Answer& answer) {
  return answer.text + (answer.in_doubt ? " (in doubt)" : answer.refused ? " (refused)" : "");
}

}  // namespace

/// Notices when the second verb waits for a lease.
class Driver::Watch final : public db::Faults {
 public:
  void start() {
    MutexLock lock(mutex_);
    asks_ = 0;
  }
  bool waits() {
    MutexLock lock(mutex_);
    return asks_ >= kLeaseAsksOfAWaiter;
  }
  db::Fault before(std::string_view statement) override {
    MutexLock lock(mutex_);
    asks_ = statement == "branches_acquire_lease" ? asks_ + 1 : 0;
    return db::Fault::kNone;
  }
  db::Fault after(std::string_view) override { return db::Fault::kNone; }

 private:
  Mutex mutex_;
  int asks_ TARN_GUARDED_BY(mutex_) = 0;
};

std::string name_of(Mishap mishap) {
  switch (mishap) {
    case Mishap::kStopsBefore:
      return "before";
    case Mishap::kStopsAfter:
      return "after";
    case Mishap::kAnswerLost:
      return "lost";
    case Mishap::kLeasesExpired:
      return "expired";
  }
  return "";
}

std::string name_of(const Point& point) {
  return name_of(point.mishap) + " " + point.statement +
         (point.nth > 1 ? " #" + std::to_string(point.nth) : "");
}

std::vector<Point> points_of(const std::vector<std::string>& statements) {
  std::vector<Point> out;
  std::map<std::string, int> seen;
  for (const std::string& statement : statements) {
    const int nth = ++seen[statement];
    for (const Mishap mishap : kMishaps) out.push_back({mishap, statement, nth});
  }
  return out;
}

Driver::Driver()
    : url_(without_flushes(database_.url())),
      watch_(std::make_unique<Watch>()),
      observer_(url_),
      one_(url_, observer_.store, &faults_),
      two_(url_, observer_.store, watch_.get()),
      original_(observer_, RepositoryName("original")) {
  original_.begin();
  // Both servers have cached the trees of the original, as they do after a while.
  for (testing::TestEngine* engine : {&one_, &two_}) {
    for (const char* branch : {"main", kWork, kSide}) engine->keys(original_.repo, branch);
  }
}

Driver::~Driver() = default;

RepositoryName Driver::fresh_name() {
  return RepositoryName("pair" + std::to_string(1000 + count_++));
}

/// Servers do the same: a writer that is silent for too long is no longer registered.
void Driver::heartbeat() {
  const auto now = std::chrono::steady_clock::now();
  if (now - heartbeat_ < server::kHeartbeatInterval) return;
  heartbeat_ = now;
  for (testing::TestEngine* engine : {&observer_, &one_, &two_}) engine->parts().heartbeat();
}

std::unique_ptr<Scenario> Driver::scenario(const Verb& a, const Verb* b) {
  heartbeat();
  auto out = std::make_unique<Scenario>(original_, fresh_name());
  // Both servers have asked the store for its owner, as they have after their first writes.
  const Repository repository = branch::get_repository(*observer_, out->repo);
  for (testing::TestEngine* engine : {&one_, &two_}) (**engine).owners.refusal(repository);
  if (a.set_up) a.set_up(*out, Role::kA);
  if (b != nullptr && b->set_up) b->set_up(*out, Role::kB);
  out->begin();
  return out;
}

std::vector<std::string> Driver::record(const Verb& verb) {
  const auto s = scenario(verb, nullptr);
  faults_.record();
  const Answer answer = perform(verb, *s, one_, Role::kA);
  std::vector<std::string> out = faults_.recorded();
  // Copies of quotas are read again after a time, by the verb that comes then.
  std::erase(out, "quotas_select_all");
  // So are the owners of stores.
  std::erase_if(out, [](const std::string& statement) {
    return statement.starts_with("store_owner_") || statement.starts_with("store_claims_");
  });
  if (verb.settle) verb.settle(*s, two_);
  leave_nothing_due(two_, s->id);
  return out;
}

std::string Driver::run_in_order(const Verb& a, const Verb& b) {
  const auto s = scenario(a, &b);
  History history;
  history.first = s->initial;
  history.a = perform(a, *s, one_, Role::kA);
  history.between = s->observe();
  history.b = perform(b, *s, two_, Role::kB);
  for (const Verb* verb : {&a, &b}) {
    if (verb->settle) verb->settle(*s, two_);
  }
  history.last = s->observe();
  leave_nothing_due(two_, s->id);
  if (a.answer) history.a.text = a.answer(*s, Role::kA);
  if (b.answer) history.b.text = b.answer(*s, Role::kB);
  spell_out(history.a, *s, history.last.exists);
  spell_out(history.b, *s, history.last.exists);
  Explanation explanation(a, b, *s, history);
  if (!history.a.refused && !history.b.refused && explanation.in_order()) return "";
  return "A: " + describe(history.a) + "\nB: " + describe(history.b) + "\n" + explanation.tried();
}

Outcome Driver::run(const Verb& a, const Verb& b, const Point& point) {
  const auto s = scenario(a, &b);
  Outcome out;
  History history;
  history.first = s->initial;

  Event reached, go_on;
  faults_.disarm();
  faults_.at(
      {point.statement, point.mishap == Mishap::kStopsAfter || point.mishap == Mishap::kAnswerLost,
       point.nth},
      [&] {
        reached.set();
        go_on.wait();
        return point.mishap == Mishap::kAnswerLost ? db::Fault::kConnectionLost : db::Fault::kNone;
      });
  Running first(a, *s, one_, Role::kA);
  while (!reached.wait_for(kLookAgain) && !first.done.wait_for(milliseconds{0})) {
  }
  out.reached = faults_.unreached() == 0;
  if (out.reached) {
    if (point.mishap == Mishap::kLeasesExpired) expire_leases(observer_, s->id);
    history.stopped = s->observe();
  } else {
    faults_.disarm();
    history.between = s->observe();
  }

  watch_->start();
  Running second(b, *s, two_, Role::kB);
  while (!second.done.wait_for(kLookAgain)) {
    const db::Rows rows = observer_.pool.run(kAnyWaits, {}, db::Pool::Retry::kRead);
    if (!out.reached || !(watch_->waits() || rows.boolean(0, 0))) continue;
    out.blocked = true;
    break;
  }
  if (out.reached && !out.blocked) history.between = s->observe();
  // A worker that finds its job taken retries later.
  if (out.reached && b.settle && history.between &&
      render(*history.between) == render(*history.stopped)) {
    history.between.reset();
  }
  go_on.set();
  history.a = first.answer();
  history.b = second.answer();
  for (const Verb* verb : {&a, &b}) {
    if (verb->settle) verb->settle(*s, two_);
  }
  history.last = s->observe();
  leave_nothing_due(two_, s->id);
  if (a.answer) history.a = {a.answer(*s, Role::kA)};
  if (b.answer) history.b = {b.answer(*s, Role::kB)};
  spell_out(history.a, *s, history.last.exists);
  spell_out(history.b, *s, history.last.exists);

  Explanation explanation(a, b, *s, history);
  const bool lost_for_nothing =
      (history.a.in_doubt && point.mishap != Mishap::kAnswerLost) || history.b.in_doubt;
  const bool explained = out.reached ? explanation.overlapping() : explanation.in_order();
  if (explained && !lost_for_nothing) return out;
  out.violation = "A: " + a.name + "   B: " + b.name + "   point: " + name_of(point) +
                  (out.blocked ? "   (B waited)" : "") + "\n  A answered: " + describe(history.a) +
                  "\n  B answered: " + describe(history.b) + "\n" + explanation.tried();
  return out;
}

}  // namespace tarn::pairs
