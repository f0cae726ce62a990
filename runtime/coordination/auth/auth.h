/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * auth.h - who is let in: both ends show that they know the job's secret
 * without sending it (HMAC-SHA-512-256 of libsodium over both nonces and all
 * that the Hello says). It authenticates; it does not encrypt.
 *
 *     struct jd_auth auth;
 *     jd__auth_start();
 *     jd__secret_find(env, settings, NULL, &auth);
 *     jd__auth_hello_mac(&auth, challenge, &hello, mac);      at the agent
 *     jd__auth_hello_is_right(&auth, challenge, hello)        at the service
 *     jd__auth_agree(&auth, NULL, none, challenge, nonce, &keys);     at both
 *
 * The secret comes from MPI (32 random bytes of process 0), else from
 * JD_SECRET_FILE or JD_SECRET, else munge vouches where a Slurm job has it,
 * else there is none, and the service says once that its port is open.
 * Threads: any, after jd__auth_start.
 */
#ifndef RUNTIME_COORDINATION_AUTH_AUTH_H
#define RUNTIME_COORDINATION_AUTH_AUTH_H

#include "base/clock.h"
#include "base/env.h"
#include "base/options.h"
#include "base/status.h"
#include "runtime/coordination/net/seal.h"
#include "runtime/coordination/net/wire.h"

enum { JD_AUTH_KEY = 32, JD_AUTH_NONCE = 32, JD_AUTH_MAC = 32 };

/* How a job's connections are let in. Plain data: travels by MPI. */
enum jd_auth_way {
    JD_AUTH_OPEN,   /* nobody has said a secret: anyone may come */
    JD_AUTH_SECRET, /* the key */
    JD_AUTH_MUNGE,  /* munge: the same user on the same cluster */
};

struct jd_auth {
    enum jd_auth_way way;
    uint8_t key[JD_AUTH_KEY];
    char source[64]; /* "MPI", "JD_SECRET", "JD_SECRET_FILE", "munge", "" */
};

/* Makes libsodium ready. Returns JD_OK; INTERNAL. */
jd_status jd__auth_start(void);

/* Random bytes: nonces, keys, incarnations. */
void jd__auth_random(void *bytes, size_t size);

/* A new random key, for processes that MPI gives it to. */
void jd__auth_make(struct jd_auth *auth);

/*
 * The job's secret where MPI does not carry one: JD_SECRET_FILE, else
 * JD_SECRET, else munge where env is a Slurm job's and this host has it, else
 * open. A file is refused where it is not this user's, or where others may use
 * it; of its content (at most 4096 bytes) a newline at the end does not count.
 * The clock is for the seconds that munge has to answer.
 * Returns: JD_OK; INVALID_ARGUMENT where both variables are set, or the file
 *   is empty, too long or no regular file; NOT_FOUND, PERMISSION_DENIED naming
 *   the file, what is wrong with it and the remedy; where munge is there and
 *   does not serve, as jd__munge_look.
 */
jd_status jd__secret_find(const struct jd_env *env,
                          const struct jd_settings *settings,
                          const struct jd_clock *clock,
                          struct jd_auth *ret_auth);

/* The MAC of a Hello that answers the challenge; of its mac and credential
 * nothing counts. With JD_AUTH_OPEN and JD_AUTH_MUNGE the key is all zeros. */
void jd__auth_hello_mac(const struct jd_auth *auth,
                        ProtobufCBinaryData challenge, const Jd__Hello *hello,
                        uint8_t mac[JD_AUTH_MAC]);
/* In constant time. */
bool jd__auth_hello_is_right(const struct jd_auth *auth,
                             ProtobufCBinaryData challenge,
                             const Jd__Hello *hello);

/* The MAC of a Welcome that answers the nonce: of its mac and credential
 * nothing counts. Keys as above. */
void jd__auth_welcome_mac(const struct jd_auth *auth,
                          ProtobufCBinaryData challenge,
                          ProtobufCBinaryData nonce, const Jd__Welcome *welcome,
                          uint8_t mac[JD_AUTH_MAC]);
bool jd__auth_welcome_is_right(const struct jd_auth *auth,
                               ProtobufCBinaryData challenge,
                               ProtobufCBinaryData nonce,
                               const Jd__Welcome *welcome);

/* ---- the keys of a connection ------------------------------------------- */

/* One side's part in an exchange of keys (X25519), which the two credentials
 * of munge bind to the two nonces. */
struct jd_auth_exchange {
    uint8_t own[JD_AUTH_KEY];
    uint8_t public_key[JD_AUTH_KEY];
};
void jd__auth_exchange_begin(struct jd_auth_exchange *exchange);

/* Of the MACs of all that follows the Welcome. */
struct jd_auth_keys {
    uint8_t to_service[JD_SEAL_KEY];
    uint8_t to_agent[JD_SEAL_KEY];
};

/*
 * What both sides make of the two nonces and the job's secret or, with
 * JD_AUTH_MUNGE, of their exchange, whose own half is wiped. False where the
 * other's public key is none; not with JD_AUTH_OPEN, which has no keys.
 */
bool jd__auth_agree(const struct jd_auth *auth,
                    struct jd_auth_exchange *exchange,
                    ProtobufCBinaryData other_public_key,
                    ProtobufCBinaryData challenge, ProtobufCBinaryData nonce,
                    struct jd_auth_keys *ret_keys);

/* Wipes what is secret in it. */
void jd__auth_wipe(void *secret, size_t size);

#endif
