#include "cli/output.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>
#include <cstdlib>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <nlohmann/json_fwd.hpp>
#include <unistd.h>

#include "cli/exit_code.h"
#include "cli/json_text.h"
#include "core/base/encoding.h"
#include "core/base/error.h"
#include "core/base/str_cat.h"
#include "core/base/text.h"
#include "core/base/time.h"

namespace tarn::cli {
namespace {

// JSON documents as YAML.

using Json = nlohmann::json;
constexpr size_t kIndent = 2;

/// Whether YAML reads the unquoted text as this string. Everything else is quoted: a JSON string
/// is a YAML string.
bool is_plain(const std::string& text) {
  constexpr std::string_view kAllowed = "_-./";
  if (text.empty() || std::isalpha(static_cast<unsigned char>(text.front())) == 0) return false;
  const bool simple = std::all_of(text.begin(), text.end(), [&](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           kAllowed.find(c) != std::string_view::npos;
  });
  std::string lower = text;
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](char c) { return static_cast<char>(std::tolower(c)); });
  constexpr std::string_view kWords[] = {"true", "false", "null", "yes", "no",
                                         "on",   "off",   "y",    "n"};
  return simple && std::find(std::begin(kWords), std::end(kWords), lower) == std::end(kWords);
}

std::string scalar(const Json& value) {
  if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    return is_plain(text) ? text : json_text(value);
  }
  return value.empty() && value.is_object()  ? "{}"
         : value.empty() && value.is_array() ? "[]"
                                             : json_text(value);
}

bool is_block(const Json& value) { return value.is_structured() && !value.empty(); }

void write(std::string& out, const Json& value, size_t indent);

/// Writes the value behind "key:" or "-"; `same_line` if its first line may stand there too.
void write_below(std::string& out, const Json& value, size_t indent, bool same_line) {
  if (!is_block(value)) {
    out += str_cat(' ', scalar(value), '\n');
  } else if (same_line) {
    std::string block;
    write(block, value, indent);
    out += str_cat(' ', block.substr(indent));
  } else {
    out += '\n';
    write(out, value, indent);
  }
}

void write(std::string& out, const Json& value, size_t indent) {
  const std::string margin(indent, ' ');
  if (!is_block(value)) {
    out += str_cat(margin, scalar(value), '\n');
  } else if (value.is_array()) {
    for (const Json& item : value) {
      out += str_cat(margin, '-');
      write_below(out, item, indent + kIndent, /*same_line=*/true);
    }
  } else {
    for (const auto& [key, item] : value.items()) {
      out += str_cat(margin, scalar(Json(key)), ':');
      write_below(out, item, indent + kIndent, /*same_line=*/false);
    }
  }
}

/// The document in block style, each line after `indent` spaces, with a line end. Strings that
/// YAML would read as something else are quoted, so a reader gets the same values.
std::string yaml_text(const Json& document, size_t indent = 0) {
  std::string out;
  write(out, document, indent);
  return out;
}

// Messages for lists without items.

using Entry = std::pair<std::string_view, std::string_view>;

constexpr std::array<Entry, 36> kMessages{{
    {"AliasHistory", "this alias was never set: tarn alias set @NAME REF"},
    {"AliasList",
     "no aliases: tarn alias set @NAME REF creates one, or a promotion whose policy has `alias`"},
    {"AnnotationList", "no objects here: tarn fs ls REF lists what there is"},
    {"BranchList",
     "no branches of that name: tarn branch create NAME --source main creates one; "
     "-a lists hidden ones too"},
    {"BranchRuleList", "no rules: tarn branch-protect add PATTERN REPOSITORY protects branches"},
    {"CommentList", "no comments: tarn pr comment add ID -m TEXT adds one"},
    {"CommitList", "no commits match: leave out --since, --prefix, --object or --stop-at"},
    {"Config", "no settings: tarn auth login stores them"},
    {"CredentialList", "no access keys: tarn auth credentials create USER"},
    {"DeletedRepositoryList", "no deleted repositories that can be restored"},
    {"DeliveryList", "no deliveries: tarn webhook ping NAME sends an event"},
    {"DiffList", "no differences"},
    {"ExpiryList", "no commits have expired: tarn gc set-config sets rules"},
    {"FindingList", ""},
    {"GarbageCollectionList", "no garbage collection has run: tarn gc run"},
    {"GatePolicyList",
     "no policies: tarn policy apply -f FILE sets one (docs/policy-reference.md)"},
    {"GroupList", "no groups: tarn auth groups create NAME"},
    {"HoldList", "no holds: tarn hold add REF keeps data from garbage collection"},
    {"HookPlan", "no hook would run: tarn actions validate FILE checks an action file"},
    {"HookRunList", "no hooks have run: action files are below _lakefs_actions/ (docs/hooks.md)"},
    {"ImportProblemList", ""},
    {"JobList",
     "no jobs: imports, verifications and dumps are listed while they run and some time after"},
    {"MergeConflict", ""},
    {"MetricFileList", "no patterns: metric files are not read; tarn exp files --set 'metrics/**'"},
    {"MetricList", "no metrics: tarn exp log --ref COMMIT --metric NAME=NUMBER records some"},
    {"ObjectList", "no objects: tarn fs upload FILE tarn://REPOSITORY/BRANCH/PATH adds one"},
    {"Operation",
     "no operations: long requests, and those with --async, are listed here for a day"},
    {"Profile", "no profiles: tarn auth login --profile NAME creates one"},
    {"Promotion", "no promotions: tarn promote CANDIDATE --to BRANCH begins one"},
    {"PullRequestList", "no pull requests: tarn pr create SOURCE DESTINATION -t TITLE"},
    {"QuotaList", "no quotas: tarn quota set sets one"},
    {"RepositoryList", "no repositories: tarn repo create NAME creates one"},
    {"RunList", "no runs: tarn exp log --ref COMMIT --metric NAME=NUMBER records one"},
    {"TagList", "no tags: tarn tag create NAME REF creates one"},
    {"TagRuleList", "no rules: tarn tag-protect add PATTERN REPOSITORY protects tags"},
    {"WebhookList", "no webhooks: tarn webhook set NAME URL creates one"},
}};

/// "no branches yet: ..." with what to do next, for a kind of list; "" if its command has a message
/// of its own.
std::string_view empty_list_message(std::string_view kind) {
  const auto at = std::find_if(kMessages.begin(), kMessages.end(),
                               [&](const Entry& entry) { return entry.first == kind; });
  return at == kMessages.end() ? "nothing found" : at->second;
}

using Json = nlohmann::json;

/// Number of rows that determine the column widths; later ones may exceed them.
constexpr size_t kAlignedRows = 1000;
constexpr size_t kColumnGap = 2;
constexpr size_t kIdShown = 12;
constexpr size_t kItemIndent = 2;
constexpr std::array<std::pair<std::string_view, Format>, 7> kFormats{
    {{"table", Format::kTable},
     {"json", Format::kJson},
     {"jsonl", Format::kJsonLines},
     {"yaml", Format::kYaml},
     {"csv", Format::kCsv},
     {"md", Format::kMarkdown},
     {"name", Format::kName}}};

/// Members of lakeFS's records that are seconds since 1970.
constexpr std::array<std::string_view, 5> kUnixTimes{"creation_date", "mtime", "path_mtime",
                                                     "token_expiration", "physical_address_expiry"};

bool is_unix_time(const std::string& name, const Json& value) {
  return value.is_number_integer() &&
         std::find(kUnixTimes.begin(), kUnixTimes.end(), name) != kUnixTimes.end();
}

/// The document with kUnixTimes as RFC 3339, as all other times are.
Json with_times(Json document) {
  if (!document.is_structured()) return document;
  for (auto& [name, value] : document.items()) {
    if (value.is_structured()) {
      value = with_times(std::move(value));
    } else if (document.is_object() && is_unix_time(name, value)) {
      value = machine_time(time_in_words(value.get<int64_t>()));
    }
  }
  return document;
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

}  // namespace

Format parse_format(std::string_view word) {
  for (const auto& [name, format] : kFormats) {
    if (name == word) return format;
  }
  throw usage_error(str_cat("choosing output format \"", word,
                            "\": not one of table, json, jsonl, yaml, csv, md, name"));
}

std::vector<std::string_view> format_names() {
  std::vector<std::string_view> names;
  for (const auto& [name, format] : kFormats) names.push_back(name);
  return names;
}

ListWriter::ListWriter(Output& out, std::string kind, Cells columns)
    : out_(out),
      kind_(std::move(kind)),
      columns_(std::move(columns)),
      table_(columns_, out.screen(), SystemClock().now()) {}

void ListWriter::begin() {
  if (begun_) return;
  begun_ = true;
  if (out_.format() == Format::kJson) {
    out_.data() << "{\"apiVersion\":\"" << kApiVersion << "\",\"kind\":\"" << kind_
                << "\",\"items\":[";
  } else if (out_.format() == Format::kYaml) {
    out_.data() << "apiVersion: " << kApiVersion << "\nkind: " << kind_ << "\nitems:";
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
      out_.data() << (count_ > 0 ? ",\n" : "\n") << json_text(with_times(item));
      break;
    case Format::kJsonLines:
      out_.data() << json_text(with_times(item)) << '\n';
      break;
    case Format::kYaml:
      out_.data() << (count_ > 0 ? "" : "\n")
                  << yaml_text(Json::array({with_times(item)}), kItemIndent);
      break;
    case Format::kCsv:
      for (size_t i = 0; i < cells.size(); ++i) {
        if (column_of(columns_[i]) == Column::kTime) cells[i] = machine_time(cells[i]);
      }
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
  const std::string text = table_.text(std::move(held_));
  held_.clear();
  const Screen& screen = out_.screen();
  const auto lines = static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
  if (!pager_ && !screen.pager.empty() && lines >= screen.rows) {
    out_.data().flush();
    pager_ = std::make_unique<Pager>(screen.pager);
  }
  out_.data() << text;
}

void ListWriter::finish() {
  begin();
  const Format format = out_.format();
  if (format == Format::kJson) out_.data() << (count_ > 0 ? "\n]}\n" : "]}\n");
  if (format == Format::kYaml && count_ == 0) out_.data() << " []\n";
  if (format == Format::kTable && !held_.empty()) flush_table();
  out_.data().flush();
  pager_.reset();
  const std::string_view message = empty_list_message(kind_);
  const bool people = format == Format::kTable || format == Format::kName;
  if (count_ == 0 && people && !message.empty()) out_.remark(message);
}

Output::Output(Format format, std::ostream& data, std::ostream& talk, bool quiet, Screen screen)
    : format_(format), data_(data), talk_(talk), quiet_(quiet), screen_(std::move(screen)) {}

void Output::object(std::string_view kind, Json fields,
                    const std::vector<std::pair<std::string, std::string>>& lines) {
  if (is_document(format_)) {
    fields = with_times(std::move(fields));
    fields["apiVersion"] = kApiVersion;
    fields["kind"] = kind;
    data_ << (format_ == Format::kYaml ? yaml_text(fields) : json_text(fields) + '\n');
  } else if (format_ == Format::kName) {
    if (!lines.empty()) data_ << lines.front().second << '\n';
  } else if (format_ == Format::kTable) {
    size_t width = 0;
    for (const auto& [label, value] : lines) width = std::max(width, label.size());
    const Instant now = SystemClock().now();
    for (const auto& [label, value] : lines) {
      std::string text = printable_lines(trimmed(value, "\n"));
      for (size_t at = text.find('\n'); at != std::string::npos; at = text.find('\n', at + 1)) {
        text.insert(at + 1, width + kColumnGap, ' ');
      }
      data_ << label << std::string(width - label.size() + kColumnGap, ' ')
            << shown_value(label, text, screen_, now) << '\n';
    }
  } else {
    ListWriter table(*this, std::string(kind), {"field", "value"});
    for (const auto& [label, value] : lines) {
      const bool time = format_ == Format::kCsv && column_of(label) == Column::kTime;
      table.add(nullptr, {label, time ? machine_time(value) : value});
    }
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

void Output::warn(std::string_view text) {
  std::string lines = printable_lines(text);
  talk_ << (screen_.colours_messages ? coloured_message(std::move(lines)) : lines) << std::endl;
}

std::string short_id(const Output& out, const std::string& id) {
  return out.format() == Format::kTable ? id.substr(0, kIdShown) : id;
}

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

namespace {

/// Reports of hooks are indented by tabs.
std::string with_spaces(std::string_view line) {
  std::string out;
  for (const char c : line) c == '\t' ? out.append("    ") : out.append(1, c);
  return out;
}

}  // namespace

std::string printable_lines(std::string_view text) {
  constexpr std::string_view kCommand = "::";
  std::string out;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string line = printable(with_spaces(text.substr(at, end - at)));
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

void print_failure(std::ostream& talk, const Error& error, Format format, bool colours) {
  if (!is_document(format)) {
    const std::string text = str_cat("tarn: ", printable_lines(error.message()));
    talk << (colours ? coloured_message(text) : text) << std::endl;
    return;
  }
  const Json fields{{"apiVersion", kApiVersion},
                    {"kind", "Error"},
                    {"code", error.reason()},
                    {"message", error.message()},
                    {"exitCode", static_cast<int>(exit_code_of(error))}};
  talk << (format == Format::kYaml ? yaml_text(fields) : json_text(fields) + '\n') << std::flush;
}

Pager::Pager(const std::string& command) : terminal_(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3)) {
  int ends[2];
  if (terminal_ < 0 || ::pipe2(ends, O_CLOEXEC) != 0) {
    throw Error(ErrorCode::kInternal, "starting the pager: no file descriptors left");
  }
  ::setenv("LESS", "FRX", /*overwrite=*/0);  // for PAGER=less
  program_ = start_program(command, {}, ends[0]);
  ::dup2(ends[1], STDOUT_FILENO);
  ::close(ends[0]);
  ::close(ends[1]);
}

Pager::~Pager() {
  ::dup2(terminal_, STDOUT_FILENO);  // closes the pipe, which ends the pager's input
  ::close(terminal_);
  wait_for_program(program_);
}

}  // namespace tarn::cli
