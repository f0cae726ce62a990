/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_records.c - what the processes of a job say of themselves, gathered
 * and held against each other. The records are made by hand, and gathered by
 * an MPI of the test's own; no MPI is started.
 */
#include "runtime/mpi/library.h"
#include "tests/unit/job.h"

/* ---- a played MPI of two processes -------------------------------------- */

enum { ENVELOPE = 8 }; /* bytes before each record */

static struct jd_record *played; /* both processes send this one */
static int played_size;          /* the bytes that both say */
static int played_result;
static unsigned played_rank; /* the other's */

static int play_sizes(int *all)
{
    all[0] = all[1] = played_size;
    return MPI_SUCCESS;
}

/* The second is this process; the first sends the same but for its rank. */
static int play_data(const void *data, int bytes, char *all, const int *counts,
                     const int *offsets)
{
    ck_assert_int_eq(bytes, ENVELOPE + (int)played->bytes);
    for (int i = 0; i < 2 && played_result == MPI_SUCCESS; i++) {
        ck_assert_int_eq(counts[i], played_size);
        memcpy(all + offsets[i], data, (size_t)bytes);
        ((struct jd_record *)(void *)(all + offsets[i] + ENVELOPE))->rank = i;
    }
    if (played_result == MPI_SUCCESS)
        memcpy(all + offsets[0], &played_rank, sizeof played_rank);
    return played_result;
}

int MPI_Allgather(const void *data, int count, MPI_Datatype type, void *all,
                  int all_count, MPI_Datatype all_type, MPI_Comm comm)
{
    (void)data, (void)count, (void)type, (void)all_count, (void)all_type;
    ck_assert(comm == MPI_COMM_WORLD);
    return play_sizes(all);
}

int MPI_Allgatherv(const void *data, int count, MPI_Datatype type, void *all,
                   const int *counts, const int *offsets, MPI_Datatype all_type,
                   MPI_Comm comm)
{
    (void)type, (void)all_type;
    ck_assert(comm == MPI_COMM_WORLD);
    return play_data(data, count, all, counts, offsets);
}

int MPI_Gather(const void *data, int count, MPI_Datatype type, void *all,
               int all_count, MPI_Datatype all_type, int root, MPI_Comm comm)
{
    (void)data, (void)count, (void)type, (void)all_count, (void)all_type;
    ck_assert(comm == MPI_COMM_SELF && root == 0);
    return play_sizes(all);
}

int MPI_Gatherv(const void *data, int count, MPI_Datatype type, void *all,
                const int *counts, const int *offsets, MPI_Datatype all_type,
                int root, MPI_Comm comm)
{
    (void)type, (void)all_type;
    ck_assert(comm == MPI_COMM_SELF && root == 0);
    return all ? play_data(data, count, all, counts, offsets) : MPI_SUCCESS;
}

int MPI_Error_string(int code, char *text, int *length)
{
    *length = snprintf(text, MPI_MAX_ERROR_STRING, "MPI's text of %d", code);
    return MPI_SUCCESS;
}

/* Two leaders, each alone on its host, or the two processes of one host. */
static const struct jd_host_group leaders = { .count = 1,
                                              .num_leaders = 2,
                                              .comm = MPI_COMM_NULL,
                                              .leaders = MPI_COMM_WORLD };
static const struct jd_host_group alone = { .count = 1,
                                            .num_leaders = 1,
                                            .comm = MPI_COMM_NULL,
                                            .leaders = MPI_COMM_NULL };
static const struct jd_host_group neighbours = { .count = 2,
                                                 .num_leaders = 1,
                                                 .comm = MPI_COMM_SELF,
                                                 .leaders = MPI_COMM_NULL };

/* The gathering of two processes that both have one's record. */
static jd_status gather_by(const struct jd_host_group *group,
                           struct jd_records *one, int size, int result,
                           struct jd_records **gathered)
{
    struct jd_world world = { .index = 1, .count = 2, .has_mpi = true };
    played = one->items[0];
    played->bytes =
        (uint32_t)(sizeof *played + sizeof(struct jd_device_record));
    played_size = size ? size : ENVELOPE + (int)played->bytes;
    played_result = result;
    *gathered = NULL;
    return jd__records_gather(&world, group, played, gathered);
}

static jd_status gather_two(struct jd_records *one, int size, int result,
                            struct jd_records **gathered)
{
    return gather_by(&leaders, one, size, result, gathered);
}

static void expect_two(const struct jd_host_group *group)
{
    struct jd_records *one = JOB_RECORDS({ .id = 0 }), *gathered;
    UNIT_OK(gather_by(group, one, 0, MPI_SUCCESS, &gathered));
    ck_assert_int_eq(gathered->count, 2);
    ck_assert_int_eq(gathered->self, 1);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(gathered->items[i]->rank, i);
        ck_assert_str_eq(gathered->items[i]->devices[0].platform, "cpu");
    }
    jd__records_destroy(gathered);
    jd__records_destroy(one);
}

START_TEST(all_are_gathered_by_rank)
{
    played_rank = 0;
    expect_two(&leaders);
    expect_two(&neighbours);
}
END_TEST

/* Whoever is no leader sends its own, and gets none. */
START_TEST(one_of_a_host_gets_them)
{
    struct jd_host_group group = neighbours;
    struct jd_records *one = JOB_RECORDS({ .id = 0 }), *gathered;
    group.index = 1;
    UNIT_OK(gather_by(&group, one, 0, MPI_SUCCESS, &gathered));
    ck_assert_ptr_null(gathered);
    jd__records_destroy(one);
}
END_TEST

static void expect_unreadable(unsigned rank)
{
    struct jd_records *one = JOB_RECORDS({ .id = 0 }), *gathered;
    played_rank = rank;
    UNIT_FAILS(gather_two(one, 0, MPI_SUCCESS, &gathered), JD_INTERNAL,
               "jd_initialize: what the 2 processes say of themselves cannot "
               "be read; install the same version of jd on all hosts");
    ck_assert_ptr_null(gathered);
    jd__records_destroy(one);
}

START_TEST(what_is_no_record)
{
    expect_unreadable(1); /* twice */
    expect_unreadable(2); /* beyond the last */
}
END_TEST

/* The caller destroys what it was given: nothing, then. */
START_TEST(a_gathering_that_fails_gives_nothing)
{
    struct jd_records *one = JOB_RECORDS({ .id = 0 }), *gathered;
    char sentence[300];
    snprintf(sentence, sizeof sentence,
             "jd_initialize: MPI_Allgatherv failed in %s: MPI's text of %d",
             jd__mpi_library_name(), MPI_ERR_OTHER);
    UNIT_FAILS(gather_two(one, 0, MPI_ERR_OTHER, &gathered), JD_INTERNAL,
               sentence);
    ck_assert_ptr_null(gathered);
    jd__records_destroy(one);
}
END_TEST

START_TEST(more_than_mpi_can_count)
{
    struct jd_records *one = JOB_RECORDS({ .id = 0 }), *gathered;
    UNIT_FAILS(gather_two(one, 1 << 30, MPI_SUCCESS, &gathered),
               JD_OUT_OF_RANGE,
               "jd_initialize: the records of 2 processes have more than "
               "2147483647 bytes, which MPI cannot gather; use fewer cpu "
               "devices (JD_NUM_CPU_DEVICES)");
    ck_assert_ptr_null(gathered);
    jd__records_destroy(one);
}
END_TEST

/* ---- checking ----------------------------------------------------------- */

/* The records are not right, and this is why; they stay as they were. */
static void expect_failure(struct jd_records *records, jd_status status,
                           const char *sentence)
{
    UNIT_FAILS(jd__records_verify(records), status, sentence);
    jd__records_destroy(records);
}

static void expect_ids_in_order(const struct jd_records *records)
{
    for (int i = 0; i < records->count; i++)
        ck_assert_int_eq(records->items[i]->process_id, i);
}

/* ---- right ones --------------------------------------------------------- */

START_TEST(ranks_may_be_the_order)
{
    struct jd_records *records =
        JOB_RECORDS({ .id = 0 }, { .id = 1 }, { .id = 2 });
    records->self = 1;
    UNIT_OK(jd__records_verify(records));
    ck_assert(records->in_order);
    ck_assert_int_eq(records->self, 1);
    expect_ids_in_order(records);
    jd__records_destroy(records);
}
END_TEST

START_TEST(ids_give_the_order)
{
    struct jd_records *records =
        JOB_RECORDS({ .id = 2 }, { .id = 0 }, { .id = 1 });
    records->self = 1;
    UNIT_OK(jd__records_verify(records));
    ck_assert(!records->in_order);
    ck_assert_int_eq(records->self, 0);
    expect_ids_in_order(records);
    ck_assert_int_eq(records->items[0]->rank, 1);
    ck_assert_int_eq(records->items[2]->rank, 0);
    jd__records_destroy(records);
}
END_TEST

START_TEST(one_process_is_a_job)
{
    struct jd_records *records = JOB_RECORDS({ .id = 0 });
    UNIT_OK(jd__records_verify(records));
    ck_assert(records->in_order);
    ck_assert_int_eq(records->self, 0);
    jd__records_destroy(records);
    jd__records_destroy(NULL);
}
END_TEST

START_TEST(slices_that_all_say)
{
    struct jd_records *records =
        JOB_RECORDS({ .id = 0, .num_slices = 2, .slice_index = 1 },
                    { .id = 1, .num_slices = 2, .slice_index = 0 });
    UNIT_OK(jd__records_verify(records));
    jd__records_destroy(records);
}
END_TEST

/* A world of one copies its own record, devices and all. */
START_TEST(a_world_of_one_gathers_its_own)
{
    struct jd_records *one = JOB_RECORDS({ .id = 0, .devices = "cc" }),
                      *gathered;
    struct jd_world world = { .count = 1 };
    struct jd_record *own = one->items[0];
    own->bytes = (uint32_t)(sizeof *own + 2 * sizeof(struct jd_device_record));
    UNIT_OK(jd__records_gather(&world, &alone, own, &gathered));
    ck_assert_int_eq(gathered->count, 1);
    ck_assert_int_eq(gathered->self, 0);
    ck_assert_ptr_ne(gathered->items[0], own);
    ck_assert_int_eq(memcmp(gathered->items[0], own, own->bytes), 0);
    jd__records_destroy(gathered);
    jd__records_destroy(one);
}
END_TEST

/* ---- wrong ones --------------------------------------------------------- */

START_TEST(versions_differ)
{
    expect_failure(
        JOB_RECORDS({ .id = 0 }, { .id = 1 }, { .id = 2, .version = "1.1" }),
        JD_FAILED_PRECONDITION,
        "jd_initialize: MPI rank 0 runs jd 1.0 and MPI rank 2 runs "
        "jd 1.1; install the same version on all hosts");
}
END_TEST

/* Another version's record is read no further than its version. */
START_TEST(versions_come_before_all_else)
{
    expect_failure(
        JOB_RECORDS({ .id = 0 },
                    { .id = 0, .version = "2.0", .num_processes = 9 }),
        JD_FAILED_PRECONDITION,
        "jd_initialize: MPI rank 0 runs jd 1.0 and MPI rank 1 runs "
        "jd 2.0; install the same version on all hosts");
}
END_TEST

START_TEST(a_process_was_told_another_count)
{
    expect_failure(
        JOB_RECORDS({ .id = 0 }, { .id = 1, .host = "n2", .num_processes = 3 }),
        JD_FAILED_PRECONDITION,
        "jd_initialize: MPI rank 1 (pid 1001 on n2) was told that "
        "the job has 3 processes (SLURM_STEP_NUM_TASKS), but the "
        "MPI world has 2; correct that, or leave it out to have it "
        "detected");
}
END_TEST

START_TEST(a_world_of_one_is_refused)
{
    char sentence[600];
    snprintf(sentence, sizeof sentence,
             "jd_initialize: the job has 4 processes (SLURM_STEP_NUM_TASKS), "
             "but the world of %s has this process alone (pid 1000 on n1): "
             "each process has a world of its own; start the program with the "
             "%s of this MPI, or under Slurm with `srun --mpi=%s`, or call "
             "jd_initialize() before MPI_Init, where jd makes the world itself",
             jd__mpi_library_name(), jd__mpi_library_flavour()->launcher,
             jd__mpi_library_flavour()->srun);
    expect_failure(JOB_RECORDS({ .id = 0, .num_processes = 4 }),
                   JD_FAILED_PRECONDITION, sentence);
}
END_TEST

START_TEST(two_have_one_id)
{
    expect_failure(
        JOB_RECORDS({ .id = 0 }, { .id = 2 }, { .id = 2, .host = "n2" }),
        JD_INVALID_ARGUMENT,
        "jd_initialize: two processes have the index 2: MPI rank 1 (pid 1001 "
        "on n1, from SLURM_PROCID) and MPI rank 2 (pid 1002 on n2, from "
        "SLURM_PROCID); give each process an index of its own");
}
END_TEST

static const int bad_ids[] = { -1, 2, 1 << 30 };

START_TEST(an_id_is_out_of_range)
{
    char sentence[300];
    snprintf(sentence, sizeof sentence,
             "jd_initialize: MPI rank 1 (pid 1001 on n1) has the process index "
             "%d (SLURM_PROCID), but it must be from 0 to 1",
             bad_ids[_i]);
    expect_failure(JOB_RECORDS({ .id = 0 }, { .id = bad_ids[_i] }),
                   JD_INVALID_ARGUMENT, sentence);
}
END_TEST

#define SLICES_ALL                                                             \
    "(-1 and 0 stand for nothing said); all processes must say their slice "   \
    "of the same number, or none (JD_NUM_SLICES, JD_SLICE_INDEX)"

START_TEST(only_some_say_a_slice)
{
    expect_failure(
        JOB_RECORDS({ .id = 0 },
                    { .id = 1, .num_slices = 2, .slice_index = 1 }),
        JD_INVALID_ARGUMENT,
        "jd_initialize: process 0 says slice -1 of 0 and process 1 says slice "
        "1 of 2 " SLICES_ALL);
}
END_TEST

/* Named by process index, not by rank. */
START_TEST(slices_of_different_numbers)
{
    expect_failure(JOB_RECORDS({ .id = 1, .num_slices = 3, .slice_index = 1 },
                               { .id = 0, .num_slices = 2, .slice_index = 1 }),
                   JD_INVALID_ARGUMENT,
                   "jd_initialize: process 0 says slice 1 of 2 and process 1 "
                   "says slice 1 of 3 " SLICES_ALL);
}
END_TEST

START_TEST(a_slice_is_out_of_range)
{
    expect_failure(JOB_RECORDS({ .id = 0, .num_slices = 2, .slice_index = 1 },
                               { .id = 1, .num_slices = 2, .slice_index = 2 }),
                   JD_INVALID_ARGUMENT,
                   "jd_initialize: process 1 says slice 2 of 2; it must be "
                   "from 0 to 1 (JD_SLICE_INDEX)");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("records");
    TCase *gathering = unit_case(suite, "gathering");
    tcase_add_test(gathering, all_are_gathered_by_rank);
    tcase_add_test(gathering, one_of_a_host_gets_them);
    tcase_add_test(gathering, what_is_no_record);
    tcase_add_test(gathering, a_gathering_that_fails_gives_nothing);
    tcase_add_test(gathering, more_than_mpi_can_count);
    TCase *right = unit_case(suite, "right");
    tcase_add_test(right, ranks_may_be_the_order);
    tcase_add_test(right, ids_give_the_order);
    tcase_add_test(right, one_process_is_a_job);
    tcase_add_test(right, slices_that_all_say);
    tcase_add_test(right, a_world_of_one_gathers_its_own);
    TCase *wrong = unit_case(suite, "wrong");
    tcase_add_test(wrong, versions_differ);
    tcase_add_test(wrong, versions_come_before_all_else);
    tcase_add_test(wrong, a_process_was_told_another_count);
    tcase_add_test(wrong, a_world_of_one_is_refused);
    tcase_add_test(wrong, two_have_one_id);
    tcase_add_loop_test(wrong, an_id_is_out_of_range, 0, JOB_COUNT(bad_ids));
    tcase_add_test(wrong, only_some_say_a_slice);
    tcase_add_test(wrong, slices_of_different_numbers);
    tcase_add_test(wrong, a_slice_is_out_of_range);
    return unit_main(suite);
}
