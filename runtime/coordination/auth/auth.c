/* SPDX-License-Identifier: BSD-3-Clause */
/* auth.c - what shows that one knows the secret. */
#include "runtime/coordination/auth/auth.h"

#include <sodium.h>
#include <string.h>

_Static_assert(JD_AUTH_MAC == crypto_auth_hmacsha512256_BYTES,
               "JD_AUTH_MAC is not the MAC's size");

jd_status jd__auth_start(void)
{
    if (sodium_init() >= 0)
        return JD_OK;
    return jd_fail(JD_INTERNAL,
                   "libsodium cannot start (sodium_init failed), so no "
                   "connection can be authenticated; does this host give "
                   "random bytes (getrandom, /dev/urandom)?");
}

void jd__auth_random(void *bytes, size_t size)
{
    randombytes_buf(bytes, size);
}

void jd__auth_make(struct jd_auth *auth)
{
    *auth = (struct jd_auth){ .way = JD_AUTH_SECRET, .source = "MPI" };
    randombytes_buf(auth->key, sizeof auth->key);
}

/* ---- a MAC in the making ------------------------------------------------ */

/* What is packed into it goes into the MAC, so packing needs no memory. */
struct mac {
    ProtobufCBuffer buffer;
    crypto_auth_hmacsha512256_state state;
};

static void append_to_mac(ProtobufCBuffer *buffer, size_t size,
                          const uint8_t *data)
{
    struct mac *mac = (struct mac *)buffer;
    crypto_auth_hmacsha512256_update(&mac->state, data, size);
}

/* With its length before it, so that no byte can change sides. */
static void append_bytes(struct mac *mac, const void *data, size_t size)
{
    uint8_t length[8];
    for (int i = 0; i < 8; i++)
        length[i] = (uint8_t)((uint64_t)size >> (8 * i));
    append_to_mac(&mac->buffer, sizeof length, length);
    append_to_mac(&mac->buffer, size, data);
}

/* The purpose keeps one kind of MAC from being taken for another. */
static void begin_mac(struct mac *mac, const uint8_t key[JD_AUTH_KEY],
                      const char *purpose)
{
    mac->buffer.append = append_to_mac;
    crypto_auth_hmacsha512256_init(&mac->state, key, JD_AUTH_KEY);
    append_bytes(mac, purpose, strlen(purpose));
}

static const uint8_t *key_of(const struct jd_auth *auth)
{
    static const uint8_t zeros[JD_AUTH_KEY];
    return auth->way == JD_AUTH_SECRET ? auth->key : zeros;
}

static void end_mac(struct mac *mac, uint8_t bytes[JD_AUTH_MAC])
{
    crypto_auth_hmacsha512256_final(&mac->state, bytes);
    sodium_memzero(&mac->state, sizeof mac->state);
}

static bool is_equal(ProtobufCBinaryData seen,
                     const uint8_t wanted[JD_AUTH_MAC])
{
    return seen.len == JD_AUTH_MAC &&
           sodium_memcmp(seen.data, wanted, JD_AUTH_MAC) == 0;
}

/* ---- the two that there are --------------------------------------------- */

void jd__auth_hello_mac(const struct jd_auth *auth,
                        ProtobufCBinaryData challenge, const Jd__Hello *hello,
                        uint8_t bytes[JD_AUTH_MAC])
{
    static const Jd__Hello empty = JD__HELLO__INIT;
    struct mac mac;
    Jd__Hello said = *hello;
    said.mac = empty.mac;
    said.credential = empty.credential;
    begin_mac(&mac, key_of(auth), "jd hello 2");
    append_bytes(&mac, challenge.data, challenge.len);
    jd__hello__pack_to_buffer(&said, &mac.buffer);
    end_mac(&mac, bytes);
}

bool jd__auth_hello_is_right(const struct jd_auth *auth,
                             ProtobufCBinaryData challenge,
                             const Jd__Hello *hello)
{
    uint8_t wanted[JD_AUTH_MAC];
    jd__auth_hello_mac(auth, challenge, hello, wanted);
    return is_equal(hello->mac, wanted);
}

void jd__auth_welcome_mac(const struct jd_auth *auth,
                          ProtobufCBinaryData challenge,
                          ProtobufCBinaryData nonce, const Jd__Welcome *welcome,
                          uint8_t bytes[JD_AUTH_MAC])
{
    static const Jd__Welcome empty = JD__WELCOME__INIT;
    struct mac mac;
    Jd__Welcome said = *welcome;
    said.mac = empty.mac;
    said.credential = empty.credential;
    begin_mac(&mac, key_of(auth), "jd welcome 2");
    append_bytes(&mac, challenge.data, challenge.len);
    append_bytes(&mac, nonce.data, nonce.len);
    jd__welcome__pack_to_buffer(&said, &mac.buffer);
    end_mac(&mac, bytes);
}

bool jd__auth_welcome_is_right(const struct jd_auth *auth,
                               ProtobufCBinaryData challenge,
                               ProtobufCBinaryData nonce,
                               const Jd__Welcome *welcome)
{
    uint8_t wanted[JD_AUTH_MAC];
    jd__auth_welcome_mac(auth, challenge, nonce, welcome, wanted);
    return is_equal(welcome->mac, wanted);
}

/* ---- the keys of a connection ------------------------------------------- */

_Static_assert(JD_AUTH_KEY == crypto_scalarmult_BYTES &&
                   JD_AUTH_KEY == crypto_scalarmult_SCALARBYTES,
               "JD_AUTH_KEY is not the exchange's size");

void jd__auth_exchange_begin(struct jd_auth_exchange *exchange)
{
    randombytes_buf(exchange->own, sizeof exchange->own);
    crypto_scalarmult_base(exchange->public_key, exchange->own);
}

static void derive_key(const uint8_t key[JD_AUTH_KEY], const char *purpose,
                       ProtobufCBinaryData challenge, ProtobufCBinaryData nonce,
                       uint8_t ret_key[JD_SEAL_KEY])
{
    struct mac mac;
    uint8_t bytes[JD_AUTH_MAC];
    begin_mac(&mac, key, purpose);
    append_bytes(&mac, challenge.data, challenge.len);
    append_bytes(&mac, nonce.data, nonce.len);
    end_mac(&mac, bytes);
    memcpy(ret_key, bytes, JD_SEAL_KEY);
    sodium_memzero(bytes, sizeof bytes);
}

/* Refuses public keys that make the same of every other. */
static bool end_exchange(struct jd_auth_exchange *exchange,
                         ProtobufCBinaryData other, uint8_t shared[JD_AUTH_KEY])
{
    bool is_good = other.len == JD_AUTH_KEY &&
                   crypto_scalarmult(shared, exchange->own, other.data) == 0;
    sodium_memzero(exchange->own, sizeof exchange->own);
    return is_good;
}

bool jd__auth_agree(const struct jd_auth *auth,
                    struct jd_auth_exchange *exchange,
                    ProtobufCBinaryData other_public_key,
                    ProtobufCBinaryData challenge, ProtobufCBinaryData nonce,
                    struct jd_auth_keys *ret_keys)
{
    uint8_t key[JD_AUTH_KEY];
    memcpy(key, auth->key, sizeof key);
    if (auth->way == JD_AUTH_MUNGE &&
        !end_exchange(exchange, other_public_key, key))
        return false;
    derive_key(key, "jd to service 2", challenge, nonce, ret_keys->to_service);
    derive_key(key, "jd to agent 2", challenge, nonce, ret_keys->to_agent);
    sodium_memzero(key, sizeof key);
    return true;
}

void jd__auth_wipe(void *secret, size_t size)
{
    sodium_memzero(secret, size);
}
