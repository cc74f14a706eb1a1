#include "core/tree/key_section.h"

#include <algorithm>
#include <array>

#include "core/base/wire.h"
#include "core/model/names.h"

namespace tarn::tree {
namespace {

constexpr unsigned kRestartBytes = 4;

size_t common_prefix(std::string_view a, std::string_view b) {
  const size_t limit = std::min(a.size(), b.size());
  size_t i = 0;
  while (i < limit && a[i] == b[i]) ++i;
  return i;
}

/// Only for bytes that parse() has checked.
uint64_t checked_varint(const char*& at) {
  uint64_t value = 0;
  for (unsigned shift = 0;; shift += 7) {
    const uint8_t byte = static_cast<uint8_t>(*at++);
    value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
}

uint32_t restarts_of(uint32_t count) { return (count + kRestartInterval - 1) / kRestartInterval; }

}  // namespace

void KeySectionWriter::add(std::string_view key) {
  size_t shared = 0;
  if (count_ % kRestartInterval == 0) {
    restarts_.push_back(static_cast<uint32_t>(bytes_.size()));
  } else {
    shared = common_prefix(last_key_, key);
  }
  put_varint(bytes_, shared);
  put_bytes(bytes_, key.substr(shared));
  last_key_.assign(key);
  ++count_;
}

void KeySectionWriter::write(std::string& out) const {
  out.append(bytes_);
  for (uint32_t offset : restarts_) put_fixed(out, offset, kRestartBytes);
}

void KeySectionWriter::clear() {
  bytes_.clear();
  restarts_.clear();
  last_key_.clear();
  count_ = 0;
}

KeySection KeySection::parse(NodeReader& in, uint32_t count) {
  KeySection section;
  section.keys_ = in.at();
  section.count_ = count;
  const size_t begin = in.offset();
  std::vector<uint32_t> starts;
  starts.reserve(restarts_of(count));
  std::array<char, kKeyBytesMax> key;
  size_t key_size = 0;
  for (uint32_t i = 0; i < count; ++i) {
    const bool whole = i % kRestartInterval == 0;
    if (whole) starts.push_back(static_cast<uint32_t>(in.offset() - begin));
    const uint64_t shared = in.varint();
    const uint64_t rest_size = in.varint();
    if (shared > (whole ? 0 : key_size) || rest_size > kKeyBytesMax ||
        shared + rest_size > kKeyBytesMax || shared + rest_size == 0) {
      NodeReader::fail("a key has an impossible length");
    }
    const std::string_view rest = in.take(rest_size);
    const size_t lead = static_cast<size_t>(shared);
    const std::string_view before(key.data() + lead, key_size - lead);
    if (whole || before.empty() || rest.empty()) {
      if (i > 0 && before >= rest) NodeReader::fail("its keys do not ascend");
    } else if (before[0] == rest[0]) {
      // find() requires `shared` to be the whole common prefix of the two keys.
      NodeReader::fail("a key is not fully compressed");
    } else if (static_cast<uint8_t>(before[0]) > static_cast<uint8_t>(rest[0])) {
      NodeReader::fail("its keys do not ascend");
    }
    std::copy(rest.begin(), rest.end(), key.begin() + static_cast<std::ptrdiff_t>(lead));
    key_size = lead + rest.size();
  }
  section.restarts_ = in.at();
  for (uint32_t start : starts) {
    if (in.fixed(kRestartBytes) != start) NodeReader::fail("a restart is misplaced");
  }
  return section;
}

const char* KeySection::restart(uint32_t index) const {
  return keys_ + load_fixed(restarts_ + size_t{index} * kRestartBytes, kRestartBytes);
}

std::string_view KeySection::restart_key(uint32_t index) const {
  const char* at = restart(index);
  return KeyScan::read_piece(at).rest;
}

std::string KeySection::key(uint32_t index) const { return KeyScan(*this, index).key(); }

KeySection::Position KeySection::find(std::string_view key) const {
  // The last restart whose key is <= `key`.
  uint32_t low = 0;
  uint32_t high = restarts_of(count_);
  while (low < high) {
    const uint32_t middle = (low + high) / 2;
    if (restart_key(middle) <= key) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  if (low == 0) return {0, false};
  uint32_t index = (low - 1) * kRestartInterval;
  const uint32_t end = std::min(count_, index + kRestartInterval);
  const char* at = restart(low - 1);
  // `matched` = length of the common prefix of `key` and the previous key (which is smaller).
  size_t matched = 0;
  for (; index < end; ++index) {
    const KeyScan::Piece piece = KeyScan::read_piece(at);
    if (piece.shared > matched) continue;               // differs as the last one did: smaller
    if (piece.shared < matched) return {index, false};  // above the common prefix: greater
    const std::string_view wanted = key.substr(matched);
    const size_t more = common_prefix(piece.rest, wanted);
    if (more == wanted.size()) return {index, more == piece.rest.size()};
    if (more < piece.rest.size() &&
        static_cast<uint8_t>(piece.rest[more]) > static_cast<uint8_t>(wanted[more])) {
      return {index, false};
    }
    matched += more;
  }
  return {end, false};
}

void KeyScan::seek(const KeySection& section, uint32_t index) {
  count_ = section.count();
  index_ = index;
  if (index >= count_) return;
  const uint32_t first = index / kRestartInterval;
  at_ = section.restart(first);
  key_.clear();
  for (uint32_t i = first * kRestartInterval; i <= index; ++i) read();
}

void KeyScan::next() {
  ++index_;
  if (index_ < count_) read();
}

/// Only of a section, whose bytes parse() has checked.
KeyScan::Piece KeyScan::read_piece(const char*& at) {
  Piece piece;
  piece.shared = static_cast<size_t>(checked_varint(at));
  const size_t size = static_cast<size_t>(checked_varint(at));
  piece.rest = {at, size};
  at += size;
  return piece;
}

bool KeyScan::same_key(std::string_view before, const Piece& a, const Piece& b) {
  if (a.shared == b.shared) return a.rest == b.rest;
  if (a.shared > b.shared) return same_key(before, b, a);
  // Only one of them may be stored whole.
  const std::string_view middle = before.substr(a.shared, b.shared - a.shared);
  return a.rest.size() == middle.size() + b.rest.size() && a.rest.starts_with(middle) &&
         a.rest.ends_with(b.rest);
}

void KeyScan::read() { take(read_piece(at_)); }

void KeyScan::take(const Piece& piece) {
  shared_ = piece.shared;
  key_.resize(piece.shared);
  key_.append(piece.rest);
}

}  // namespace tarn::tree
