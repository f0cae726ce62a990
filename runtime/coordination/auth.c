/* SPDX-License-Identifier: BSD-3-Clause */
/* auth.c - what shows that one knows the secret. */
#include "runtime/coordination/auth.h"

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

/* ---- a MAC in the making ---------------------------------------------- */

/* What is packed into it goes into the MAC, so packing needs no memory. */
struct mac {
    ProtobufCBuffer buffer;
    crypto_auth_hmacsha512256_state state;
};

static void append(ProtobufCBuffer *buffer, size_t size, const uint8_t *data)
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
    append(&mac->buffer, sizeof length, length);
    append(&mac->buffer, size, data);
}

/* The purpose keeps one kind of MAC from being taken for another. */
static void begin(struct mac *mac, const struct jd_auth *auth,
                  const char *purpose)
{
    static const uint8_t zeros[JD_AUTH_KEY];
    const uint8_t *key = auth->way == JD_AUTH_SECRET ? auth->key : zeros;
    mac->buffer.append = append;
    crypto_auth_hmacsha512256_init(&mac->state, key, JD_AUTH_KEY);
    append_bytes(mac, purpose, strlen(purpose));
}

static void end(struct mac *mac, uint8_t bytes[JD_AUTH_MAC])
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

/* ---- the two that there are ------------------------------------------- */

void jd__auth_hello_mac(const struct jd_auth *auth,
                        ProtobufCBinaryData challenge, const Jd__Hello *hello,
                        uint8_t bytes[JD_AUTH_MAC])
{
    static const Jd__Hello empty = JD__HELLO__INIT;
    struct mac mac;
    Jd__Hello said = *hello;
    said.mac = empty.mac;
    said.credential = empty.credential;
    begin(&mac, auth, "jd hello 1");
    append_bytes(&mac, challenge.data, challenge.len);
    jd__hello__pack_to_buffer(&said, &mac.buffer);
    end(&mac, bytes);
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
                          ProtobufCBinaryData nonce, uint8_t bytes[JD_AUTH_MAC])
{
    struct mac mac;
    begin(&mac, auth, "jd welcome 1");
    append_bytes(&mac, challenge.data, challenge.len);
    append_bytes(&mac, nonce.data, nonce.len);
    end(&mac, bytes);
}

bool jd__auth_welcome_is_right(const struct jd_auth *auth,
                               ProtobufCBinaryData challenge,
                               ProtobufCBinaryData nonce,
                               const Jd__Welcome *welcome)
{
    uint8_t wanted[JD_AUTH_MAC];
    jd__auth_welcome_mac(auth, challenge, nonce, wanted);
    return is_equal(welcome->mac, wanted);
}
