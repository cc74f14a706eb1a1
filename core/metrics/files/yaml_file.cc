// The reader of YAML (declared in metric_file.h). It processes events, so that a text needs no
// tree.
#include <algorithm>
#include <sstream>
#include <string>
#include <unordered_set>
#include <vector>

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include "core/base/number.h"
#include "core/base/str_cat.h"
#include "core/base/text.h"
#include "core/base/yaml_marks.h"
#include "core/metrics/files/metric_file.h"
#include "core/metrics/files/nested_numbers.h"

namespace tarn {
namespace {

/// Why a document counts for nothing. Each is read differently by loaders of YAML 1.1 and 1.2, or
/// refused by one of them.
struct Problem {
  int line = 0;  ///< from 0
  std::string what;
};
[[noreturn]] void fail(const YAML::Mark& mark, std::string what) {
  throw Problem{mark.line, std::move(what)};
}

/// Why loaders differ in the lines of the text; "" = they agree. YAML 1.1 has more line ends than
/// YAML 1.2, and tabs are blanks to some loaders only.
std::string_view problem_of_lines(std::string_view text) {
  for (size_t i = 0; i < text.size(); ++i) {
    const bool ends_line = text[i] == '\n' || text.substr(i, 2) == "\r\n";
    if (is_control(text[i]) && !ends_line) return "has a tab or another control character";
    if (text[i] == '%' && (i == 0 || text[i - 1] == '\n')) return "has a directive (%)";
  }
  for (const std::string_view end : {"\xC2\x85", "\xE2\x80\xA8", "\xE2\x80\xA9", "\xEF\xBB\xBF"}) {
    if (text.find(end) != text.npos) return "has a line end that is not in ASCII";
  }
  return "";
}

/// A plain scalar that YAML 1.1 reads as one number, and YAML 1.2 as another one or as text.
bool is_number_of_one_version(std::string_view text) {
  const auto is_only = [](std::string_view part, std::string_view characters) {
    return !part.empty() && part.find_first_not_of(characters) == part.npos;
  };
  if (text.starts_with("-") || text.starts_with("+")) text.remove_prefix(1);
  if (text.starts_with("0x")) return is_only(text.substr(2), "0123456789abcdefABCDEF_");
  if (text.starts_with("0b")) return is_only(text.substr(2), "01_");
  if (text.starts_with("0o")) return is_only(text.substr(2), "01234567");
  if (text.empty() || (!is_digit(text.front()) && text.front() != '.')) return false;
  if (text.find_first_of("_:") != text.npos) {
    const size_t exponent = std::min(text.find_first_of("eE"), text.size());
    return is_only(text.substr(0, exponent), "0123456789_:.") &&
           (exponent == text.size() || is_only(text.substr(exponent + 1), "0123456789+-"));
  }
  // A leading zero begins an octal number.
  if (!text.starts_with('0') || !is_only(text, "01234567")) return false;
  return text.size() - std::min(text.find_first_not_of('0'), text.size()) > 1;
}

/// The number that a plain key is; "" for text. To Python 1, 1.0 and true are one key.
std::string number_of_key(const std::string& key) {
  if (const auto number = parse_number(key)) return to_text(*number);
  for (const std::string_view yes : {"true", "yes", "on"}) {
    if (equal_ignoring_case(key, yes)) return "1";
  }
  for (const std::string_view no : {"false", "no", "off"}) {
    if (equal_ignoring_case(key, no)) return "0";
  }
  return "";
}

class Events final : public YAML::EventHandler {
 public:
  explicit Events(NestedNumbers& numbers) : numbers_(numbers) {}

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++documents_ > 1) fail(mark, "a second document");
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    check_anchor(mark, anchor);
    if (expects_key()) fail(mark, "a key is empty");
    value_begins(mark);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    fail(mark, "has an alias (*name), write the value out");
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    check_anchor(mark, anchor);
    const bool is_plain = tag == kPlain;
    if (!is_plain && tag != kQuoted) fail(mark, "has a tag (!name)");
    if (is_plain && (value == "<<" || value == "=")) fail(mark, "has a merge key (<<) or a bare =");
    if (is_plain && is_number_of_one_version(value)) {
      fail(mark, str_cat(value,
                         " is not the same in every version of YAML, write a decimal number "
                         "or quote it"));
    }
    if (!expects_key()) {
      value_begins(mark);
      number(value);
      return;
    }
    const std::string number = is_plain ? number_of_key(value) : "";
    if (!keys_.back().insert("text " + value).second ||
        (!number.empty() && !keys_.back().insert(number).second)) {
      fail(mark, "has a key twice in one map");
    }
    numbers_.key(value);
    expects_key_.back() = kValue;
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    begin(mark, tag, anchor);
    if (!numbers_.begin_list()) fail(mark, "is nested too deep");
    expects_key_.push_back(kNever);
  }
  void OnSequenceEnd() override { end(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    begin(mark, tag, anchor);
    if (!numbers_.begin_map()) fail(mark, "is nested too deep");
    expects_key_.push_back(kKey);
    keys_.emplace_back();
  }
  void OnMapEnd() override {
    keys_.pop_back();
    end();
  }

 private:
  enum Expected : char { kNever, kKey, kValue };

  bool expects_key() const { return !expects_key_.empty() && expects_key_.back() == kKey; }

  void number(const std::string& value) {
    const bool dotted =
        value.starts_with(".") || value.starts_with("-.") || value.starts_with("+.");
    std::string text = value;
    // YAML writes .nan, .inf and -.inf.
    if (dotted && value.find_first_of("0123456789") == std::string::npos) {
      text.erase(text.find('.'), 1);
    }
    numbers_.text(text);
  }
  static void check_anchor(const YAML::Mark& mark, YAML::anchor_t anchor) {
    if (anchor != YAML::NullAnchor) fail(mark, "has an anchor (&name), write the value out");
  }
  /// A list or a map.
  void begin(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) {
    check_anchor(mark, anchor);
    if (tag != kPlain) fail(mark, "has a tag (!name)");
    value_begins(mark);
  }
  /// After a map's value the next scalar is a key.
  void value_begins(const YAML::Mark& mark) {
    if (expects_key()) fail(mark, "a key is a list or a map");
    if (!expects_key_.empty() && expects_key_.back() == kValue) expects_key_.back() = kKey;
  }
  void end() {
    numbers_.end();
    expects_key_.pop_back();
  }

  // Tags that the parser gives to values without one.
  static constexpr std::string_view kPlain = "?";
  static constexpr std::string_view kQuoted = "!";

  NestedNumbers& numbers_;
  int documents_ = 0;
  std::vector<Expected> expects_key_;
  std::vector<std::unordered_set<std::string>> keys_;  ///< of the open maps, as text and as number
};

}  // namespace

void read_yaml(ByteSource& bytes, FileFacts& facts) {
  std::string text(kYamlBytesMax + 1, '\0');
  text.resize(bytes.read(text));
  if (text.size() > kYamlBytesMax) {
    return facts.reject(str_cat("is longer than ", kYamlBytesMax, " bytes"));
  }
  if (has_too_many_yaml_marks(text)) {
    return facts.reject(
        str_cat("has more than ", kYamlMarksMax, " brackets, quotes and separators"));
  }
  if (const std::string_view problem = problem_of_lines(text); !problem.empty()) {
    return facts.reject(problem);
  }
  NestedNumbers numbers(facts);
  try {
    std::istringstream in(text);
    YAML::Parser parser(in);
    Events events(numbers);
    while (parser.HandleNextDocument(events)) {
    }
  } catch (const YAML::Exception& error) {
    facts.reject(str_cat("line ", error.mark.line + 1, ": is not YAML: ", error.msg));
  } catch (const Problem& problem) {
    facts.reject(str_cat("line ", problem.line + 1, ": ", problem.what));
  }
}

}  // namespace tarn
