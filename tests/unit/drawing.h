/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * drawing.h - pictures of shardings of made-up meshes, as text.
 *
 *     static const struct made made = { 2, { 2, 3 }, 3 };
 *     DRAWS("[64,10] as ...", &made, "a,b", SHAPE(64, 10));
 */
#ifndef TESTS_UNIT_DRAWING_H
#define TESTS_UNIT_DRAWING_H

#include "arrays/sharding/sharding.h"
#include "tests/unit/made_mesh.h"

#define SHAPE(...)                                                             \
    (int)(sizeof((int64_t[]){ __VA_ARGS__ }) / sizeof(int64_t)), (int64_t[])   \
    {                                                                          \
        __VA_ARGS__                                                            \
    }

/* The axes of the mesh, "a" and so on, and the devices of each process. */
struct made {
    int ndim;
    int sizes[JD_MAX_AXES];
    int each;
};

static inline jd_sharding *make_sharding(const struct made *made,
                                         const char *spec)
{
    struct jd_mesh mesh;
    jd_sharding *sharding;
    make_mesh(&mesh, made->ndim, made->sizes, made->each);
    UNIT_OK(jd_sharding_create(&sharding, &mesh, spec));
    return sharding;
}

static inline char *draw(const struct made *made, const char *spec, int ndim,
                         const int64_t *shape)
{
    jd_sharding *sharding = make_sharding(made, spec);
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    UNIT_OK(jd_visualize_sharding(sharding, ndim, shape, out));
    fclose(out);
    jd_sharding_release(sharding);
    return text;
}

#define DRAWS(wanted, made, spec, ...)                                         \
    do {                                                                       \
        char *got_ = draw(made, spec, __VA_ARGS__);                            \
        ck_assert_str_eq(got_, wanted);                                        \
        free(got_);                                                            \
    } while (0)

static inline void start_plain(void)
{
    unsetenv("CLICOLOR_FORCE");
    unsetenv("NO_COLOR");
}

static const struct made two_by_three = { 2, { 2, 3 }, 3 };

static inline bool has(const char *text, const char *part)
{
    return strstr(text, part) != NULL;
}

static inline TCase *plain_case(Suite *suite, const char *name)
{
    TCase *tcase = unit_case(suite, name);
    tcase_add_checked_fixture(tcase, start_plain, NULL);
    return tcase;
}

#endif
