// The readers of CSV and MLflow's lines (declared in metric_file.h).
#include <algorithm>
#include <charconv>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/number.h"
#include "core/base/str_cat.h"
#include "core/base/text.h"
#include "core/metrics/files/metric_file.h"

namespace tarn {
namespace {

constexpr size_t kColumnsMax = 4096;
constexpr size_t kColumnBytesShown = 60;

enum class RowEnd { kRow, kFile, kTooLong, kOpenQuote, kLoneReturn };

/// Cells as in RFC 4180: quoted ones may contain delimiters, doubled quotes and newlines.
class CsvRows {
 public:
  CsvRows(ByteSource& bytes, char delimiter) : bytes_(bytes), delimiter_(delimiter) {}

  RowEnd next(std::vector<std::string>& cells) {
    cells.assign(1, "");
    row_line_ = line_;
    if (bytes_.peek() == ByteSource::kEnd) return RowEnd::kFile;
    bool quoted = false;
    size_t taken = 0;
    for (int byte = bytes_.get(); byte != ByteSource::kEnd; byte = bytes_.get()) {
      if (byte == '\n') ++line_;
      if (++taken > kMetricLineBytesMax || cells.size() > kColumnsMax) return RowEnd::kTooLong;
      if (byte == '\r' && bytes_.peek() != '\n' && bytes_.peek() != ByteSource::kEnd) {
        return RowEnd::kLoneReturn;
      }
      if (quoted) {
        if (byte != '"') {
          cells.back().push_back(static_cast<char>(byte));
        } else if (bytes_.peek() == '"') {
          cells.back().push_back(static_cast<char>(bytes_.get()));
        } else {
          quoted = false;
        }
      } else if (byte == '"' && cells.back().empty()) {
        quoted = true;
      } else if (byte == delimiter_) {
        cells.emplace_back();
      } else if (byte == '\n') {
        return RowEnd::kRow;
      } else if (byte != '\r') {
        cells.back().push_back(static_cast<char>(byte));
      }
    }
    return quoted ? RowEnd::kOpenQuote : RowEnd::kRow;
  }
  uint64_t row_line() const { return row_line_; }  ///< where the row started

 private:
  ByteSource& bytes_;
  const char delimiter_;
  uint64_t line_ = 1;
  uint64_t row_line_ = 1;
};

struct Column {
  std::string name;
  bool is_index = false;
  bool is_step = false;
  bool has_numbers = false;
  uint64_t first_text_line = 0;  ///< 0 = none
};

std::vector<Column> columns_of(const std::vector<std::string>& header) {
  std::vector<Column> columns;
  for (std::string name : header) {
    Column column;
    column.is_index = name.empty() || name.starts_with("Unnamed: ");
    column.is_step = is_step_name(name);
    column.name = std::move(name);
    columns.push_back(std::move(column));
  }
  return columns;
}

/// A duplicate column name; nullptr: none.
const std::string* name_twice(const std::vector<Column>& columns) {
  std::set<std::string_view> names;
  for (const Column& column : columns) {
    if (!column.is_index && !names.insert(column.name).second) return &column.name;
  }
  return nullptr;
}

/// The step column's value, else the index.
std::optional<int64_t> step_of(const std::vector<Column>& columns,
                               const std::vector<std::string>& cells) {
  std::optional<int64_t> index;
  for (size_t i = 0; i < std::min(columns.size(), cells.size()); ++i) {
    if (!columns[i].is_step && !columns[i].is_index) continue;
    const auto number = parse_number(cells[i]);
    const auto step = number ? step_from(*number) : std::nullopt;
    if (step && columns[i].is_step) return step;
    if (step && !index) index = step;
  }
  return index;
}

/// Why a table with such a row counts for nothing; "" = it counts.
std::string_view problem_of(RowEnd end) {
  switch (end) {
    case RowEnd::kRow:
    case RowEnd::kFile:
      return "";
    case RowEnd::kTooLong:
      return "is too long or has too many cells";
    case RowEnd::kOpenQuote:
      return "a quote is not closed";
    case RowEnd::kLoneReturn:
      return "has a carriage return without a newline";
  }
  return "";
}

/// A line of an MLflow metric: "timestamp value", then the step, then a data set and its digest.
struct MlflowLine {
  int64_t timestamp = 0;
  double value = 0;
  int64_t step = 0;
};

std::optional<int64_t> whole_number(std::string_view text) {
  int64_t out = 0;
  const auto [at, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc() || at != text.data() + text.size()) return std::nullopt;
  return out;
}

/// nullopt for a line that MLflow itself does not read.
std::optional<MlflowLine> parse_mlflow_line(std::string_view line) {
  if (has_control(line)) return std::nullopt;
  std::vector<std::string_view> parts;
  for (size_t at = 0; at != line.npos;) {
    const size_t blank = line.find(' ', at);
    parts.push_back(line.substr(at, blank - at));
    at = blank == line.npos ? blank : blank + 1;
  }
  if (parts.size() != 2 && parts.size() != 3 && parts.size() != 5) return std::nullopt;
  const auto timestamp = whole_number(parts[0]);
  const auto value = parse_number(parts[1]);
  const auto step = parts.size() > 2 ? whole_number(parts[2]) : 0;
  if (!timestamp || !value || !step) return std::nullopt;
  return MlflowLine{*timestamp, *value, *step};
}

}  // namespace

void read_csv(ByteSource& bytes, char delimiter, FileFacts& facts) {
  CsvRows rows(bytes, delimiter);
  std::vector<std::string> cells;
  RowEnd end = rows.next(cells);
  if (end == RowEnd::kFile) return;
  std::vector<Column> columns = columns_of(cells);
  if (const std::string* name = name_twice(columns)) {
    return facts.reject(
        str_cat("line 1: has column \"", name->substr(0, kColumnBytesShown), "\" twice"));
  }
  while (end == RowEnd::kRow) {
    end = rows.next(cells);
    if (end != RowEnd::kRow) break;
    if (cells.size() == 1 && cells.front().empty()) continue;
    if (cells.size() > columns.size()) {
      return facts.reject(str_cat("line ", rows.row_line(), ": has more cells than the header"));
    }
    const auto step = step_of(columns, cells);
    for (size_t i = 0; i < std::min(columns.size(), cells.size()); ++i) {
      Column& column = columns[i];
      if (column.is_index || column.is_step || cells[i].empty()) continue;
      if (const auto number = parse_number(cells[i])) {
        column.has_numbers = true;
        facts.add_point(column.name, "", step, *number);
      } else if (column.first_text_line == 0) {
        column.first_text_line = rows.row_line();
      }
    }
  }
  if (const std::string_view problem = problem_of(end); !problem.empty()) {
    return facts.reject(str_cat("line ", rows.row_line(), ": ", problem));
  }
  for (const Column& column : columns) {
    if (!column.has_numbers || column.first_text_line == 0) continue;
    facts.warn(str_cat("line ", column.first_text_line, ": column \"",
                       column.name.substr(0, kColumnBytesShown),
                       "\" has a cell that is no number"));
  }
}

void read_mlflow_metric(ByteSource& bytes, std::string_view name, FileFacts& facts) {
  std::string line;
  bool cut = false;
  std::optional<MlflowLine> last;
  bool tied = false;
  for (uint64_t number = 1; bytes.line(line, kMetricLineBytesMax, cut); ++number) {
    const auto read = cut ? std::nullopt : parse_mlflow_line(line);
    if (!read) return facts.reject(str_cat("line ", number, ": is not \"timestamp value step\""));
    facts.add_point(name, "", read->step, read->value, read->timestamp);
    const auto place_of = [](const MlflowLine& l) { return std::pair(l.step, l.timestamp); };
    if (!last || place_of(*read) > place_of(*last)) {
      last = read;
      tied = false;
    } else if (place_of(*read) == place_of(*last)) {
      tied |= read->value != last->value;
    }
  }
  if (tied) facts.reject("has several values of the last step and time");
}

}  // namespace tarn
