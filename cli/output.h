// Output of the command: data on stdout, messages on stderr.
#pragma once

#include <functional>
#include <iosfwd>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/base/error.h"

namespace tarn::cli {

enum class Format { kTable, kJson, kJsonLines, kCsv, kMarkdown, kName };

/// "table", "json", "jsonl", "csv", "md", "name". Throws a usage error for another word.
Format parse_format(std::string_view word);

/// Those words.
std::vector<std::string_view> format_names();

/// In every JSON document, together with "kind".
constexpr std::string_view kApiVersion = "tarn/v1";

using Cells = std::vector<std::string>;

class Output;

/// Rows of one kind, printed as they come: memory does not grow with their number. Nothing is
/// printed before the first row or the end, so a list that fails at once leaves the data stream
/// empty. One thread at a time.
class ListWriter {
 public:
  ListWriter(Output& out, std::string kind, Cells columns);
  /// `item` is what the JSON formats print, `cells` what the others do, one for each column.
  void add(const nlohmann::json& item, Cells cells);
  /// Prints what is held back and closes the JSON document. Without it the output is cut off.
  void finish();

 private:
  void begin();
  void flush_table();

  Output& out_;
  const std::string kind_;
  const Cells columns_;
  std::vector<size_t> widths_;
  std::vector<Cells> held_;
  bool begun_ = false;
  size_t count_ = 0;
};

/// One thread at a time.
class Output {
 public:
  Output(Format format, std::ostream& data, std::ostream& talk, bool quiet);

  /// One thing: `fields` in JSON (kApiVersion and `kind` are added), `lines` (label, value) for
  /// people; the name format prints the first value.
  void object(std::string_view kind, nlohmann::json fields,
              const std::vector<std::pair<std::string, std::string>>& lines);
  ListWriter list(std::string kind, Cells columns);
  /// A remark for people; nothing with --quiet.
  void remark(std::string_view text);
  /// For warnings and failures: also with --quiet.
  void warn(std::string_view text);

  Format format() const { return format_; }
  std::ostream& data() { return data_; }

 private:
  const Format format_;
  std::ostream& data_;
  std::ostream& talk_;
  const bool quiet_;
};

/// Text with control characters made visible (\x1b), so that a key cannot steer a terminal.
std::string printable(std::string_view text);
/// The same of a text of several lines. A line that GitHub would take for a command ("::error::")
/// begins with a bar.
std::string printable_lines(std::string_view text);
/// printable(), and nothing that ends a cell of a Markdown table or begins a tag.
std::string markdown_cell(std::string_view text);
/// "1.5 MiB"
std::string size_in_words(uint64_t bytes);
/// "2026-11-20 08:15:42" in UTC.
std::string time_in_words(int64_t unix_seconds);

/// "tarn: message" for people; with `json` one object of kind Error, with the exit status in it.
void print_failure(std::ostream& talk, const Error& error, bool json);

}  // namespace tarn::cli
