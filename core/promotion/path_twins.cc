#include "core/promotion/path_twins.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>
#include <utility>

#include <utf8proc.h>

#include "core/base/encoding.h"
#include "core/base/str_cat.h"
#include "core/base/text.h"

namespace tarn::promotion {

bool is_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

namespace {

/// The spellings of one character, sorted; none is the beginning of another.
using Character = std::vector<std::string>;

/// The text in a normal form; nullopt if the library refuses it.
std::optional<std::string> mapped(std::string_view text, int options) {
  utf8proc_uint8_t* made = nullptr;
  const utf8proc_ssize_t size = utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                             static_cast<utf8proc_ssize_t>(text.size()), &made,
                                             static_cast<utf8proc_option_t>(options));
  const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owner(made, &std::free);
  if (size < 0) return std::nullopt;
  return std::string(reinterpret_cast<const char*>(made), static_cast<size_t>(size));
}

/// Code points of a text of well-formed UTF-8.
std::vector<utf8proc_int32_t> code_points(std::string_view text) {
  std::vector<utf8proc_int32_t> out;
  while (!text.empty()) {
    utf8proc_int32_t code = 0;
    const utf8proc_ssize_t size =
        utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                         static_cast<utf8proc_ssize_t>(text.size()), &code);
    if (size <= 0) break;
    out.push_back(code);
    text.remove_prefix(static_cast<size_t>(size));
  }
  return out;
}

/// A character of the normal form D, which may be several code points, in both cases and forms.
Character spellings_of(const std::vector<utf8proc_int32_t>& character) {
  Character out;
  for (utf8proc_int32_t (*const change)(utf8proc_int32_t) :
       {&utf8proc_tolower, &utf8proc_toupper}) {
    std::string text;
    for (const utf8proc_int32_t code : character)
      append_utf8(text, static_cast<uint32_t>(change(code)));
    for (const int form : {UTF8PROC_DECOMPOSE, UTF8PROC_COMPOSE}) {
      if (auto spelling = mapped(text, UTF8PROC_STABLE | form)) out.push_back(*std::move(spelling));
    }
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

/// The characters of a segment, each with its spellings.
std::vector<Character> characters_of(std::string_view segment) {
  std::vector<Character> out;
  const std::optional<std::string> folded =
      is_ascii(segment) ? std::nullopt
                        : mapped(segment, UTF8PROC_STABLE | UTF8PROC_DECOMPOSE | UTF8PROC_CASEFOLD);
  if (!folded) {
    for (const char c : segment) {
      const char small = lower(c);
      if (is_letter(c)) {
        out.push_back(
            {std::string(1, static_cast<char>(small - 'a' + 'A')), std::string(1, small)});
      } else {
        out.push_back({std::string(1, c)});
      }
    }
    return out;
  }
  std::vector<utf8proc_int32_t> character;
  utf8proc_int32_t state = 0;
  for (const utf8proc_int32_t code : code_points(*folded)) {
    if (!character.empty() && utf8proc_grapheme_break_stateful(character.back(), code, &state))
      out.push_back(spellings_of(std::exchange(character, {})));
    character.push_back(code);
  }
  if (!character.empty()) out.push_back(spellings_of(character));
  return out;
}

/// The first text >= `from` that spells the characters; nullopt if there is none.
std::optional<std::string> next_spelling(const std::vector<Character>& characters,
                                         std::string_view from) {
  std::vector<std::pair<size_t, size_t>> taken;  // spelling and its place in `from`
  const auto completed = [&](size_t place, size_t spelling) {
    std::string out(from.substr(0, place));
    out += characters[taken.size()][spelling];
    for (size_t i = taken.size() + 1; i < characters.size(); ++i) out += characters[i].front();
    return out;
  };
  size_t place = 0;
  while (taken.size() < characters.size()) {
    const Character& spellings = characters[taken.size()];
    size_t i = 0;
    int order = -1;
    for (; i < spellings.size(); ++i) {
      order = spellings[i].compare(from.substr(place, spellings[i].size()));
      if (order >= 0) break;
    }
    if (order > 0) return completed(place, i);
    if (order < 0) break;
    taken.emplace_back(i, place);
    place += spellings[i].size();
  }
  if (taken.size() == characters.size() && place == from.size()) return std::string(from);
  // The text that `from` begins with is too small: a later spelling of a character before it.
  while (!taken.empty()) {
    const auto [spelling, at] = taken.back();
    taken.pop_back();
    if (spelling + 1 < characters[taken.size()].size()) return completed(at, spelling + 1);
  }
  return std::nullopt;
}

}  // namespace

std::vector<std::string> PathTwins::find(const std::string& path) {
  std::vector<std::string> out;
  const size_t end = path.rfind('/') + 1;  // npos + 1 is 0
  const std::string_view directory = std::string_view(path).substr(0, end);
  for (const std::string& parent : spellings_of(directory))
    find_below(parent, std::string_view(path).substr(end), out);
  std::erase(out, path);
  return out;
}

/// The spellings of a directory that exist.
const std::vector<std::string>& PathTwins::spellings_of(std::string_view directory) {
  static const std::vector<std::string> kRoot = {""};
  while (!directories_.empty() && !directory.starts_with(directories_.back().path))
    directories_.pop_back();
  size_t at = directories_.empty() ? 0 : directories_.back().path.size();
  while (at < directory.size()) {
    const size_t end = directory.find('/', at) + 1;
    Directory found{std::string(directory.substr(0, end)), {}};
    for (const std::string& parent : directories_.empty() ? kRoot : directories_.back().spellings)
      find_below(parent, directory.substr(at, end - at), found.spellings);
    directories_.push_back(std::move(found));
    at = end;
  }
  return directories_.empty() ? kRoot : directories_.back().spellings;
}

const std::string* PathTwins::seek(const std::string& from, bool remember) {
  // Upper case comes first, so for most names of a directory the first step leads to the same key.
  if (!gap_end_.empty() && from >= gap_begin_ && from <= gap_end_) return &gap_end_;
  cursor_.seek(from);
  if (!cursor_.valid()) return nullptr;
  if (!remember) return &cursor_.key();
  gap_begin_ = from;
  gap_end_ = cursor_.key();
  return &gap_end_;
}

/// Appends the keys `parent` + a spelling of the segment; if the segment has a slash at its end,
/// the beginnings of such keys.
void PathTwins::find_below(const std::string& parent, std::string_view segment,
                           std::vector<std::string>& out) {
  const std::vector<Character> characters = characters_of(segment);
  bool first = true;
  for (auto wanted = next_spelling(characters, ""); wanted;) {
    if (++seeks_ > kSeeksMax || out.size() >= kSpellingsMax) {
      exhausted_ = true;
      return;
    }
    const std::string* const key = seek(parent + *wanted, /*remember=*/first);
    first = false;
    if (key == nullptr || !key->starts_with(parent)) return;
    std::string name = key->substr(parent.size());
    // The first segment is enough.
    if (const size_t slash = name.find('/'); slash != std::string::npos) name.resize(slash + 1);
    wanted = next_spelling(characters, name);
    if (wanted != name) continue;
    out.push_back(parent + name);
    wanted = next_spelling(characters, name += '\0');
  }
}

}  // namespace tarn::promotion
