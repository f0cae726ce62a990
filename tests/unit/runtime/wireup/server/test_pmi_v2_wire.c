/* SPDX-License-Identifier: BSD-3-Clause */
/* test_pmi_v2_wire.c - PMI-2's frames: their lengths, and their pieces. */
#include "runtime/wireup/server/pmi_v2_wire.h"
#include "tests/unit/unit.h"

#include <stdlib.h>

/* ---- lengths ------------------------------------------------------------ */

static const struct {
    const char *bytes;
    enum pmi_v2_frame frame;
    size_t length;
    const char *why;
} frames[] = {
    { "12    cmd=barrier;", PMI_V2_WHOLE, 12, NULL },
    { "    12cmd=barrier;", PMI_V2_WHOLE, 12, NULL },
    { "  12  cmd=barrier;12    cmd", PMI_V2_WHOLE, 12, NULL },
    { "0     ", PMI_V2_WHOLE, 0, NULL },
    { "000000", PMI_V2_WHOLE, 0, NULL },
    { "", PMI_V2_PARTIAL, 0, NULL },
    { "12   ", PMI_V2_PARTIAL, 0, NULL },
    { "12    cmd=barrier", PMI_V2_PARTIAL, 12, NULL },
    { " 65536cmd=", PMI_V2_PARTIAL, 65536, NULL },
    { " 65537cmd=", PMI_V2_BROKEN, 65537,
      "a frame says that it has 65537 bytes, and 65536 are the most" },
    { "999999", PMI_V2_BROKEN, 999999,
      "a frame says that it has 999999 bytes, and 65536 are the most" },
    { "cmd=init", PMI_V2_BROKEN, 0,
      "a frame begins with \"cmd=in\" and not with its length" },
    { "      cmd", PMI_V2_BROKEN, 0,
      "a frame begins with \"      \" and not with its length" },
    { "1 2   ", PMI_V2_BROKEN, 0,
      "a frame begins with \"1 2   \" and not with its length" },
    { "-12   ", PMI_V2_BROKEN, 0,
      "a frame begins with \"-12   \" and not with its length" },
    { "12a   ", PMI_V2_BROKEN, 0,
      "a frame begins with \"12a   \" and not with its length" },
    { "12\n\x80\x01\x7f", PMI_V2_BROKEN, 0,
      "a frame begins with \"12????\" and not with its length" },
};

START_TEST(a_frame_says_how_long_it_is)
{
    char why[PMI_V2_WHY] = "";
    size_t length = 0;
    enum pmi_v2_frame frame = pmi_v2_wire_cut(
        frames[_i].bytes, strlen(frames[_i].bytes), &length, why);
    ck_assert_int_eq(frame, frames[_i].frame);
    if (frames[_i].why)
        ck_assert_str_eq(why, frames[_i].why);
    else
        ck_assert_uint_eq(length, frames[_i].length);
}
END_TEST

/* ---- pieces ------------------------------------------------------------- */

static const struct {
    const char *text;
    struct pmi_v2_request request;
} texts[] = {
    { "cmd=kvs-fence;", { "kvs-fence", "", "", "", "", "", "", "" } },
    { "cmd=kvs-put;thrid=0x7f;key=bc-0;value=#a=b c;",
      { "kvs-put", "0x7f", "bc-0", "#a=b c", "", "", "", "" } },
    { "cmd=kvs-put;key=k;value=a;;b;;;;;",
      { "kvs-put", "", "k", "a;b;;", "", "", "", "" } },
    { "cmd=kvs-put;key=k;value=;", { "kvs-put", "", "k", "", "", "", "", "" } },
    { "cmd=kvs-get;jobid=jd;srcid=-1;key=k;",
      { "kvs-get", "", "k", "", "jd", "", "", "" } },
    { "cmd=info-getnodeattr;key=k;wait=TRUE;",
      { "info-getnodeattr", "", "k", "", "", "TRUE", "", "" } },
    { "cmd=abort;isworld=TRUE;msg=enough;",
      { "abort", "", "", "", "", "", "TRUE", "enough" } },
    { "cmd=abort;exitcode=1;error_msg=enough;",
      { "abort", "", "", "", "", "", "", "enough" } },
    { "cmd=spawn;alone;=;key=k;", { "spawn", "", "k", "", "", "", "", "" } },
    { "cmd=;", { "", "", "", "", "", "", "", "" } },
};

/* Of exactly this size, that a sanitizer sees a byte too far. */
static const char *read_exactly(const char *bytes, size_t size, char **ret_text,
                                struct pmi_v2_request *ret_request)
{
    *ret_text = malloc(size ? size : 1);
    memcpy(*ret_text, bytes, size);
    return pmi_v2_wire_read(*ret_text, size, ret_request);
}

START_TEST(a_text_has_its_pieces)
{
    const struct pmi_v2_request *wanted = &texts[_i].request;
    struct pmi_v2_request got;
    char *text;
    ck_assert_ptr_null(
        read_exactly(texts[_i].text, strlen(texts[_i].text), &text, &got));
    ck_assert_str_eq(got.name, wanted->name);
    ck_assert_str_eq(got.thread, wanted->thread);
    ck_assert_str_eq(got.key, wanted->key);
    ck_assert_str_eq(got.value, wanted->value);
    ck_assert_str_eq(got.job, wanted->job);
    ck_assert_str_eq(got.wait, wanted->wait);
    ck_assert_str_eq(got.world, wanted->world);
    ck_assert_str_eq(got.message, wanted->message);
    free(text);
}
END_TEST

#define TEXT(bytes) bytes, sizeof bytes - 1
static const char no_begin[] = "a command does not begin with cmd=NAME;";
static const char no_end[] = "a command does not end with ';'";

static const struct {
    const char *bytes;
    size_t size;
    const char *fault;
} broken[] = {
    { TEXT(""), no_begin },
    { TEXT(";"), no_begin },
    { TEXT("cmd"), no_begin },
    { TEXT("cmd=kvs-fence"), no_begin },
    { TEXT("cmd=kvs-fence;;"), no_begin },
    { TEXT("key=k;cmd=kvs-get;"), no_begin },
    { TEXT("cmd=kvs-get;key=k"), no_end },
    { TEXT("cmd=kvs-get;key=k;;"), no_end },
    { TEXT("cmd=kvs-get;key=\0k;"), "a command has a NUL in it" },
};

START_TEST(a_broken_text_is_told)
{
    struct pmi_v2_request got;
    char *text;
    const char *fault =
        read_exactly(broken[_i].bytes, broken[_i].size, &text, &got);
    ck_assert_ptr_nonnull(fault);
    ck_assert_str_eq(fault, broken[_i].fault);
    free(text);
}
END_TEST

START_TEST(a_value_is_escaped)
{
    char text[8];
    ck_assert(pmi_v2_wire_escape("", text, sizeof text));
    ck_assert_str_eq(text, "");
    ck_assert(pmi_v2_wire_escape("a;b;", text, sizeof text));
    ck_assert_str_eq(text, "a;;b;;");
    ck_assert(!pmi_v2_wire_escape("a;b;c;d", text, sizeof text));
}
END_TEST

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

int main(void)
{
    Suite *suite = suite_create("pmi_v2_wire");
    TCase *tcase = unit_case(suite, "pmi_v2_wire");
    tcase_add_loop_test(tcase, a_frame_says_how_long_it_is, 0, COUNT(frames));
    tcase_add_loop_test(tcase, a_text_has_its_pieces, 0, COUNT(texts));
    tcase_add_loop_test(tcase, a_broken_text_is_told, 0, COUNT(broken));
    tcase_add_test(tcase, a_value_is_escaped);
    return unit_main(suite);
}
