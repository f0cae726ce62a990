/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Internals of the collectives, with the members numbered backwards: long data
 * goes in pieces (with pieces of a few bytes, every way to cut it); what
 * members say is merged: who differs, who cannot take part, what each or one of
 * them gives, among all and among some, and that those who mean different
 * members do not wait for each other. Messages that are too short are told.
 */
#include "jd.h"

#include "collectives/channel/chunks.h"
#include "collectives/channel/merge.h"
#include "collectives/channel/pair.h"

#include "expect.h"

#include <stdbool.h>
#include <stdint.h>

static struct jd_channel *group;
static int size, self;

static struct jd_channel *open_group(int tag)
{
    const struct jd_runtime *runtime;
    int all[64];
    EXPECT_OK(jd__runtime_get(&runtime, "test"));
    size = runtime->world.count;
    self = runtime->world.index;
    for (int i = 0; i < size; i++)
        all[i] = size - 1 - i; /* members are numbered backwards */
    self = size - 1 - self;
    struct jd_channel_spec spec = {
        .runtime = runtime,
        .processes = all,
        .size = size,
        .index = self,
        .tag = tag,
    };
    struct jd_channel *opened;
    EXPECT_OK(jd__channel_create(&spec, "test", &opened));
    jd__channel_begin(opened, "test", NULL);
    return opened;
}

static unsigned char byte_of(int member, size_t i)
{
    return (unsigned char)(i * 37 + i / 256 + (size_t)member * 11);
}

static void fill(unsigned char *data, int member, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        data[i] = byte_of(member, i);
}

static void try_all_gather(size_t bytes)
{
    unsigned char in[1024], out[16 * 1024];
    fill(in, self, bytes);
    EXPECT_OK(jd__chunks_all_gather(group, in, out, bytes));
    for (int m = 0; m < size; m++)
        for (size_t i = 0; i < bytes; i++)
            EXPECT(out[(size_t)m * bytes + i] == byte_of(m, i), "%zu", i);
}

static void try_broadcast(size_t bytes)
{
    unsigned char data[1024];
    for (int source = 0; source < size; source++) {
        fill(data, self, bytes);
        EXPECT_OK(jd__chunks_broadcast(group, data, bytes, source));
        for (size_t i = 0; i < bytes; i++)
            EXPECT(data[i] == byte_of(source, i), "%zu of %zu", i, bytes);
    }
}

static void try_pieces(void)
{
    static const size_t pieces[] = { 1, 3, 16, 64, 100000 };
    for (size_t p = 0; p < sizeof pieces / sizeof *pieces; p++) {
        jd__channel_set_piece(group, pieces[p]);
        EXPECT(jd__channel_piece(group) == pieces[p], "the piece is not set");
        for (size_t bytes = 0; bytes < 200; bytes += 1 + bytes / 5) {
            try_all_gather(bytes);
            try_broadcast(bytes);
        }
    }
}

/* Member 1 comes to a meeting without what it needs. */
static void try_status(void)
{
    struct jd_signature signature = { .activity = JD_ACTIVITY_PSUM };
    char text[160];
    if (size < 2)
        return;
    if (self == 1)
        signature.status = jd__fail_no_memory("test", 4711);
    struct jd_merge_call call = { .signature = signature };
    struct jd_merge merge;
    EXPECT_OK(jd__merge_meet(group, &call, &merge));
    EXPECT_STATUS(jd__merge_check_status(group, &merge), JD_RESOURCE_EXHAUSTED,
                  "test: ");
    snprintf(text, sizeof text,
             "test: process %d came, but could not take part: "
             "RESOURCE_EXHAUSTED; its own message says more",
             jd__channel_process(group, 1));
    const char *wanted =
        self == 1 ? "test: 4711 bytes of memory could not be allocated; free "
                    "memory on this host or raise its limit (ulimit -v)"
                  : text;
    EXPECT(strcmp(jd_error_message(), wanted) == 0, "%s", jd_error_message());
}

/* ---- merging ------------------------------------------------------------- */

/* The odd one of them all says something else. */
static void try_odd(int odd)
{
    struct jd_merge merge;
    const struct jd_merge_said *first = NULL, *second = NULL;
    struct jd_merge_call call = { .signature = { .count = self == odd } };
    char text[32];
    call.text = self == odd ? "odd" : "even";
    EXPECT_OK(jd__merge_meet(group, &call, &merge));
    bool differs = jd__merge_differs(&merge, &first, &second);
    EXPECT(differs == (size > 1), "%d", differs);
    EXPECT_OK(jd__merge_check_status(group, &merge));
    if (size == 1)
        return;
    int other = odd == 0 ? 1 : 0;
    if (size == 2)
        other = 0, odd = 1;
    EXPECT(first->process == jd__channel_process(group, odd) &&
               first->count == 1,
           "process %d, %d times", first->process, first->count);
    EXPECT(second->process == jd__channel_process(group, other) &&
               second->count == size - 1,
           "process %d, %d times", second->process, second->count);
    snprintf(text, sizeof text, "%s", jd__merge_text(&merge, first));
    EXPECT(size == 2 || strcmp(text, "odd") == 0, "%s", text);
    EXPECT(strcmp(jd__merge_text(&merge, second), text) != 0, "%s", text);
}

/* Three different things: the first, and the first that differs from it. */
static void try_all_odd(void)
{
    struct jd_merge merge;
    const struct jd_merge_said *odd = NULL, *other = NULL;
    struct jd_merge_call call = { .signature = { .count = (size_t)self } };
    EXPECT_OK(jd__merge_meet(group, &call, &merge));
    if (!jd__merge_differs(&merge, &odd, &other))
        return;
    EXPECT(odd->signature.count == 1 && odd->count == 1, "%d", odd->count);
    EXPECT(other->signature.count == 0 && other->count == 1, "%d",
           other->count);
}

/* Records among those members from `first` on, in the opposite order. */
static void try_records(int first, size_t bytes)
{
    static unsigned char own[20000], all[16 * 20000];
    int members[16];
    struct jd_parties some = { members, size - first, 0 };
    struct jd_merge merge;
    struct jd_merge_call call = {
        .record = own, .bytes = bytes, .all = all, .parties = &some
    };
    if (self < first)
        return;
    for (int i = 0; i < some.count; i++)
        members[i] = size - 1 - i;
    some.self = size - 1 - self;
    fill(own, self, bytes);
    EXPECT_OK(jd__merge_meet(group, &call, &merge));
    EXPECT_OK(jd__merge_check_status(group, &merge));
    for (int p = 0; p < some.count; p++)
        for (size_t i = 0; i < bytes; i++)
            EXPECT(all[(size_t)p * bytes + i] == byte_of(size - 1 - p, i),
                   "party %d, byte %zu of %zu", p, i, bytes);
}

static void try_of_one(int source, size_t bytes)
{
    static unsigned char own[JD_MERGE_OF_ONE];
    struct jd_merge merge;
    struct jd_merge_call call = { .bytes = bytes, .is_of_one = true };
    fill(own, source, bytes);
    call.record = self == source ? own : NULL;
    EXPECT_OK(jd__merge_meet(group, &call, &merge));
    const unsigned char *said = jd__merge_record(&merge, 0);
    for (size_t i = 0; i < bytes; i++)
        EXPECT(said[i] == byte_of(source, i), "byte %zu of %zu", i, bytes);
}

static void try_merges(void)
{
    static const size_t bytes[] = { 0, 1, 8, 1000, 4000, 20000 };
    for (int odd = 0; odd < size; odd++)
        try_odd(odd);
    try_all_odd();
    for (size_t b = 0; b < sizeof bytes / sizeof *bytes; b++)
        for (int first = 0; first < size; first += 1 + first)
            try_records(first, bytes[b]);
    for (int source = 0; source < size; source++)
        for (size_t b = 1; bytes[b] <= JD_MERGE_OF_ONE; b++)
            try_of_one(source, bytes[b]);
}

/* The last member has the others in another order: their rounds do not fit
 * together. All end, and know of two that differ. */
static void try_lists(void)
{
    int members[16];
    struct jd_parties all = { members, size, self };
    struct jd_merge merge;
    const struct jd_merge_said *odd, *other;
    struct jd_merge_call call = { .parties = &all };
    struct jd_channel *own = open_group(JD_TAG_ARRAYS);
    for (int i = 0; i < size; i++)
        members[i] = self == size - 1 ? size - 1 - i : i;
    if (self == size - 1)
        all.self = 0;
    EXPECT_OK(jd__merge_meet(own, &call, &merge));
    EXPECT(jd__merge_differs(&merge, &odd, &other) == (size > 1),
           "nobody differs");
    EXPECT(size == 1 || odd->list != other->list, "the lists are the same");
    EXPECT(jd__channel_has_failed(own) == (size > 1), "messages may come");
    jd__channel_destroy(own);
}

/* ---- messages that are shorter than they say ----------------------------- */

enum { TAG = 4 }; /* nobody else's */

static void expect_short(jd_status status, int came, int wanted)
{
    char text[160];
    snprintf(text, sizeof text,
             "test: %d bytes came from process 0 (member 1), whose call has "
             "%d; messages between the two are out of step",
             came, wanted);
    EXPECT_STATUS(status, JD_INTERNAL, text);
}

/* What member 0 says to member 1; its length. */
static int hear(struct jd_channel *own, void *data, size_t bytes)
{
    struct jd_pair pair;
    EXPECT_OK(jd__pair_post(own, &pair,
                            (struct jd_message_end){ 0, data, bytes },
                            (struct jd_message_end){ -1, NULL, 0 }));
    EXPECT_OK(jd__pair_finish_any(own, &pair));
    return pair.came[0];
}

static void say(struct jd_channel *own, void *data, size_t bytes)
{
    struct jd_pair pair;
    EXPECT_OK(jd__pair_post(own, &pair, (struct jd_message_end){ -1, NULL, 0 },
                            (struct jd_message_end){ 0, data, bytes }));
    EXPECT_OK(jd__pair_finish(own, &pair));
}

static void try_short_chunk(void)
{
    struct jd_channel *own = open_group(TAG);
    unsigned char data[20] = { 0 };
    if (self == 1)
        say(own, data, 10);
    else
        expect_short(jd__chunks_broadcast(own, data, 20, 1), 10, 20);
    jd__channel_destroy(own);
}

/* Member 1 gives back what it has heard, without the last bytes. */
static void try_short_state(int left_out, bool is_only_kind)
{
    static unsigned char heard[100000];
    struct jd_channel *own = open_group(TAG);
    struct jd_merge_call call = { .record = "8 bytes", .bytes = 8 };
    struct jd_merge merge;
    int lengths[2] = { 0, 0 };
    if (self == 1) {
        lengths[0] = hear(own, heard, sizeof heard);
        lengths[1] = is_only_kind ? 4 : lengths[0] - left_out;
        say(own, heard, (size_t)lengths[1]);
    }
    jd_status status = self == 0 ? jd__merge_meet(own, &call, &merge) : JD_OK;
    char sentence[400];
    snprintf(sentence, sizeof sentence, "%s", jd_error_message());
    EXPECT_OK(jd__chunks_broadcast(group, lengths, sizeof lengths, 1));
    if (self == 0) {
        char text[80];
        snprintf(text, sizeof text, "test: %d bytes came from process 0",
                 lengths[1]);
        EXPECT(status == JD_INTERNAL && strstr(sentence, text),
               "wanted '%s' in: %s", text, sentence);
    }
    jd__channel_destroy(own);
}

static void try_short(void)
{
    try_short_chunk();
    try_short_state(4, false);
    try_short_state(0, true);
}

int main(void)
{
    JD_CHECK(jd_initialize());
    group = open_group(JD_TAG_PROCESSES);
    try_pieces();
    try_status();
    try_merges();
    try_lists();
    if (size == 2)
        try_short();
    jd__channel_destroy(group);
    JD_CHECK(jd_shutdown());
    return 0;
}
