#include "core/model/webhook.h"

#include <algorithm>
#include <array>

#include "core/base/digest.h"
#include "core/base/encoding.h"
#include "core/base/enum_names.h"
#include "core/base/error.h"
#include "core/base/str_cat.h"
#include "core/base/text.h"

namespace tarn {
namespace {

constexpr std::array<std::string_view, 2> kFormats = {"standard", "mlflow"};
constexpr std::array<std::string_view, 3> kStates = {"pending", "delivered", "dead"};

constexpr std::string_view kSecretPrefix = "whsec_";
constexpr size_t kKeyBytesMin = 24;
constexpr size_t kKeyBytesMade = 32;
constexpr size_t kWebhookKeyBytesMax = 64;
constexpr size_t kNameBytesMax = 64;

bool is_name_character(char c) { return is_word(c) || c == '.' || c == '-'; }

}  // namespace

std::string_view name_of(WebhookFormat format) { return kFormats[static_cast<size_t>(format)]; }

std::optional<WebhookFormat> parse_webhook_format(std::string_view name) {
  return find_name<WebhookFormat>(kFormats, name);
}

std::string_view name_of(DeliveryState state) { return kStates[static_cast<size_t>(state)]; }

std::optional<DeliveryState> parse_delivery_state(std::string_view name) {
  return find_name<DeliveryState>(kStates, name);
}

std::string parse_webhook_name(std::string_view text) {
  const bool good = !text.empty() && text.size() <= kNameBytesMax && text[0] != '.' &&
                    text[0] != '-' && std::all_of(text.begin(), text.end(), is_name_character);
  if (!good) {
    throw_invalid(str_cat("webhook name: must be 1 to ", kNameBytesMax,
                          " letters, digits, '_', '.' or '-', the first no '.' or '-'"));
  }
  return std::string(text);
}

std::string make_webhook_secret() {
  return str_cat(kSecretPrefix, to_base64(random_bytes(kKeyBytesMade)));
}

std::string webhook_key(std::string_view secret) {
  if (secret.starts_with(kSecretPrefix)) {
    const auto key = from_base64(secret.substr(kSecretPrefix.size()));
    if (key && key->size() >= kKeyBytesMin && key->size() <= kWebhookKeyBytesMax) return *key;
  }
  throw_invalid(str_cat("secret: must be ", kSecretPrefix, " and ", kKeyBytesMin, " to ",
                        kWebhookKeyBytesMax, " bytes in base64"));
}

}  // namespace tarn
