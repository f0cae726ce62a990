/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Internals of the collectives, with the members numbered backwards: long data
 * goes in pieces (with pieces of a few bytes, every way to cut it), a member
 * that cannot take part says so.
 */
#include "jd.h"

#include "collectives/channel/chunks.h"

#include "expect.h"

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
    EXPECT_OK(jd__channel_meet(group, &signature, NULL, 0));
    EXPECT_STATUS(jd__channel_check_status(group), JD_RESOURCE_EXHAUSTED,
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

int main(void)
{
    JD_CHECK(jd_initialize());
    group = open_group(JD_TAG_PROCESSES);
    try_pieces();
    try_status();
    jd__channel_destroy(group);
    JD_CHECK(jd_shutdown());
    return 0;
}
