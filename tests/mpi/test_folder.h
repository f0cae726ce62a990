/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_folder.h - a folder of a test's own, which process 0 makes and removes
 * and all know. Both calls are collective.
 */
#ifndef TEST_FOLDER_H
#define TEST_FOLDER_H

#include "jd.h"

#include "expect.h"

#include <stdlib.h>

static char folder[200];

static inline void make_folder(const char *name)
{
    snprintf(folder, sizeof folder, "/tmp/jd-test-%s-XXXXXX", name);
    if (jd_process_index() == 0)
        EXPECT(mkdtemp(folder), "mkdtemp");
    jd_leaf leaf = { folder, JD_U8, 1, (int64_t[]){ sizeof folder } };
    EXPECT_OK(jd_broadcast_one_to_all(&leaf, 1, 0));
}

static inline void remove_folder(void)
{
    char command[256];
    snprintf(command, sizeof command, "rm -r %s", folder);
    EXPECT_OK(jd_sync_global_devices("the folder is removed"));
    if (jd_process_index() == 0)
        EXPECT(system(command) == 0, "%s", command);
}

#endif
