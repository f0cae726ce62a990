/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_device_choice.c - whose GPUs are whose, and which platform is the
 * default, out of records made by hand. In the lists of what a process sees a
 * letter is a GPU; each process has a cpu device too, unless it says so.
 */
#include "runtime/topology/device_choice.h"
#include "runtime/topology/topology.h"
#include "runtime/topology/device_sharing.h"
#include "tests/unit/unit.h"

#include <stdio.h>

enum { MOST_DEVICES = 40, MOST_IDS = 4 };

static int settled[MOST_DEVICES], num_settled = -1;

static void settle(const int *natives, int count)
{
    for (int i = 0; i < count; i++)
        settled[i] = natives[i];
    num_settled = count;
}

static const struct jd_device_source cuda = { .platform = "cuda",
                                              .settle = settle };
static const struct jd_device_source cpu = { .platform = "cpu" };
const struct jd_device_source *const jd__device_sources[] = { &cuda, &cpu,
                                                              NULL };

/* ---- jobs made by hand -------------------------------------------------- */

struct process {
    const char *sees;   /* "abc"; natives are the places, 0 to 2 */
    const char *host;   /* NULL: "n1" */
    const char *ids;    /* local_device_ids, a digit each */
    const char *wanted; /* JD_PLATFORM */
    const char *why;    /* it has none */
    bool shares;
    bool no_cpu;
};

static void add_device(struct jd_record *r, const char *platform,
                       const char *uuid, int native)
{
    struct jd_device_record *d = &r->devices[r->num_devices++];
    snprintf(d->platform, sizeof d->platform, "%s", platform);
    snprintf(d->device.uuid, sizeof d->device.uuid, "%s", uuid);
    d->device.native = native;
}

/* The cpu devices stand among the GPUs: order between platforms is nothing. */
static void add_devices(struct jd_record *r, const struct process *p)
{
    char uuid[16];
    const char *sees = p->sees ? p->sees : "";
    for (int i = 0; sees[i]; i++) {
        snprintf(uuid, sizeof uuid, "GPU-%c", sees[i]);
        add_device(r, "cuda", uuid, i);
        if (i == 0 && !p->no_cpu)
            add_device(r, "cpu", "", 0);
    }
    if (!sees[0] && !p->no_cpu)
        add_device(r, "cpu", "", 0);
}

static void add_ids(struct jd_record *r, const char *ids)
{
    if (!ids)
        return;
    int32_t *to = (int32_t *)(uintptr_t)jd__record_device_ids(r);
    for (int i = 0; ids[i]; i++)
        to[r->num_device_ids++] = ids[i] - '0';
    strcpy(r->device_ids_source, "JD_LOCAL_DEVICE_IDS");
}

static void fill(struct jd_record *r, const struct process *p, int index)
{
    r->process_id = index;
    r->shares_devices = p->shares;
    r->facts.pid = 100 + index;
    strcpy(r->facts.host, p->host ? p->host : "n1");
    strcpy(r->wanted_platform, p->wanted ? p->wanted : "");
    if (!p->sees)
        strcpy(r->absent, "cuda");
    if (!p->sees)
        strcpy(r->why_absent, p->why ? p->why : "no driver");
    add_devices(r, p);
    add_ids(r, p->ids);
}

static struct jd_records *make(const struct process *processes, int count)
{
    size_t each = sizeof(struct jd_record) + MOST_IDS * sizeof(int32_t) +
                  MOST_DEVICES * sizeof(struct jd_device_record);
    struct jd_records *records = calloc(1, sizeof *records);
    records->count = count;
    records->items = calloc((size_t)count, sizeof *records->items);
    records->storage = calloc((size_t)count, each);
    for (int i = 0; i < count; i++) {
        records->items[i] =
            (struct jd_record *)((char *)records->storage + (size_t)i * each);
        fill(records->items[i], &processes[i], i);
    }
    return records;
}

#define PROCESSES(...)                                                         \
    make((struct process[]){ __VA_ARGS__ },                                    \
         (int)(sizeof((struct process[]){ __VA_ARGS__ }) /                     \
               sizeof(struct process)))

/* "a|b|": each process's own, in order; and behind a ":" what it only sees. */
static void describe(const struct jd_records *records, char *text)
{
    for (int i = 0; i < records->count; i++) {
        const struct jd_record *r = records->items[i];
        for (int k = 0; k < r->num_devices + r->num_unowned; k++) {
            if (k == r->num_devices)
                *text++ = ':';
            if (strcmp(r->devices[k].platform, "cuda") == 0)
                *text++ = r->devices[k].device.uuid[4];
        }
        *text++ = '|';
    }
    *text = '\0';
}

/* The choice is this, and so is the default platform. */
static void expect(struct jd_records *records, const char *own,
                   const char *platform)
{
    char text[256];
    const char *chosen;
    UNIT_OK(jd__device_choice_choose(records, &chosen));
    describe(records, text);
    ck_assert_str_eq(text, own);
    ck_assert_str_eq(chosen, platform);
    jd__records_destroy(records);
}

/* It is refused with this sentence, and the records are what they were. */
static void refuse(struct jd_records *records, jd_status status,
                   const char *sentence)
{
    char before[256], after[256];
    const char *chosen = "none";
    describe(records, before);
    UNIT_FAILS(jd__device_choice_choose(records, &chosen), status, sentence);
    describe(records, after);
    ck_assert_str_eq(before, after);
    ck_assert_str_eq(chosen, "none");
    jd__records_destroy(records);
}

/* ---- what needs no word ------------------------------------------------- */

START_TEST(one_process_has_all_that_it_sees)
{
    expect(PROCESSES({ .sees = "abcd" }), "abcd|", "cuda");
    expect(PROCESSES({ .sees = "abcd" }, { .sees = "efgh", .host = "n2" }),
           "abcd|efgh|", "cuda");
}
END_TEST

START_TEST(of_the_same_list_the_local_index_picks)
{
    expect(PROCESSES({ .sees = "abcd" }, { .sees = "abcd" }, { .sees = "abcd" },
                     { .sees = "abcd" }),
           "a:bcd|b:acd|c:abd|d:abc|", "cuda");
    expect(PROCESSES({ .sees = "abcd" }, { .sees = "abcd" }), "a:bcd|b:acd|",
           "cuda");
}
END_TEST

/* Processes of two hosts alternate. */
START_TEST(the_index_is_that_on_the_host)
{
    expect(PROCESSES({ .sees = "ab" }, { .sees = "xy", .host = "n2" },
                     { .sees = "ab" }, { .sees = "xy", .host = "n2" }),
           "a:b|x:y|b:a|y:x|", "cuda");
}
END_TEST

START_TEST(lists_apart_are_each_ones_own)
{
    expect(PROCESSES({ .sees = "ab" }, { .sees = "c" }, { .sees = "de" }),
           "ab|c|de|", "cuda");
}
END_TEST

/* As with a socket's GPUs: two that see these, two that see those. */
START_TEST(groups_share_out_what_is_theirs)
{
    expect(PROCESSES({ .sees = "ab" }, { .sees = "cd" }, { .sees = "ab" },
                     { .sees = "cd" }, { .sees = "ef" }),
           "a:b|c:d|b:a|d:c|ef|", "cuda");
}
END_TEST

/* Some launchers turn each one's list, so that its own is the first. */
START_TEST(the_same_devices_in_another_order_are_the_same)
{
    expect(PROCESSES({ .sees = "abc" }, { .sees = "bca" }, { .sees = "cab" }),
           "a:bc|b:ca|c:ab|", "cuda");
    expect(PROCESSES({ .sees = "ab" }, { .sees = "ba" }), "a:b|b:a|", "cuda");
}
END_TEST

/* What process self's platform hears; the records are taken. */
static void settle_as(int self, struct jd_records *records)
{
    const char *platform;
    struct jd_topology *topology;
    UNIT_OK(jd__device_choice_choose(records, &platform));
    records->self = self;
    UNIT_OK(jd__topology_build(records, platform, &topology));
    UNIT_OK(jd__topology_settle(topology));
    jd__topology_destroy(topology);
    jd__records_destroy(records);
}

/* It has its own name of the second GPU of the list: the native number. */
START_TEST(the_platform_hears_its_own_numbers)
{
    settle_as(1, PROCESSES({ .sees = "ab" }, { .sees = "ba" }));
    ck_assert_int_eq(num_settled, 1);
    ck_assert_int_eq(settled[0], 0);
    settle_as(0, PROCESSES({ .sees = "abcd", .ids = "31" }));
    ck_assert_int_eq(num_settled, 2);
    ck_assert_int_eq(settled[0], 3);
    ck_assert_int_eq(settled[1], 1);
    settle_as(0, PROCESSES({ .sees = NULL }));
    ck_assert_int_eq(num_settled, 0);
}
END_TEST

/* Two parts of one GPU (MIG) have one PCI address and UUIDs of their own. */
START_TEST(a_part_of_a_gpu_is_a_device)
{
    struct jd_records *records = PROCESSES({ .sees = "ab" }, { .sees = "ab" });
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 3; k++)
            strcpy(records->items[i]->devices[k].device.pci_bus_id,
                   "0000:17:00.0");
    expect(records, "a:b|b:a|", "cuda");
}
END_TEST

/* ---- fewer than processes ----------------------------------------------- */

#define FEWER                                                                  \
    "jd_initialize: on host n2 3 processes (1-2,4) see the same 2 GPUs; "      \
    "start at most 2 there, or give each GPUs of its own "                     \
    "(CUDA_VISIBLE_DEVICES, srun --gpus-per-task), or let them share "         \
    "(JD_OVERSUBSCRIBE=1), or use none (JD_PLATFORM=cpu)"

START_TEST(fewer_than_processes_is_refused_where_they_are_asked_for)
{
    refuse(PROCESSES({ .sees = "a" }, { .sees = "xy", .host = "n2" },
                     { .sees = "xy", .host = "n2", .wanted = "cuda" },
                     { .sees = "z", .host = "n2" },
                     { .sees = "xy", .host = "n2" }),
           JD_FAILED_PRECONDITION, FEWER);
    refuse(PROCESSES({ .sees = "a", .wanted = "cuda" }, { .sees = "a" }),
           JD_FAILED_PRECONDITION,
           "jd_initialize: on host n1 2 processes (0-1) see the same 1 GPU; "
           "start at most 1 there, or give each GPUs of its own "
           "(CUDA_VISIBLE_DEVICES, srun --gpus-per-task), or let them share "
           "(JD_OVERSUBSCRIBE=1), or use none (JD_PLATFORM=cpu)");
}
END_TEST

/* A first program of four processes runs on a machine with one GPU. */
START_TEST(else_the_job_is_one_of_cpus)
{
    struct jd_records *records =
        PROCESSES({ .sees = "a" }, { .sees = "xy", .host = "n2" },
                  { .sees = "xy", .host = "n2" }, { .sees = "z", .host = "n2" },
                  { .sees = "xy", .host = "n2" });
    const char *platform;
    char text[64];
    UNIT_OK(jd__device_choice_choose(records, &platform));
    describe(records, text);
    ck_assert_str_eq(text, ":a|:xy|:xy|:z|:xy|");
    ck_assert_str_eq(platform, "cpu");
    for (int i = 0; i < records->count; i++)
        ck_assert_str_eq(records->items[i]->why_absent,
                         &FEWER[strlen("jd_initialize: ")]);
    jd__records_destroy(records);
}
END_TEST

START_TEST(they_may_share)
{
    expect(PROCESSES({ .sees = "ab", .shares = true }, { .sees = "ab" },
                     { .sees = "ab" }, { .sees = "ab" }, { .sees = "ab" }),
           "a:b|b:a|a:b|b:a|a:b|", "cuda");
}
END_TEST

/* ---- lists that overlap ------------------------------------------------- */

START_TEST(lists_that_overlap_are_refused)
{
    static const char sentence[] =
        "jd_initialize: on host n1 process 0 sees 2 GPUs and process 2 sees 3, "
        "and both see GPU-b: the two lists are neither the same nor apart, so "
        "that it is nobody's; let all processes of the host see the same "
        "GPUs, or each its own (CUDA_VISIBLE_DEVICES, srun --gpus-per-task), "
        "or say which are whose (JD_LOCAL_DEVICE_IDS), or use none "
        "(JD_PLATFORM=cpu)";
    refuse(PROCESSES({ .sees = "ab" }, { .sees = "c" }, { .sees = "bde" }),
           JD_FAILED_PRECONDITION, sentence);
    refuse(PROCESSES({ .sees = "ab", .shares = true }, { .sees = "c" },
                     { .sees = "dbe" }),
           JD_FAILED_PRECONDITION, sentence);
    refuse(PROCESSES({ .sees = "ab" }, { .sees = "ab" }, { .sees = "bde" }),
           JD_FAILED_PRECONDITION, sentence);
}
END_TEST

/* ---- local_device_ids --------------------------------------------------- */

START_TEST(local_device_ids_win)
{
    expect(PROCESSES({ .sees = "abcd", .ids = "3" },
                     { .sees = "abcd", .ids = "0" }),
           "d:abc|a:bcd|", "cuda");
    expect(PROCESSES({ .sees = "abcd", .ids = "31" }), "db:ac|", "cuda");
    expect(
        PROCESSES({ .sees = "ab", .ids = "0" }, { .sees = "bcd", .ids = "12" }),
        "a:b|cd:b|", "cuda");
}
END_TEST

START_TEST(they_have_no_effect_without_a_gpu)
{
    expect(PROCESSES({ .ids = "7" }), "|", "cpu");
}
END_TEST

START_TEST(they_are_checked)
{
    refuse(PROCESSES({ .sees = "ab" }, { .sees = "cd", .ids = "02" }),
           JD_INVALID_ARGUMENT,
           "jd_initialize: JD_LOCAL_DEVICE_IDS of process 1 (pid 101 on n1) "
           "names the GPU 2, but the process sees 2, which are 0 to 1; "
           "correct it or leave it out");
    refuse(PROCESSES({ .sees = "a", .ids = "1" }), JD_INVALID_ARGUMENT,
           "jd_initialize: JD_LOCAL_DEVICE_IDS of process 0 (pid 100 on n1) "
           "names the GPU 1, but the process sees 1, which is 0; correct it "
           "or leave it out");
    refuse(PROCESSES({ .sees = "ab", .ids = "101" }), JD_INVALID_ARGUMENT,
           "jd_initialize: JD_LOCAL_DEVICE_IDS of process 0 (pid 100 on n1) "
           "names the GPU 1 twice; name each once");
}
END_TEST

START_TEST(a_gpu_that_is_taken_twice_is_named)
{
    refuse(PROCESSES({ .sees = "abc", .ids = "01" },
                     { .sees = "cba", .ids = "1" }),
           JD_FAILED_PRECONDITION,
           "jd_initialize: process 0 (pid 100 on n1, by JD_LOCAL_DEVICE_IDS) "
           "and process 1 (pid 101 on n1, by JD_LOCAL_DEVICE_IDS) take the "
           "same GPU, GPU-b; give each its own (JD_LOCAL_DEVICE_IDS, "
           "CUDA_VISIBLE_DEVICES), or let them share (JD_OVERSUBSCRIBE=1)");
    expect(PROCESSES({ .sees = "abc", .ids = "01" },
                     { .sees = "cba", .ids = "1", .shares = true }),
           "ab:c|b:ca|", "cuda");
}
END_TEST

/* Two containers of one machine have host names of their own. */
START_TEST(also_where_hosts_have_other_names)
{
    refuse(PROCESSES({ .sees = "ab", .host = "pod1" },
                     { .sees = "ba", .host = "pod2" }),
           JD_FAILED_PRECONDITION,
           "jd_initialize: process 0 (pid 100 on pod1) and process 1 (pid 101 "
           "on pod2) take the same GPU, GPU-a; give each its own "
           "(JD_LOCAL_DEVICE_IDS, CUDA_VISIBLE_DEVICES), or let them share "
           "(JD_OVERSUBSCRIBE=1)");
}
END_TEST

/* ---- the default platform ----------------------------------------------- */

START_TEST(it_is_the_one_that_every_process_has)
{
    expect(PROCESSES({ .sees = "ab" }, { .sees = NULL }), "ab||", "cpu");
    expect(PROCESSES({ .sees = "ab" }, { .sees = NULL, .host = "n2" }), "ab||",
           "cpu");
    expect(PROCESSES({ .sees = NULL }), "|", "cpu");
}
END_TEST

START_TEST(it_may_be_said)
{
    expect(PROCESSES({ .sees = "a", .wanted = "cpu" }, { .sees = "b" }), "a|b|",
           "cpu");
    expect(PROCESSES({ .sees = "a" }, { .sees = "b", .wanted = "cuda" }),
           "a|b|", "cuda");
}
END_TEST

START_TEST(what_is_said_must_be_there)
{
    refuse(PROCESSES({ .why = "no driver" }, { .sees = "a", .wanted = "cuda" },
                     { .why = "no GPU" }, { .why = "no driver" }, { .why = "" },
                     { .why = "no driver" }),
           JD_FAILED_PRECONDITION,
           "jd_initialize: JD_PLATFORM is cuda, but 5 of 6 processes have no "
           "cuda device: processes 0,3,5: no driver; process 2: no GPU; "
           "process 4: it does not say why; correct that, or leave "
           "JD_PLATFORM out");
    refuse(PROCESSES({ .why = "no module", .wanted = "cuda" }),
           JD_FAILED_PRECONDITION,
           "jd_initialize: JD_PLATFORM is cuda, but 1 of 1 processes has no "
           "cuda device: no module; correct that, or leave JD_PLATFORM out");
    refuse(PROCESSES({ .why = "1", .wanted = "cuda" }, { .why = "2" },
                     { .why = "3" }, { .why = "4" }, { .why = "5" },
                     { .why = "6" }),
           JD_FAILED_PRECONDITION,
           "jd_initialize: JD_PLATFORM is cuda, but 6 of 6 processes have no "
           "cuda device: process 0: 1; process 1: 2; process 2: 3; process 3: "
           "4; and 2 more for other reasons; correct that, or leave "
           "JD_PLATFORM out");
}
END_TEST

START_TEST(all_say_the_same)
{
    refuse(PROCESSES({ .sees = "a" }, { .sees = "b", .wanted = "cuda" },
                     { .wanted = "cpu", .host = "n2" }),
           JD_INVALID_ARGUMENT,
           "jd_initialize: JD_PLATFORM is cuda in process 1 (pid 101 on n1) "
           "and cpu in process 2 (pid 102 on n2); give all processes the "
           "same");
}
END_TEST

/* A job of cpu devices is not ended by GPUs that it does not use. */
START_TEST(what_is_not_the_default_may_not_be_shared_out)
{
    struct jd_records *records = PROCESSES({ .sees = "a" }, { .sees = "a" },
                                           { .sees = NULL, .host = "n2" });
    const char *platform;
    char text[64];
    UNIT_OK(jd__device_choice_choose(records, &platform));
    describe(records, text);
    ck_assert_str_eq(text, ":a|:a||");
    ck_assert_str_eq(platform, "cpu");
    ck_assert_str_eq(records->items[1]->absent, "cuda");
    ck_assert_ptr_eq(strstr(records->items[1]->why_absent,
                            "on host n1 2 processes (0-1) see the same 1 GPU; "
                            "start"),
                     records->items[1]->why_absent);
    ck_assert_str_eq(records->items[2]->why_absent, "no driver");
    jd__records_destroy(records);
    expect(PROCESSES({ .sees = "a", .wanted = "cpu" }, { .sees = "a" }),
           ":a|:a|", "cpu");
}
END_TEST

/* No process has what another has. */
START_TEST(there_may_be_none)
{
    struct jd_records *records =
        PROCESSES({ .sees = "a", .no_cpu = true }, { .sees = NULL });
    const char *platform = "";
    UNIT_OK(jd__device_choice_choose(records, &platform));
    ck_assert_ptr_null(platform);
    jd__records_destroy(records);
}
END_TEST

static TCase *sharing_case(Suite *suite)
{
    TCase *sharing = unit_case(suite, "sharing");
    tcase_add_test(sharing, one_process_has_all_that_it_sees);
    tcase_add_test(sharing, of_the_same_list_the_local_index_picks);
    tcase_add_test(sharing, the_index_is_that_on_the_host);
    tcase_add_test(sharing, lists_apart_are_each_ones_own);
    tcase_add_test(sharing, groups_share_out_what_is_theirs);
    tcase_add_test(sharing, the_same_devices_in_another_order_are_the_same);
    tcase_add_test(sharing, the_platform_hears_its_own_numbers);
    tcase_add_test(sharing, a_part_of_a_gpu_is_a_device);
    tcase_add_test(sharing,
                   fewer_than_processes_is_refused_where_they_are_asked_for);
    tcase_add_test(sharing, else_the_job_is_one_of_cpus);
    tcase_add_test(sharing, they_may_share);
    tcase_add_test(sharing, lists_that_overlap_are_refused);
    return sharing;
}

int main(void)
{
    Suite *suite = suite_create("device_choice");
    sharing_case(suite);
    TCase *ids = unit_case(suite, "local_device_ids");
    tcase_add_test(ids, local_device_ids_win);
    tcase_add_test(ids, they_have_no_effect_without_a_gpu);
    tcase_add_test(ids, they_are_checked);
    tcase_add_test(ids, a_gpu_that_is_taken_twice_is_named);
    tcase_add_test(ids, also_where_hosts_have_other_names);
    TCase *platform = unit_case(suite, "platform");
    tcase_add_test(platform, it_is_the_one_that_every_process_has);
    tcase_add_test(platform, it_may_be_said);
    tcase_add_test(platform, what_is_said_must_be_there);
    tcase_add_test(platform, all_say_the_same);
    tcase_add_test(platform, what_is_not_the_default_may_not_be_shared_out);
    tcase_add_test(platform, there_may_be_none);
    return unit_main(suite);
}
