// The reader of YAML (declared in metric_file.h). It processes events, so that aliases multiply
// nothing and the values before an error count.
#include <sstream>
#include <string>
#include <unordered_set>
#include <vector>

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include "core/base/str_cat.h"
#include "core/base/yaml_marks.h"
#include "core/metrics/files/metric_file.h"
#include "core/metrics/files/nested_numbers.h"

namespace tarn {
namespace {

struct TooDeep {};
struct KeyTwice {
  int line = 0;  ///< from 1
};

class Events final : public YAML::EventHandler {
 public:
  explicit Events(NestedNumbers& numbers) : numbers_(numbers) {}

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override { scalar("", /*is_null=*/true); }
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override { scalar("", /*is_null=*/true); }
  void OnScalar(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                const std::string& value) override {
    if (expects_key() && !keys_.back().insert(value).second) throw KeyTwice{mark.line + 1};
    scalar(value, /*is_null=*/false);
  }
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {
    value_begins();
    if (!numbers_.begin_list()) throw TooDeep{};
    expects_key_.push_back(kNever);
  }
  void OnSequenceEnd() override { end(); }
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {
    value_begins();
    if (!numbers_.begin_map()) throw TooDeep{};
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

  void scalar(const std::string& value, bool is_null) {
    if (expects_key()) {
      numbers_.key(value);
      expects_key_.back() = kValue;
      return;
    }
    value_begins();
    if (is_null) return;
    const bool dotted =
        value.starts_with(".") || value.starts_with("-.") || value.starts_with("+.");
    std::string text = value;
    // YAML writes .nan, .inf and -.inf.
    if (dotted && value.find_first_of("0123456789") == std::string::npos) {
      text.erase(text.find('.'), 1);
    }
    numbers_.text(text);
  }
  /// After a map's value the next scalar is a key; a key that is no scalar has no name.
  void value_begins() {
    if (expects_key_.empty() || expects_key_.back() == kNever) return;
    if (expects_key_.back() == kKey) numbers_.key("");
    expects_key_.back() = expects_key_.back() == kKey ? kValue : kKey;
  }
  void end() {
    numbers_.end();
    expects_key_.pop_back();
  }

  NestedNumbers& numbers_;
  std::vector<Expected> expects_key_;
  std::vector<std::unordered_set<std::string>> keys_;  ///< of the open maps
};

}  // namespace

void read_yaml(ByteSource& bytes, FileFacts& facts) {
  std::string text(kYamlBytesMax + 1, '\0');
  text.resize(bytes.read(text));
  if (text.size() > kYamlBytesMax) {
    facts.warn(str_cat("is longer than ", kYamlBytesMax, " bytes: not read"));
    return;
  }
  if (has_too_many_yaml_marks(text)) {
    facts.warn(
        str_cat("has more than ", kYamlMarksMax, " brackets, quotes and separators: not read"));
    return;
  }
  NestedNumbers numbers(facts);
  int twice = 0;  // line of a duplicate key
  try {
    std::istringstream in(text);
    YAML::Parser parser(in);
    Events events(numbers);
    parser.HandleNextDocument(events);
  } catch (const YAML::Exception& error) {
    facts.warn(str_cat("line ", error.mark.line + 1, ": is not YAML: ", error.msg));
  } catch (const TooDeep&) {
    facts.warn("is nested too deep");
  } catch (const KeyTwice& key) {
    twice = key.line;
  }
  numbers.finish();
  if (twice == 0) return;
  // Readers disagree about which of the two values counts.
  facts.discard();
  facts.warn(str_cat("line ", twice, ": has a key twice in one map: the file counts for nothing"));
}

}  // namespace tarn
