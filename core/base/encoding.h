// Text forms of bytes: hex, base64, base32hex, percent-encoding.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tarn {

/// Lower-case hex.
std::string to_hex(std::string_view bytes);
/// Either case; nullopt for an odd length or a character that is no hex digit.
std::optional<std::string> from_hex(std::string_view text);

/// RFC 4648 base64 with padding.
std::string to_base64(std::string_view bytes);
/// Strict: alphabet, padding and canonical trailing bits are checked. Source: RFC 4648 section 4.
std::optional<std::string> from_base64(std::string_view text);
/// RFC 4648 section 5, without padding.
std::string to_base64url(std::string_view bytes);
std::optional<std::string> from_base64url(std::string_view text);

/// Lower-case base32hex (0-9a-v) without padding; sorts as the bytes do. 12 bytes are 20
/// characters.
std::string to_base32hex(std::string_view bytes);
std::optional<std::string> from_base32hex(std::string_view text);

/// Percent-encodes every byte but `A-Za-z0-9-._~` (and '/' when `keep_slash`), upper-case hex.
/// Source: RFC 3986.
std::string percent_encode(std::string_view bytes, bool keep_slash = false);
/// Decodes %XX; '+' stays a plus. nullopt when a '%' is not followed by two hex digits.
std::optional<std::string> percent_decode(std::string_view text);
/// The same as percent_decode, with '+' meaning a space (query strings of form encoders).
std::optional<std::string> form_decode(std::string_view text);

/// Whether `bytes` is well-formed UTF-8 (no surrogates, no overlong forms).
bool is_utf8(std::string_view bytes);
/// Appends a code point, which must be at most 0x10ffff and no surrogate.
void append_utf8(std::string& out, uint32_t code);

}  // namespace tarn
