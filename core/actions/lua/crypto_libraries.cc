// crypto/hmac, crypto/md5, crypto/sha256, crypto/aes.
#include "core/actions/lua/libraries.h"
#include "core/actions/lua/value.h"
#include "core/base/aes_cbc.h"
#include "core/base/digest.h"
#include "core/base/encoding.h"
#include "core/base/error.h"

namespace tarn::actions::lua {
namespace {

template <std::string (*digest)(std::string_view)>
int digested(lua_State* state) {
  push(state, to_hex(digest(text_argument(state, 1))));
  return 1;
}

/// Argument order as in lakeFS: first the message, then the key.
template <std::string (*hmac)(std::string_view, std::string_view)>
int signed_with(lua_State* state) {
  push(state, hmac(text_argument(state, 2), text_argument(state, 1)));
  return 1;
}

int encrypt(lua_State* state) {
  push(state, encrypt_aes_cbc(text_argument(state, 1), text_argument(state, 2)));
  return 1;
}

int decrypt(lua_State* state) {
  const auto plain = decrypt_aes_cbc(text_argument(state, 1), text_argument(state, 2));
  if (!plain) throw_invalid("aes: cannot be decrypted with this key");
  push(state, *plain);
  return 1;
}

}  // namespace

void push_hmac(lua_State* state) {
  push_library(state, {{"sign_sha256", &guarded<signed_with<hmac_sha256>>},
                       {"sign_sha1", &guarded<signed_with<hmac_sha1>>}});
}

void push_md5(lua_State* state) { push_library(state, {{"digest", &guarded<digested<md5>>}}); }

void push_sha256(lua_State* state) {
  push_library(state, {{"digest", &guarded<digested<sha256>>}});
}

void push_aes(lua_State* state) {
  push_library(state, {{"encryptCBC", &guarded<encrypt>}, {"decryptCBC", &guarded<decrypt>}});
}

void warm_up() {
  const std::string key = sha256(random_bytes(1));
  decrypt_aes_cbc(key, encrypt_aes_cbc(key, md5(hmac_sha1(key, hmac_sha256(key, "")))));
}

}  // namespace tarn::actions::lua
