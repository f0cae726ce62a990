/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fuzz_pmi.c - what processes of a host may say to its PMI: their bytes come in
 * pieces, and they go, half of them too, and do not read what they asked for.
 * Whoever the server sends away has a sentence; what it answers is what a PMI's
 * client can read; what it keeps, and prints, has bounds; and what it prints
 * has nothing that a terminal would obey. The first byte of an input is how
 * long a start may take, in seconds (it % 2), and then come steps: a byte, a
 * client, and what the step takes.
 */
#include "runtime/wireup/server/pmi_v1_wire.h"
#include "runtime/wireup/server/pmi_v2_wire.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/pmi_steps.h"
#include "tests/unit/runtime/wireup/server/played_pmi.h"

#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    MOST_SAID = 12,         /* sentences of one connection */
    MOST_KEPT = 12 << 20,   /* bytes on the heap */
    MOST_ANSWER = 3 * 4096, /* bytes of one answer */
    MOST_AGAIN = 256,       /* times that a chunk is said */
    MOST_CHUNK = PMI_V2_HEADER + 256,
};

struct client {
    int fd; /* -1: there is none */
    bool has_left, is_framed;
    char heard[MOST_ANSWER];
    size_t num_heard;
};

static struct client clients[FUZZ_PMI_CLIENTS];
static unsigned num_connected;

size_t __sanitizer_get_current_allocated_bytes(void);

/* ---- what comes back ---------------------------------------------------- */

/* The bytes of the first answer; 0: it is not all there. */
static size_t first_line(const struct client *client)
{
    const char *end = memchr(client->heard, '\n', client->num_heard);
    if (!end)
        return 0;
    FUZZ_EXPECT(memcmp(client->heard, "cmd=", 4) == 0, "no answer of PMI-1");
    return (size_t)(end - client->heard) + 1;
}

static size_t first_frame(const struct client *client)
{
    char why[PMI_V2_WHY], text[MOST_ANSWER];
    struct pmi_v2_request answer;
    size_t length;
    enum pmi_v2_frame frame =
        pmi_v2_wire_cut(client->heard, client->num_heard, &length, why);
    FUZZ_EXPECT(frame != PMI_V2_BROKEN, "%s", why);
    if (frame == PMI_V2_PARTIAL)
        return 0;
    memcpy(text, client->heard + PMI_V2_HEADER, length);
    const char *fault = pmi_v2_wire_read(text, length, &answer);
    FUZZ_EXPECT(!fault, "%s", fault);
    FUZZ_EXPECT(strstr(answer.name, "-response"), "%s", answer.name);
    return PMI_V2_HEADER + length;
}

/* From the answer to an init on that grants PMI-2 there are frames. */
static bool hear_one(struct client *client)
{
    static const char granted[] = "cmd=response_to_init pmi_version=2 ";
    size_t size = client->is_framed ? first_frame(client) : first_line(client);
    if (!size)
        return false;
    if (!client->is_framed &&
        strncmp(client->heard, granted, sizeof granted - 1) == 0)
        client->is_framed = true;
    client->num_heard -= size;
    memmove(client->heard, client->heard + size, client->num_heard);
    return true;
}

static void hear(struct client *client)
{
    ssize_t n = 1;
    while (client->fd >= 0 && n > 0) {
        FUZZ_EXPECT(client->num_heard < sizeof client->heard, "an answer");
        n = recv(client->fd, client->heard + client->num_heard,
                 sizeof client->heard - client->num_heard, 0);
        if (n > 0)
            client->num_heard += (size_t)n;
        while (client->num_heard && hear_one(client))
            ;
    }
}

/* ---- what has to hold --------------------------------------------------- */

/* Nothing that a terminal would obey. */
static void expect_plain(const char *text)
{
    for (; *text; text++)
        FUZZ_EXPECT((unsigned char)*text >= ' ' && *text != 0x7f,
                    "0x%02x is printed", (unsigned)*text);
}

static void expect_bounds(size_t before)
{
    size_t kept = __sanitizer_get_current_allocated_bytes() - before;
    unsigned said = played_pmi_told()->sentences;
    FUZZ_EXPECT(kept < MOST_KEPT, "%zu bytes are kept", kept);
    FUZZ_EXPECT(said <= MOST_SAID * num_connected, "%u sentences of %u", said,
                num_connected);
}

static void forget(struct client *client)
{
    close(client->fd);
    *client = (struct client){ .fd = -1 };
}

/* Who was sent away, as it has not left itself, was so with a sentence. */
static void look_for_gone(unsigned said)
{
    unsigned sent_away = 0;
    for (int i = 0; i < FUZZ_PMI_CLIENTS; i++) {
        struct pollfd poll_fd = { .fd = clients[i].fd };
        if (clients[i].fd < 0 || poll(&poll_fd, 1, 0) < 1 ||
            !(poll_fd.revents & POLLHUP))
            continue;
        sent_away += !clients[i].has_left;
        hear(&clients[i]);
        forget(&clients[i]);
    }
    FUZZ_EXPECT(played_pmi_told()->sentences - said >= sent_away,
                "%u were sent away without a sentence", sent_away);
}

static void run(void)
{
    unsigned said = played_pmi_told()->sentences;
    played_pmi_run();
    look_for_gone(said);
}

/* ---- steps -------------------------------------------------------------- */

static void say(struct client *client, const void *data, size_t size,
                size_t piece)
{
    const char *at = data, *end = at + size;
    while (at < end && client->fd >= 0 && !client->has_left) {
        size_t most =
            piece && piece < (size_t)(end - at) ? piece : (size_t)(end - at);
        ssize_t n = send(client->fd, at, most, MSG_NOSIGNAL);
        at += n > 0 ? (size_t)n : 0;
        run();
    }
}

static void connect_client(struct client *client, struct fuzz_input *input)
{
    const uint8_t index[4] = { fuzz_byte(input) % (PLAYED_PMI_PROCESSES + 1) };
    if (client->fd >= 0)
        forget(client);
    client->fd = played_pmi_connect();
    num_connected++;
    say(client, index, sizeof index, 0);
}

/* A chunk of the input's own bytes, as the step has it. */
static size_t read_chunk(struct fuzz_input *input, enum fuzz_pmi_step step,
                         char chunk[MOST_CHUNK])
{
    size_t length = fuzz_byte(input);
    size_t header = step == FUZZ_PMI_FRAME ? PMI_V2_HEADER : 0;
    char text[PMI_V2_HEADER + 1];
    for (size_t i = 0; i < length; i++)
        chunk[header + i] = (char)fuzz_byte(input);
    snprintf(text, sizeof text, "%-6zu", length);
    memcpy(chunk, text, header);
    if (step == FUZZ_PMI_LINE)
        chunk[length++] = '\n';
    return header + length;
}

/* Each time another number stands for a '#': what is put has other keys. */
static void say_chunk(struct client *client, struct fuzz_input *input,
                      enum fuzz_pmi_step step)
{
    char chunk[MOST_CHUNK], digits[8];
    uint8_t how = fuzz_byte(input);
    size_t piece = step == FUZZ_PMI_AGAIN ? 0 : how / 2;
    int times = 1 + (step == FUZZ_PMI_AGAIN ? fuzz_byte(input) : 0);
    enum fuzz_pmi_step kind =
        step != FUZZ_PMI_AGAIN
            ? step
            : (client->is_framed ? FUZZ_PMI_FRAME : FUZZ_PMI_LINE);
    size_t size = read_chunk(input, kind, chunk);
    char *number = memmem(chunk, size, "####", 4);
    for (int i = 0; i < times && client->fd >= 0; i++) {
        snprintf(digits, sizeof digits, "%04x", (unsigned)i);
        if (number)
            memcpy(number, digits, 4);
        say(client, chunk, size, piece);
        if (how & 1)
            hear(client);
    }
}

static void leave(struct client *client, struct fuzz_input *input)
{
    bool is_half = fuzz_byte(input) & 1;
    if (client->fd < 0)
        return;
    client->has_left = true;
    if (is_half)
        shutdown(client->fd, SHUT_WR);
    else
        forget(client);
    run();
}

static void take_step(struct fuzz_input *input)
{
    enum fuzz_pmi_step step = fuzz_byte(input) % FUZZ_PMI_NUM_STEPS;
    struct client *client = &clients[fuzz_byte(input) % FUZZ_PMI_CLIENTS];
    switch (step) {
    case FUZZ_PMI_CONNECT:
        connect_client(client, input);
        break;
    case FUZZ_PMI_LEAVE:
        leave(client, input);
        break;
    case FUZZ_PMI_HEAR:
        hear(client);
        break;
    default:
        say_chunk(client, input, step);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = { data, data + size };
    size_t before = __sanitizer_get_current_allocated_bytes();
    num_connected = 0;
    for (int i = 0; i < FUZZ_PMI_CLIENTS; i++)
        clients[i] = (struct client){ .fd = -1 };
    played_pmi_begin(fuzz_byte(&input) % 2 ? 60 : 0);
    while (!fuzz_is_empty(&input)) {
        take_step(&input);
        expect_bounds(before);
        expect_plain(played_pmi_told()->last);
        expect_plain(played_pmi_told()->note);
    }
    for (int i = 0; i < FUZZ_PMI_CLIENTS; i++)
        if (clients[i].fd >= 0) {
            hear(&clients[i]);
            forget(&clients[i]);
        }
    played_pmi_run();
    played_pmi_end();
    return 0;
}
