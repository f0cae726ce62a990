/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_checkpoint_index.c - an index as text and back, what is refused, the
 * headers of NumPy's, and the runs that two blocks share.
 */
#include "arrays/array/array.h"
#include "arrays/checkpoint/checkpoint_index.h"
#include "arrays/checkpoint/checkpoint_runs.h"
#include "arrays/checkpoint/crc32c.h"
#include "arrays/checkpoint/npy.h"
#include "tests/unit/unit.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

/* ---- an index ------------------------------------------------------------ */

static const int64_t matrix[] = { 5, 3 }, large[] = { 3, 1 << 20 };
static const int64_t empty[] = { 0, 7 };
static const int four_two[] = { 4, 2 }, one_two[] = { 1, 2 };

static struct jd_index make_index(void)
{
    struct jd_index index = { 0 };
    UNIT_OK(jd__checkpoint_index_reserve(&index, 4));
    UNIT_OK(
        jd__checkpoint_index_add(&index, "m x", JD_F32, 2, matrix, four_two));
    UNIT_OK(jd__checkpoint_index_add(&index, "step", JD_S64, 0, NULL, NULL));
    UNIT_OK(
        jd__checkpoint_index_add(&index, "large", JD_F64, 2, large, one_two));
    UNIT_OK(
        jd__checkpoint_index_add(&index, "empty", JD_BF16, 2, empty, one_two));
    for (size_t i = 0; i < index.count; i++) {
        struct jd_saved_array *array = &index.arrays[i];
        for (size_t k = 0; k < array->first_crcs[array->num_blocks]; k++)
            array->crcs[k] = (uint32_t)(i * 0x1234567 + k);
    }
    return index;
}

/* Its text, checked as far as a person can; the caller frees it. */
static char *make_text(size_t *ret_bytes)
{
    struct jd_index index = make_index();
    char *text;
    UNIT_OK(jd__checkpoint_index_write(&index, &text, ret_bytes));
    ck_assert_uint_eq(strlen(text), *ret_bytes);
    jd__checkpoint_index_finish(&index);
    return text;
}

/* With the checksum of what stands before the last line. */
static void sign(char *text)
{
    char *end = strstr(text, "\nend ") + 1;
    sprintf(end, "end %08" PRIx32 "\n",
            jd__crc32c(0, text, (size_t)(end - text)));
}

START_TEST(the_text_is_this)
{
    static const char wanted[] = "jd-checkpoint 1 little-endian chunk 4194304\n"
                                 "array F32 5,3 4,2 m x\n"
                                 "block 0:2,0:2 128 16 00000000 m x.0.npy\n"
                                 "block 0:2,2:3 128 8 00000001 m x.1.npy\n"
                                 "block 2:4,0:2 128 16 00000002 m x.2.npy\n"
                                 "block 2:4,2:3 128 8 00000003 m x.3.npy\n"
                                 "block 4:5,0:2 128 8 00000004 m x.4.npy\n"
                                 "block 4:5,2:3 128 4 00000005 m x.5.npy\n"
                                 "array S64 - - step\n"
                                 "block - 128 8 01234567 step.0.npy\n"
                                 "array F64 3,1048576 1,2 large\n"
                                 "block 0:3,0:524288 128 12582912 ";
    size_t bytes;
    char *text = make_text(&bytes);
    ck_assert_mem_eq(text, wanted, sizeof wanted - 1);
    ck_assert_ptr_nonnull(
        strstr(text, " large.0.npy\nchunks 02468ace 02468acf 02468ad0\n"));
    ck_assert_ptr_nonnull(strstr(text, "\narray BF16 0,7 1,2 empty\nend "));
    free(text);
}
END_TEST

START_TEST(what_was_written_is_read)
{
    struct jd_index back = { 0 };
    size_t bytes, again_bytes;
    char *text = make_text(&bytes), *again;
    UNIT_OK(jd__checkpoint_index_read(text, bytes, "x", &back));
    ck_assert_uint_eq(back.count, 4);
    const struct jd_saved_array *array =
        jd__checkpoint_index_find(&back, "large");
    ck_assert_ptr_nonnull(array);
    ck_assert_int_eq(array->dtype, JD_F64);
    ck_assert_int_eq(array->ndim, 2);
    ck_assert_int_eq(array->shape[1], 1 << 20);
    ck_assert_int_eq(array->num_blocks, 2);
    ck_assert_uint_eq(array->crcs[5], 2 * 0x1234567 + 5);
    ck_assert_ptr_null(jd__checkpoint_index_find(&back, "small"));
    UNIT_OK(jd__checkpoint_index_write(&back, &again, &again_bytes));
    ck_assert_str_eq(text, again);
    jd__checkpoint_index_finish(&back);
    free(text);
    free(again);
}
END_TEST

/* Neither read nor anything changed by a text of this length. */
static void refuse(const char *text, size_t bytes, jd_status status,
                   const char *sentence)
{
    struct jd_index index = { .count = 7 };
    jd_status got =
        jd__checkpoint_index_read(text, bytes, "d/index.jd", &index);
    ck_assert_str_eq(jd_status_name(got), jd_status_name(status));
    if (sentence)
        ck_assert_str_eq(jd_error_message(), sentence);
    ck_assert_uint_eq(index.count, 7);
}

START_TEST(a_text_that_was_cut_off_is_refused)
{
    size_t bytes;
    char *text = make_text(&bytes);
    for (size_t n = 0; n < bytes; n++) {
        char *cut = malloc(n + 1);
        memcpy(cut, text, n);
        cut[n] = '\0';
        jd_status status = n < 15   ? JD_INVALID_ARGUMENT
                           : n < 44 ? JD_UNIMPLEMENTED
                                    : JD_DATA_LOSS;
        refuse(cut, n, status, NULL);
        free(cut);
    }
    text[100] = '\0';
    refuse(text, 100, JD_DATA_LOSS,
           "d/index.jd was cut off: its last line is not \"end\" with a "
           "checksum (it has 100 bytes); restore another checkpoint");
    free(text);
}
END_TEST

START_TEST(each_changed_byte_is_seen)
{
    size_t bytes;
    char *text = make_text(&bytes);
    for (size_t i = 0; i < bytes; i++) {
        struct jd_index index;
        text[i] ^= 1;
        ck_assert_int_ne(jd__checkpoint_index_read(text, bytes, "x", &index),
                         JD_OK);
        text[i] ^= 1;
    }
    text[60] ^= 1;
    ck_assert_int_eq(jd__checkpoint_index_read(text, bytes, "x", NULL),
                     JD_DATA_LOSS);
    ck_assert_ptr_nonnull(
        strstr(jd_error_message(), "x was changed: its checksum is "));
    free(text);
}
END_TEST

/* Even where the checksum is right, nothing is believed but what jd writes: a
 * text that is read is one that is written. */
START_TEST(each_changed_byte_that_was_signed_is_seen)
{
    static const char with[] = "09 ,:-\nax/\x7f\x80";
    size_t bytes, end, again_bytes;
    char *text = make_text(&bytes), *work = malloc(bytes + 1), *again;
    end = bytes - 13;
    for (size_t i = 0; i < end - 1; i++)
        for (size_t k = 0; k < sizeof with; k++) {
            struct jd_index index;
            memcpy(work, text, bytes + 1);
            work[i] = with[k];
            uint32_t crc = jd__crc32c(0, work, end);
            sprintf(work + end, "end %08" PRIx32 "\n", crc);
            if (jd__checkpoint_index_read(work, bytes, "x", &index) != JD_OK)
                continue;
            UNIT_OK(jd__checkpoint_index_write(&index, &again, &again_bytes));
            ck_assert_str_eq(again, work);
            ck_assert_uint_eq(again_bytes, bytes);
            free(again);
            jd__checkpoint_index_finish(&index);
        }
    free(text);
    free(work);
}
END_TEST

static void refuse_signed(const char *from, const char *to, jd_status status,
                          const char *sentence)
{
    size_t bytes;
    char *text = make_text(&bytes), *work = malloc(bytes + 200);
    char *at = strstr(text, from);
    if (!work || !at)
        ck_abort_msg("no memory, or no \"%s\" in the text", from);
    snprintf(work, bytes + 200, "%.*s%s%s", (int)(at - text), text, to,
             at + strlen(from));
    sign(work);
    refuse(work, strlen(work), status, sentence);
    free(text);
    free(work);
}

START_TEST(what_jd_does_not_write_is_refused)
{
    refuse_signed("jd-checkpoint 1", "jd-checkpoint 2", JD_UNIMPLEMENTED,
                  "d/index.jd is of format \"jd-checkpoint 2 little-endian "
                  "chunk 4194304\"; this version of jd reads \"jd-checkpoint 1 "
                  "little-endian chunk 4194304\"");
    refuse_signed("jd-checkpoint 1", "PNG", JD_INVALID_ARGUMENT,
                  "d/index.jd is no index of a checkpoint: it does not begin "
                  "with \"jd-checkpoint\"");
    refuse_signed("4:5,0:2 128 8", "4:5,0:2 128 9", JD_DATA_LOSS,
                  "d/index.jd: line 7 is not as jd writes it (byte 242); "
                  "restore another checkpoint");
}
END_TEST

START_TEST(wild_texts_harm_nobody)
{
    refuse_signed("5,3 4,2 m x", "5,3 4,2,1 m x", JD_DATA_LOSS, NULL);
    refuse_signed("5,3 4,2 m x", "5,3 0,2 m x", JD_DATA_LOSS, NULL);
    refuse_signed("5,3 4,2 m x", "5,3 99999999999999999999,2 m x", JD_DATA_LOSS,
                  NULL);
    refuse_signed("5,3 4,2 m x", "5,3 16777216,16777216 m x", JD_DATA_LOSS,
                  NULL);
    refuse_signed("5,3 4,2 m x", "1,1,1,1,1,1,1,1,1 1,1,1,1,1,1,1,1,1 m x",
                  JD_DATA_LOSS, NULL);
    refuse_signed("5,3 4,2 m x", "9223372036854775807,3 4,2 m x", JD_DATA_LOSS,
                  NULL);
    refuse_signed("5,3 4,2 m x", "5,3 4,2 ", JD_DATA_LOSS, NULL);
    refuse_signed("5,3 4,2 m x", "5,3 4,2 ../m", JD_DATA_LOSS, NULL);
    refuse_signed("0,7 1,2 empty", "0,7 1,2 step", JD_DATA_LOSS, NULL);
    refuse_signed("S64", "S63", JD_DATA_LOSS, NULL);
    refuse_signed("chunks 02468ace", "chunks 0246", JD_DATA_LOSS, NULL);
}
END_TEST

/* What a few bytes say is not given memory, or gone through, on their word. */
START_TEST(short_texts_are_not_believed_to_be_large)
{
    static const char blocks[] = "16777216";
    char many[200];
    refuse_signed("0,7 1,2 empty", "70368744177664 1 empty", JD_DATA_LOSS,
                  "d/index.jd: line 16 is not as jd writes it (byte 565); "
                  "restore another checkpoint");
    snprintf(many, sizeof many,
             "0 %s a\narray U8 0 %s b\narray U8 0 %s c\narray U8 0 %s d\n"
             "array U8 0 1 empty",
             blocks, blocks, blocks, blocks);
    refuse_signed("0,7 1,2 empty", many, JD_DATA_LOSS,
                  "d/index.jd: line 20 is not as jd writes it (byte 655); "
                  "restore another checkpoint");
}
END_TEST

/* In an order that is neither that of the alphabet nor its reverse. */
START_TEST(each_of_many_names_is_found)
{
    enum { MANY = 2000 };
    struct jd_index index = { 0 };
    char name[16];
    UNIT_OK(jd__checkpoint_index_reserve(&index, MANY));
    for (int i = 0; i < MANY; i++) {
        snprintf(name, sizeof name, "w%d", i * 7919 % MANY);
        UNIT_OK(jd__checkpoint_index_add(&index, name, JD_S64, 0, NULL, NULL));
    }
    bool are_found = true;
    for (int i = 0; i < MANY; i++) {
        snprintf(name, sizeof name, "w%d", i * 7919 % MANY);
        are_found &=
            jd__checkpoint_index_find(&index, name) == &index.arrays[i];
    }
    ck_assert(are_found);
    ck_assert_ptr_null(jd__checkpoint_index_find(&index, "w2000"));
    jd__checkpoint_index_finish(&index);
    ck_assert_ptr_null(jd__checkpoint_index_find(&index, "w1"));
}
END_TEST

START_TEST(names_are_checked)
{
    char name[JD_CHECKPOINT_MAX_NAME + 2];
    memset(name, 'a', sizeof name);
    name[JD_CHECKPOINT_MAX_NAME] = '\0';
    ck_assert_ptr_null(jd__checkpoint_name_fault(name));
    name[JD_CHECKPOINT_MAX_NAME] = 'a';
    name[JD_CHECKPOINT_MAX_NAME + 1] = '\0';
    ck_assert_str_eq(jd__checkpoint_name_fault(name),
                     "has more than 200 bytes");
    ck_assert_str_eq(jd__checkpoint_name_fault(NULL), "is NULL");
    ck_assert_str_eq(jd__checkpoint_name_fault(""), "is empty");
    ck_assert_ptr_nonnull(jd__checkpoint_name_fault("a/b"));
    ck_assert_ptr_nonnull(jd__checkpoint_name_fault("a\nb"));
    ck_assert_ptr_null(jd__checkpoint_name_fault("layer 1.weight \xc3\xa9"));
}
END_TEST

/* ---- NumPy --------------------------------------------------------------- */

START_TEST(headers_are_as_numpy_writes_them)
{
    char header[JD_NPY_MAX_HEADER + 1] = "";
    int64_t shape[8] = { 3, 4 };
    ck_assert_uint_eq(jd__npy_header(JD_F32, 2, shape, header), 128);
    ck_assert_mem_eq(header,
                     "\x93NUMPY\x01\x00\x76\x00{'descr': '<f4', "
                     "'fortran_order': False, 'shape': (3, 4), }  ",
                     70);
    ck_assert_int_eq(header[126], ' ');
    ck_assert_int_eq(header[127], '\n');
    ck_assert_uint_eq(jd__npy_header(JD_PRED, 0, NULL, header), 128);
    ck_assert_ptr_nonnull(strstr(header + 10, "'|b1', 'fortran_order': False, "
                                              "'shape': (), }"));
    jd__npy_header(JD_C128, 1, shape, header);
    ck_assert_ptr_nonnull(strstr(header + 10, "'<c16', 'fortran_order': False, "
                                              "'shape': (3,), }"));
    jd__npy_header(JD_BF16, 1, shape, header);
    ck_assert_ptr_nonnull(strstr(header + 10, "'descr': '|V2'"));
    for (int i = 0; i < 8; i++)
        shape[i] = INT64_MAX;
    size_t bytes = jd__npy_header(JD_F8E5M2, 8, shape, header);
    ck_assert_uint_eq(bytes % 64, 0);
    ck_assert_uint_le(bytes, JD_NPY_MAX_HEADER);
    ck_assert_int_eq(header[bytes - 1], '\n');
}
END_TEST

/* ---- runs ---------------------------------------------------------------- */

static uint32_t seed;

static int64_t draw(int64_t below)
{
    seed = seed * 1664525 + 1013904223;
    return (int64_t)(seed >> 8) % below;
}

static void draw_box(jd_range *box, int ndim)
{
    for (int axis = 0; axis < ndim; axis++) {
        box[axis].begin = draw(5);
        box[axis].end = box[axis].begin + 1 + draw(5);
    }
}

/* The element's number in a box, -1 outside. */
static int64_t place_in(const jd_range *box, const int64_t *at, int ndim)
{
    int64_t place = 0;
    for (int axis = 0; axis < ndim; axis++) {
        if (at[axis] < box[axis].begin || at[axis] >= box[axis].end)
            return -1;
        place = place * (box[axis].end - box[axis].begin) + at[axis] -
                box[axis].begin;
    }
    return place;
}

static void go_through(const jd_range *from, const jd_range *to, int ndim,
                       const int32_t *source, int32_t *result)
{
    struct jd_runs runs;
    int64_t count = jd__box_count(from, ndim), step = 1 + draw(20);
    if (!jd__checkpoint_runs_begin(from, to, ndim, sizeof *source, &runs))
        return;
    for (int64_t begin = 0; begin < count; begin += step) {
        int64_t end = begin + step < count ? begin + step : count;
        if (jd__checkpoint_runs_reach(&runs, end))
            jd__checkpoint_runs_take(&runs, begin, end,
                                     (const char *)(source + begin),
                                     (char *)result);
    }
    ck_assert(!jd__checkpoint_runs_reach(&runs, count));
}

START_TEST(runs_are_what_boxes_share)
{
    enum { MOST = 10000, RUNS = 3000 };
    static int32_t source[MOST], result[MOST];
    seed = (uint32_t)time(NULL);
    printf("# seed %" PRIu32 "\n", seed);
    for (int i = 0; i < RUNS; i++) {
        jd_range from[4], to[4];
        int ndim = (int)draw(5);
        draw_box(from, ndim);
        draw_box(to, ndim);
        int64_t count = jd__box_count(to, ndim), at[4];
        for (int k = 0; k < MOST; k++) {
            source[k] = k;
            result[k] = -1;
        }
        go_through(from, to, ndim, source, result);
        for (int64_t k = 0; k < count; k++) {
            int64_t rest = k;
            for (int axis = ndim - 1; axis >= 0; axis--) {
                int64_t length = to[axis].end - to[axis].begin;
                at[axis] = to[axis].begin + rest % length;
                rest /= length;
            }
            ck_assert_int_eq(result[k], place_in(from, at, ndim));
        }
        ck_assert_int_eq(result[count], -1);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("checkpoint_index");
    TCase *tcase = unit_case(suite, "text");
    tcase_add_test(tcase, the_text_is_this);
    tcase_add_test(tcase, what_was_written_is_read);
    tcase_add_test(tcase, a_text_that_was_cut_off_is_refused);
    tcase_add_test(tcase, each_changed_byte_is_seen);
    tcase_add_test(tcase, each_changed_byte_that_was_signed_is_seen);
    tcase_add_test(tcase, what_jd_does_not_write_is_refused);
    tcase_add_test(tcase, wild_texts_harm_nobody);
    tcase_add_test(tcase, short_texts_are_not_believed_to_be_large);
    tcase_add_test(tcase, each_of_many_names_is_found);
    tcase_add_test(tcase, names_are_checked);
    tcase = unit_case(suite, "numpy");
    tcase_add_test(tcase, headers_are_as_numpy_writes_them);
    tcase = unit_case(suite, "runs");
    tcase_add_test(tcase, runs_are_what_boxes_share);
    return unit_main(suite);
}
