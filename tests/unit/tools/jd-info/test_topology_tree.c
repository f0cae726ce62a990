/* SPDX-License-Identifier: BSD-3-Clause */
/* test_topology_tree.c - what jd-info prints of jobs made by hand. */
#include "tests/unit/job.h"
#include "tools/jd-info/topology_tree.h"

enum { HOSTS = 1000, EACH = 4 };

/* malloc'ed; the records are taken. */
static char *print(struct jd_records *records)
{
    struct jd_topology *topology = job_topology(records);
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    ck_assert(topology_tree_print(out, topology));
    fclose(out);
    jd__topology_destroy(topology);
    return text;
}

static int count_lines(const char *text)
{
    int lines = 0;
    while ((text = strchr(text, '\n'))) {
        text++;
        lines++;
    }
    return lines;
}

/* One more line says why there are no GPUs. */
static void expect_lines(char *text, int lines, const char *expected)
{
    ck_assert(strstr(text, "\nno cuda devices: process"));
    ck_assert_msg(strstr(text, expected), "no \"%s\" in:\n%.2000s", expected,
                  text);
    ck_assert_int_eq(count_lines(text), lines + 1);
    free(text);
}

/* So many hosts of some processes each, "node0001" the first. */
static struct jd_records *make_hosts(int hosts, int each)
{
    int count = hosts * each;
    struct job_process *processes = calloc((size_t)count, sizeof *processes);
    char(*names)[16] = calloc((size_t)hosts, sizeof *names);
    for (int i = 0; i < count; i++) {
        snprintf(names[i / each], sizeof *names, "node%04d", i / each + 1);
        processes[i] = (struct job_process){ .id = i, .host = names[i / each] };
    }
    struct jd_records *records = job_records(processes, count);
    for (int i = 0; i < count; i++) {
        struct jd_local_facts *facts = &records->items[i]->facts;
        facts->num_cores = facts->host_cores_allowed = 8;
        facts->num_packages = facts->num_numa_nodes = 1;
        facts->num_threads = 16;
        facts->cores_allowed = 2;
        facts->memory_bytes = UINT64_C(64) << 30;
        strcpy(facts->caches, "L3 32 MiB");
        strcpy(facts->cores, "0-1");
    }
    free(processes);
    free(names);
    return records;
}

#define MACHINE                                                                \
    "1 package, 1 NUMA node, 8 cores, 16 hardware threads, 8 allowed, "        \
    "64.0 GiB, L3 32 MiB"
#define EACH_OF                                                                \
    ": 4 processes each, 4 cpu devices (model), 2 cores allowed for "          \
    "each, " MACHINE

START_TEST(hosts_that_look_alike_are_one_line)
{
    expect_lines(print(make_hosts(HOSTS, EACH)), 2,
                 "job: 1000 hosts, 1000 slices, 4000 processes, 4000 cpu "
                 "devices\n"
                 "hosts node[0001-1000]" EACH_OF "; processes 0-3999\n");
}
END_TEST

/* One line each for the two parts, and the odd one as in a small job. */
START_TEST(others_have_lines_of_their_own)
{
    struct jd_records *records = make_hosts(HOSTS, EACH);
    for (int i = 0; i < HOSTS * EACH; i++)
        if (i / EACH == 7)
            strcpy(records->items[i]->devices[0].device.kind, "odd");
        else if (i / EACH % 2)
            records->items[i]->facts.memory_bytes /= 2;
    char *text = print(records);
    ck_assert(strstr(text, "hosts node[0001,0003,0005,0007,0009,"));
    ck_assert(strstr(text, "hosts node[0002,0004,0006,0010,"));
    ck_assert(strstr(text, "; processes 0-3,8-11,16-19,24-27,32-35,"));
    expect_lines(text, 3 + 1 + EACH * 2,
                 "\nhost node0008: " MACHINE "\n"
                 "  process 28 (local 0, slice 7, pid 1028, prog): 2 cores "
                 "allowed (0-1)\n"
                 "    device 3670016: cpu 0, odd");
}
END_TEST

START_TEST(few_hosts_are_printed_one_by_one)
{
    expect_lines(print(make_hosts(TOPOLOGY_TREE_FEW_HOSTS, 1)),
                 1 + 3 * TOPOLOGY_TREE_FEW_HOSTS,
                 "host node0008: " MACHINE "\n"
                 "  process 7 (local 0, slice 7, pid 1007, prog): 2 cores "
                 "allowed (0-1)\n    device 917504: cpu 0, model");
    expect_lines(print(make_hosts(TOPOLOGY_TREE_FEW_HOSTS + 1, 1)), 2,
                 "hosts node[0001-0009]: 1 process each, 1 cpu device (model), "
                 "2 cores allowed for each, " MACHINE "; processes 0-8\n");
}
END_TEST

/* What differs inside a host is said, too. */
START_TEST(uneven_processes_of_a_host)
{
    struct jd_records *records = make_hosts(10, 2);
    for (int i = 0; i < 20; i += 2) {
        records->items[i]->facts.cores_allowed = 1;
        records->items[i]->devices[0].device.memory_bytes = 1 << 30;
    }
    expect_lines(print(records), 2,
                 "2 processes each, 1 cpu device (model, 1.0 GiB), 1 cpu "
                 "device (model), 1 to 2 cores allowed for each, ");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("topology_tree");
    TCase *tcase = unit_case(suite, "jobs");
    tcase_add_test(tcase, hosts_that_look_alike_are_one_line);
    tcase_add_test(tcase, others_have_lines_of_their_own);
    tcase_add_test(tcase, few_hosts_are_printed_one_by_one);
    tcase_add_test(tcase, uneven_processes_of_a_host);
    return unit_main(suite);
}
