/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fuzz.h - what the fuzz targets share: reading the input byte by byte, and a
 * check that ends the program with a sentence, as a sanitizer does.
 *
 *     struct fuzz_input input = { data, data + size };
 *     while (!fuzz_is_empty(&input))
 *         switch (fuzz_byte(&input)) ...
 *     FUZZ_EXPECT(answers <= questions, "id %d was answered twice", id);
 */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct fuzz_input {
    const uint8_t *at, *end;
};

static inline bool fuzz_is_empty(const struct fuzz_input *input)
{
    return input->at == input->end;
}

/* 0 behind the end, so that every input means something. */
static inline uint8_t fuzz_byte(struct fuzz_input *input)
{
    return fuzz_is_empty(input) ? 0 : *input->at++;
}

#define FUZZ_EXPECT(condition, ...)                                            \
    do {                                                                       \
        if (!(condition)) {                                                    \
            fprintf(stderr, "%s:%d: not so: %s: ", __FILE__, __LINE__,         \
                    #condition);                                               \
            fprintf(stderr, __VA_ARGS__);                                      \
            fputc('\n', stderr);                                               \
            abort();                                                           \
        }                                                                      \
    } while (0)

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
