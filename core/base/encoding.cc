#include "core/base/encoding.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "core/base/text.h"

namespace tarn {
namespace {

constexpr char kHexLower[] = "0123456789abcdef";
constexpr char kHexUpper[] = "0123456789ABCDEF";

/// Bytes that percent encoding keeps.
constexpr std::array<bool, 256> make_unreserved_table() {
  std::array<bool, 256> out{};
  for (size_t c = 0; c < out.size(); ++c) {
    const char letter = static_cast<char>(c);
    out[c] = is_word(letter) || letter == '-' || letter == '.' || letter == '~';
  }
  return out;
}
constexpr std::array<bool, 256> kUnreserved = make_unreserved_table();
constexpr std::string_view kBase64 =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::string_view kBase64Url =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
constexpr std::string_view kBase32Hex = "0123456789abcdefghijklmnopqrstuv";

/// By character; -1 for those that are none. Checksums of every entry pass here.
constexpr std::array<int8_t, 256> kHexDigits = [] {
  std::array<int8_t, 256> out{};
  out.fill(-1);
  for (int8_t i = 0; i < 10; ++i) out[static_cast<size_t>('0' + i)] = i;
  for (int8_t i = 10; i < 16; ++i) {
    out[static_cast<size_t>('a' + i - 10)] = out[static_cast<size_t>('A' + i - 10)] = i;
  }
  return out;
}();

int hex_digit(char c) { return kHexDigits[static_cast<uint8_t>(c)]; }

/// Packs bytes into digits of `bits` each, most significant first; the last digit is padded with
/// zero bits.
std::string pack(std::string_view bytes, std::string_view alphabet, int bits) {
  const auto per_digit = static_cast<size_t>(bits);
  std::string out((bytes.size() * 8 + per_digit - 1) / per_digit, '\0');
  const char* const digits = alphabet.data();
  char* to = out.data();
  uint32_t buffer = 0;
  int held = 0;
  const uint32_t mask = (1u << bits) - 1;
  for (char c : bytes) {
    buffer = (buffer << 8) | static_cast<uint8_t>(c);
    held += 8;
    while (held >= bits) {
      held -= bits;
      *to++ = digits[(buffer >> held) & mask];
    }
  }
  if (held > 0) *to = digits[(buffer << (bits - held)) & mask];
  return out;
}

/// The inverse of pack; refuses foreign characters, impossible lengths and non-zero padding bits.
std::optional<std::string> unpack(std::string_view text, std::string_view alphabet, int bits) {
  std::array<int8_t, 256> value;
  value.fill(-1);
  for (size_t i = 0; i < alphabet.size(); ++i) {
    value[static_cast<uint8_t>(alphabet[i])] = static_cast<int8_t>(i);
  }
  std::string out;
  uint32_t buffer = 0;
  int held = 0;
  for (char c : text) {
    const int8_t digit = value[static_cast<uint8_t>(c)];
    if (digit < 0) return std::nullopt;
    buffer = (buffer << bits) | static_cast<uint32_t>(digit);
    held += bits;
    if (held >= 8) {
      held -= 8;
      out.push_back(static_cast<char>((buffer >> held) & 0xff));
    }
  }
  if (held >= bits || (buffer & ((1u << held) - 1)) != 0) return std::nullopt;
  return out;
}

std::optional<std::string> decode_percent(std::string_view text, bool plus_is_space) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%') {
      if (i + 2 >= text.size()) return std::nullopt;
      const int high = hex_digit(text[i + 1]);
      const int low = hex_digit(text[i + 2]);
      if (high < 0 || low < 0) return std::nullopt;
      out.push_back(static_cast<char>(high * 16 + low));
      i += 2;
    } else if (plus_is_space && text[i] == '+') {
      out.push_back(' ');
    } else {
      out.push_back(text[i]);
    }
  }
  return out;
}

}  // namespace

std::string to_hex(std::string_view bytes) {
  std::string out(bytes.size() * 2, '\0');
  char* to = out.data();
  for (const char c : bytes) {
    const uint8_t b = static_cast<uint8_t>(c);
    *to++ = kHexLower[b >> 4];
    *to++ = kHexLower[b & 15];
  }
  return out;
}

std::optional<std::string> from_hex(std::string_view text) {
  if (text.size() % 2 != 0) return std::nullopt;
  std::string out(text.size() / 2, '\0');
  for (size_t i = 0; i < text.size(); i += 2) {
    const int high = hex_digit(text[i]);
    const int low = hex_digit(text[i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    out[i / 2] = static_cast<char>(high * 16 + low);
  }
  return out;
}

std::string to_base64(std::string_view bytes) {
  std::string out = pack(bytes, kBase64, 6);
  while (out.size() % 4 != 0) out.push_back('=');
  return out;
}

std::optional<std::string> from_base64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  for (int i = 0; i < 2 && !text.empty() && text.back() == '='; ++i) text.remove_suffix(1);
  return unpack(text, kBase64, 6);
}

std::string to_base64url(std::string_view bytes) { return pack(bytes, kBase64Url, 6); }
std::optional<std::string> from_base64url(std::string_view text) {
  return unpack(text, kBase64Url, 6);
}

std::string to_base32hex(std::string_view bytes) { return pack(bytes, kBase32Hex, 5); }
std::optional<std::string> from_base32hex(std::string_view text) {
  return unpack(text, kBase32Hex, 5);
}

std::string percent_encode(std::string_view bytes, bool keep_slash) {
  const auto is_kept = [keep_slash](char c) {
    return kUnreserved[static_cast<uint8_t>(c)] || (keep_slash && c == '/');
  };
  std::string out;
  out.reserve(bytes.size());
  for (auto at = bytes.begin(); at != bytes.end(); ++at) {
    const auto plain = at;
    at = std::find_if_not(at, bytes.end(), is_kept);
    out.append(plain, at);
    if (at == bytes.end()) break;
    const uint8_t b = static_cast<uint8_t>(*at);
    out.push_back('%');
    out.push_back(kHexUpper[b >> 4]);
    out.push_back(kHexUpper[b & 15]);
  }
  return out;
}

std::optional<std::string> percent_decode(std::string_view text) {
  return decode_percent(text, false);
}

std::optional<std::string> form_decode(std::string_view text) { return decode_percent(text, true); }

bool is_utf8(std::string_view bytes) {
  size_t i = 0;
  while (i < bytes.size()) {
    const uint8_t lead = static_cast<uint8_t>(bytes[i]);
    if (lead < 0x80) {
      ++i;
      continue;
    }
    size_t extra = 0;
    uint32_t code = 0;
    if (lead >= 0xc2 && lead <= 0xdf) {
      extra = 1;
      code = lead & 0x1fu;
    } else if (lead >= 0xe0 && lead <= 0xef) {
      extra = 2;
      code = lead & 0x0fu;
    } else if (lead >= 0xf0 && lead <= 0xf4) {
      extra = 3;
      code = lead & 0x07u;
    } else {
      return false;
    }
    if (i + extra >= bytes.size()) return false;
    for (size_t k = 1; k <= extra; ++k) {
      const uint8_t next = static_cast<uint8_t>(bytes[i + k]);
      if ((next & 0xc0) != 0x80) return false;
      code = (code << 6) | (next & 0x3fu);
    }
    if (extra == 2 && (code < 0x800 || (code >= 0xd800 && code <= 0xdfff))) return false;
    if (extra == 3 && (code < 0x10000 || code > 0x10ffff)) return false;
    i += extra + 1;
  }
  return true;
}

void append_utf8(std::string& out, uint32_t code) {
  const auto push = [&out](uint32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (code < 0x80) return push(code);
  if (code < 0x800) {
    push(0xc0 | (code >> 6));
  } else {
    if (code < 0x10000) {
      push(0xe0 | (code >> 12));
    } else {
      push(0xf0 | (code >> 18));
      push(0x80 | ((code >> 12) & 0x3f));
    }
    push(0x80 | ((code >> 6) & 0x3f));
  }
  push(0x80 | (code & 0x3f));
}

}  // namespace tarn
