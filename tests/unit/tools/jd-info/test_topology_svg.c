/* SPDX-License-Identifier: BSD-3-Clause */
/* test_topology_svg.c - the picture that jd-info draws of jobs made by hand. */
#include "tools/jd-info/topology_svg.h"
#include "tests/unit/job.h"

/* malloc'ed; the records are taken. */
static char *draw(struct jd_records *records)
{
    struct jd_topology *topology = job_topology(records);
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    UNIT_OK(topology_svg_print(out, topology));
    fclose(out);
    jd__topology_destroy(topology);
    return text;
}

static void expect_count(const char *text, const char *part, int count)
{
    ck_assert_msg(unit_count_of(text, part) == count,
                  "%d times \"%s\", not %d, in:\n%.3000s",
                  unit_count_of(text, part), part, count, text);
}

START_TEST(each_process_is_a_box)
{
    struct jd_records *records =
        JOB_RECORDS({ .id = 0, .devices = "cc", .host = "one" },
                    { .id = 1, .devices = "c", .host = "one" },
                    { .id = 2, .devices = "c", .host = "two" });
    strcpy(records->items[1]->facts.cores, "4-7");
    char *text = draw(records);
    ck_assert(strncmp(text, "<svg ", 5) == 0 || strstr(text, "\n<svg "));
    expect_count(text, "job: 2 hosts, ", 1);
    expect_count(text, ">host one: ", 1);
    expect_count(text, ">host two: ", 1);
    expect_count(text, ">process ", 3);
    expect_count(text, ">process 1, prog<", 1);
    expect_count(text, ">cores 4-7<", 1);
    expect_count(text, ">cpu 0: model<", 3);
    expect_count(text, ">cpu 1: model<", 1);
    expect_count(text, "<rect ", 1 + 3); /* the ground; no second of host two */
    free(text);
}
END_TEST

/* The rest of many devices is a number, and of many hosts some are left out. */
START_TEST(what_is_much_is_cut)
{
    struct job_process processes[40];
    char names[40][16];
    for (int i = 0; i < 40; i++) {
        snprintf(names[i], sizeof names[i], "n%02d", i);
        processes[i] = (struct job_process){ .id = i, .host = names[i] };
    }
    processes[0].devices = "cccccccccccc";
    char *text = draw(job_records(processes, 40));
    expect_count(text, ">and 4 more<", 1);
    expect_count(text, ">cpu 7: model<", 1);
    expect_count(text, ">cpu 8: model<", 0);
    expect_count(text, ">host n00: ", 1);
    expect_count(text, ">host n39: ", 1);
    expect_count(text, ">host n20: ", 0);
    free(text);
}
END_TEST

/* A host's name is no SVG. */
START_TEST(names_are_words)
{
    struct jd_records *records =
        JOB_RECORDS({ .id = 0, .devices = "c", .host = "<b>&" });
    char *text = draw(records);
    expect_count(text, ">host &lt;b&gt;&amp;: ", 1);
    free(text);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("topology_svg");
    TCase *tcase = unit_case(suite, "topology_svg");
    tcase_add_test(tcase, each_process_is_a_box);
    tcase_add_test(tcase, what_is_much_is_cut);
    tcase_add_test(tcase, names_are_words);
    return unit_main(suite);
}
