/* SPDX-License-Identifier: BSD-3-Clause */
/* expect.hpp - tests/mpi/expect.h, and what it has not: exceptions. */
#ifndef EXPECT_HPP
#define EXPECT_HPP

#include "../mpi/expect.h"

#include <jd_status.hpp>

/* The expression throws a jd::error whose sentence has the text in it. */
#define EXPECT_THROWS(expression, text)                                        \
    do {                                                                       \
        bool has_thrown_ = false;                                              \
        try {                                                                  \
            (void)(expression);                                                \
        } catch (const jd::error &e) {                                         \
            has_thrown_ = true;                                                \
            EXPECT(std::strstr(e.what(), text), "'%s' is not in '%s'", text,   \
                   e.what());                                                  \
        }                                                                      \
        EXPECT(has_thrown_, "no jd::error with '%s'", text);                   \
    } while (0)

/* The status is a failure whose sentence has the text in it. */
#define EXPECT_TEXT(status, text)                                              \
    EXPECT(!status.ok() && std::strstr(status.what(), text),                   \
           "'%s' is not in '%s'", text, status.what())

#endif
