/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Each status has its own name in every process, and a program that has not
 * failed has no message.
 */
#include "jd_status.h"

#include "expect.h"

#include <string.h>

int main(void)
{
    for (int i = JD_OK; i <= JD_UNAUTHENTICATED; i++)
        for (int j = JD_OK; j < i; j++)
            EXPECT(strcmp(jd_status_name((jd_status)i),
                          jd_status_name((jd_status)j)) != 0,
                   "%d and %d are both %s", i, j, jd_status_name((jd_status)i));
    EXPECT(strcmp(jd_error_message(), "") == 0, "the message is '%s'",
           jd_error_message());
    return 0;
}
