/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_table_spread.c - a leader's table becomes its host's. The leader is this
 * process, the other of its group a child, and MPI a pair of sockets.
 */
#include "runtime/topology/table_file.h"
#include "runtime/topology/table_spread.h"
#include "tests/unit/heap_refusals.h"
#include "tests/unit/job.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- an MPI of two processes -------------------------------------------- */

static int line, played_index;

static void send_all(const void *data, size_t bytes)
{
    for (size_t done = 0; done < bytes;) {
        ssize_t sent = send(line, (const char *)data + done, bytes - done, 0);
        ck_assert_int_gt(sent, 0);
        done += (size_t)sent;
    }
}

static void receive_all(void *data, size_t bytes)
{
    ck_assert_int_eq(recv(line, data, bytes, MSG_WAITALL), (ssize_t)bytes);
}

int MPI_Bcast(void *data, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
    (void)type, (void)comm;
    ck_assert_int_eq(root, 0);
    if (played_index == 0)
        send_all(data, (size_t)count);
    else
        receive_all(data, (size_t)count);
    return MPI_SUCCESS;
}

int MPI_Allreduce(const void *in, void *out, int count, MPI_Datatype type,
                  MPI_Op op, MPI_Comm comm)
{
    int own = *(const int *)in, other;
    (void)type, (void)op, (void)comm;
    ck_assert_int_eq(count, 1);
    send_all(&own, sizeof own);
    receive_all(&other, sizeof other);
    *(int *)out = own < other ? own : other;
    return MPI_SUCCESS;
}

/* ---- the two ------------------------------------------------------------ */

enum { COUNT = 300 };

static struct jd_table *make_table(void)
{
    struct job_process processes[COUNT] = { { .id = 0 } };
    struct jd_table *table;
    for (int i = 0; i < COUNT; i++)
        processes[i].id = i;
    struct jd_records *records = job_records(processes, COUNT);
    UNIT_OK(jd__table_create(records, NULL, &table));
    jd__records_destroy(records);
    return table;
}

/* The inode of the file that a table is mapped from; 0: none. */
static unsigned long inode_of(const struct jd_table *table)
{
    char text[512];
    unsigned long inode = 0, from, to, at = (unsigned long)(uintptr_t)table;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (fgets(text, sizeof text, maps))
        if (sscanf(text, "%lx-%lx", &from, &to) == 2 && from <= at && at < to &&
            strstr(text, "/memfd:jd-topology"))
            ck_assert_int_eq(sscanf(text, "%*s %*s %*s %*s %lu", &inode), 1);
    fclose(maps);
    return inode;
}

static int count_descriptors(void)
{
    int count = 0;
    for (int fd = 0; fd < 256; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

static jd_status spread(int index, jd_status made, struct jd_table **table)
{
    struct jd_host_group group = { .index = index,
                                   .count = 2,
                                   .num_leaders = 1,
                                   .comm = MPI_COMM_WORLD,
                                   .leaders = MPI_COMM_NULL };
    played_index = index;
    return jd__table_spread(&group, made, table);
}

/* What the child ends with, after the leader's has gone. */
static int follow(void (*prepare)(void))
{
    struct jd_table *table = NULL, *same = make_table();
    struct jd_topology *t;
    char byte;
    if (prepare)
        prepare();
    UNIT_OK(spread(1, JD_OK, &table));
    unsigned long inode = inode_of(table);
    send_all(&inode, sizeof inode);
    receive_all(&byte, 1);
    ck_assert_uint_eq(table->bytes, same->bytes);
    size_t head = sizeof *table; /* with its nonce */
    ck_assert_mem_eq((char *)table + head, (char *)same + head,
                     table->structs - head);
    ck_assert_int_eq(jd__table_structs(table) != NULL, inode != 0);
    UNIT_OK(jd__topology_open(table, COUNT - 1, &t));
    ck_assert_int_eq(t->platforms[0].local[0]->process_index, COUNT - 1);
    jd__topology_destroy(t);
    jd__table_destroy(same);
    return 0;
}

static pid_t start(int (*body)(void (*)(void)), void (*prepare)(void))
{
    int pair[2];
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    pid_t child = fork();
    line = pair[child == 0];
    close(pair[child != 0]);
    if (child == 0)
        _exit(body(prepare));
    return child;
}

static void expect_end(pid_t child)
{
    int how;
    ck_assert_int_eq(waitpid(child, &how, 0), child);
    ck_assert(WIFEXITED(how) && WEXITSTATUS(how) == 0);
    close(line);
}

/* Each prepares for what is refused; is the table shared? */
static void expect(void (*leader)(void), void (*other)(void), bool is_shared)
{
    pid_t child = start(follow, other);
    int descriptors = count_descriptors();
    unsigned long inode;
    struct jd_table *table = make_table();
    if (leader)
        leader();
    UNIT_OK(spread(0, JD_OK, &table));
    receive_all(&inode, sizeof inode);
    ck_assert_uint_eq(inode_of(table), inode);
    ck_assert_int_eq(inode != 0, is_shared);
    ck_assert_int_eq(table->num_processes, COUNT);
    ck_assert_ptr_nonnull(jd__table_structs(table));
    ck_assert_int_eq(count_descriptors(), descriptors);
    jd__table_destroy(table);
    send_all("", 1);
    expect_end(child);
}

/* ---- the table ---------------------------------------------------------- */

START_TEST(both_map_one)
{
    expect(NULL, NULL, true);
}
END_TEST

/* inode_of() opens a file, too: only jd's call is refused. */
static void refuse_reading(void)
{
    struct sock_filter filter[] = {
        LOAD(nr),       SKIP_UNLESS(SYS_openat, 3),
        LOAD(args[2]),  SKIP_UNLESS_BIT(O_NONBLOCK, 1),
        REFUSE(EACCES), RETURN(SECCOMP_RET_ALLOW),
    };
    INSTALL(filter);
}

START_TEST(a_copy_each_where_one_cannot_open_it)
{
    expect(NULL, refuse_reading, false);
}
END_TEST

static void limit_files(void)
{
    struct rlimit limit = { 20000, 20000 }; /* the table has more */
    setrlimit(RLIMIT_FSIZE, &limit);
}

START_TEST(a_copy_each_where_there_is_no_file)
{
    expect(limit_files, NULL, false);
    expect(refuse_memfd, NULL, false);
}
END_TEST

/* ---- failures ----------------------------------------------------------- */

#define SENTENCE "jd_initialize: two processes have the index 3"

static int hear(void (*prepare)(void))
{
    struct jd_table *table = NULL;
    (void)prepare;
    UNIT_FAILS(spread(1, JD_OK, &table), JD_INVALID_ARGUMENT, SENTENCE);
    ck_assert_ptr_null(table);
    return 0;
}

START_TEST(all_fail_as_their_leader_does)
{
    pid_t child = start(hear, NULL);
    struct jd_table *table = NULL;
    jd_fail(JD_INVALID_ARGUMENT, SENTENCE);
    UNIT_FAILS(spread(0, JD_INVALID_ARGUMENT, &table), JD_INVALID_ARGUMENT,
               SENTENCE);
    ck_assert_ptr_null(table);
    expect_end(child);
}
END_TEST

START_TEST(one_alone_keeps_what_it_made)
{
    struct jd_host_group alone = { .count = 1,
                                   .num_leaders = 1,
                                   .comm = MPI_COMM_NULL,
                                   .leaders = MPI_COMM_NULL };
    struct jd_table *table = make_table(), *made = table;
    UNIT_OK(jd__table_spread(&alone, JD_OK, &table));
    ck_assert_ptr_eq(table, made);
    ck_assert_int_eq(jd__table_spread(&alone, JD_INTERNAL, &table),
                     JD_INTERNAL);
    ck_assert_ptr_null(table);
}
END_TEST

/* ---- the address ----------------------------------------------------------
 */

/* Here, the table that the file was made of is at its base already. */
START_TEST(a_base_that_is_taken)
{
    struct jd_table *table = make_table(), *mapped;
    struct jd_table_file file;
    struct jd_topology *t;
    UNIT_OK(jd__table_file_create(table, &file));
    UNIT_OK(jd__table_file_map(&file.desc, &mapped));
    ck_assert_ptr_ne(mapped, table);
    ck_assert_ptr_nonnull(jd__table_structs(table));
    ck_assert_ptr_null(jd__table_structs(mapped));
    UNIT_OK(jd__topology_open(mapped, 7, &t));
    ck_assert_str_eq(t->platforms[0].local[0]->host, "n1");
    jd__topology_destroy(t);
    UNIT_OK(jd__table_file_put(&file, table));
    ck_assert_uint_ne(inode_of(table), 0);
    ck_assert_ptr_nonnull(jd__table_structs(table));
    jd__table_file_close(&file);
    jd__table_destroy(table);
}
END_TEST

/* ---- another file ------------------------------------------------------- */

static void expect_refused(const struct jd_table_desc *desc, const char *why)
{
    struct jd_table *table = NULL;
    char sentence[300];
    snprintf(sentence, sizeof sentence,
             "jd_initialize: the table of the job's processes that the "
             "process with pid %d shares cannot be mapped: %s; this host's "
             "processes keep their own",
             (int)desc->pid, why);
    UNIT_FAILS(jd__table_file_map(desc, &table), JD_UNAVAILABLE, sentence);
    ck_assert_ptr_null(table);
}

START_TEST(what_is_not_the_table_is_not_mapped)
{
    struct jd_table *table = make_table();
    struct jd_table_file file;
    UNIT_OK(jd__table_file_create(table, &file));
    struct jd_table_desc desc = file.desc;
    desc.nonce[0] ^= 1;
    expect_refused(&desc, "another process has that pid here");
    desc = file.desc;
    desc.bytes++;
    expect_refused(&desc, "another process's file is there");
    desc = file.desc;
    desc.descriptor = line = open("/dev", O_RDONLY);
    expect_refused(&desc, "another process's file is there");
    close(line);
    expect_refused(&desc, "No such file or directory");
    jd__table_file_close(&file);
    jd__table_destroy(table);
}
END_TEST

/* Somebody could cut it short under its readers' feet. */
START_TEST(a_file_that_may_change_is_not_mapped)
{
    struct jd_table *table = make_table();
    struct jd_table_desc desc = { .bytes = table->bytes, .pid = getpid() };
    memcpy(desc.nonce, table->nonce, sizeof desc.nonce);
    desc.descriptor = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    ck_assert_int_eq(write(desc.descriptor, table, table->bytes),
                     (ssize_t)table->bytes);
    expect_refused(&desc, "the file is not sealed");
    fcntl(desc.descriptor, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW);
    expect_refused(&desc, "the file is not sealed");
    close(desc.descriptor);
    jd__table_destroy(table);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("table_spread");
    TCase *table = unit_case(suite, "table");
    tcase_add_test(table, both_map_one);
    tcase_add_test(table, a_copy_each_where_one_cannot_open_it);
    tcase_add_test(table, a_copy_each_where_there_is_no_file);
    TCase *failures = unit_case(suite, "failures");
    tcase_add_test(failures, all_fail_as_their_leader_does);
    tcase_add_test(failures, one_alone_keeps_what_it_made);
    TCase *files = unit_case(suite, "files");
    tcase_add_test(files, a_base_that_is_taken);
    tcase_add_test(files, what_is_not_the_table_is_not_mapped);
    tcase_add_test(files, a_file_that_may_change_is_not_mapped);
    return unit_main(suite);
}
