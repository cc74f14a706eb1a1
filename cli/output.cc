#include "cli/output.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <ostream>

#include <nlohmann/json.hpp>

#include "cli/exit_code.h"
#include "core/base/encoding.h"
#include "core/base/str_cat.h"
#include "core/base/time.h"

namespace tarn::cli {
namespace {

using Json = nlohmann::json;

/// Number of rows that determine the column widths; later ones may exceed them.
constexpr size_t kAlignedRows = 1000;
constexpr size_t kColumnGap = 2;
constexpr std::array<std::pair<std::string_view, Format>, 6> kFormats{
    {{"table", Format::kTable},
     {"json", Format::kJson},
     {"jsonl", Format::kJsonLines},
     {"csv", Format::kCsv},
     {"md", Format::kMarkdown},
     {"name", Format::kName}}};

std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// Continuation bytes of UTF-8 take no column.
size_t display_width(std::string_view text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

void print_aligned(std::ostream& out, const Cells& cells, const std::vector<size_t>& widths) {
  std::string line;
  for (size_t i = 0; i < cells.size(); ++i) {
    line += cells[i];
    if (i + 1 == cells.size()) break;
    const size_t width = display_width(cells[i]);
    line.append((width < widths[i] ? widths[i] - width : 0) + kColumnGap, ' ');
  }
  out << line << '\n';
}

std::string csv_cell(const std::string& cell) {
  if (cell.find_first_of(",\"\r\n") == std::string::npos) return cell;
  std::string out = "\"";
  for (char c : cell) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + '"';
}

void print_csv(std::ostream& out, const Cells& cells) {
  for (size_t i = 0; i < cells.size(); ++i) out << (i > 0 ? "," : "") << csv_cell(cells[i]);
  out << '\n';
}

void print_markdown(std::ostream& out, const Cells& cells) {
  out << '|';
  for (const std::string& cell : cells) out << ' ' << markdown_cell(cell) << " |";
  out << '\n';
}

std::string upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

}  // namespace

Format parse_format(std::string_view word) {
  for (const auto& [name, format] : kFormats) {
    if (name == word) return format;
  }
  throw usage_error(str_cat("choosing output format \"", word,
                            "\": not one of table, json, jsonl, csv, md, name"));
}

std::vector<std::string_view> format_names() {
  std::vector<std::string_view> names;
  for (const auto& [name, format] : kFormats) names.push_back(name);
  return names;
}

ListWriter::ListWriter(Output& out, std::string kind, Cells columns)
    : out_(out), kind_(std::move(kind)), columns_(std::move(columns)) {}

void ListWriter::begin() {
  if (begun_) return;
  begun_ = true;
  if (out_.format() == Format::kJson) {
    out_.data() << "{\"apiVersion\":\"" << kApiVersion << "\",\"kind\":\"" << kind_
                << "\",\"items\":[";
  } else if (out_.format() == Format::kCsv) {
    print_csv(out_.data(), columns_);
  } else if (out_.format() == Format::kMarkdown) {
    print_markdown(out_.data(), columns_);
    print_markdown(out_.data(), Cells(columns_.size(), "---"));
  }
}

void ListWriter::add(const Json& item, Cells cells) {
  begin();
  switch (out_.format()) {
    case Format::kJson:
      out_.data() << (count_ > 0 ? ",\n" : "\n") << dump(item);
      break;
    case Format::kJsonLines:
      out_.data() << dump(item) << '\n';
      break;
    case Format::kCsv:
      print_csv(out_.data(), cells);
      break;
    case Format::kMarkdown:
      print_markdown(out_.data(), cells);
      break;
    case Format::kName:
      out_.data() << cells.front() << '\n';
      break;
    case Format::kTable:
      for (std::string& cell : cells) cell = printable(cell);
      held_.push_back(std::move(cells));
      if (held_.size() >= kAlignedRows) flush_table();
      break;
  }
  ++count_;
}

void ListWriter::flush_table() {
  if (widths_.empty()) {
    Cells head;
    for (const std::string& column : columns_) head.push_back(upper(column));
    held_.insert(held_.begin(), head);
    widths_.assign(columns_.size(), 0);
    for (const Cells& cells : held_) {
      for (size_t i = 0; i < cells.size(); ++i)
        widths_[i] = std::max(widths_[i], display_width(cells[i]));
    }
  }
  for (const Cells& cells : held_) print_aligned(out_.data(), cells, widths_);
  held_.clear();
}

void ListWriter::finish() {
  begin();
  if (out_.format() == Format::kJson) out_.data() << (count_ > 0 ? "\n]}\n" : "]}\n");
  if (out_.format() == Format::kTable && !held_.empty()) flush_table();
  out_.data().flush();
}

Output::Output(Format format, std::ostream& data, std::ostream& talk, bool quiet)
    : format_(format), data_(data), talk_(talk), quiet_(quiet) {}

void Output::object(std::string_view kind, Json fields,
                    const std::vector<std::pair<std::string, std::string>>& lines) {
  if (format_ == Format::kJson || format_ == Format::kJsonLines) {
    fields["apiVersion"] = kApiVersion;
    fields["kind"] = kind;
    data_ << dump(fields) << '\n';
  } else if (format_ == Format::kName) {
    if (!lines.empty()) data_ << lines.front().second << '\n';
  } else if (format_ == Format::kTable) {
    size_t width = 0;
    for (const auto& [label, value] : lines) width = std::max(width, label.size());
    for (const auto& [label, value] : lines)
      print_aligned(data_, {label, printable(value)}, {width});
  } else {
    ListWriter table(*this, std::string(kind), {"field", "value"});
    for (const auto& [label, value] : lines) table.add(nullptr, {label, value});
    table.finish();
  }
  data_.flush();
}

ListWriter Output::list(std::string kind, Cells columns) {
  return ListWriter(*this, std::move(kind), std::move(columns));
}

void Output::remark(std::string_view text) {
  if (!quiet_) talk_ << printable_lines(text) << std::endl;
}

void Output::warn(std::string_view text) { talk_ << printable_lines(text) << std::endl; }

std::string markdown_cell(std::string_view text) {
  std::string out;
  for (const char c : printable(text)) {
    if (c == '<') {
      out += "&lt;";
      continue;
    }
    if (c == '|' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string printable_lines(std::string_view text) {
  constexpr std::string_view kCommand = "::";
  std::string out;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string line = printable(text.substr(at, end - at));
    const size_t begin = std::min(line.find_first_not_of(' '), line.size());
    const bool obeyed = line.compare(begin, kCommand.size(), kCommand) == 0;
    out += str_cat(at == 0 ? "" : "\n", obeyed ? "| " : "", line);
    at = end + 1;
  }
  return out;
}

std::string printable(std::string_view text) {
  std::string out;
  for (char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7F) {
      out += str_cat("\\x", to_hex({&c, 1}));
    } else {
      out += c;
    }
  }
  return out;
}

std::string size_in_words(uint64_t bytes) {
  constexpr std::array<std::string_view, 6> kUnits{"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  constexpr uint64_t kStep = 1024;
  size_t unit = 0;
  uint64_t tenths = bytes * 10;
  while (tenths >= kStep * 10 && unit + 1 < kUnits.size()) {
    tenths = (tenths + kStep / 2) / kStep;
    ++unit;
  }
  if (unit == 0) return str_cat(bytes, " B");
  return str_cat(tenths / 10, '.', tenths % 10, ' ', kUnits[unit]);
}

std::string time_in_words(int64_t unix_seconds) {
  std::string text = to_rfc3339(Instant{std::chrono::seconds{unix_seconds}});
  text[10] = ' ';
  return text.substr(0, 19);
}

void print_failure(std::ostream& talk, const Error& error, bool json) {
  if (!json) {
    talk << "tarn: " << printable_lines(error.message()) << std::endl;
    return;
  }
  const nlohmann::json fields{{"apiVersion", kApiVersion},
                              {"kind", "Error"},
                              {"code", error.reason()},
                              {"message", error.message()},
                              {"exitCode", static_cast<int>(exit_code_of(error))}};
  talk << fields.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << std::endl;
}

}  // namespace tarn::cli
