#include "core/actions/variables.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "core/actions/action_file.h"
#include "core/base/encoding.h"
#include "core/base/error.h"
#include "core/base/str_cat.h"
#include "core/base/text.h"

namespace tarn::actions {
namespace {

constexpr std::string_view kOpen = "{{";
constexpr std::string_view kClose = "}}";
constexpr std::string_view kSpace = "ENV.";
constexpr std::string_view kMask = "*****";
/// Shorter values are not masked: they are no secrets, and masking them would garble every text.
constexpr size_t kMaskedBytesMin = 3;

/// Calls `text` with the pieces between references and `variable` with their names.
template <typename OnText, typename OnVariable>
void split(std::string_view text, OnText&& on_text, OnVariable&& on_variable) {
  for (;;) {
    const size_t open = text.find(kOpen);
    on_text(text.substr(0, open));
    if (open == std::string_view::npos) return;
    const size_t close = text.find(kClose, open);
    if (close == std::string_view::npos) throw_invalid("a \"{{\" is not closed");
    const std::string_view inside = trimmed(text.substr(open + 2, close - open - 2), " ");
    if (!inside.starts_with(kSpace)) {
      throw_invalid(str_cat("\"{{ ", inside, " }}\": only {{ ENV.NAME }} means something"));
    }
    const std::string_view name = inside.substr(kSpace.size());
    if (!name.starts_with(kVariablePrefix)) {
      throw_invalid(str_cat("variable \"", name,
                            "\": hooks may use only those whose names begin with ",
                            kVariablePrefix));
    }
    on_variable(name);
    text.remove_prefix(close + kClose.size());
  }
}

void resolve_in(nlohmann::json& value, Variables& variables) {
  if (value.is_string()) {
    value = variables.resolve(value.get_ref<const std::string&>());
  } else if (value.is_structured()) {
    for (auto& item : value) resolve_in(item, variables);
  }
}

}  // namespace

std::vector<std::string> variables_in(std::string_view text) {
  std::vector<std::string> names;
  split(
      text, [](std::string_view) {}, [&](std::string_view name) { names.emplace_back(name); });
  return names;
}

std::string Variables::resolve(std::string_view text) {
  std::string out;
  split(
      text, [&](std::string_view piece) { out += piece; },
      [&](std::string_view name) {
        const auto value = environment_(std::string(name));
        if (!value) {
          throw_invalid(str_cat("variable \"", name, "\" is not set in the server's environment"));
        }
        out += *value;
        if (value->size() < kMaskedBytesMin) return;
        shown_as_.push_back(*value);
        shown_as_.push_back(to_base64(*value));
        shown_as_.push_back(percent_encode(*value));
      });
  return out;
}

std::string Variables::resolve_json(const std::string& json) {
  nlohmann::json value = nlohmann::json::parse(json);
  resolve_in(value, *this);
  return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string Variables::masked(std::string_view text) const {
  Masking masking(*this);
  std::string out = masking.add(text);
  return out += masking.rest();
}

std::string Masking::add(std::string_view piece) {
  held_ += piece;
  const std::string_view text = held_;
  size_t end = text.size();
  for (const std::string& secret : variables_.shown_as_) {
    for (size_t at = text.size() - std::min(text.size(), secret.size() - 1); at < end; ++at) {
      if (secret.starts_with(text.substr(at))) end = at;
    }
  }
  return take(end);
}

std::string Masking::rest() { return take(held_.size()); }

/// The text before `end`. Every byte of a value is masked, so values that overlap get one mask.
std::string Masking::take(size_t end) {
  std::vector<std::pair<size_t, size_t>> values;
  for (const std::string& secret : variables_.shown_as_) {
    for (size_t at = 0; (at = held_.find(secret, at)) < end; ++at) {
      values.emplace_back(at, at + secret.size());
    }
  }
  std::sort(values.begin(), values.end());
  std::string out;
  size_t at = masked_;
  for (const auto& [begin, after] : values) {
    if (begin >= at) {
      out.append(held_, at, begin - at);
      out += kMask;
    }
    at = std::max(at, after);
  }
  if (at < end) out.append(held_, at, end - at);
  masked_ = std::max(at, end) - end;
  held_.erase(0, end);
  return out;
}

}  // namespace tarn::actions
