// The readers of JSON and JSON lines (declared in metric_file.h).
#include <iterator>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/base/number.h"
#include "core/base/str_cat.h"
#include "core/metrics/files/metric_file.h"
#include "core/metrics/files/nested_numbers.h"

namespace tarn {
namespace {

using Json = nlohmann::json;

/// A line, then the rest of the source. Bare NaN and Infinity, which JSON lacks but training
/// programs write, become strings.
class Input {
 public:
  Input(std::string_view first, ByteSource* rest) : first_(first), rest_(rest) {}

  /// The next byte, or ByteSource::kEnd.
  int peek() {
    if (!held_) held_ = translate();
    return *held_;
  }
  void next() {
    peek();
    held_.reset();
  }
  uint64_t line() const { return line_; }
  /// The parser has reached the end of the input.
  bool ended() const { return ended_; }
  void end() { ended_ = true; }

 private:
  int raw_peek() const {
    if (at_ < first_.size()) return static_cast<unsigned char>(first_[at_]);
    return rest_ ? rest_->peek() : ByteSource::kEnd;
  }
  int raw_get() {
    const int byte = raw_peek();
    if (at_ < first_.size()) {
      ++at_;
    } else if (byte != ByteSource::kEnd) {
      rest_->get();
    }
    if (byte == '\n') ++line_;
    return byte;
  }
  int translate() {
    if (!pending_.empty()) {
      const int byte = static_cast<unsigned char>(pending_.back());
      pending_.pop_back();
      return byte;
    }
    const int byte = raw_get();
    if (in_text_) {
      if (escaped_) {
        escaped_ = false;
      } else if (byte == '\\') {
        escaped_ = true;
      } else if (byte == '"') {
        in_text_ = false;
      }
      return byte;
    }
    if (byte == '"') {
      in_text_ = true;
    } else if (byte == 'N' || byte == 'I' || (byte == '-' && raw_peek() == 'I')) {
      // Quote the whole word: if it is no number, it is none as a string either.
      std::string word(1, static_cast<char>(byte));
      while ((raw_peek() >= 'a' && raw_peek() <= 'z') || raw_peek() == 'N' || raw_peek() == 'I') {
        if (word.size() > kWordBytesMax) break;
        word.push_back(static_cast<char>(raw_get()));
      }
      // At the end the word may be cut off: leave the string open.
      if (raw_peek() != ByteSource::kEnd) word.push_back('"');
      pending_.assign(word.rbegin(), word.rend());
      return '"';
    }
    return byte;
  }

  static constexpr size_t kWordBytesMax = 16;
  std::string_view first_;
  size_t at_ = 0;
  ByteSource* rest_;
  bool in_text_ = false;
  bool escaped_ = false;
  std::string pending_;  ///< last first
  std::optional<int> held_;
  uint64_t line_ = 1;
  bool ended_ = false;
};

/// The parser's input: a pair of iterators.
class InputIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = char;

  explicit InputIterator(Input* input) : input_(input) {}
  char operator*() const { return static_cast<char>(input_->peek()); }
  InputIterator& operator++() {
    input_->next();
    return *this;
  }
  InputIterator operator++(int) {
    InputIterator before = *this;
    input_->next();
    return before;
  }
  bool operator==(const InputIterator& other) const { return at_end() == other.at_end(); }
  bool operator!=(const InputIterator& other) const { return !(*this == other); }

 private:
  bool at_end() const {
    if (input_ == nullptr) return true;
    if (input_->peek() != ByteSource::kEnd) return false;
    input_->end();
    return true;
  }
  Input* input_;
};

class Events final : public nlohmann::json_sax<Json> {
 public:
  Events(NestedNumbers& numbers, Input& input) : numbers_(numbers), input_(input) {}

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t value) override {
    return number(static_cast<double>(value));
  }
  bool number_unsigned(number_unsigned_t value) override {
    return number(static_cast<double>(value));
  }
  bool number_float(number_float_t value, const string_t&) override { return number(value); }
  bool string(string_t& value) override {
    numbers_.text(value);
    return true;
  }
  bool binary(binary_t&) override { return true; }
  bool start_object(size_t) override {
    keys_.emplace_back();
    return nested(numbers_.begin_map());
  }
  bool key(string_t& name) override {
    repeats_key_ |= !keys_.back().insert(name).second;
    numbers_.key(name);
    return !repeats_key_;
  }
  bool end_object() override {
    keys_.pop_back();
    numbers_.end();
    return true;
  }
  bool start_array(size_t) override { return nested(numbers_.begin_list()); }
  bool end_array() override {
    numbers_.end();
    return true;
  }
  bool parse_error(size_t, const std::string&, const Json::exception&) override { return false; }

  bool too_deep() const { return too_deep_; }
  bool repeats_key() const { return repeats_key_; }

 private:
  /// At the end of the bytes the number may be cut off.
  bool number(double value) {
    if (!input_.ended()) numbers_.number(value);
    return true;
  }
  bool nested(bool accepted) {
    too_deep_ |= !accepted;
    return accepted;
  }

  NestedNumbers& numbers_;
  Input& input_;
  std::vector<std::unordered_set<std::string>> keys_;  ///< of the open objects
  bool too_deep_ = false;
  bool repeats_key_ = false;
};

bool is_blank(int byte) { return byte == ' ' || byte == '\t' || byte == '\r' || byte == '\n'; }

/// The problem with the value, or that more follows; "" = none. After a problem the values that
/// were read do not count: readers disagree about such a text.
std::string read_json_value(Input& input, FileFacts& facts) {
  NestedNumbers numbers(facts);
  Events events(numbers, input);
  const bool whole = Json::sax_parse(InputIterator(&input), InputIterator(nullptr), &events,
                                     Json::input_format_t::json, /*strict=*/false);
  numbers.finish();
  if (events.too_deep()) return "is nested too deep";
  if (events.repeats_key()) return "has a key twice in one object";
  if (!whole) return input.ended() ? "ends in the middle" : "is not JSON";
  while (is_blank(input.peek())) input.next();
  return input.peek() == ByteSource::kEnd ? "" : "has more behind its value";
}

std::string problem_of(const std::string& line) {
  FileFacts unused("");
  Input input(line, nullptr);
  return read_json_value(input, unused);
}

bool has_text(std::string_view line) { return line.find_first_not_of(" \t\r") != line.npos; }

bool names_lines(std::string_view path) {
  return path.ends_with(".jsonl") || path.ends_with(".ndjson") ||
         path.substr(path.rfind('/') + 1).starts_with("part-");
}

}  // namespace

void read_json(ByteSource& bytes, FileFacts& facts) {
  std::string line;
  bool cut = false;
  if (!bytes.line(line, kMetricLineBytesMax, cut)) return;
  if (!cut && !names_lines(facts.path()) && !(has_text(line) && problem_of(line).empty())) {
    if (bytes.peek() != ByteSource::kEnd) line.push_back('\n');
    Input input(line, &bytes);
    const std::string problem = read_json_value(input, facts);
    if (!problem.empty() && bytes.position() > 0 && (has_text(line) || input.line() > 1)) {
      facts.discard();
      facts.warn(str_cat("line ", input.line(), ": ", problem, ": the file counts for nothing"));
    }
    return;
  }
  uint64_t number = 1;
  bool broken = false;
  do {
    if (cut) {
      broken = true;
      facts.warn(str_cat("line ", number, ": is longer than ", kMetricLineBytesMax, " bytes"));
    } else if (has_text(line)) {
      const std::string problem = problem_of(line);
      if (problem.empty()) {
        Input input(line, nullptr);
        read_json_value(input, facts);
      } else {
        broken = true;
        facts.warn(str_cat("line ", number, ": ", problem));
      }
    }
    ++number;
  } while (bytes.line(line, kMetricLineBytesMax, cut));
  // Unless the file's name says that it has lines, the first line may be the document and the rest
  // garbage.
  if (broken && !names_lines(facts.path())) facts.discard();
}

}  // namespace tarn
