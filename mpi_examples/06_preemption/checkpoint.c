/* SPDX-License-Identifier: BSD-3-Clause */
/* checkpoint.c - a model in a text file that is there whole or not at all. */
/* For fsync() and fileno(), where the compiler is asked for plain C11. */
#define _POSIX_C_SOURCE 200809L

#include "checkpoint.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { NUMBERS = sizeof(struct model) / sizeof(double), MAX_PATH = 4096 };

/* A model is nothing but doubles, one after the other. */
static_assert(sizeof(struct model) == NUMBERS * sizeof(double), "model");

static int fail(const char *path, char *why, size_t why_size)
{
    snprintf(why, why_size, "%s: %s", path, strerror(errno ? errno : EIO));
    return -1;
}

/* 17 digits are enough to get each double back, bit for bit. */
static int write_numbers(FILE *file, const struct model *model, int32_t epoch)
{
    double numbers[NUMBERS];
    memcpy(numbers, model, sizeof numbers);
    int failed = fprintf(file, "epoch %" PRId32 "\n", epoch) < 0;
    for (int i = 0; !failed && i < NUMBERS; i++)
        failed = fprintf(file, "%.17g\n", numbers[i]) < 0;
    return failed || fflush(file) != 0 || fsync(fileno(file)) != 0;
}

int save_checkpoint(const struct model *model, int32_t epoch, const char *path,
                    char *why, size_t why_size)
{
    char part[MAX_PATH];
    int length = snprintf(part, sizeof part, "%s.part", path);
    errno = length >= MAX_PATH ? ENAMETOOLONG : 0;
    FILE *file = errno ? NULL : fopen(part, "w");
    if (!file)
        return fail(part, why, why_size);
    int failed = write_numbers(file, model, epoch);
    failed |= fclose(file) != 0;
    if (failed || rename(part, path) != 0)
        return fail(part, why, why_size);
    return 0;
}

static int read_numbers(FILE *file, struct model *model, int32_t *ret_epoch)
{
    double numbers[NUMBERS];
    int i = 0;
    if (fscanf(file, "epoch %" SCNd32, ret_epoch) != 1 || *ret_epoch < 0)
        return -1;
    while (i < NUMBERS && fscanf(file, "%lf", &numbers[i]) == 1)
        i++;
    if (i < NUMBERS)
        return -1;
    memcpy(model, numbers, sizeof numbers);
    return 0;
}

int load_checkpoint(struct model *model, int32_t *ret_epoch, const char *path,
                    char *why, size_t why_size)
{
    FILE *file = fopen(path, "r");
    *ret_epoch = -1;
    if (!file && errno == ENOENT)
        return 0;
    if (!file)
        return fail(path, why, why_size);
    int failed = read_numbers(file, model, ret_epoch);
    fclose(file);
    if (failed)
        snprintf(why, why_size, "%s: this is no checkpoint of this program",
                 path);
    return failed;
}
