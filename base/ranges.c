/* SPDX-License-Identifier: BSD-3-Clause */
/* ranges.c - lists of numbers as people write them. */
#include "base/ranges.h"
#include "base/text.h"

#include <stdlib.h>

int jd__ranges_sort(int *numbers, int count)
{
    int left = 0;
    if (count)
        qsort(numbers, (size_t)count, sizeof *numbers, jd__ranges_compare);
    for (int i = 0; i < count; i++)
        if (i == 0 || numbers[i] != numbers[i - 1])
            numbers[left++] = numbers[i];
    return left;
}

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

void jd__ranges_print_processes(FILE *out, const int *numbers, int count)
{
    fprintf(out, "process%s ", jd__text_es(count));
    jd__ranges_print(out, numbers, count);
}
