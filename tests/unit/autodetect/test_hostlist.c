/* SPDX-License-Identifier: BSD-3-Clause */
/* test_hostlist.c - Slurm's node lists, and scontrol's word on them. */
#include "autodetect/hostlist.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

/* The names, each followed by a blank; the caller frees it. */
static char *expand(const char *list)
{
    struct jd_hostlist hosts;
    char *joined = NULL;
    size_t size = 0;
    UNIT_OK(jd__hostlist_expand(list, "LIST", &hosts));
    FILE *file = open_memstream(&joined, &size);
    for (size_t i = 0; i < hosts.count; i++)
        fprintf(file, "%s ", hosts.names[i]);
    fclose(file);
    jd__hostlist_finish(&hosts);
    return joined;
}

static void expect(const char *list, const char *names)
{
    char *joined = expand(list);
    ck_assert_str_eq(joined, names);
    free(joined);
}

START_TEST(plain_names)
{
    expect("n1", "n1 ");
    expect("login,n1-ib,a.b.example.org", "login n1-ib a.b.example.org ");
    expect("7", "7 ");
}
END_TEST

START_TEST(ranges)
{
    expect("n[1-3]", "n1 n2 n3 ");
    expect("n[001-003,7]-ib", "n001-ib n002-ib n003-ib n7-ib ");
    expect("node[007]", "node007 ");
    expect("n[9-11]", "n9 n10 n11 ");
    expect("n[099-101]", "n099 n100 n101 ");
    expect("n[1-03]", "n1 n2 n3 ");
    expect("[1-2]", "1 2 ");
    expect("a[1-2],b,c[3]", "a1 a2 b c3 ");
}
END_TEST

START_TEST(several_brackets)
{
    expect("rack[1-2]node[03-04]",
           "rack1node03 rack1node04 rack2node03 rack2node04 ");
    expect("a[1,3]b[1-2]c[5]d", "a1b1c5d a1b2c5d a3b1c5d a3b2c5d ");
    expect("n[1][2]", "n12 ");
}
END_TEST

static void refuse(const char *list, size_t offset, const char *why)
{
    struct jd_hostlist hosts;
    char sentence[512];
    snprintf(sentence, sizeof sentence,
             "LIST is \"%s\", but at offset %zu %s; it must be a node list as "
             "Slurm writes it, n[001-003,7]",
             list, offset, why);
    UNIT_FAILS(jd__hostlist_expand(list, "LIST", &hosts), JD_INVALID_ARGUMENT,
               sentence);
}

START_TEST(bad_lists_have_an_offset)
{
    refuse("", 0, "a name is missing");
    refuse("a,", 2, "a name is missing");
    refuse("a,,b", 2, "a name is missing");
    refuse("n[1", 1, "a '[' has no ']'");
    refuse("n1]", 2, "a ']' has no '['");
    refuse("n[]", 2, "a number of 1 to 18 digits is missing");
    refuse("n[1,]", 4, "a number of 1 to 18 digits is missing");
    refuse("n[1-]", 4, "a number of 1 to 18 digits is missing");
    refuse("n[a]", 2, "a number of 1 to 18 digits is missing");
    refuse("n[-1]", 2, "a number of 1 to 18 digits is missing");
    refuse("n[1111111111111111111]", 2,
           "a number of 1 to 18 digits is missing");
    refuse("n[1-2-3]", 5, "neither ',' nor '-' nor ']' follows a number");
    refuse("n[2-1]", 4, "a range ends below its beginning");
    refuse("a b", 1, "a character stands that no host name has");
    refuse("(null)", 0, "a character stands that no host name has");
    refuse("n*", 1, "a character stands that no host name has");
    refuse("n;m", 1, "a character stands that no host name has");
    refuse("$(x)", 0, "a character stands that no host name has");
    refuse("n%s", 1, "a character stands that no host name has");
    refuse("n{1-3}", 1, "a character stands that no host name has");
    refuse("^n", 0, "a character stands that no host name has");
    refuse("a\nb", 1, "a character stands that no host name has");
    refuse("n[1[2]]", 3, "neither ',' nor '-' nor ']' follows a number");
}
END_TEST

START_TEST(memory_is_bounded)
{
    struct jd_hostlist hosts;
    refuse("n[0-999999999999]", 2, "a range has more than 65536 numbers");
    refuse("n[0-65536]", 2, "a range has more than 65536 numbers");
    refuse("a[0-1000]b[0-1000]c[0-1000]", 27,
           "the list has more than 65536 names");
    refuse("a[1][1][1][1][1][1][1][1][1]", 25,
           "a name has more than 8 brackets");
    UNIT_OK(jd__hostlist_expand("n[0-65535]", "LIST", &hosts));
    ck_assert_uint_eq(hosts.count, 65536);
    ck_assert_str_eq(hosts.names[65535], "n65535");
    jd__hostlist_finish(&hosts);
    ck_assert_ptr_null(hosts.names);
}
END_TEST

START_TEST(names_are_bounded)
{
    char list[600];
    struct jd_hostlist hosts;
    memset(list, 'a', sizeof list);
    list[255] = '\0';
    UNIT_OK(jd__hostlist_expand(list, "LIST", &hosts));
    jd__hostlist_finish(&hosts);
    list[255] = 'a';
    list[256] = '\0';
    ck_assert_int_eq(jd__hostlist_expand(list, "LIST", &hosts),
                     JD_INVALID_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(jd_error_message(),
                                 "aaa...\", but at offset 255 a name has more "
                                 "than 255 characters; "));
    strcpy(list + 250, "[000001]");
    ck_assert_int_eq(jd__hostlist_expand(list, "LIST", &hosts),
                     JD_INVALID_ARGUMENT);
}
END_TEST

/* ---- scontrol ----------------------------------------------------------- */

/* scontrol asks for a configuration even where it needs nothing of it. */
static void write_configuration(char *folder)
{
    char path[128];
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/slurm.conf", folder);
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    fputs("ClusterName=test\nSlurmctldHost=localhost\n", file);
    fclose(file);
    UNIT_OK(jd__env_export("SLURM_CONF", path));
}

/* What scontrol says, in the form of expand(); the caller frees it. */
static char *ask_scontrol(const char *list)
{
    char command[256], name[256], *joined = NULL;
    size_t size = 0;
    snprintf(command, sizeof command, "scontrol show hostnames '%s'", list);
    FILE *answer = popen(command, "r");
    FILE *file = open_memstream(&joined, &size);
    ck_assert_ptr_nonnull(answer);
    while (fscanf(answer, "%255s", name) == 1)
        fprintf(file, "%s ", name);
    fclose(file);
    int status = pclose(answer);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "%s", command);
    return joined;
}

/* Suffixes are not here: scontrol of Slurm 22.05 does not take them. */
static const char *const lists_for_scontrol[] = {
    "n1",
    "a,b,c",
    "n1-ib,n2.example.org",
    "node[007]",
    "n[001-003,7]",
    "n[9-11]",
    "n[09-11]",
    "n[099-101]",
    "n[1-03]",
    "n[01-3]",
    "n[08-12,20]",
    "n[1,1]",
    "n[1-2],n[1-2]",
    "rack[1-2]node[03-04]",
    "rack[1,3]node[03-04,9],login[1-2]",
    "n[000-120]",
};

START_TEST(scontrol_agrees)
{
    char folder[] = "/tmp/jd-test-hostlist-XXXXXX", path[64];
    if (system("command -v scontrol >/dev/null 2>&1") != 0) {
        fprintf(stderr, "# scontrol_agrees: skipped, scontrol is not "
                        "installed\n");
        return;
    }
    write_configuration(folder);
    size_t count = sizeof lists_for_scontrol / sizeof *lists_for_scontrol;
    for (size_t i = 0; i < count; i++) {
        char *theirs = ask_scontrol(lists_for_scontrol[i]);
        char *ours = expand(lists_for_scontrol[i]);
        ck_assert_str_eq(ours, theirs);
        free(ours);
        free(theirs);
    }
    snprintf(path, sizeof path, "%s/slurm.conf", folder);
    unlink(path);
    rmdir(folder);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("hostlist");
    TCase *names = unit_case(suite, "names");
    tcase_add_test(names, plain_names);
    tcase_add_test(names, ranges);
    tcase_add_test(names, several_brackets);
    TCase *refused = unit_case(suite, "refused");
    tcase_add_test(refused, bad_lists_have_an_offset);
    tcase_add_test(refused, memory_is_bounded);
    tcase_add_test(refused, names_are_bounded);
    TCase *slurm = unit_case(suite, "slurm");
    tcase_set_timeout(slurm, 60);
    tcase_add_test(slurm, scontrol_agrees);
    return unit_main(suite);
}
