// tarn quota set | list | show | remove | recount
#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/exit_code.h"
#include "cli/session.h"
#include "core/base/quantity.h"
#include "core/base/str_cat.h"

namespace tarn::cli {
namespace {

constexpr Unit kUnits[] = {{"", 1},
                           {"B", 1},
                           {"KiB", uint64_t{1} << 10},
                           {"MiB", uint64_t{1} << 20},
                           {"GiB", uint64_t{1} << 30},
                           {"TiB", uint64_t{1} << 40},
                           {"PiB", uint64_t{1} << 50}};

constexpr const char* kLimited[] = {"bytes", "objects", "branches", "uploads", "metadata_bytes"};

/// The scope of a quota: whose objects, branches and uploads it counts.
struct Scope {
  std::string repository;
  bool everywhere = false;
  std::string user;
  std::string branches;

  void declare(Command& command) {
    command.optional_argument("REPOSITORY", repository, "tarn://NAME or NAME; default --repo")
        .flag("--all-repositories", everywhere, "instead of one repository; needs --user")
        .option("--user", user, "what this user stores, creates or begins")
        .option("--on", branches, "a glob of branches, such as 'exp-*'");
  }

  /// Below /quotas of the repository, or of the installation.
  std::string path(Session& session, std::string_view below = {}) const {
    if (everywhere && !repository.empty()) {
      throw usage_error("quota: name a repository, or --all-repositories");
    }
    std::string out =
        everywhere
            ? api_path({"quotas"})
            : api_path({"repositories", session.repository(repository).repository, "quotas"});
    if (!below.empty()) out += str_cat("/", below);
    return out;
  }
  std::vector<std::pair<std::string, std::string>> query() const {
    std::vector<std::pair<std::string, std::string>> out;
    if (!user.empty()) out.emplace_back("user", user);
    if (!branches.empty()) out.emplace_back("branches", branches);
    return out;
  }
};

std::string amount(const char* limited, const Json& value) {
  if (std::string_view(limited).ends_with("bytes")) return size_in_words(value.get<uint64_t>());
  return std::to_string(value.get<int64_t>());
}

/// "8 GiB of 10 GiB (warning from 9 GiB)"; "" = there is no limit and no usage.
std::string usage_text(const Json& quota, const char* limited) {
  const Json& usage = quota.at("usage");
  const Json& limits = quota.at("limits");
  std::string out = usage.contains(limited) ? amount(limited, usage[limited]) : "";
  if (!limits.contains(limited)) return out;
  const Json& limit = limits[limited];
  if (limit.contains("hard")) out += str_cat(" of ", amount(limited, limit["hard"]));
  if (limit.contains("soft"))
    out += str_cat(" (warning from ", amount(limited, limit["soft"]), ")");
  return out;
}

void show_one(Session& session, Json quota) {
  const std::vector<std::pair<std::string, std::string>> lines = {
      {"user", quota.value("user", "everybody")},
      {"branches", quota.value("branches", "all")},
      {"bytes", usage_text(quota, "bytes")},
      {"objects", usage_text(quota, "objects")},
      {"number of branches", usage_text(quota, "branches")},
      {"open uploads", usage_text(quota, "uploads")},
      {"metadata", usage_text(quota, "metadata_bytes")},
      {"counted again", quota.value("recounted_at", "not yet")}};
  session.out.object("Quota", std::move(quota), lines);
}

struct SetQuota : Scope {
  std::string hard[std::size(kLimited)];
  std::string soft[std::size(kLimited)];

  void declare(Command& command) {
    Scope::declare(command);
    command.option("--bytes", hard[0], "stored bytes, such as 500GiB: more are refused")
        .option("--soft-bytes", soft[0], "bytes from which on responses warn and webhooks are told")
        .option("--objects", hard[1], "stored objects; an object in parts counts as its parts")
        .option("--soft-objects", soft[1], "objects from which on there are warnings")
        .option("--branches", hard[2], "number of branches")
        .option("--soft-branches", soft[2], "branches from which on there are warnings")
        .option("--uploads", hard[3], "number of open multipart uploads")
        .option("--soft-uploads", soft[3], "open uploads from which on there are warnings")
        .option("--metadata-bytes", hard[4], "bytes of commits, runs, events and logs of hooks")
        .option("--soft-metadata-bytes", soft[4], "metadata from which on webhooks are told");
  }
};

void add_limit(Json& limits, const char* limited, const char* kind, const std::string& text) {
  if (text.empty()) return;
  const auto value = parse_quantity(text, kUnits);
  if (!value) {
    throw usage_error(
        str_cat("quota: \"", text, "\" is no number of ", limited, "; write 1000 or 500GiB"));
  }
  limits[limited][kind] = *value;
}

void set_quota(Session& session, const SetQuota& options) {
  Json limits = Json::object();
  for (size_t i = 0; i < std::size(kLimited); ++i) {
    add_limit(limits, kLimited[i], "hard", options.hard[i]);
    add_limit(limits, kLimited[i], "soft", options.soft[i]);
  }
  Json body{{"limits", std::move(limits)}};
  if (!options.user.empty()) body["user"] = options.user;
  if (!options.branches.empty()) body["branches"] = options.branches;
  show_one(session, session.client.call(put_request(options.path(session), body)));
}

struct ListQuotas {
  std::string repository;
  bool everywhere = false;

  void declare(Command& command) {
    command.optional_argument("REPOSITORY", repository, "tarn://NAME or NAME; default --repo")
        .flag("--all-repositories", everywhere, "the quotas of users that hold in all of them");
  }
};

void list_quotas(Session& session, const ListQuotas& options) {
  const Scope scope{options.repository, options.everywhere, {}, {}};
  print_list(
      session, {.path = scope.path(session)}, "QuotaList",
      {"user", "branches", "bytes", "objects", "number of branches", "open uploads", "metadata"},
      [](const Json& quota) -> Cells {
        return {quota.value("user", "*"),           quota.value("branches", "*"),
                usage_text(quota, "bytes"),         usage_text(quota, "objects"),
                usage_text(quota, "branches"),      usage_text(quota, "uploads"),
                usage_text(quota, "metadata_bytes")};
      });
}

void show_quota(Session& session, const Scope& options) {
  bool found = false;
  session.client.each({.path = options.path(session)}, [&](const Json& quota) {
    found =
        quota.value("user", "") == options.user && quota.value("branches", "") == options.branches;
    if (found) show_one(session, quota);
    return !found;
  });
  if (!found)
    throw Error(ErrorCode::kNotFound,
                "quota: there is none of this scope; tarn quota list shows those there are, tarn "
                "quota set sets one");
}

void remove_quota(Session& session, const Scope& options) {
  Request request = delete_request(options.path(session));
  request.query = options.query();
  session.client.call(request);
  session.out.remark("removed the quota");
}

void recount(Session& session, const Scope& options) {
  Request request = post_request(options.path(session, "recount"));
  request.query = options.query();
  show_one(session, session.client.call(request));
}

}  // namespace

void add_quota_commands(CommandTree& tree) {
  tree.group("quota", "Limits of what repositories, users and branches store");
  tree.add<SetQuota>("quota set", "Set the limits of a quota, in place of those it has", set_quota);
  tree.add<ListQuotas>("quota list", "List quotas with their usage", list_quotas);
  tree.add<Scope>("quota show", "Show one quota", show_quota);
  tree.add<Scope>("quota remove", "Remove a quota", remove_quota);
  tree.add<Scope>("quota recount", "Count again what is stored; reads every entry", recount);
}

}  // namespace tarn::cli
