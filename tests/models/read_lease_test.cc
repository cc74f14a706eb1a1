// A model of read leases (docs/design/042-read-leases.md), which are designed and not built: every
// interleaving of two servers, with crashes, pauses and a failover. Time and counts are small;
// every rule of the protocol is taken away once, and a stale read must be found.
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

namespace tarn {
namespace {

constexpr uint8_t kLeaseTicks = 2;
constexpr uint8_t kTicks = 4;
constexpr uint8_t kAcquiresMax = 2;
constexpr uint8_t kWritesMax = 2;     // of the other server
constexpr uint8_t kOwnWritesMax = 1;  // of the holder
constexpr uint8_t kNothing = 255;

/// The rules of the protocol; each is needed.
struct Rules {
  bool taking_waits_for_writers = true;  ///< an exclusive lock that every staging shares
  bool lasts_from_request = true;        ///< not from the answer, which may be late
  bool drops_outdated_cache = true;      ///< a lease that ended before the next began
  bool answer_needs_epoch = true;        ///< a lease that was revoked since the request is no lease
  bool fill_needs_epoch = true;          ///< a lookup from before a write is not kept
  bool own_write_ends_epoch = true;      ///< also lookups that began during the write
  bool revoked_stays_revoked = true;     ///< renewal is refused
  bool writer_waits_from_revocation = true;  ///< not from when it met the lease
  bool holder_forgets_first = true;          ///< then it gives the lease back
  bool gives_back_its_own = true;            ///< by its number, not a later lease
  bool writers_wait_after_failover = true;   ///< a standby may lack the lease
};

enum class Lease : uint8_t { kNone, kHeld, kRevoked };
enum class Taking : uint8_t { kIdle, kRequested, kAnswering };
enum class Write : uint8_t { kIdle, kRunning, kCommitted, kMet, kWaiting };
enum class Giving : uint8_t { kIdle, kDeleting };

/// Everything in bytes, so that states compare and hash as memory. `value` counts writes.
struct State {
  uint8_t now = 0;
  // The database.
  uint8_t value = 0;
  Lease lease = Lease::kNone;
  uint8_t number = 0;        ///< of the newest lease
  uint8_t silent_until = 0;  ///< after a failover nobody writes before this
  uint8_t acknowledged = 0;  ///< the newest value that a writer was told is written
  // The holder.
  Taking taking = Taking::kIdle;
  uint8_t requested_at = 0;
  bool is_requested_outdated = false;  ///< the epoch ended since the request
  uint8_t valid_until = 0;
  uint8_t cached = kNothing;
  uint8_t filling = kNothing;
  bool is_filling_outdated = false;
  Giving giving = Giving::kIdle;
  uint8_t given = 0;  ///< the number of the lease that it gives back
  Write own = Write::kIdle;
  uint8_t own_value = 0;
  // The other server.
  Write write = Write::kIdle;
  uint8_t met_at = 0;
  uint8_t deadline = 0;
  uint8_t revoked = 0;  ///< the number of the lease whose end it waits for
  uint8_t written = 0;
  // How often each may still happen.
  uint8_t acquires = kAcquiresMax;
  uint8_t writes = kWritesMax;
  uint8_t own_writes = kOwnWritesMax;
  uint8_t crashes = 1;
  uint8_t failovers = 1;

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
  explicit Model(const Rules& rules) : rules_(rules) {}

  /// The steps to the first stale read, nullopt if no order of steps leads to one.
  std::optional<std::vector<std::string>> find_stale_read() {
    add(State{}, nullptr, "");
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

  /// Ends the holder's epoch: nothing that it asked for before is kept.
  static void forget(State& s) {
    s.cached = kNothing;
    s.is_requested_outdated = s.taking != Taking::kIdle;
    s.is_filling_outdated = s.filling != kNothing;
  }
  /// States that differ in what nobody looks at any more are one.
  static void tidy(State& s) {
    if (s.valid_until <= s.now) s.valid_until = 0;
    if (s.silent_until <= s.now) s.silent_until = 0;
    if (s.taking == Taking::kIdle) s.requested_at = 0;
    if (s.taking == Taking::kIdle) s.is_requested_outdated = false;
    if (s.own != Write::kCommitted) s.own_value = 0;
    if (s.write != Write::kCommitted) s.written = 0;
    if (s.write != Write::kMet) s.met_at = 0;
    if (s.write != Write::kWaiting) s.deadline = s.revoked = 0;
    if (s.giving == Giving::kIdle) s.given = 0;
  }
  bool may_write(const State& s) const { return s.now >= s.silent_until; }

  void step(const State& s) {
    if (s.now < kTicks) go("a tick passes", [](State& n) { ++n.now; });
    take(s);
    fill(s);
    give(s);
    write_own(s);
    write(s);
    fail(s);
  }

  void take(const State& s) {
    if (s.taking == Taking::kIdle && s.acquires > 0) {
      go("holder asks for the lease", [](State& n) {
        n.taking = Taking::kRequested;
        n.requested_at = n.now;
        --n.acquires;
      });
    }
    const bool writers = s.own == Write::kRunning || s.write == Write::kRunning;
    if (s.taking == Taking::kRequested && !(writers && rules_.taking_waits_for_writers)) {
      if (s.lease == Lease::kRevoked && rules_.revoked_stays_revoked) {
        go("the lease is refused", [](State& n) { n.taking = Taking::kIdle; });
      } else {
        go("the lease is stored", [](State& n) {
          if (n.lease == Lease::kNone) ++n.number;
          n.lease = Lease::kHeld;
          n.taking = Taking::kAnswering;
        });
      }
    }
    if (s.taking == Taking::kAnswering) {
      go("holder hears that it has the lease", [this](State& n) {
        n.taking = Taking::kIdle;
        const bool outdated = n.is_requested_outdated;
        n.is_requested_outdated = false;
        if (rules_.answer_needs_epoch && outdated) return;
        if (rules_.drops_outdated_cache && n.now >= n.valid_until) forget(n);
        const uint8_t from = rules_.lasts_from_request ? n.requested_at : n.now;
        n.valid_until = std::max<uint8_t>(n.valid_until, from + kLeaseTicks);
      });
    }
  }

  void fill(const State& s) {
    if (s.filling == kNothing && s.now < s.valid_until) {
      go("holder looks the key up", [](State& n) { n.filling = n.value; });
    }
    if (s.filling != kNothing) {
      go("holder keeps the answer", [this](State& n) {
        const bool kept = !n.is_filling_outdated || !rules_.fill_needs_epoch;
        if (kept && n.now < n.valid_until) n.cached = n.filling;
        n.filling = kNothing;
        n.is_filling_outdated = false;
      });
    }
  }

  void give(const State& s) {
    if (s.lease == Lease::kRevoked && s.giving == Giving::kIdle) {
      go("holder hears of the revocation", [this](State& n) {
        n.giving = Giving::kDeleting;
        n.given = n.number;
        if (!rules_.holder_forgets_first) return;
        forget(n);
        n.valid_until = 0;
      });
    }
    if (s.giving == Giving::kDeleting) {
      go("holder gives the lease back", [this](State& n) {
        n.giving = Giving::kIdle;
        if (n.given == n.number || !rules_.gives_back_its_own) n.lease = Lease::kNone;
      });
    }
  }

  void write_own(const State& s) {
    if (s.own == Write::kIdle && s.own_writes > 0 && may_write(s) && s.lease != Lease::kRevoked) {
      go("holder begins to write", [](State& n) {
        n.own = Write::kRunning;
        forget(n);
        --n.own_writes;
      });
    }
    if (s.own == Write::kRunning) {
      go("holder's write is committed", [](State& n) {
        n.own = Write::kCommitted;
        n.own_value = ++n.value;
      });
    }
    if (s.own == Write::kCommitted) {
      go("holder acknowledges its write", [this](State& n) {
        n.own = Write::kIdle;
        n.acknowledged = std::max(n.acknowledged, n.own_value);
        if (rules_.own_write_ends_epoch) forget(n);
      });
    }
  }

  void write(const State& s) {
    if (s.write == Write::kIdle && s.writes > 0 && may_write(s)) {
      if (s.lease == Lease::kNone) {
        go("writer begins", [](State& n) {
          n.write = Write::kRunning;
          --n.writes;
        });
      } else {
        go("writer meets the lease", [](State& n) {
          n.write = Write::kMet;
          n.met_at = n.now;
        });
      }
    }
    if (s.write == Write::kRunning) {
      go("writer commits", [](State& n) {
        n.write = Write::kCommitted;
        n.written = ++n.value;
      });
    }
    if (s.write == Write::kCommitted) {
      go("writer acknowledges", [](State& n) {
        n.write = Write::kIdle;
        n.acknowledged = std::max(n.acknowledged, n.written);
      });
    }
    if (s.write == Write::kMet) {
      go("writer revokes the lease", [this](State& n) {
        if (n.lease == Lease::kHeld) n.lease = Lease::kRevoked;
        n.write = Write::kWaiting;
        n.revoked = n.number;
        n.deadline = (rules_.writer_waits_from_revocation ? n.now : n.met_at) + kLeaseTicks;
      });
    }
    const bool is_over = s.lease == Lease::kNone || s.revoked != s.number;
    if (s.write == Write::kWaiting && is_over) {
      go("writer sees that the lease was given back", [](State& n) { n.write = Write::kIdle; });
    }
    if (s.write == Write::kWaiting && !is_over && s.now >= s.deadline) {
      go("writer waited for the lease's end", [](State& n) {
        n.lease = Lease::kNone;
        n.write = Write::kIdle;
      });
    }
  }

  void fail(const State& s) {
    if (s.crashes > 0) {
      go("holder crashes", [](State& n) {
        --n.crashes;
        n.taking = Taking::kIdle;
        n.valid_until = 0;
        n.filling = kNothing;
        n.is_filling_outdated = false;
        n.giving = Giving::kIdle;
        n.own = Write::kIdle;
        forget(n);
      });
      go("writer crashes", [](State& n) {
        --n.crashes;
        n.write = Write::kIdle;
      });
    }
    if (s.failovers > 0) {
      go("a standby without the lease takes over", [this](State& n) {
        --n.failovers;
        n.lease = Lease::kNone;
        if (n.taking == Taking::kRequested) n.taking = Taking::kIdle;
        if (n.own == Write::kRunning) n.own = Write::kIdle;
        if (n.write == Write::kRunning) n.write = Write::kIdle;
        if (rules_.writers_wait_after_failover) n.silent_until = n.now + kLeaseTicks;
      });
    }
  }

  const Rules rules_;
  const State* from_ = nullptr;
  std::unordered_map<State, Origin, Hash> seen_;
  std::deque<const State*> open_;
};

std::string text_of(const std::vector<std::string>& steps) {
  std::string out;
  for (const std::string& step : steps) out += "  " + step + "\n";
  return out;
}

TEST(ReadLease, NeverAnswersWithLessThanWasAcknowledged) {
  Model model(Rules{});
  const auto stale = model.find_stale_read();
  EXPECT_FALSE(stale) << text_of(*stale);
  EXPECT_GT(model.states(), 100'000u);
  RecordProperty("states", std::to_string(model.states()));
}

struct Without {
  const char* name;
  bool Rules::*rule;
};

class ReadLeaseWithout : public ::testing::TestWithParam<Without> {};

TEST_P(ReadLeaseWithout, AnswersStale) {
  Rules rules;
  rules.*GetParam().rule = false;
  const auto stale = Model(rules).find_stale_read();
  EXPECT_TRUE(stale) << "no order of steps needs this rule";
}

INSTANTIATE_TEST_SUITE_P(
    EachRule, ReadLeaseWithout,
    ::testing::Values(Without{"TakingWaitsForWriters", &Rules::taking_waits_for_writers},
                      Without{"LastsFromRequest", &Rules::lasts_from_request},
                      Without{"DropsOutdatedCache", &Rules::drops_outdated_cache},
                      Without{"AnswerNeedsEpoch", &Rules::answer_needs_epoch},
                      Without{"FillNeedsEpoch", &Rules::fill_needs_epoch},
                      Without{"OwnWriteEndsEpoch", &Rules::own_write_ends_epoch},
                      Without{"RevokedStaysRevoked", &Rules::revoked_stays_revoked},
                      Without{"WriterWaitsFromRevocation", &Rules::writer_waits_from_revocation},
                      Without{"HolderForgetsFirst", &Rules::holder_forgets_first},
                      Without{"GivesBackItsOwn", &Rules::gives_back_its_own},
                      Without{"WritersWaitAfterFailover", &Rules::writers_wait_after_failover}),
    [](const auto& rule) { return std::string(rule.param.name); });

}  // namespace
}  // namespace tarn
