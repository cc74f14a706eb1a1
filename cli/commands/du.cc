// tarn du
#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/commands/operation.h"
#include "cli/session.h"
#include "core/base/str_cat.h"

namespace tarn::cli {
namespace {

struct DuOptions {
  std::string what;
  int64_t depth = 0;
  bool exact = false;
  bool free = false;
  bool async = false;
  bool history = false;

  void declare(Command& command) {
    command
        .optional_argument("WHAT", what,
                           "tarn://repository for the sizes of its branches, tarn://repository/ref "
                           "or tarn://repository/ref/prefix; default --repo and --branch")
        .option("--depth", depth, "1 = also each first-level prefix and object")
        .flag("--exact", exact,
              "also distinct stored bytes and those shared with other refs; reads every entry, "
              "which may take minutes")
        .flag("--free", free, "also the bytes that deleting the ref would free; implies --exact")
        .flag("--async", async,
              "with --exact: do not wait; print the id of the background operation")
        .flag("--history", history, "the size of the default branch by day, newest first");
  }

  bool is_exact() const { return exact || free; }
};

Request usage_request(const Uri& uri, const DuOptions& options) {
  Request request{.path = api_path({"repositories", uri.repository, "usage"})};
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) request.query.emplace_back(name, value);
  };
  add("ref", uri.ref);
  add("prefix", uri.path);
  if (options.is_exact()) add("exact", "true");
  if (options.depth == 1) add("depth", "1");
  if (options.async) request.headers = no_wait();
  return request;
}

Cells cells_of(const std::string& what, const std::string& path, const Json& amount) {
  const int64_t bytes = amount.value("bytes", int64_t{0});
  return {what, path, std::to_string(amount.value("objects", int64_t{0})), std::to_string(bytes),
          size_in_words(static_cast<uint64_t>(bytes))};
}

/// A row for each of the sums, which precede the items.
void add_sums(const Json& usage, const std::string& path, const DuOptions& options,
              ListWriter& rows) {
  const auto add = [&](const char* what, const Json& amount) {
    Json item = amount;
    item["what"] = what;
    item["path"] = path;
    rows.add(item, cells_of(what, path, amount));
  };
  if (usage.contains("logical")) add("logical", usage["logical"]);
  if (!usage.contains("stored")) return;
  const Json& stored = usage["stored"];
  add("stored", stored["own"]);
  add("shared", stored["shared"]);
  add("foreign", stored["foreign"]);
  add("imported", stored["imported"]);
  if (options.free && stored.contains("freed")) add("freed", stored["freed"]);
}

void show_history(Session& session, const Uri& uri) {
  print_list(session, {.path = api_path({"repositories", uri.repository, "usage", "history"})},
             "UsageDayList", {"day", "objects", "bytes", "size"}, [](const Json& day) -> Cells {
               const auto bytes = day.value("bytes", uint64_t{0});
               return {day.value("day", ""), std::to_string(day.value("objects", int64_t{0})),
                       std::to_string(bytes), size_in_words(bytes)};
             });
}

void check_request(const Uri& uri, const DuOptions& options) {
  if (options.depth < 0 || options.depth > 1) throw usage_error("measuring: --depth is 0 or 1");
  if (options.async && !options.is_exact()) {
    throw usage_error("measuring: --async needs --exact; the rest takes no time");
  }
  if (options.free && (uri.ref.empty() || !uri.path.empty())) {
    throw usage_error("measuring: --free needs a branch, tag or alias without a prefix");
  }
}

void run_du(Session& session, const DuOptions& options) {
  const Uri uri = any_uri(options.what, session.defaults());
  check_request(uri, options);
  if (options.history) return show_history(session, uri);
  const Request request = usage_request(uri, options);
  const Answer first = session.client.ask(request);
  if (print_when_deferred(session, first)) return;
  const Json usage = json_of(first);
  ListWriter rows = session.out.list("UsageList", {"what", "path", "objects", "bytes", "size"});
  add_sums(usage, to_string(uri), options, rows);
  Request items = request;
  items.headers.clear();
  std::erase_if(items.query, [](const auto& pair) { return pair.first == "exact"; });
  session.client.each(items, [&](const Json& item) {
    Json shown = item;
    shown["what"] = item.value("path_type", "");
    rows.add(shown, cells_of(item.value("path_type", ""), item.value("path", ""), item));
    return true;
  });
  rows.finish();
}

}  // namespace

void add_du_command(CommandTree& tree) {
  tree.add<DuOptions>("du", "Show how many objects and bytes a repository, ref or prefix has",
                      run_du);
}

}  // namespace tarn::cli
