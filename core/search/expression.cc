#include "core/search/expression.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace tarn::search {
namespace {

template <typename Value>
bool holds(Comparison comparison, const Value& left, const Value& right) {
  switch (comparison) {
    case Comparison::kEqual:
      return left == right;
    case Comparison::kUnequal:
      return left != right;
    case Comparison::kLess:
      return left < right;
    case Comparison::kLessOrEqual:
      return left <= right;
    case Comparison::kGreater:
      return left > right;
    case Comparison::kGreaterOrEqual:
      return left >= right;
  }
  return false;
}

/// The value of a text field; nullopt = the object has no such key.
std::optional<std::string_view> text_of(const Field& field, const Subject& subject) {
  if (field.kind == Field::Kind::kPath) return subject.path();
  if (field.kind == Field::Kind::kType) return shown_type(subject.entry());
  const std::string* value = subject.value(field);
  return value == nullptr ? std::nullopt : std::optional<std::string_view>(*value);
}

bool matches_number(const Condition& condition, double wanted, const Subject& subject) {
  const auto number = subject.number(condition.field);
  if (number) return holds(condition.comparison, *number, wanted);
  return condition.comparison == Comparison::kUnequal && subject.value(condition.field) != nullptr;
}

bool matches_text(const Condition& condition, std::string_view wanted, const Subject& subject) {
  if (condition.field.kind == Field::Kind::kType) {
    return matches_type(wanted, subject.entry()) == (condition.comparison == Comparison::kEqual);
  }
  const auto text = text_of(condition.field, subject);
  return text && holds(condition.comparison, *text, wanted);
}

std::string common_prefix(const std::string& a, const std::string& b) {
  const auto differing = std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first;
  return {a.begin(), differing};
}

std::string prefix_of(const Condition& condition) {
  if (condition.field.kind != Field::Kind::kPath) return "";
  if (const Glob* glob = std::get_if<Glob>(&condition.value)) return glob->prefix();
  const auto* text = std::get_if<std::string>(&condition.value);
  return text != nullptr && condition.comparison == Comparison::kEqual ? *text : "";
}

}  // namespace

Comparison opposite(Comparison comparison) {
  switch (comparison) {
    case Comparison::kEqual:
      return Comparison::kUnequal;
    case Comparison::kUnequal:
      return Comparison::kEqual;
    case Comparison::kLess:
      return Comparison::kGreaterOrEqual;
    case Comparison::kLessOrEqual:
      return Comparison::kGreater;
    case Comparison::kGreater:
      return Comparison::kLessOrEqual;
    case Comparison::kGreaterOrEqual:
      return Comparison::kLess;
  }
  return comparison;
}

bool Condition::matches(const Subject& subject) const {
  if (const auto* bytes = std::get_if<uint64_t>(&value)) {
    return holds(comparison, subject.entry().size_bytes, *bytes);
  }
  if (const auto* moment = std::get_if<Instant>(&value)) {
    return holds(comparison, subject.entry().mtime, *moment);
  }
  if (const auto* number = std::get_if<double>(&value)) {
    return matches_number(*this, *number, subject);
  }
  if (const auto* text = std::get_if<std::string>(&value)) {
    return matches_text(*this, *text, subject);
  }
  const auto text = text_of(field, subject);
  const Glob* glob = std::get_if<Glob>(&value);
  return text && (glob == nullptr || glob->matches(*text));
}

bool Expression::matches(const Subject& subject) const {
  const auto one = [&](const Expression& part) { return part.matches(subject); };
  switch (kind) {
    case Kind::kCondition:
      return condition.matches(subject);
    case Kind::kAll:
      return std::all_of(parts.begin(), parts.end(), one);
    case Kind::kAny:
      return std::any_of(parts.begin(), parts.end(), one);
    case Kind::kNot:
      return !parts[0].matches(subject);
  }
  return false;
}

std::string Expression::prefix() const {
  if (kind == Kind::kCondition) return prefix_of(condition);
  if (kind == Kind::kNot) return "";
  std::string out = parts[0].prefix();
  for (size_t i = 1; i < parts.size(); ++i) {
    std::string next = parts[i].prefix();
    if (kind == Kind::kAny) {
      out = common_prefix(out, next);
    } else if (next.size() > out.size()) {
      out = std::move(next);
    }
  }
  return out;
}

bool Expression::asks_for_tags() const {
  if (kind == Kind::kCondition) return condition.field.kind == Field::Kind::kTag;
  return std::any_of(parts.begin(), parts.end(),
                     [](const Expression& part) { return part.asks_for_tags(); });
}

}  // namespace tarn::search
