// A model of how servers leave a database that lacks what they acknowledged
// (core/meta/timeline.h, docs/design/046-lost-writes.md): every order of the steps of two servers
// over two databases that replicate, crash, return, are promoted, rewound or restored from a
// snapshot. Numbers of timelines are used again. Every rule of the protocol is taken away once, and
// a server must be found that uses a database without a write that it acknowledged.
#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/long_tests.h"

namespace tarn::lost_writes {
namespace {

constexpr size_t kNodes = 2;
constexpr size_t kServers = 2;
constexpr size_t kLogMax = 7;
constexpr uint8_t kNowhere = 255;
// Records of a log besides writes, which are numbered from 1.
constexpr uint8_t kOther = 100;  ///< of another database, or of PostgreSQL itself
constexpr uint8_t kStart = 128;  ///< and the number of the start

/// The rules of the protocol; each is needed.
struct Rules {
  bool looks_at_databases = true;  ///< a connection is checked, whatever its timeline's number
  bool looks_for_token = true;     ///< the start itself, not a timeline's number at least as high
  bool every_start_has_token = true;  ///< not only promotions
  bool compares_position = true;      ///< the token is not enough
  bool position_is_newest = true;     ///< that of every commit, not of the first on a start
  bool inherited_is_exact = true;     ///< where recovery ended, not where a server entered
  bool leaves_before_looking = true;  ///< nothing is acknowledged on the old server any more
};

struct Log {
  uint8_t timeline = 1;
  uint8_t length = 0;
  std::array<uint8_t, kLogMax> record{};
  std::array<uint8_t, kLogMax> inherited{};  ///< of starts: the length of the log before them
  bool operator==(const Log&) const = default;
};

struct Node {
  Log log;
  uint8_t is_up = 1;
  uint8_t is_primary = 0;
  uint8_t start = 0;    ///< every start has another number
  uint8_t entered = 0;  ///< its token is in the log
  uint8_t began = 0;    ///< the length of the log when recovery ended
  bool operator==(const Node&) const = default;
};

struct Server {
  uint8_t at = kNowhere;
  uint8_t start = 0;          ///< of the node that it is connected to
  uint8_t seen_start = 0;     ///< of the newest acknowledged commit
  uint8_t seen_position = 0;  ///< after it
  uint8_t seen_timeline = 0;
  uint8_t pending = 0;  ///< a write that was sent and not acknowledged
  uint8_t pending_at = kNowhere;
  uint8_t pending_start = 0;
  uint8_t pending_position = 0;
  uint8_t acknowledged = 0;  ///< bits of the writes
  bool operator==(const Server&) const = default;
};

struct State {
  Node nodes[kNodes];
  Server servers[kServers];
  Log snapshot;
  uint8_t has_snapshot = 0;
  uint8_t starts = 1;
  uint8_t written = 0;
  // How often each may still happen.
  uint8_t writes = 0;
  uint8_t others = 0;
  uint8_t crashes = 0;
  uint8_t returns = 0;
  uint8_t promotions = 0;
  uint8_t rewinds = 0;
  uint8_t restores = 0;
  uint8_t restarts = 0;  ///< of Tarn's servers, which forget everything
  bool operator==(const State&) const = default;
};
static_assert(std::has_unique_object_representations_v<State>);

struct Hash {
  size_t operator()(const State& state) const {
    return std::hash<std::string_view>{}({reinterpret_cast<const char*>(&state), sizeof state});
  }
};

bool holds(const Log& log, uint8_t record) {
  return std::find(log.record.begin(), log.record.begin() + log.length, record) !=
         log.record.begin() + log.length;
}

void append(Log& log, uint8_t record, uint8_t inherited = 0) {
  log.record[log.length] = record;
  log.inherited[log.length++] = inherited;
}

bool is_prefix(const Log& log, const Log& of) {
  return log.length <= of.length &&
         std::equal(log.record.begin(), log.record.begin() + log.length, of.record.begin());
}

/// The model leaves out that others write during a start that no server of Tarn enters, before it
/// ends. The position of the next start then hides what the first one lacked.
bool may_end(const Node& node) { return node.entered == 1 || node.log.length == node.began; }

bool is_usable(const State& s, const Server& server) {
  if (server.at == kNowhere) return false;
  const Node& node = s.nodes[server.at];
  return node.is_up == 1 && node.is_primary == 1 && node.start == server.start;
}

/// A server uses a database that lacks what it acknowledged.
bool is_wrong(const State& s) {
  return std::ranges::any_of(s.servers, [&](const Server& server) {
    if (!is_usable(s, server)) return false;
    for (uint8_t write = 1; write <= s.written; ++write) {
      const bool told = (server.acknowledged >> write & 1) == 1;
      if (told && !holds(s.nodes[server.at].log, write)) return true;
    }
    return false;
  });
}

class Model {
 public:
  Model(const Rules& rules, const State& begin) : rules_(rules) { add(begin, nullptr, ""); }

  /// The steps to the first wrong state, nullopt if no order of steps leads to one.
  std::optional<std::vector<std::string>> find_lost_write() {
    while (!open_.empty()) {
      const State* from = open_.front();
      open_.pop_front();
      from_ = from;
      if (is_wrong(*from)) return steps_to(from);
      for (size_t i = 0; i < kNodes; ++i) run_node(*from, i);
      for (size_t i = 0; i < kServers; ++i) run_server(*from, i);
    }
    return std::nullopt;
  }
  size_t states() const { return seen_.size(); }

 private:
  struct Origin {
    const State* from;
    std::string step;
  };

  void add(const State& state, const State* from, std::string step) {
    const auto [at, is_new] = seen_.emplace(state, Origin{from, std::move(step)});
    if (is_new) open_.push_back(&at->first);
  }
  template <typename Change>
  void go(const char* step, size_t who, const Change& change) {
    State next = *from_;
    change(next);
    add(next, from_, std::string(step) + " " + std::to_string(who));
  }
  std::vector<std::string> steps_to(const State* state) const {
    std::vector<std::string> out;
    while (state != nullptr) {
      const Origin& origin = seen_.at(*state);
      if (origin.from != nullptr) out.push_back(origin.step);
      state = origin.from;
    }
    std::reverse(out.begin(), out.end());
    return out;
  }

  void begin_start(State& s, Node& node, bool is_promotion) const {
    node.is_up = node.is_primary = 1;
    if (!is_promotion && !rules_.every_start_has_token) return;  // the same start goes on
    node.start = ++s.starts;
    node.entered = 0;
    node.began = node.log.length;
  }

  void run_node(const State& s, size_t i) {
    const Node& node = s.nodes[i];
    const Node& other = s.nodes[1 - i];
    const bool leads = node.is_up == 1 && node.is_primary == 1;
    const bool follows = node.is_up == 1 && node.is_primary == 0;
    if (follows && other.is_primary == 1 && may_end(other) && node.log.length < other.log.length &&
        is_prefix(node.log, other.log)) {
      go("a record is replicated to", i, [i](State& n) {
        const Node& primary = n.nodes[1 - i];
        const Log& from = primary.log;
        Log& log = n.nodes[i].log;
        // Records of others before the token come with it: see may_end.
        const bool before_token =
            log.length >= primary.began && !holds(log, kStart + primary.start);
        do {
          append(log, from.record[log.length], from.inherited[log.length]);
        } while (before_token && !holds(log, kStart + primary.start) && log.length < from.length);
        log.timeline = from.timeline;
      });
    }
    if (leads && s.others > 0 && node.log.length < kLogMax) {
      go("others write in", i, [i](State& n) {
        --n.others;
        append(n.nodes[i].log, kOther);
      });
    }
    if (leads && s.crashes > 0 && may_end(node)) {
      go("crash of", i, [i](State& n) {
        --n.crashes;
        n.nodes[i].is_up = 0;
      });
    }
    if (node.is_up == 0 && s.returns > 0) {
      go("return of", i, [this, i](State& n) {
        --n.returns;
        begin_start(n, n.nodes[i], false);
      });
    }
    if (node.is_up == 0 && s.rewinds > 0 && other.is_up == 1 && other.is_primary == 1) {
      go("rewind of", i, [i](State& n) {
        --n.rewinds;
        Node rewound;  // what the primary wrote since is replicated
        rewound.log = n.nodes[1 - i].log;
        rewound.log.length = n.nodes[1 - i].began;
        for (size_t at = rewound.log.length; at < kLogMax; ++at) {
          rewound.log.record[at] = rewound.log.inherited[at] = 0;
        }
        n.nodes[i] = rewound;
      });
    }
    if (follows && s.promotions > 0) {
      go("promotion of", i, [this, i](State& n) {
        --n.promotions;
        ++n.nodes[i].log.timeline;
        begin_start(n, n.nodes[i], true);
      });
    }
    if (leads && s.has_snapshot == 0 && may_end(node) && s.restores > 0) {
      go("snapshot of", i, [i](State& n) {
        n.has_snapshot = 1;
        n.snapshot = n.nodes[i].log;
      });
    }
    if (s.has_snapshot == 1 && s.restores > 0) {
      go("restore of the snapshot on", i, [this, i](State& n) {
        --n.restores;
        n.nodes[i].log = n.snapshot;
        begin_start(n, n.nodes[i], false);
      });
    }
  }

  bool permits(const Server& server, const Node& node) const {
    if (!rules_.looks_at_databases || server.seen_start == 0) return true;
    if (!rules_.looks_for_token) return node.log.timeline >= server.seen_timeline;
    const Log& log = node.log;
    const auto first = log.record.begin();
    const auto last = first + log.length;
    const auto token = std::find(first, last, kStart + server.seen_start);
    if (token == last) return false;
    if (node.start == server.seen_start || !rules_.compares_position) return true;
    const auto next = std::find_if(token + 1, last, [](uint8_t record) { return record > kStart; });
    const uint8_t now = rules_.inherited_is_exact ? node.began : log.length;
    return server.seen_position <=
           (next == last ? now : log.inherited[static_cast<size_t>(next - first)]);
  }

  void run_server(const State& s, size_t i) {
    const Server& server = s.servers[i];
    for (size_t to = 0; to < kNodes; ++to) {
      const Node& node = s.nodes[to];
      if (node.is_up == 0 || node.is_primary == 0) continue;
      if (is_usable(s, server) && server.at == to) continue;
      if (node.entered == 0 && node.log.length == kLogMax) continue;
      if (!permits(server, node)) continue;
      go("connection of server", i, [this, i, to](State& n) {
        Server& mine = n.servers[i];
        Node& used = n.nodes[to];
        if (used.entered == 0) {
          const uint8_t inherited = rules_.inherited_is_exact ? used.began : used.log.length;
          append(used.log, kStart + used.start, inherited);
          used.entered = 1;
        }
        mine.at = static_cast<uint8_t>(to);
        mine.start = used.start;
        if (rules_.leaves_before_looking) forget_pending(mine);
      });
    }
    if (is_usable(s, server) && s.writes > 0 && server.pending == 0 &&
        s.nodes[server.at].log.length < kLogMax) {
      go("write by server", i, [i](State& n) {
        --n.writes;
        Server& mine = n.servers[i];
        Log& log = n.nodes[mine.at].log;
        append(log, ++n.written);
        mine.pending = n.written;
        mine.pending_at = mine.at;
        mine.pending_start = mine.start;
        mine.pending_position = log.length;
      });
    }
    if (server.pending != 0) {
      go("acknowledgement by server", i, [this, i](State& n) {
        Server& mine = n.servers[i];
        mine.acknowledged |= static_cast<uint8_t>(1 << mine.pending);
        if (rules_.position_is_newest || mine.seen_start != mine.pending_start) {
          mine.seen_start = mine.pending_start;
          mine.seen_position = mine.pending_position;
          mine.seen_timeline = n.nodes[mine.pending_at].log.timeline;
        }
        forget_pending(mine);
      });
    }
    if (s.restarts > 0) {
      go("restart of server", i, [i](State& n) {
        --n.restarts;
        n.servers[i] = {};
      });
    }
  }

  static void forget_pending(Server& server) {
    server.pending = server.pending_start = server.pending_position = 0;
    server.pending_at = kNowhere;
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

/// How often everything happens in a run.
State begin_of(bool with_snapshot) {
  State s;
  s.nodes[0].is_primary = 1;
  s.nodes[0].start = 1;
  s.writes = testing::is_long() ? 3 : 2;
  s.others = 1;
  s.promotions = 1;
  if (with_snapshot || testing::is_long()) s.restores = 1;
  if (with_snapshot && !testing::is_long()) return s;
  s.crashes = 2;
  s.returns = s.rewinds = s.restarts = 1;
  return s;
}

class LostWrites : public ::testing::TestWithParam<bool> {};

TEST_P(LostWrites, NoServerUsesADatabaseWithoutWhatItAcknowledged) {
  Model model(Rules{}, begin_of(GetParam()));
  const auto lost = model.find_lost_write();
  EXPECT_FALSE(lost) << text_of(*lost);
  EXPECT_GT(model.states(), 10'000u);
  RecordProperty("states", std::to_string(model.states()));
}

INSTANTIATE_TEST_SUITE_P(Restored, LostWrites, ::testing::Bool());

struct Without {
  const char* name;
  bool Rules::*rule;
};

class LostWritesWithout : public ::testing::TestWithParam<Without> {};

TEST_P(LostWritesWithout, LosesAWriteWithoutAWord) {
  Rules rules;
  rules.*GetParam().rule = false;
  const bool is_found = Model(rules, begin_of(false)).find_lost_write() ||
                        Model(rules, begin_of(true)).find_lost_write();
  EXPECT_TRUE(is_found) << "no order of steps needs this rule";
}

INSTANTIATE_TEST_SUITE_P(
    EachRule, LostWritesWithout,
    ::testing::Values(Without{"LooksAtDatabases", &Rules::looks_at_databases},
                      Without{"LooksForToken", &Rules::looks_for_token},
                      Without{"EveryStartHasToken", &Rules::every_start_has_token},
                      Without{"ComparesPosition", &Rules::compares_position},
                      Without{"PositionIsNewest", &Rules::position_is_newest},
                      Without{"InheritedIsExact", &Rules::inherited_is_exact},
                      Without{"LeavesBeforeLooking", &Rules::leaves_before_looking}),
    [](const auto& rule) { return std::string(rule.param.name); });

}  // namespace
}  // namespace tarn::lost_writes
