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

/// A line, then the rest of the source. Bare NaN, Infinity and -Infinity, which JSON lacks but
/// training programs write, become strings.
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
      std::string word(1, static_cast<char>(byte));
      while ((raw_peek() >= 'a' && raw_peek() <= 'z') || raw_peek() == 'N' || raw_peek() == 'I') {
        if (word.size() > kWordBytesMax) break;
        word.push_back(static_cast<char>(raw_get()));
      }
      if (word == "NaN" || word == "Infinity" || word == "-Infinity") {
        word = str_cat("\"", word, "\"");
      }
      pending_.assign(word.rbegin(), word.rend() - 1);
      return static_cast<unsigned char>(word.front());
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

/// The problem with the one value of the input, "" if there is none.
std::string read_json_value(Input& input, NestedNumbers& numbers) {
  if (input.peek() == 0xEF) return "is not JSON";  // the parser skips a byte order mark
  Events events(numbers, input);
  const bool whole = Json::sax_parse(InputIterator(&input), InputIterator(nullptr), &events,
                                     Json::input_format_t::json, /*strict=*/false);
  if (events.too_deep()) return "is nested too deep";
  if (events.repeats_key()) return "has a key twice in one object";
  if (!whole) return input.ended() ? "ends in the middle" : "is not JSON";
  while (is_blank(input.peek())) input.next();
  return input.peek() == ByteSource::kEnd ? "" : "has more behind its value";
}

bool has_text(std::string_view line) { return line.find_first_not_of(" \t\r") != line.npos; }

bool names_lines(std::string_view path) {
  return path.ends_with(".jsonl") || path.ends_with(".ndjson") ||
         path.substr(path.rfind('/') + 1).starts_with("part-");
}

void read_json_document(ByteSource& bytes, FileFacts& facts) {
  Input input("", &bytes);
  while (is_blank(input.peek())) input.next();
  if (input.peek() == ByteSource::kEnd) return;
  NestedNumbers numbers(facts);
  const std::string problem = read_json_value(input, numbers);
  if (!problem.empty()) facts.reject(str_cat("line ", input.line(), ": ", problem));
}

void read_json_lines(ByteSource& bytes, FileFacts& facts) {
  NestedNumbers numbers(facts);
  std::string line;
  bool cut = false;
  for (uint64_t number = 1; bytes.line(line, kMetricLineBytesMax, cut); ++number) {
    if (cut) {
      return facts.reject(
          str_cat("line ", number, ": is longer than ", kMetricLineBytesMax, " bytes"));
    }
    if (!has_text(line)) continue;
    Input input(line, nullptr);
    const std::string problem = read_json_value(input, numbers);
    if (!problem.empty()) return facts.reject(str_cat("line ", number, ": ", problem));
  }
}

}  // namespace

void read_json(ByteSource& bytes, FileFacts& facts) {
  if (names_lines(facts.path())) {
    read_json_lines(bytes, facts);
  } else {
    read_json_document(bytes, facts);
  }
}

}  // namespace tarn
