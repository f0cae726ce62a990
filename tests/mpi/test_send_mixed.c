/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_send_mixed - between processes that share no memory: what jd_send()
 * sends is not taken for a collective's, nor the other way round; "long": where
 * the collective brings more than a send's first message.
 */
#include "jd.h"

#include "expect.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static void expect_mixed(jd_status status, const char *said)
{
    EXPECT(status == JD_ABORTED, "%d", (int)status);
    EXPECT(strstr(jd_error_message(), said), "%s", jd_error_message());
}

int main(int argc, char **argv)
{
    bool is_long = argc > 1 && strcmp(argv[1], "long") == 0;
    size_t count = is_long ? 400 : 1;
    const char *name = "x";
    int size = -1;
    double in[400], out[400];
    char said[120];
    jd_mesh *mesh;
    memset(in, 0x7f, sizeof in);
    EXPECT_OK(jd_initialize());
    EXPECT_OK(jd_mesh_create(&mesh, 1, &size, &name, NULL));
    jd_shard *me = jd_mesh_shard(mesh);
    EXPECT_OK(jd_barrier(me, "x"));
    snprintf(said, sizeof said,
             "process 1 (member 1) calls jd_psum of %zu x F64 with process 0 "
             "(member 0), which calls jd_send;",
             count);
    if (jd_process_index() == 0)
        expect_mixed(jd_send(me, "x", 1, in, 10, JD_F64), said);
    else
        expect_mixed(jd_psum(me, "x", in, out, count, JD_F64),
                     "process 0 (member 0) calls jd_send of 10 x F64 with "
                     "process 1 (member 1), which calls jd_psum;");
    EXPECT_STATUS(jd_psum(me, "x", in, out, 1, JD_F64), JD_ABORTED, "calls");
    jd_mesh_destroy(mesh);
    return jd_shutdown();
}
