// A model of read leases (core/meta/read_leases.h, docs/design/042-read-leases.md): every
// interleaving of two servers, with crashes, pauses and a failover. Time and counts are small;
// every rule of the protocol is taken away once, and a stale read must be found. Long tests let a
// crash, a failover and a lost answer all happen in one run, which takes ten times the states; each
// rule shows with a failover alone.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/long_tests.h"

namespace tarn {
namespace {

constexpr uint8_t kLeaseTicks = 2;
constexpr uint8_t kTakesMax = 2;
constexpr uint8_t kWritesMax = 2;  // of both writers
constexpr size_t kWriters = 2;     // of the holder's server and of another
constexpr uint8_t kNothing = 255;

/// The rules of the protocol; each is needed.
struct Rules {
  bool taking_waits_for_writers = true;      ///< an exclusive lock that every staging shares
  bool reads_under_the_lease = true;         ///< the branch is read after the lease was stored
  bool confirms_what_it_read = true;         ///< the lease still stood after that
  bool lasts_from_request = true;            ///< not from the answer, which may be late
  bool revoked_stays_revoked = true;         ///< it is not renewed
  bool writer_waits_from_revocation = true;  ///< not from when it met the lease
  bool holder_forgets_first = true;          ///< then it gives the lease back
  bool gives_back_its_own = true;            ///< by its number, not a later lease
  bool writers_wait_after_failover = true;   ///< a standby may lack the lease
};

/// How long the model runs, and how often each failure happens in it.
struct Bounds {
  const char* name;
  uint8_t ticks = 0;
  uint8_t crashes = 0;
  uint8_t failovers = 0;
  uint8_t lost_answers = 0;
};
constexpr Bounds kEverything{"Everything", 4, 1, 1, 1};
constexpr Bounds kCrash{"Crash", 3, 1, 0, 0};
constexpr Bounds kFailover{"Failover", 3, 0, 1, 0};
constexpr Bounds kLostAnswer{"LostAnswer", 3, 0, 0, 1};

enum class Lease : uint8_t { kNone, kHeld, kRevoked };
/// The holder's thread: what it waits for, or is about to do.
enum class Doing : uint8_t {
  kResting,
  kTaking,
  kHearingOfTaking,
  kReading,
  kHearingOfReading,
  kRenewing,
  kHearingOfRenewal,
  kGivingBack,
};
enum class Step : uint8_t { kIdle, kRunning, kCommitted, kMet, kWaiting };

struct Writer {
  Step step = Step::kIdle;
  uint8_t met_at = 0;
  uint8_t deadline = 0;
  uint8_t revoked = 0;  ///< the number of the lease whose end it waits for
  uint8_t written = 0;

  bool operator==(const Writer&) const = default;
};

/// Everything in bytes, so that states compare and hash as memory. `value` counts writes.
struct State {
  uint8_t now = 0;
  // The database.
  uint8_t value = 0;
  Lease lease = Lease::kNone;
  uint8_t number = 0;        ///< of the newest lease
  uint8_t silent_until = 0;  ///< after a failover nobody writes before this
  uint8_t acknowledged = 0;  ///< the newest value that a writer was told is written
  uint8_t late_return = 0;   ///< the lease that a statement gives back whose answer was not awaited
  // The holder's thread.
  Doing doing = Doing::kResting;
  uint8_t asked_at = 0;  ///< when it sent the renewal
  uint8_t taking = 0;    ///< the lease under which it reads the branch; 0: none
  uint8_t read = kNothing;
  uint8_t stands = 0;  ///< the lease that the answer to a renewal shows; 0: none
  uint8_t ended = 0;   ///< the one that it shows as revoked
  uint8_t giving = 0;
  // The memory that its requests read from.
  uint8_t held = 0;
  uint8_t cached = kNothing;
  uint8_t valid_until = 0;
  Writer writers[kWriters];
  // How often each may still happen.
  uint8_t takes = kTakesMax;
  uint8_t writes = kWritesMax;
  uint8_t crashes = 0;
  uint8_t failovers = 0;
  uint8_t lost_answers = 0;

  bool operator==(const State&) const = default;
};
static_assert(std::has_unique_object_representations_v<State>);

struct Hash {
  size_t operator()(const State& state) const {
    return std::hash<std::string_view>{}({reinterpret_cast<const char*>(&state), sizeof state});
  }
};

bool may_read(const State& s) { return s.now < s.valid_until && s.cached != kNothing; }

/// A read that begins now would miss a write that was acknowledged before.
bool is_stale(const State& s) { return may_read(s) && s.cached < s.acknowledged; }

class Model {
 public:
  Model(const Rules& rules, const Bounds& bounds) : rules_(rules), bounds_(bounds) {}

  /// The steps to the first stale read, nullopt if no order of steps leads to one.
  std::optional<std::vector<std::string>> find_stale_read() {
    State begin;
    begin.crashes = bounds_.crashes;
    begin.failovers = bounds_.failovers;
    begin.lost_answers = bounds_.lost_answers;
    add(begin, nullptr, "");
    while (!open_.empty()) {
      const State* from = open_.front();
      open_.pop_front();
      from_ = from;
      if (is_stale(*from)) return steps_to(from);
      step(*from);
    }
    return std::nullopt;
  }
  size_t states() const { return seen_.size(); }

 private:
  struct Origin {
    const State* from;
    const char* step;
  };

  void add(const State& state, const State* from, const char* step) {
    const auto [at, is_new] = seen_.emplace(state, Origin{from, step});
    if (is_new) open_.push_back(&at->first);
  }
  template <typename Change>
  void go(const char* step, const Change& change) {
    State next = *from_;
    change(next);
    tidy(next);
    add(next, from_, step);
  }
  std::vector<std::string> steps_to(const State* state) const {
    std::vector<std::string> out;
    while (state != nullptr) {
      const Origin& origin = seen_.at(*state);
      if (origin.from != nullptr) out.emplace_back(origin.step);
      state = origin.from;
    }
    std::reverse(out.begin(), out.end());
    return out;
  }

  static void forget(State& s) {
    s.held = 0;
    s.cached = kNothing;
    s.valid_until = 0;
  }
  /// States that differ in what nobody looks at any more are one.
  static void tidy(State& s) {
    if (s.valid_until <= s.now) s.valid_until = 0;
    if (s.silent_until <= s.now) s.silent_until = 0;
    for (Writer& w : s.writers) {
      if (w.step != Step::kCommitted) w.written = 0;
      if (w.step != Step::kMet) w.met_at = 0;
      if (w.step != Step::kWaiting) w.deadline = w.revoked = 0;
    }
    // The writers are alike.
    if (std::memcmp(&s.writers[1], &s.writers[0], sizeof(Writer)) < 0) {
      std::swap(s.writers[0], s.writers[1]);
    }
  }

  void step(const State& s) {
    if (s.now < bounds_.ticks) go("a tick passes", [](State& n) { ++n.now; });
    take(s);
    renew(s);
    give(s);
    for (size_t i = 0; i < kWriters; ++i) write(s, i);
    fail(s);
  }

  void take(const State& s) {
    if (s.doing == Doing::kResting && s.held == 0 && s.takes > 0) {
      go("holder asks for a lease", [this](State& n) {
        n.doing = Doing::kTaking;
        --n.takes;
        if (!rules_.reads_under_the_lease) n.read = n.value;
      });
    }
    const bool writing =
        std::ranges::any_of(s.writers, [](const Writer& w) { return w.step == Step::kRunning; });
    if (s.doing == Doing::kTaking) {
      if (s.lease == Lease::kNone && !(writing && rules_.taking_waits_for_writers)) {
        go("the lease is stored", [](State& n) {
          n.lease = Lease::kHeld;
          ++n.number;
          n.doing = Doing::kHearingOfTaking;
        });
      } else {
        go("the lease is refused", [](State& n) { n.doing = Doing::kResting; });
      }
    }
    if (s.doing == Doing::kHearingOfTaking) {
      go("holder hears that it has the lease", [this](State& n) {
        n.taking = n.number;
        n.doing = rules_.reads_under_the_lease ? Doing::kReading : Doing::kResting;
      });
      if (s.lost_answers > 0) {
        go("the answer is lost", [](State& n) {
          n.doing = Doing::kResting;
          --n.lost_answers;
        });
      }
    }
    if (s.doing == Doing::kReading) {
      go("the branch is read", [](State& n) {
        n.read = n.value;
        n.doing = Doing::kHearingOfReading;
      });
    }
    if (s.doing == Doing::kHearingOfReading) {
      go("holder has read the branch", [this](State& n) {
        n.doing = Doing::kResting;
        if (rules_.confirms_what_it_read) return;
        hold(n, n.now);
      });
    }
  }

  static void hold(State& n, uint8_t from) {
    n.held = n.taking;
    n.cached = n.read;
    n.valid_until = from + kLeaseTicks;
    n.taking = 0;
    n.read = kNothing;
  }

  void renew(const State& s) {
    if (s.doing == Doing::kResting) {
      go("holder asks whether its leases stand", [](State& n) {
        n.doing = Doing::kRenewing;
        n.asked_at = n.now;
      });
    }
    if (s.doing == Doing::kRenewing) {
      go("the database answers", [this](State& n) {
        const bool stands = n.lease == Lease::kHeld ||
                            (n.lease == Lease::kRevoked && !rules_.revoked_stays_revoked);
        n.stands = stands ? n.number : 0;
        n.ended = n.lease != Lease::kNone && !stands ? n.number : 0;
        n.doing = Doing::kHearingOfRenewal;
      });
    }
    if (s.doing == Doing::kHearingOfRenewal) {
      go("holder hears whether its leases stand", [this](State& n) {
        const uint8_t from = rules_.lasts_from_request ? n.asked_at : n.now;
        const uint8_t stands = n.stands;
        uint8_t unknown = n.ended;
        if (n.held != 0 && n.held == stands) {
          n.valid_until = from + kLeaseTicks;
        } else if (n.taking != 0 && n.taking == stands) {
          hold(n, from);
        } else {
          n.taking = 0;
          n.read = kNothing;
          if (rules_.holder_forgets_first || unknown == 0) forget(n);
          if (stands != 0) unknown = stands;  // stored by a statement whose answer was lost
        }
        n.stands = n.ended = n.asked_at = 0;
        n.giving = unknown;
        n.doing = unknown == 0 ? Doing::kResting : Doing::kGivingBack;
      });
    }
  }

  void give(const State& s) {
    if (s.doing == Doing::kGivingBack) {
      go("the lease is given back", [this](State& n) {
        give_back(n, n.giving);
        n.giving = 0;
        n.doing = Doing::kResting;
      });
      if (s.late_return == 0) {
        go("holder goes on before the lease is given back", [](State& n) {
          n.late_return = n.giving;
          n.giving = 0;
          n.doing = Doing::kResting;
        });
      }
    }
    if (s.doing == Doing::kResting && !rules_.holder_forgets_first && s.held != 0 &&
        s.held != s.number) {
      go("holder forgets late", [](State& n) { forget(n); });
    }
    if (s.late_return != 0) {
      go("the lease is given back late", [this](State& n) {
        give_back(n, n.late_return);
        n.late_return = 0;
      });
    }
  }
  void give_back(State& n, uint8_t number) const {
    if (number == n.number || !rules_.gives_back_its_own) n.lease = Lease::kNone;
  }

  void write(const State& s, size_t i) {
    const Writer& w = s.writers[i];
    if (w.step == Step::kIdle && s.writes > 0 && s.now >= s.silent_until) {
      if (s.lease == Lease::kNone) {
        go("writer begins", [i](State& n) {
          n.writers[i].step = Step::kRunning;
          --n.writes;
        });
      } else {
        go("writer meets the lease", [i](State& n) {
          n.writers[i].step = Step::kMet;
          n.writers[i].met_at = n.now;
        });
      }
    }
    if (w.step == Step::kRunning) {
      go("writer commits", [i](State& n) {
        n.writers[i].step = Step::kCommitted;
        n.writers[i].written = ++n.value;
      });
    }
    if (w.step == Step::kCommitted) {
      go("writer acknowledges", [i](State& n) {
        n.writers[i].step = Step::kIdle;
        n.acknowledged = std::max(n.acknowledged, n.writers[i].written);
      });
    }
    if (w.step == Step::kMet) {
      go("writer revokes the lease", [this, i](State& n) {
        Writer& writer = n.writers[i];
        if (n.lease == Lease::kNone) {
          writer.step = Step::kIdle;
          return;
        }
        n.lease = Lease::kRevoked;
        writer.step = Step::kWaiting;
        writer.revoked = n.number;
        writer.deadline =
            (rules_.writer_waits_from_revocation ? n.now : writer.met_at) + kLeaseTicks;
      });
    }
    const bool is_over = s.lease == Lease::kNone || w.revoked != s.number;
    if (w.step == Step::kWaiting && is_over) {
      go("writer sees that the lease was given back",
         [i](State& n) { n.writers[i].step = Step::kIdle; });
    }
    if (w.step == Step::kWaiting && !is_over && s.now >= w.deadline) {
      go("writer waited for the lease's end", [i](State& n) {
        n.lease = Lease::kNone;
        n.writers[i].step = Step::kIdle;
      });
    }
  }

  void fail(const State& s) {
    if (s.crashes > 0) {
      go("holder crashes", [](State& n) {
        --n.crashes;
        n.doing = Doing::kResting;
        n.taking = n.stands = n.ended = n.giving = n.asked_at = 0;
        n.read = kNothing;
        forget(n);
      });
      for (size_t i = 0; i < kWriters; ++i) {
        go("a writer crashes", [i](State& n) {
          --n.crashes;
          n.writers[i] = {};
        });
      }
    }
    if (s.failovers > 0) {
      go("a standby without the lease takes over", [this](State& n) {
        --n.failovers;
        n.lease = Lease::kNone;
        n.late_return = 0;
        if (n.doing == Doing::kTaking || n.doing == Doing::kRenewing ||
            n.doing == Doing::kReading || n.doing == Doing::kGivingBack) {
          n.doing = Doing::kResting;
          n.giving = n.asked_at = 0;
        }
        for (Writer& w : n.writers) {
          if (w.step == Step::kRunning) w = {};
        }
        if (rules_.writers_wait_after_failover) n.silent_until = n.now + kLeaseTicks;
      });
    }
  }

  const Rules rules_;
  const Bounds bounds_;
  const State* from_ = nullptr;
  std::unordered_map<State, Origin, Hash> seen_;
  std::deque<const State*> open_;
};

std::string text_of(const std::vector<std::string>& steps) {
  std::string out;
  for (const std::string& step : steps) out += "  " + step + "\n";
  return out;
}

class ReadLease : public ::testing::TestWithParam<Bounds> {};

TEST_P(ReadLease, NeverAnswersWithLessThanWasAcknowledged) {
  Model model(Rules{}, GetParam());
  const auto stale = model.find_stale_read();
  EXPECT_FALSE(stale) << text_of(*stale);
  EXPECT_GT(model.states(), 100'000u);
  RecordProperty("states", std::to_string(model.states()));
}

std::vector<Bounds> each_failure() {
  if (testing::is_long()) return {kEverything};
  return {kCrash, kFailover, kLostAnswer};
}
INSTANTIATE_TEST_SUITE_P(With, ReadLease, ::testing::ValuesIn(each_failure()),
                         [](const auto& bounds) { return std::string(bounds.param.name); });

struct Without {
  const char* name;
  bool Rules::*rule;
};

class ReadLeaseWithout : public ::testing::TestWithParam<Without> {};

TEST_P(ReadLeaseWithout, AnswersStale) {
  Rules rules;
  rules.*GetParam().rule = false;
  const auto stale = Model(rules, testing::is_long() ? kEverything : kFailover).find_stale_read();
  EXPECT_TRUE(stale) << "no order of steps needs this rule";
}

INSTANTIATE_TEST_SUITE_P(
    EachRule, ReadLeaseWithout,
    ::testing::Values(Without{"TakingWaitsForWriters", &Rules::taking_waits_for_writers},
                      Without{"ReadsUnderTheLease", &Rules::reads_under_the_lease},
                      Without{"ConfirmsWhatItRead", &Rules::confirms_what_it_read},
                      Without{"LastsFromRequest", &Rules::lasts_from_request},
                      Without{"RevokedStaysRevoked", &Rules::revoked_stays_revoked},
                      Without{"WriterWaitsFromRevocation", &Rules::writer_waits_from_revocation},
                      Without{"HolderForgetsFirst", &Rules::holder_forgets_first},
                      Without{"GivesBackItsOwn", &Rules::gives_back_its_own},
                      Without{"WritersWaitAfterFailover", &Rules::writers_wait_after_failover}),
    [](const auto& rule) { return std::string(rule.param.name); });

}  // namespace
}  // namespace tarn
