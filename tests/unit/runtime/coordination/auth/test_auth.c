/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_auth.c - who knows the secret is let in, and nobody else: every byte of
 * a Hello counts, no MAC serves twice, and a secret's file is only its
 * owner's.
 */
#include "runtime/coordination/auth/auth.h"
#include "runtime/coordination/auth/munge.h"
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

static uint8_t challenge_bytes[JD_AUTH_NONCE], nonce_bytes[JD_AUTH_NONCE];
static ProtobufCBinaryData challenge, nonce;
static struct jd_auth secret;

static void set_up(void)
{
    UNIT_OK(jd__auth_start());
    for (int i = 0; i < JD_AUTH_NONCE; i++) {
        challenge_bytes[i] = (uint8_t)(i + 1);
        nonce_bytes[i] = (uint8_t)(200 - i);
    }
    challenge = jd__wire_bytes(challenge_bytes, sizeof challenge_bytes);
    nonce = jd__wire_bytes(nonce_bytes, sizeof nonce_bytes);
    secret = (struct jd_auth){ .way = JD_AUTH_SECRET };
    for (int i = 0; i < JD_AUTH_KEY; i++)
        secret.key[i] = (uint8_t)(7 * i);
}

static Jd__Hello make_hello(void)
{
    Jd__Hello hello = JD__HELLO__INIT;
    hello.protocol = 1;
    hello.role = JD__ROLE__HELPER;
    hello.job = (char *)"slurm-17.0";
    hello.attempt = 2;
    hello.process = 3;
    hello.count = 8;
    hello.incarnation = 0x0123456789abcdef;
    hello.host = (char *)"node-a";
    hello.boot_id = (char *)"b1946ac9";
    hello.program = (char *)"a.out";
    hello.pid = 4711;
    hello.is_back = 1;
    hello.nonce = nonce;
    return hello;
}

static bool is_zero(const uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (bytes[i])
            return false;
    return true;
}

/* ---- the MAC of a Hello ------------------------------------------------- */

START_TEST(who_knows_the_secret_is_right)
{
    uint8_t mac[JD_AUTH_MAC];
    Jd__Hello hello = make_hello(), before;
    before = hello;
    jd__auth_hello_mac(&secret, challenge, &hello, mac);
    ck_assert_mem_eq(&hello, &before, sizeof hello);
    ck_assert(!jd__auth_hello_is_right(&secret, challenge, &hello));
    hello.mac = jd__wire_bytes(mac, sizeof mac);
    ck_assert(jd__auth_hello_is_right(&secret, challenge, &hello));
    struct jd_auth wrong = secret;
    wrong.key[JD_AUTH_KEY - 1] ^= 1;
    ck_assert(!jd__auth_hello_is_right(&wrong, challenge, &hello));
}
END_TEST

START_TEST(each_bit_of_the_mac_counts)
{
    uint8_t mac[JD_AUTH_MAC + 1] = { 0 };
    Jd__Hello hello = make_hello();
    jd__auth_hello_mac(&secret, challenge, &hello, mac);
    for (int i = 0; i < 8 * JD_AUTH_MAC; i++) {
        mac[i / 8] ^= (uint8_t)(1 << i % 8);
        hello.mac = jd__wire_bytes(mac, JD_AUTH_MAC);
        ck_assert(!jd__auth_hello_is_right(&secret, challenge, &hello));
        mac[i / 8] ^= (uint8_t)(1 << i % 8);
    }
    static const size_t lengths[] = { 0, 1, JD_AUTH_MAC - 1, JD_AUTH_MAC + 1 };
    for (size_t i = 0; i < COUNT(lengths); i++) {
        hello.mac = jd__wire_bytes(mac, lengths[i]);
        ck_assert(!jd__auth_hello_is_right(&secret, challenge, &hello));
    }
}
END_TEST

/* Whatever the field holds, it holds something else afterwards. */
static void change(Jd__Hello *hello, const ProtobufCFieldDescriptor *field)
{
    void *member = (char *)hello + field->offset;
    switch (field->type) {
    case PROTOBUF_C_TYPE_UINT32:
    case PROTOBUF_C_TYPE_ENUM:
        *(uint32_t *)member ^= 1;
        break;
    case PROTOBUF_C_TYPE_FIXED64:
        *(uint64_t *)member ^= 1ull << 63;
        break;
    case PROTOBUF_C_TYPE_BOOL:
        *(protobuf_c_boolean *)member ^= 1;
        break;
    case PROTOBUF_C_TYPE_STRING:
        *(const char **)member = "changed";
        break;
    case PROTOBUF_C_TYPE_BYTES:
        *(ProtobufCBinaryData *)member = jd__wire_text("changed");
        break;
    default:
        ck_abort_msg("%s has a type that this test does not know", field->name);
    }
}

START_TEST(each_field_counts)
{
    const ProtobufCMessageDescriptor *fields = &jd__hello__descriptor;
    uint8_t mac[JD_AUTH_MAC], other[JD_AUTH_MAC];
    Jd__Hello hello = make_hello();
    jd__auth_hello_mac(&secret, challenge, &hello, mac);
    ck_assert_uint_ge(fields->n_fields, 15);
    for (unsigned i = 0; i < fields->n_fields; i++) {
        const char *name = fields->fields[i].name;
        bool is_proof =
            strcmp(name, "mac") == 0 || strcmp(name, "credential") == 0;
        Jd__Hello changed = hello;
        change(&changed, &fields->fields[i]);
        jd__auth_hello_mac(&secret, challenge, &changed, other);
        ck_assert_msg((memcmp(mac, other, sizeof mac) == 0) == is_proof, "%s",
                      name);
    }
}
END_TEST

START_TEST(a_replay_is_wrong)
{
    uint8_t mac[JD_AUTH_MAC];
    Jd__Hello hello = make_hello();
    jd__auth_hello_mac(&secret, challenge, &hello, mac);
    hello.mac = jd__wire_bytes(mac, sizeof mac);
    challenge_bytes[0] ^= 1;
    ck_assert(!jd__auth_hello_is_right(&secret, challenge, &hello));
    challenge_bytes[0] ^= 1;
    ck_assert(jd__auth_hello_is_right(&secret, challenge, &hello));
    challenge.len--;
    ck_assert(!jd__auth_hello_is_right(&secret, challenge, &hello));
}
END_TEST

/* Packs, unpacks, and asks. The wire's bytes may have a few more. */
static bool is_right_after_travel(const Jd__Hello *hello, const void *more,
                                  size_t more_size)
{
    uint8_t wire[1024];
    size_t size = jd__hello__pack(hello, wire);
    memcpy(wire + size, more, more_size);
    Jd__Hello *got = jd__hello__unpack(NULL, size + more_size, wire);
    ck_assert_ptr_nonnull(got);
    bool is_right = jd__auth_hello_is_right(&secret, challenge, got);
    jd__hello__free_unpacked(got, NULL);
    return is_right;
}

START_TEST(a_hello_travels)
{
    static const uint8_t unknown[] = { 0xf8, 0x06, 0x01 }; /* field 111 is 1 */
    uint8_t mac[JD_AUTH_MAC];
    Jd__Hello hello = make_hello();
    jd__auth_hello_mac(&secret, challenge, &hello, mac);
    hello.mac = jd__wire_bytes(mac, sizeof mac);
    ck_assert(is_right_after_travel(&hello, "", 0));
    ck_assert(!is_right_after_travel(&hello, unknown, sizeof unknown));
}
END_TEST

START_TEST(empty_fields_are_fields)
{
    uint8_t mac[JD_AUTH_MAC], other[JD_AUTH_MAC];
    Jd__Hello hello = JD__HELLO__INIT;
    challenge.len = 0;
    jd__auth_hello_mac(&secret, challenge, &hello, mac);
    hello.job = NULL;
    jd__auth_hello_mac(&secret, challenge, &hello, other);
    ck_assert_mem_eq(mac, other, sizeof mac);
    hello.mac = jd__wire_bytes(mac, sizeof mac);
    ck_assert(is_right_after_travel(&hello, "", 0));
    hello.host = (char *)"x";
    ck_assert(!jd__auth_hello_is_right(&secret, challenge, &hello));
}
END_TEST

/* From Python: hmac.new(key, message, "sha512").digest()[:32], where the
 * message is a length and the purpose, a length and the challenge, and the
 * packed Hello. Another version of jd must make the same. */
START_TEST(the_mac_is_what_it_always_was)
{
    static const uint8_t wanted[JD_AUTH_MAC] = {
        0x95, 0xa1, 0x95, 0xac, 0x7b, 0x70, 0x49, 0x8b, 0xbf, 0x44, 0x1b,
        0xc6, 0xeb, 0x55, 0x6a, 0x9a, 0x97, 0xec, 0xe3, 0x10, 0xff, 0x67,
        0xb1, 0xe0, 0x93, 0x27, 0x22, 0x65, 0x75, 0xc3, 0xf5, 0xd0
    };
    uint8_t mac[JD_AUTH_MAC];
    Jd__Hello hello = JD__HELLO__INIT;
    hello.protocol = 1;
    hello.job = (char *)"job";
    hello.process = 3;
    hello.nonce = nonce;
    jd__auth_hello_mac(&secret, challenge, &hello, mac);
    ck_assert_mem_eq(mac, wanted, sizeof mac);
}
END_TEST

/* ---- the MAC of a Welcome ----------------------------------------------- */

START_TEST(a_welcome_is_right_or_wrong)
{
    uint8_t mac[JD_AUTH_MAC];
    Jd__Welcome welcome = JD__WELCOME__INIT;
    jd__auth_welcome_mac(&secret, challenge, nonce, &welcome, mac);
    ck_assert(!jd__auth_welcome_is_right(&secret, challenge, nonce, &welcome));
    welcome.mac = jd__wire_bytes(mac, sizeof mac);
    ck_assert(jd__auth_welcome_is_right(&secret, challenge, nonce, &welcome));
    ck_assert(!jd__auth_welcome_is_right(&secret, nonce, challenge, &welcome));
    struct jd_auth wrong = secret;
    wrong.key[0] ^= 1;
    ck_assert(!jd__auth_welcome_is_right(&wrong, challenge, nonce, &welcome));
    welcome.credential = (char *)"not part of it";
    ck_assert(jd__auth_welcome_is_right(&secret, challenge, nonce, &welcome));
    welcome.public_key = jd__wire_text("part of it");
    ck_assert(!jd__auth_welcome_is_right(&secret, challenge, nonce, &welcome));
    welcome.public_key.len = 0;
    nonce_bytes[31] ^= 1;
    ck_assert(!jd__auth_welcome_is_right(&secret, challenge, nonce, &welcome));
}
END_TEST

START_TEST(no_byte_changes_sides)
{
    uint8_t mac[JD_AUTH_MAC], other[JD_AUTH_MAC];
    Jd__Welcome welcome = JD__WELCOME__INIT;
    jd__auth_welcome_mac(&secret, jd__wire_text("ab"), jd__wire_text("c"),
                         &welcome, mac);
    jd__auth_welcome_mac(&secret, jd__wire_text("a"), jd__wire_text("bc"),
                         &welcome, other);
    ck_assert_mem_ne(mac, other, sizeof mac);
}
END_TEST

/* A Hello of one unknown field whose bytes are those of a Welcome: a length,
 * 122 in 8 bytes, and a nonce. Only their purposes tell them apart. */
START_TEST(a_hello_is_no_welcome)
{
    uint8_t data[7 + 122] = { 0 }, hello_mac[JD_AUTH_MAC],
                     welcome_mac[JD_AUTH_MAC], packed[256];
    memset(data + 7, 'n', 122);
    ProtobufCMessageUnknownField field = { 15,
                                           PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED,
                                           sizeof data, data };
    Jd__Hello hello = JD__HELLO__INIT;
    hello.base.n_unknown_fields = 1;
    hello.base.unknown_fields = &field;
    ck_assert_uint_eq(jd__hello__pack(&hello, packed), 8 + 122);
    ck_assert_int_eq(packed[0], 122);
    ck_assert_mem_eq(packed + 1, data, sizeof data);
    jd__auth_hello_mac(&secret, challenge, &hello, hello_mac);
    Jd__Welcome welcome = JD__WELCOME__INIT;
    jd__auth_welcome_mac(&secret, challenge, jd__wire_bytes(data + 7, 122),
                         &welcome, welcome_mac);
    ck_assert_mem_ne(hello_mac, welcome_mac, sizeof hello_mac);
}
END_TEST

/* ---- the keys of a connection ------------------------------------------- */

static struct jd_auth_keys agree(const struct jd_auth *auth)
{
    struct jd_auth_keys keys;
    ck_assert(
        jd__auth_agree(auth, NULL, jd__wire_text(""), challenge, nonce, &keys));
    return keys;
}

START_TEST(each_connection_has_keys_of_its_own)
{
    struct jd_auth_keys first = agree(&secret), again = agree(&secret), other;
    ck_assert_mem_eq(&first, &again, sizeof first);
    ck_assert_mem_ne(first.to_service, first.to_agent, sizeof first.to_agent);
    nonce_bytes[0] ^= 1;
    other = agree(&secret);
    ck_assert_mem_ne(first.to_agent, other.to_agent, sizeof first.to_agent);
    nonce_bytes[0] ^= 1;
    challenge_bytes[0] ^= 1;
    other = agree(&secret);
    ck_assert_mem_ne(first.to_agent, other.to_agent, sizeof first.to_agent);
    challenge_bytes[0] ^= 1;
    secret.key[0] ^= 1;
    other = agree(&secret);
    ck_assert_mem_ne(first.to_agent, other.to_agent, sizeof first.to_agent);
}
END_TEST

/* Who sees all that travels has neither half. */
START_TEST(munge_has_keys_by_an_exchange)
{
    static const struct jd_auth munge = { .way = JD_AUTH_MUNGE };
    struct jd_auth_exchange agent, service, third;
    struct jd_auth_keys keys[3];
    jd__auth_exchange_begin(&agent);
    jd__auth_exchange_begin(&service);
    jd__auth_exchange_begin(&third);
    ProtobufCBinaryData agents = jd__wire_bytes(agent.public_key, JD_AUTH_KEY);
    ProtobufCBinaryData services =
        jd__wire_bytes(service.public_key, JD_AUTH_KEY);
    ck_assert(
        jd__auth_agree(&munge, &agent, services, challenge, nonce, &keys[0]));
    ck_assert(
        jd__auth_agree(&munge, &service, agents, challenge, nonce, &keys[1]));
    ck_assert(
        jd__auth_agree(&munge, &third, agents, challenge, nonce, &keys[2]));
    ck_assert_mem_eq(&keys[0], &keys[1], sizeof keys[0]);
    ck_assert_mem_ne(&keys[0], &keys[2], sizeof keys[0]);
    ck_assert(is_zero(agent.own, sizeof agent.own));
}
END_TEST

START_TEST(a_public_key_may_be_none)
{
    static const struct jd_auth munge = { .way = JD_AUTH_MUNGE };
    static const uint8_t zeros[JD_AUTH_KEY], nine[JD_AUTH_KEY] = { 9 };
    static const size_t sizes[] = { 0, 1, JD_AUTH_KEY - 1 };
    struct jd_auth_exchange exchange;
    struct jd_auth_keys keys;
    for (size_t i = 0; i < COUNT(sizes); i++) {
        jd__auth_exchange_begin(&exchange);
        ck_assert(!jd__auth_agree(&munge, &exchange,
                                  jd__wire_bytes(nine, sizes[i]), challenge,
                                  nonce, &keys));
    }
    jd__auth_exchange_begin(&exchange);
    ck_assert(!jd__auth_agree(&munge, &exchange,
                              jd__wire_bytes(zeros, sizeof zeros), challenge,
                              nonce, &keys));
}
END_TEST

/* ---- keys --------------------------------------------------------------- */

START_TEST(a_made_key_is_random)
{
    struct jd_auth one, two;
    jd__auth_make(&one);
    jd__auth_make(&two);
    ck_assert_int_eq(one.way, JD_AUTH_SECRET);
    ck_assert_str_eq(one.source, "MPI");
    ck_assert(!is_zero(one.key, sizeof one.key));
    ck_assert_mem_ne(one.key, two.key, sizeof one.key);
}
END_TEST

START_TEST(without_a_secret_the_key_is_zeros)
{
    uint8_t open_mac[JD_AUTH_MAC], munge_mac[JD_AUTH_MAC], mac[JD_AUTH_MAC];
    Jd__Hello hello = make_hello();
    struct jd_auth auth = secret;
    auth.way = JD_AUTH_OPEN;
    jd__auth_hello_mac(&auth, challenge, &hello, open_mac);
    auth = (struct jd_auth){ .way = JD_AUTH_MUNGE };
    jd__auth_hello_mac(&auth, challenge, &hello, munge_mac);
    ck_assert_mem_eq(open_mac, munge_mac, sizeof open_mac);
    jd__auth_hello_mac(&secret, challenge, &hello, mac);
    ck_assert_mem_ne(open_mac, mac, sizeof open_mac);
}
END_TEST

/* ---- where a secret comes from ------------------------------------------ */

static char folder[64], path[96];

static void make_folder(void)
{
    set_up();
    strcpy(folder, "/tmp/jd-test-auth-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    ck_assert_int_eq(chmod(folder, 0755), 0);
    snprintf(path, sizeof path, "%s/secret", folder);
}

static void remove_folder(void)
{
    if (remove(path) != 0)
        ck_assert_int_eq(access(path, F_OK), -1);
    ck_assert_int_eq(rmdir(folder), 0);
}

static void write_file(const void *data, size_t size, mode_t mode)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, data, size), (ssize_t)size);
    ck_assert_int_eq(fchmod(fd, mode), 0);
    close(fd);
}

static jd_status find(const char *variables, struct jd_auth *auth)
{
    struct jd_env *env = unit_env(variables);
    struct jd_settings *settings;
    UNIT_OK(jd__options_resolve(env, NULL, 0, &settings));
    jd_status status = jd__secret_find(env, settings, NULL, auth);
    jd__options_destroy(settings);
    jd__env_destroy(env);
    return status;
}

static jd_status find_in_file(struct jd_auth *auth)
{
    char variables[128];
    snprintf(variables, sizeof variables, "JD_SECRET_FILE=%s\n", path);
    return find(variables, auth);
}

/* The file is refused; in the sentence, each % is its path. */
static void refuse_file(jd_status status, const char *sentence)
{
    struct jd_auth auth = { .way = JD_AUTH_MUNGE };
    char wanted[1024] = "";
    for (; *sentence; sentence++) {
        size_t n = strlen(wanted);
        snprintf(wanted + n, sizeof wanted - n, "%.*s%s", *sentence != '%',
                 sentence, *sentence == '%' ? path : "");
    }
    UNIT_FAILS(find_in_file(&auth), status, wanted);
    ck_assert_int_eq(auth.way, JD_AUTH_MUNGE);
}

START_TEST(a_text_and_a_file_are_one_secret)
{
    struct jd_auth text, file, other;
    UNIT_OK(find("JD_SECRET=open sesame\n", &text));
    ck_assert_int_eq(text.way, JD_AUTH_SECRET);
    ck_assert_str_eq(text.source, "JD_SECRET");
    static const char *const same[] = { "open sesame", "open sesame\n" };
    for (size_t i = 0; i < COUNT(same); i++) {
        write_file(same[i], strlen(same[i]), i ? 0600 : 0400);
        UNIT_OK(find_in_file(&file));
        ck_assert_int_eq(file.way, JD_AUTH_SECRET);
        ck_assert_str_eq(file.source, "JD_SECRET_FILE");
        ck_assert_mem_eq(file.key, text.key, sizeof file.key);
        remove(path);
    }
    static const char *const others[] = { "JD_SECRET=open sesamf\n",
                                          "JD_SECRET=open sesame \n",
                                          "JD_SECRET=o\n" };
    for (size_t i = 0; i < COUNT(others); i++) {
        UNIT_OK(find(others[i], &other));
        ck_assert_mem_ne(other.key, text.key, sizeof other.key);
    }
}
END_TEST

START_TEST(a_file_has_all_bytes)
{
    struct jd_auth auth, other;
    char data[4098];
    memset(data, 's', sizeof data);
    write_file("a\0b", 3, 0600);
    UNIT_OK(find_in_file(&auth));
    write_file("a\0c", 3, 0600);
    UNIT_OK(find_in_file(&other));
    ck_assert_mem_ne(auth.key, other.key, sizeof auth.key);
    write_file("a\n\n", 3, 0600);
    UNIT_OK(find_in_file(&other));
    write_file("a\n", 2, 0600);
    UNIT_OK(find_in_file(&auth));
    ck_assert_mem_ne(auth.key, other.key, sizeof auth.key);
    write_file(data, 4096, 0600);
    UNIT_OK(find_in_file(&auth));
    data[4096] = '\n';
    write_file(data, 4097, 0600);
    UNIT_OK(find_in_file(&other));
    ck_assert_mem_eq(auth.key, other.key, sizeof auth.key);
}
END_TEST

START_TEST(a_file_is_too_long)
{
    static const char sentence[] =
        "JD_SECRET_FILE: % has more than 4096 bytes; a secret needs some 32: "
        "(umask 077; head -c 32 /dev/urandom | base64 >%)";
    char data[5000];
    memset(data, 's', sizeof data);
    write_file(data, 4097, 0600);
    refuse_file(JD_INVALID_ARGUMENT, sentence);
    write_file(data, sizeof data, 0600);
    refuse_file(JD_INVALID_ARGUMENT, sentence);
    data[4097] = '\n';
    write_file(data, sizeof data, 0600);
    refuse_file(JD_INVALID_ARGUMENT, sentence);
}
END_TEST

START_TEST(an_empty_file)
{
    static const char sentence[] =
        "JD_SECRET_FILE: % is empty; write a secret: (umask 077; head -c 32 "
        "/dev/urandom | base64 >%)";
    write_file("", 0, 0600);
    refuse_file(JD_INVALID_ARGUMENT, sentence);
    write_file("\n", 1, 0600);
    refuse_file(JD_INVALID_ARGUMENT, sentence);
}
END_TEST

START_TEST(a_file_that_is_not_there)
{
    refuse_file(JD_NOT_FOUND,
                "JD_SECRET_FILE: there is no % on this host; write a secret: "
                "(umask 077; head -c 32 /dev/urandom | base64 >%) and copy it "
                "to each host of the job");
}
END_TEST

START_TEST(a_file_that_others_may_use)
{
    static const mode_t modes[] = { 0640, 0604, 0620, 0602, 0610, 0601 };
    char sentence[256];
    for (size_t i = 0; i < COUNT(modes); i++) {
        write_file("x", 1, modes[i]);
        snprintf(sentence, sizeof sentence,
                 "JD_SECRET_FILE: %% has mode %04o, so that others than its "
                 "owner may use it, but it must be 0600 or 0400; chmod 600 "
                 "%%, and change the secret if it was seen",
                 (unsigned)modes[i]);
        refuse_file(JD_PERMISSION_DENIED, sentence);
    }
}
END_TEST

/* As root, by becoming somebody else; root itself may read everything. */
START_TEST(a_file_of_somebody_else)
{
    write_file("x", 1, geteuid() == 0 ? 0600 : 0);
    if (geteuid() == 0)
        ck_assert_int_eq(seteuid(65534), 0);
    refuse_file(JD_PERMISSION_DENIED,
                "JD_SECRET_FILE: % cannot be read: Permission denied; let its "
                "owner start the job, and chmod 600 %");
    if (getuid() == 0)
        ck_assert_int_eq(seteuid(0), 0);
}
END_TEST

/* Root could read it, but somebody else knows what is in it. */
START_TEST(a_secret_that_another_user_knows)
{
    if (geteuid() != 0)
        return;
    write_file("x", 1, 0600);
    ck_assert_int_eq(chown(path, 65534, (gid_t)-1), 0);
    refuse_file(JD_PERMISSION_DENIED,
                "JD_SECRET_FILE: % belongs to user 65534, and this process is "
                "user 0's: its owner knows the secret; name a file of its own "
                "user, of mode 0600");
    ck_assert_int_eq(chown(path, 0, (gid_t)-1), 0);
}
END_TEST

START_TEST(what_is_no_file)
{
    ck_assert_int_eq(mkdir(path, 0700), 0);
    refuse_file(JD_INVALID_ARGUMENT,
                "JD_SECRET_FILE: % is a directory, but it must be a regular "
                "file of mode 0600");
    ck_assert_int_eq(rmdir(path), 0);
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    refuse_file(JD_INVALID_ARGUMENT,
                "JD_SECRET_FILE: % is a device, pipe or socket, but it must be "
                "a regular file of mode 0600");
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(symlink(path, path), 0);
    refuse_file(JD_INVALID_ARGUMENT,
                "JD_SECRET_FILE: % cannot be read: Too many levels of symbolic "
                "links; name a file that can, of mode 0600");
}
END_TEST

START_TEST(both_are_one_too_many)
{
    struct jd_auth auth;
    UNIT_FAILS(find("JD_SECRET=a\nJD_SECRET_FILE=/none\n", &auth),
               JD_INVALID_ARGUMENT,
               "JD_SECRET and JD_SECRET_FILE (\"/none\") are both set, and a "
               "job has one secret; leave one of them out");
}
END_TEST

START_TEST(nobody_has_said_a_secret)
{
    static const char *const variables[] = { "", "SLURM_JOB_ID=\n",
                                             "SLURM_JOB_ID=17\n" };
    jd__munge_set_socket(path);
    for (size_t i = 0; i < COUNT(variables); i++) {
        struct jd_auth auth = secret;
        UNIT_OK(find(variables[i], &auth));
        ck_assert_int_eq(auth.way, JD_AUTH_OPEN);
        ck_assert_str_eq(auth.source, "");
        ck_assert(is_zero(auth.key, sizeof auth.key));
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("auth");
    TCase *macs = unit_case(suite, "macs");
    tcase_add_checked_fixture(macs, set_up, NULL);
    tcase_add_test(macs, who_knows_the_secret_is_right);
    tcase_add_test(macs, each_bit_of_the_mac_counts);
    tcase_add_test(macs, each_field_counts);
    tcase_add_test(macs, a_replay_is_wrong);
    tcase_add_test(macs, a_hello_travels);
    tcase_add_test(macs, empty_fields_are_fields);
    tcase_add_test(macs, the_mac_is_what_it_always_was);
    tcase_add_test(macs, a_welcome_is_right_or_wrong);
    tcase_add_test(macs, each_connection_has_keys_of_its_own);
    tcase_add_test(macs, munge_has_keys_by_an_exchange);
    tcase_add_test(macs, a_public_key_may_be_none);
    tcase_add_test(macs, no_byte_changes_sides);
    tcase_add_test(macs, a_hello_is_no_welcome);
    tcase_add_test(macs, a_made_key_is_random);
    tcase_add_test(macs, without_a_secret_the_key_is_zeros);
    TCase *sources = unit_case(suite, "sources");
    tcase_add_checked_fixture(sources, make_folder, remove_folder);
    tcase_add_test(sources, a_text_and_a_file_are_one_secret);
    tcase_add_test(sources, a_file_has_all_bytes);
    tcase_add_test(sources, a_file_is_too_long);
    tcase_add_test(sources, an_empty_file);
    tcase_add_test(sources, a_file_that_is_not_there);
    tcase_add_test(sources, a_file_that_others_may_use);
    tcase_add_test(sources, a_file_of_somebody_else);
    tcase_add_test(sources, a_secret_that_another_user_knows);
    tcase_add_test(sources, what_is_no_file);
    tcase_add_test(sources, both_are_one_too_many);
    tcase_add_test(sources, nobody_has_said_a_secret);
    return unit_main(suite);
}
