// tarn cache warm
#include <string>

#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/exit_code.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/session.h"
#include "core/base/str_cat.h"

namespace tarn::cli {
namespace {

struct Warm {
  std::string prefix;

  void declare(Command& command) {
    command.optional_argument("PREFIX", prefix,
                              "tarn://repository/ref/path, or a path in --branch");
  }
};

constexpr const char* kCounts[] = {"objects", "copied",   "copied_bytes",
                                   "present", "left_out", "missing"};

ExitCode warm(Session& session, const Warm& options) {
  const Uri uri = session.prefix_or_default(options.prefix);
  Json total = Json::object();
  for (const char* name : kCounts) total[name] = uint64_t{0};
  {
    Progress progress(str_cat("copying ", to_string(uri), " to the server's cache"), Unit::kObjects,
                      0, session.terminal.shows_progress);
    std::string after;
    for (bool more = true; more;) {
      Request request =
          post_request(api_path({"repositories", uri.repository, "refs", uri.ref, "cache"}));
      request.query = {{"prefix", uri.path}, {"after", after}};
      const Json page = session.client.call(request);
      for (const char* name : kCounts) {
        total[name] = total[name].get<uint64_t>() + page.value(name, uint64_t{0});
      }
      progress.set(total["objects"].get<uint64_t>());
      const Json pagination = page.value("pagination", Json::object());
      more = pagination.value("has_more", false);
      after = pagination.value("next_offset", "");
    }
  }
  session.out.object("CacheWarming", total,
                     {{"objects", std::to_string(total["objects"].get<uint64_t>())},
                      {"copied", std::to_string(total["copied"].get<uint64_t>())},
                      {"copied bytes", size_in_words(total["copied_bytes"].get<uint64_t>())},
                      {"present", std::to_string(total["present"].get<uint64_t>())},
                      {"left out", std::to_string(total["left_out"].get<uint64_t>())},
                      {"missing", std::to_string(total["missing"].get<uint64_t>())}});
  return total["missing"].get<uint64_t>() == 0 ? ExitCode::kOk : ExitCode::kPartial;
}

}  // namespace

void add_cache_commands(CommandTree& tree) {
  tree.group("cache", "Copies of small objects on a server's disk (store.cache)");
  tree.add<Warm>("cache warm",
                 "Copy the small objects below a prefix to the server's cache (exit status 20: "
                 "some bytes are missing)",
                 warm);
}

}  // namespace tarn::cli
