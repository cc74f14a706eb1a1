// Output of the command: data on stdout, messages on stderr.
#pragma once

#include <functional>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "cli/child_program.h"
#include "cli/screen.h"
#include "cli/table.h"
#include "core/base/error.h"

namespace tarn::cli {

// A pager: a program through which standard output reaches the terminal, page by page.

/// During its lifetime standard output goes to the program. The destructor waits until the user
/// leaves it. Callers flush their streams before both. One at a time.
class Pager {
 public:
  explicit Pager(const std::string& command);
  ~Pager();
  Pager(const Pager&) = delete;
  Pager& operator=(const Pager&) = delete;

 private:
  IgnoredInterrupts interrupts_;
  int terminal_;  ///< the previous standard output
  pid_t program_;
};

enum class Format { kTable, kJson, kJsonLines, kYaml, kCsv, kMarkdown, kName };

/// "table", "json", "jsonl", "yaml", "csv", "md", "name". Throws a usage error for another word.
Format parse_format(std::string_view word);

/// The words that parse_format accepts.
std::vector<std::string_view> format_names();
/// Whether documents are printed, with "apiVersion" and "kind".
constexpr bool is_document(Format format) {
  return format == Format::kJson || format == Format::kJsonLines || format == Format::kYaml;
}

/// A member of every JSON and YAML document, together with "kind".
constexpr std::string_view kApiVersion = "tarn/v1";

class Output;

/// Prints rows of one kind as they come: memory does not grow with their number. Prints nothing
/// before the first row or the end, so a list that fails at once leaves stdout empty. A table that
/// is longer than the screen goes through its pager. One thread at a time.
class ListWriter {
 public:
  ListWriter(Output& out, std::string kind, Cells columns);
  /// `item` is for the JSON formats and YAML, `cells` for the others, one for each column.
  void add(const nlohmann::json& item, Cells cells);
  /// Prints buffered rows, closes the document, and waits until the user leaves the pager. Without
  /// it the output is incomplete. A table without rows is a message on stderr only.
  void finish();

 private:
  void begin();
  void flush_table();

  Output& out_;
  const std::string kind_;
  const Cells columns_;
  TableLayout table_;
  std::unique_ptr<Pager> pager_;
  std::vector<Cells> held_;
  bool begun_ = false;
  size_t count_ = 0;
};

/// One thread at a time.
class Output {
 public:
  Output(Format format, std::ostream& data, std::ostream& talk, bool quiet, Screen screen = {});

  /// Prints one object: `fields` in JSON and YAML (kApiVersion and `kind` are added), `lines`
  /// (label, value) for people; the name format prints the first value.
  void object(std::string_view kind, nlohmann::json fields,
              const std::vector<std::pair<std::string, std::string>>& lines);
  ListWriter list(std::string kind, Cells columns);
  /// A remark for people; omitted with --quiet.
  void remark(std::string_view text);
  /// A warning or failure, also with --quiet.
  void warn(std::string_view text);

  Format format() const { return format_; }
  std::ostream& data() { return data_; }
  const Screen& screen() const { return screen_; }

 private:
  const Format format_;
  std::ostream& data_;
  std::ostream& talk_;
  const bool quiet_;
  const Screen screen_;
};

/// The id of a commit in a table, where 12 digits are shown; the whole id in other formats.
std::string short_id(const Output& out, const std::string& id);

/// The text with control characters escaped (\x1b), so that a key cannot control a terminal.
std::string printable(std::string_view text);
/// The same as printable, for text with several lines. A line that GitHub would interpret as a
/// command ("::error::") gets a bar in front.
std::string printable_lines(std::string_view text);
/// The same as printable, without characters that end a cell of a Markdown table or start a tag.
std::string markdown_cell(std::string_view text);
/// "1.5 MiB"
std::string size_in_words(uint64_t bytes);
/// "2026-11-20 08:15:42" in UTC.
std::string time_in_words(int64_t unix_seconds);

/// "tarn: message" for people; with a format of documents one object of kind Error, with the exit
/// status in it.
void print_failure(std::ostream& talk, const Error& error, Format format, bool colours = false);

}  // namespace tarn::cli
