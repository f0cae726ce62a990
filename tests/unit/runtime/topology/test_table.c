/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_table.c - the job as one piece of memory: what it takes for each
 * process, there and in the process that opens it, and what stands in it.
 *
 * TEST_PROCESSES=100000 counts the bytes of a job of that size.
 */
#include "tests/unit/job.h"

#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

/* A platform, then one that nobody has. */
static const struct jd_device_source cpu = { .platform = "cpu" };
static const struct jd_device_source gpu = { .platform = "gpu" };

const struct jd_device_source *const jd__device_sources[] = { &cpu, &gpu,
                                                              NULL };

enum { TABLE_BYTES = 512, OWN_BYTES = 16 }; /* for each process */

/* ---- jobs --------------------------------------------------------------- */

/* Texts as long as they are. */
static void describe(struct jd_record *r, int process, int host)
{
    struct jd_local_facts *facts = &r->facts;
    struct jd_local_device *device = &r->devices[0].device;
    snprintf(facts->host, sizeof facts->host, "rack-%03d-node-%05d.site.org",
             host / 64, host);
    snprintf(facts->boot_id, sizeof facts->boot_id, "%08x-ebc4-4f3a-8d2c-%012x",
             host * 7919, host);
    strcpy(facts->caches, "L1d 48 KiB, L2 2 MiB, L3 260 MiB");
    snprintf(facts->cores, sizeof facts->cores, "%d-%d", process % 4 * 16,
             process % 4 * 16 + 15);
    snprintf(device->uuid, sizeof device->uuid, "GPU-%08x-7d4e-11ee-%016x",
             process, process);
    snprintf(device->pci_bus_id, sizeof device->pci_bus_id, "0000:%02x:00.0",
             process % 4);
    strcpy(device->kind, "NVIDIA H100 80GB HBM3");
    strcpy(device->detail, "compute capability 9.0, reaches all others");
    device->native = process % 4;
    strcpy(r->absent, "gpu");
    strcpy(r->why_absent, "no NVIDIA driver is loaded: libcuda.so.1 is absent");
}

static struct jd_records *make_job(int count, int per_host)
{
    struct job_process *processes = calloc((size_t)count, sizeof *processes);
    for (int i = 0; i < count; i++)
        processes[i].id = i;
    struct jd_records *records = job_records(processes, count);
    for (int i = 0; i < count; i++)
        describe(records->items[i], i, i / per_host);
    free(processes);
    return records;
}

static struct jd_table *make_table(int count, int per_host)
{
    struct jd_table *table;
    struct jd_records *records = make_job(count, per_host);
    UNIT_OK(jd__table_create(records, NULL, &table));
    jd__records_destroy(records);
    return table;
}

/* ---- what it takes ------------------------------------------------------ */

/* Of the pages that some of the bytes are in, those that are there. */
static size_t resident(const void *memory, size_t bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), count = 0;
    size_t pages = (bytes + page - 1) / page;
    unsigned char *marks = malloc(pages);
    ck_assert_int_eq(mincore((void *)(uintptr_t)memory, bytes, marks), 0);
    for (size_t i = 0; i < pages; i++)
        count += marks[i] & 1;
    free(marks);
    return count * page;
}

static size_t allocated(void)
{
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

/* What a process has of its own. */
static size_t own_bytes(const struct jd_topology *t)
{
    return resident(t->pointers, t->list_bytes);
}

static void expect_bytes(int count, int per_host)
{
    struct jd_table *table = make_table(count, per_host);
    struct jd_topology *t;
    size_t before = allocated(), most = (size_t)OWN_BYTES * (size_t)count;
    UNIT_OK(jd__topology_open(table, count / 2, &t));
    size_t own = allocated() - before + own_bytes(t);
    ck_assert_uint_le(own, most);
    ck_assert_uint_le(table->bytes, (uint64_t)TABLE_BYTES * (uint64_t)count);
    jd__topology_list(t);
    size_t listed = allocated() - before + own_bytes(t);
    ck_assert_uint_ge(listed, (size_t)count * sizeof(jd_device *));
    ck_assert_uint_le(listed, most);
    printf("# %d processes, %d per host: for each %.1f B in the table, %.1f of "
           "one's own, and %.1f with the list of devices\n",
           count, per_host, (double)table->bytes / count, (double)own / count,
           (double)listed / count);
    jd__topology_destroy(t);
}

START_TEST(bytes_for_each_process)
{
    expect_bytes(1000, 1);
    expect_bytes(1000, 4);
    expect_bytes(20000, 1);
    expect_bytes(20000, 128);
}
END_TEST

START_TEST(bytes_of_a_job_of_the_given_size)
{
    const char *count = getenv("TEST_PROCESSES");
    if (count)
        expect_bytes(atoi(count), 8);
}
END_TEST

/* ---- what stands in it -------------------------------------------------- */

START_TEST(every_process_and_device_is_found)
{
    enum { COUNT = 1000, EACH = 3 };
    struct jd_topology *t;
    char uuid[64];
    UNIT_OK(jd__topology_open(make_table(COUNT, EACH), 500, &t));
    ck_assert_int_eq(t->num_hosts, (COUNT + EACH - 1) / EACH);
    for (int i = 0, first; i < COUNT; i++) {
        ck_assert_int_eq(t->processes[i].host, i / EACH);
        ck_assert_int_eq(t->processes[i].local_index, i % EACH);
        ck_assert_int_eq(jd__topology_devices_of(t, 0, i, &first), 1);
        ck_assert_int_eq(first, i);
        snprintf(uuid, sizeof uuid, "GPU-%08x-7d4e-11ee-%016x", i, i);
        ck_assert_str_eq(jd__topology_text(t, t->rows[i].uuid), uuid);
    }
    jd__topology_destroy(t);
}
END_TEST

/* The same at another address, where its structs are not right. */
static struct jd_table *move(struct jd_table *table)
{
    struct jd_table *copy = jd__table_allocate(table->bytes);
    memcpy(copy, table, table->bytes);
    jd__table_destroy(table);
    return copy;
}

static void expect_list(const struct jd_topology *t)
{
    const struct jd_device_list *list = &t->platforms[0];
    for (int i = 0; i < list->count; i++) {
        const jd_device *device = list->devices[i];
        ck_assert_int_eq(device->process_index, i);
        ck_assert_int_eq(device->id, (int64_t)i << 17);
        ck_assert_str_eq(device->platform, "cpu");
        ck_assert_str_eq(device->host, jd__topology_host_name(t, i / 4));
        ck_assert_ptr_eq(jd__topology_row(t, device), &t->rows[i]);
        ck_assert(jd__topology_has_device(t, device));
    }
    ck_assert(!jd__topology_has_device(t, NULL));
    ck_assert(!jd__topology_has_device(t, list->devices[list->count - 1] + 1));
    ck_assert(!jd__topology_has_device(t, (void *)&list->devices[0]->host));
}

/* Takes a table of 4 processes on each host. */
static void expect_lists(struct jd_table *table, bool is_at_base)
{
    struct jd_topology *t;
    UNIT_OK(jd__topology_open(table, 500, &t));
    struct jd_device_list *list = &t->platforms[0];
    const jd_device *own = list->local[0];
    ck_assert_int_eq(list->num_local, 1);
    ck_assert_int_eq(own->process_index, 500);
    ck_assert_str_eq(own->host, jd__topology_host_name(t, 500 / 4));
    ck_assert_ptr_null(list->devices[0]);
    ck_assert_int_eq(t->own_devices == NULL, is_at_base);
    jd__topology_list(t);
    ck_assert_ptr_eq(list->devices[500], own);
    expect_list(t);
    jd__topology_destroy(t);
}

/* Before anybody asks, the local ones are the only ones; what was given then
 * stays what it is. */
START_TEST(lists_are_made_when_they_are_asked_for)
{
    expect_lists(make_table(1000, 4), true);
}
END_TEST

START_TEST(a_table_can_be_moved)
{
    expect_lists(move(make_table(1000, 4)), false);
}
END_TEST

START_TEST(who_sees_what_it_does_not_use)
{
    struct jd_records *records =
        JOB_RECORDS({ .id = 0, .devices = "ccc" }, { .id = 1, .devices = "c" });
    struct jd_topology *t;
    records->items[0]->num_devices = 1;
    records->items[0]->num_unowned = 2;
    UNIT_OK(jd__topology_build(records, NULL, &t));
    ck_assert_str_eq(jd__topology_unowned(t, 0, 0), "0-1");
    ck_assert_str_eq(jd__topology_unowned(t, 0, 1), "0-2");
    ck_assert_ptr_null(jd__topology_unowned(t, 0, 2));
    ck_assert_ptr_null(jd__topology_unowned(t, 1, 0));
    jd__topology_destroy(t);
    jd__records_destroy(records);
}
END_TEST

START_TEST(why_there_are_none)
{
    struct jd_topology *t;
    UNIT_OK(jd__topology_open(make_table(3, 1), 0, &t));
    struct jd_absent absent = jd__topology_absent(t);
    ck_assert_int_eq(jd__absent_count(&absent, "cpu"), 0);
    ck_assert_int_eq(jd__absent_count(&absent, "gpu"), 3);
    char *text = jd__absent_describe(&absent, "gpu");
    ck_assert_str_eq(text, "processes 0-2: no NVIDIA driver is loaded: "
                           "libcuda.so.1 is absent");
    free(text);
    text = jd__absent_describe(&absent, "fpga");
    ck_assert_str_eq(text, "processes 0-2: it does not say why");
    free(text);
    jd__topology_destroy(t);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("table");
    TCase *bytes = unit_case(suite, "bytes");
    tcase_add_test(bytes, bytes_for_each_process);
    tcase_add_test(bytes, bytes_of_a_job_of_the_given_size);
    TCase *rows = unit_case(suite, "rows");
    tcase_add_test(rows, every_process_and_device_is_found);
    tcase_add_test(rows, lists_are_made_when_they_are_asked_for);
    tcase_add_test(rows, a_table_can_be_moved);
    tcase_add_test(rows, who_sees_what_it_does_not_use);
    tcase_add_test(rows, why_there_are_none);
    return unit_main(suite);
}
