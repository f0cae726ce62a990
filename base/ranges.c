/* SPDX-License-Identifier: BSD-3-Clause */
/* ranges.c - lists of numbers as people write them. */
#include "base/ranges.h"

void jd__ranges_print(FILE *out, const int *numbers, int count)
{
    for (int i = 0; i < count;) {
        int j = i;
        while (j + 1 < count && numbers[j + 1] == numbers[j] + 1)
            j++;
        fprintf(out, "%s%d", i ? "," : "", numbers[i]);
        if (j > i)
            fprintf(out, "-%d", numbers[j]);
        i = j + 1;
    }
}
