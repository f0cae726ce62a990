/* SPDX-License-Identifier: BSD-3-Clause */
/* test_box.c - boxes of arrays: counted, intersected, copied. */
#include "arrays/array/array.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <time.h>

enum { ROUNDS = 4000 };

/* TEST_SEED repeats what has failed. */
static unsigned draw_seed(void)
{
    const char *text = getenv("TEST_SEED");
    unsigned seed = text ? (unsigned)strtoul(text, NULL, 10)
                         : (unsigned)time(NULL) ^ (unsigned)clock();
    fprintf(stderr, "# TEST_SEED=%u\n", seed);
    return seed;
}

static int64_t draw(unsigned *seed, int64_t below)
{
    return rand_r(seed) % below;
}

/* ---- counting and intersecting ------------------------------------------- */

START_TEST(counts_elements)
{
    const jd_range box[] = { { 2, 5 }, { 0, 4 }, { 7, 8 } };
    const jd_range empty[] = { { 2, 5 }, { 3, 3 }, { 0, 9 } };
    ck_assert_int_eq(jd__box_count(box, 3), 12);
    ck_assert_int_eq(jd__box_count(box, 1), 3);
    ck_assert_int_eq(jd__box_count(NULL, 0), 1);
    ck_assert_int_eq(jd__box_count(empty, 3), 0);
    ck_assert_int_eq(jd__box_count((jd_range[]){ { 4, 2 }, { 3, 1 } }, 2), 0);
    ck_assert_int_eq(jd__box_count(empty, 1), 3);
}
END_TEST

START_TEST(intersects)
{
    const jd_range a[] = { { 2, 6 }, { 0, 4 } }, b[] = { { 4, 9 }, { 1, 3 } };
    jd_range both[2];
    ck_assert(jd__box_intersect(a, b, 2, both));
    ck_assert_int_eq(both[0].begin, 4);
    ck_assert_int_eq(both[0].end, 6);
    ck_assert_int_eq(both[1].begin, 1);
    ck_assert_int_eq(both[1].end, 3);
}
END_TEST

START_TEST(neighbours_share_nothing)
{
    const jd_range a[] = { { 0, 4 }, { 0, 4 } }, b[] = { { 0, 4 }, { 4, 8 } };
    const jd_range empty[] = { { 1, 3 }, { 2, 2 } };
    jd_range both[] = { { -1, -2 }, { -3, -4 } };
    ck_assert(!jd__box_intersect(a, b, 2, both));
    ck_assert(!jd__box_intersect(a, empty, 2, both));
    ck_assert(!jd__box_intersect(empty, a, 2, both));
    ck_assert_int_eq(both[0].begin, -1);
    ck_assert_int_eq(both[1].end, -4);
}
END_TEST

START_TEST(scalars_share_their_element)
{
    ck_assert(jd__box_intersect(NULL, NULL, 0, NULL));
}
END_TEST

/* ---- copying ------------------------------------------------------------- */

struct draft {
    int ndim;
    size_t element;
    jd_range to[JD_MAX_NDIM], from[JD_MAX_NDIM], index[JD_MAX_NDIM];
};

/* A range of at most extra more elements on each side, often none. */
static jd_range around(unsigned *seed, jd_range range, int64_t extra)
{
    if (draw(seed, 2))
        return range;
    int64_t before = draw(seed, extra + 1);
    before = before > range.begin ? range.begin : before;
    return (jd_range){ range.begin - before, range.end + draw(seed, extra) };
}

static struct draft draw_draft(unsigned *seed)
{
    static const size_t elements[] = { 1, 2, 4, 8, 16 };
    static const int64_t longest[] = { 1, 200, 30, 9, 5, 3, 3, 2, 2 };
    struct draft draft = { .ndim = (int)draw(seed, JD_MAX_NDIM + 1),
                           .element = elements[draw(seed, 5)] };
    for (int d = 0; d < draft.ndim; d++) {
        int64_t most = longest[draft.ndim];
        draft.index[d].begin = draw(seed, 5);
        draft.index[d].end =
            draft.index[d].begin + draw(seed, most) + (draw(seed, 20) ? 1 : 0);
        draft.to[d] = around(seed, draft.index[d], 2);
        draft.from[d] = around(seed, draft.index[d], 2);
    }
    return draft;
}

static size_t offset(const jd_range *origin, int ndim, const int64_t *at)
{
    size_t offset = 0;
    for (int d = 0; d < ndim; d++)
        offset = offset * (size_t)(origin[d].end - origin[d].begin) +
                 (size_t)(at[d] - origin[d].begin);
    return offset;
}

static bool is_inside(const jd_range *index, int ndim, const int64_t *at)
{
    for (int d = 0; d < ndim; d++)
        if (at[d] < index[d].begin || at[d] >= index[d].end)
            return false;
    return true;
}

static bool step_on(const jd_range *origin, int ndim, int64_t *at)
{
    for (int d = ndim - 1; d >= 0; d--) {
        if (++at[d] < origin[d].end)
            return true;
        at[d] = origin[d].begin;
    }
    return false;
}

/* Every element that is to be there came, and no other was touched. */
static void check_copy(const struct draft *draft, const char *to,
                       const char *before, const char *from)
{
    int64_t at[JD_MAX_NDIM] = { 0 };
    int ndim = draft->ndim;
    if (jd__box_count(draft->to, ndim) == 0)
        return;
    for (int d = 0; d < ndim; d++)
        at[d] = draft->to[d].begin;
    do {
        size_t place = offset(draft->to, ndim, at) * draft->element;
        const char *wanted = before + place;
        if (is_inside(draft->index, ndim, at))
            wanted = from + offset(draft->from, ndim, at) * draft->element;
        if (memcmp(to + place, wanted, draft->element) != 0)
            ck_abort_msg("byte %zu is wrong", place);
    } while (step_on(draft->to, ndim, at));
}

/* Buffers of exactly the size, so that a sanitizer sees a step outside. */
static char *draw_memory(unsigned *seed, const struct draft *draft,
                         const jd_range *origin)
{
    size_t bytes = (size_t)jd__box_count(origin, draft->ndim) * draft->element;
    char *memory = malloc(bytes ? bytes : 1);
    ck_assert_ptr_nonnull(memory);
    for (size_t i = 0; i < bytes; i++)
        memory[i] = (char)draw(seed, 256);
    return memory;
}

START_TEST(copies_any_box)
{
    unsigned seed = draw_seed();
    for (int round = 0; round < ROUNDS; round++) {
        struct draft draft = draw_draft(&seed);
        char *from = draw_memory(&seed, &draft, draft.from);
        char *to = draw_memory(&seed, &draft, draft.to);
        size_t bytes =
            (size_t)jd__box_count(draft.to, draft.ndim) * draft.element;
        char *before = malloc(bytes + 1);
        memcpy(before, to, bytes);
        jd__box_copy(
            &(struct jd_box){ to, draft.to, draft.ndim, draft.element },
            &(struct jd_box){ from, draft.from, draft.ndim, draft.element },
            draft.index);
        check_copy(&draft, to, before, from);
        free(before);
        free(to);
        free(from);
    }
}
END_TEST

/* Into what does not stay in a cache: the rows go another way. */
START_TEST(copies_into_a_long_block)
{
    const jd_range whole[] = { { 0, 4097 }, { 0, 4099 } };
    const jd_range box[] = { { 1, 4097 }, { 3, 2051 } };
    size_t room = (size_t)4097 * 4099, wrong = 0;
    unsigned char *to = malloc(room), *from = malloc((size_t)4096 * 2048);
    memset(to, 0xa5, room);
    for (size_t i = 0; i < (size_t)4096 * 2048; i++)
        from[i] = (unsigned char)(i * 31 + i / 2048);
    UNIT_OK(jd__box_copy(&(struct jd_box){ (char *)to, whole, 2, 1 },
                         &(struct jd_box){ (char *)from, box, 2, 1 }, box));
    for (size_t i = 0; i < room; i++) {
        size_t row = i / 4099, column = i % 4099;
        bool is_in = row >= 1 && column >= 3 && column < 2051;
        size_t at = is_in ? (row - 1) * 2048 + column - 3 : 0;
        wrong += to[i] != (is_in ? from[at] : 0xa5);
    }
    ck_assert_uint_eq(wrong, 0);
    free(from);
    free(to);
}
END_TEST

START_TEST(an_empty_box_needs_no_memory)
{
    const jd_range origin[] = { { 0, 0 }, { 0, 3 } };
    struct jd_box nothing = { NULL, origin, 2, 4 };
    jd__box_copy(&nothing, &nothing, origin);
}
END_TEST

START_TEST(copies_a_scalar)
{
    double from = 2.5, to = 0;
    jd__box_copy(&(struct jd_box){ (char *)&to, NULL, 0, sizeof to },
                 &(struct jd_box){ (char *)&from, NULL, 0, sizeof from }, NULL);
    ck_assert(to == 2.5);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("box");
    TCase *tcase = unit_case(suite, "counting");
    tcase_add_test(tcase, counts_elements);
    tcase_add_test(tcase, intersects);
    tcase_add_test(tcase, neighbours_share_nothing);
    tcase_add_test(tcase, scalars_share_their_element);
    tcase = unit_case(suite, "copying");
    tcase_add_test(tcase, copies_any_box);
    tcase_add_test(tcase, copies_into_a_long_block);
    tcase_add_test(tcase, an_empty_box_needs_no_memory);
    tcase_add_test(tcase, copies_a_scalar);
    return unit_main(suite);
}
