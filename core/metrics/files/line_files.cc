// The readers of CSV and MLflow's lines (declared in metric_file.h).
#include <algorithm>
#include <charconv>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/number.h"
#include "core/base/str_cat.h"
#include "core/metrics/files/metric_file.h"

namespace tarn {
namespace {

constexpr size_t kColumnsMax = 4096;
constexpr size_t kColumnBytesShown = 60;
constexpr std::string_view kBom = "\xEF\xBB\xBF";

enum class RowEnd { kRow, kFile, kTooLong, kOpenQuote };

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
    if (columns.empty() && name.starts_with(kBom)) name.erase(0, kBom.size());
    Column column;
    column.is_index = name.empty() || name.starts_with("Unnamed: ");
    column.is_step = is_step_name(name);
    column.name = std::move(name);
    columns.push_back(std::move(column));
  }
  return columns;
}

/// A duplicate column name, which readers resolve differently; nullptr: none.
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

}  // namespace

void read_csv(ByteSource& bytes, char delimiter, FileFacts& facts) {
  CsvRows rows(bytes, delimiter);
  std::vector<std::string> cells;
  RowEnd end = rows.next(cells);
  if (end == RowEnd::kFile) return;
  std::vector<Column> columns = columns_of(cells);
  if (const std::string* name = name_twice(columns)) {
    facts.warn(str_cat("line 1: has column \"", name->substr(0, kColumnBytesShown),
                       "\" twice: the file counts for nothing"));
    return;
  }
  while (end == RowEnd::kRow) {
    end = rows.next(cells);
    if (end != RowEnd::kRow) break;
    if (cells.size() == 1 && cells.front().empty()) continue;
    if (cells.size() > columns.size()) {
      facts.warn(str_cat("line ", rows.row_line(), ": has more cells than the header"));
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
  for (const Column& column : columns) {
    if (!column.has_numbers || column.first_text_line == 0) continue;
    facts.warn(str_cat("line ", column.first_text_line, ": column \"",
                       column.name.substr(0, kColumnBytesShown),
                       "\" has a cell that is no number"));
  }
  if (end == RowEnd::kTooLong) {
    facts.warn(str_cat("line ", rows.row_line(), ": is longer than ", kMetricLineBytesMax,
                       " bytes or has more than ", kColumnsMax, " cells: read up to there"));
  }
  if (end == RowEnd::kOpenQuote) {
    facts.warn(str_cat("line ", rows.row_line(), ": a quote is not closed: read up to there"));
  }
}

void read_mlflow_metric(ByteSource& bytes, std::string_view name, FileFacts& facts) {
  std::string line;
  bool cut = false;
  for (uint64_t number = 1; bytes.line(line, kMetricLineBytesMax, cut); ++number) {
    if (line.empty()) continue;
    const size_t value_at = line.find(' ');
    const size_t step_at = value_at == line.npos ? line.npos : line.find(' ', value_at + 1);
    const std::string_view text(line);
    std::optional<double> value;
    int64_t step = 0;
    bool good = step_at != line.npos && parse_number(text.substr(0, value_at)).has_value();
    if (good) {
      value = parse_number(text.substr(value_at + 1, step_at - value_at - 1));
      const std::string_view digits =
          text.substr(step_at + 1, text.find(' ', step_at + 1) - step_at - 1);
      const auto [at, error] = std::from_chars(digits.data(), digits.data() + digits.size(), step);
      good = value && error == std::errc() && at == digits.data() + digits.size();
    }
    if (!good) {
      facts.warn(str_cat("line ", number, ": is not \"timestamp value step\""));
      return;
    }
    facts.add_point(name, "", step, *value);
  }
}

}  // namespace tarn
