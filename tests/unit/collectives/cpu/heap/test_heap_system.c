/* SPDX-License-Identifier: BSD-3-Clause */
/* test_heap_system.c - heaps under limits, signals, kernels without holes in
 * files, huge pages and NUMA nodes. */
#include "tests/lib/sanitized.h"
#include "tests/unit/heap_refusals.h"
#include "tests/unit/heap_use.h"
#include "tests/unit/fake_root.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <linux/mempolicy.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- limits of the range ------------------------------------------------ */

static void set_limit(int resource, rlim_t value)
{
    struct rlimit limit;
    ck_assert_int_eq(getrlimit(resource, &limit), 0);
    limit.rlim_cur = value;
    ck_assert_int_eq(setrlimit(resource, &limit), 0);
}

START_TEST(a_limit_on_files_makes_it_smaller)
{
    void *memory = NULL;
    struct jd_heap_request request = { .operation = "test",
                                       .bytes = 64 << 20,
                                       .numa_node = -1 };
    set_limit(RLIMIT_FSIZE, (64 << 20) + 4096);
    struct jd_heap *heap = make_heap(&(struct jd_heap_spec){ 0 });
    ck_assert_uint_eq(heap->size, 64 << 20);
    char *small = take(heap, 100, 0);
    UNIT_FAILS(jd__heap_alloc(heap, &request, &memory), JD_RESOURCE_EXHAUSTED,
               "test: 67108864 bytes are needed in one piece, and the 67108864 "
               "bytes of addresses that this process shares with its host's "
               "others have none so long (100 bytes are in use); free memory, "
               "or raise the limits that keep the range small (ulimit -v, "
               "ulimit -f)");
    ck_assert_ptr_null(memory);
    request.bytes = 60 << 20;
    UNIT_OK(jd__heap_alloc(heap, &request, &memory));
    ck_assert(jd__heap_free(heap, memory));
    ck_assert(jd__heap_free(heap, small));
    jd__heap_destroy(heap);
}
END_TEST

START_TEST(too_small_a_limit_on_files_is_named)
{
    struct jd_heap *heap = NULL;
    set_limit(RLIMIT_FSIZE, 1 << 20);
    UNIT_FAILS(jd__heap_create(&(struct jd_heap_spec){ 0 }, "test", &heap),
               JD_RESOURCE_EXHAUSTED,
               "test: memory that this host's processes share needs at least "
               "16777216 bytes, and the limit on files leaves 1048576; raise "
               "it (ulimit -f)");
    ck_assert_ptr_null(heap);
}
END_TEST

static rlim_t count_addresses(void)
{
    unsigned long long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(fscanf(file, "%llu", &pages), 1);
    fclose(file);
    return (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE);
}

START_TEST(a_limit_on_addresses_is_shared)
{
    struct jd_heap_spec spec = { .processes = 4 };
    struct jd_heap *heap = NULL;
    if (HAS_ASAN || HAS_TSAN) {
        puts("# skip: a sanitizer needs more addresses than any limit");
        return;
    }
    rlim_t used = count_addresses();
    set_limit(RLIMIT_AS, used + (1 << 30));
    UNIT_OK(jd__heap_create(&spec, "test", &heap));
    ck_assert_uint_le(heap->size, 128 << 20);
    ck_assert_uint_ge(heap->size, 120 << 20);
    jd__heap_destroy(heap);
    set_limit(RLIMIT_AS, used + (80 << 20));
    ck_assert_int_eq(jd__heap_create(&spec, "test", &heap),
                     JD_RESOURCE_EXHAUSTED);
    ck_assert_ptr_nonnull(strstr(jd_error_message(),
                                 "needs at least 16777216 bytes, and the limit "
                                 "on addresses leaves "));
    ck_assert_ptr_nonnull(strstr(jd_error_message(), "; raise it (ulimit -v)"));
}
END_TEST

/* ---- what systems do ---------------------------------------------------- */

/* Every page would be locked, and so taken, where it is mapped. */
START_TEST(mlockall_does_not_fill_it)
{
    if (mlockall(MCL_FUTURE) != 0) {
        printf("# skip: mlockall(MCL_FUTURE): %s\n", strerror(errno));
        return;
    }
    struct jd_heap *heap = make_small_heap();
    ck_assert_uint_le(file_bytes(heap), 1 << 20);
    memset(take(heap, 1 << 20, 0), 1, 1 << 20);
    jd__heap_destroy(heap);
}
END_TEST

START_TEST(signals_do_not_keep_it_from_pages)
{
    struct jd_heap *heap = make_small_heap();
    uint64_t before = file_bytes(heap);
    interrupt_long_takes();
    char *memory = take(heap, (40 << 20) + 12288, 0);
    ck_assert_uint_eq(file_bytes(heap) - before, (40 << 20) + 12288);
    ck_assert(jd__heap_free(heap, memory));
    jd__heap_destroy(heap);
}
END_TEST

START_TEST(memory_is_zeroed_where_files_have_no_holes)
{
    static const size_t sizes[] = { 100, 50000, 200000, 3 << 20 };
    refuse_holes();
    struct jd_heap *heap = make_small_heap();
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        char *first = take(heap, sizes[i], 0);
        memset(first, 1, sizes[i]);
        ck_assert(jd__heap_free(heap, first));
        char *again = take(heap, sizes[i], 0);
        ck_assert_ptr_eq(again, first);
        for (size_t j = 0; j < sizes[i]; j++)
            if (again[j] != 0)
                ck_abort_msg("byte %zu of %zu is not zero", j, sizes[i]);
    }
    jd__heap_destroy(heap);
}
END_TEST

/* A program that closes all descriptors gets the number for a file of its
 * own, which stays as it is. */
START_TEST(a_closed_descriptor_is_not_used)
{
    struct jd_heap *heap = make_small_heap();
    if (madvise(heap->base, heap->page, MADV_POPULATE_WRITE) != 0) {
        printf("# skip: MADV_POPULATE_WRITE: %s\n", strerror(errno));
        return;
    }
    char *large = take(heap, 1 << 20, 0);
    uint64_t page = heap->page, taken = file_bytes(heap);
    FILE *users = tmpfile();
    char text[8192];
    memset(text, 't', sizeof text);
    ck_assert_ptr_nonnull(users);
    ck_assert_uint_eq(fwrite(text, 1, sizeof text, users), sizeof text);
    ck_assert_int_eq(fflush(users), 0);
    int kept = dup(heap->fd), number = heap->fd;
    ck_assert_int_eq(dup2(fileno(users), number), number);

    char *more = take(heap, 1 << 20, 0);
    heap->fd = kept;
    ck_assert_uint_eq(file_bytes(heap), taken + (1 << 20));
    heap->fd = number;
    ck_assert(jd__heap_free(heap, large));
    ck_assert(jd__heap_free(heap, more));
    heap->fd = kept;
    ck_assert_uint_eq(file_bytes(heap), page);
    ck_assert_int_eq(pread(number, text, sizeof text, 0), sizeof text);
    for (size_t i = 0; i < sizeof text; i++)
        ck_assert_int_eq(text[i], 't');
    fclose(users);
    jd__heap_destroy(heap);
}
END_TEST

/* In a mount namespace of its own; false where this user gets none. */
static bool mount_small_shm(void)
{
    int namespaces = CLONE_NEWNS | (geteuid() == 0 ? 0 : CLONE_NEWUSER);
    return unshare(namespaces) == 0 &&
           mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
           mount("tmpfs", "/dev/shm", "tmpfs", 0, "size=16m") == 0;
}

START_TEST(a_small_dev_shm_is_named)
{
    struct jd_heap_spec spec = { .size = 64 << 20 };
    struct jd_heap_request request = { .operation = "test",
                                       .bytes = 16 << 20,
                                       .numa_node = -1 };
    void *memory = NULL;
    if (!mount_small_shm()) {
        printf("# skip: no mount namespace: %s\n", strerror(errno));
        return;
    }
    refuse_memfd();
    struct jd_heap *heap = make_heap(&spec);
    UNIT_FAILS(jd__heap_alloc(heap, &request, &memory), JD_RESOURCE_EXHAUSTED,
               "test: 16777216 bytes of memory are needed and 16773120 can be "
               "had: /dev/shm has 16773120 free; allocate less, or give it a "
               "larger size (docker: --shm-size)");
    request.bytes = 15 << 20;
    UNIT_OK(jd__heap_alloc(heap, &request, &memory));
    memset(memory, 1, 15 << 20);
    jd__heap_destroy(heap);
}
END_TEST

/* The kernel gives huge pages where nobody asked; what is beyond the
 * allocation's end goes back with it. */
START_TEST(the_rest_of_huge_pages_goes_back)
{
    make_root();
    put("/sys/kernel/mm/transparent_hugepage/shmem_enabled",
        "always [within_size] advise never deny force\n");
    struct jd_heap *heap =
        make_heap(&(struct jd_heap_spec){ .root = root, .size = 64 << 20 });
    uint64_t before = file_bytes(heap);
    char *first = take(heap, 1 << 20, 0), *second = take(heap, 1 << 20, 0);
    second[1 << 20] = 1;
    second[(1 << 20) + 8192] = 1;
    ck_assert(jd__heap_free(heap, first));
    ck_assert_uint_gt(file_bytes(heap), before + (1 << 20));
    ck_assert(jd__heap_free(heap, second));
    ck_assert_uint_eq(file_bytes(heap), before);
    jd__heap_destroy(heap);
    remove_root();
}
END_TEST

static int policy_of(const void *memory)
{
    int policy = -1;
    ck_assert_int_eq(
        syscall(SYS_get_mempolicy, &policy, NULL, 0, memory, MPOL_F_ADDR), 0);
    return policy;
}

START_TEST(pages_come_from_the_node)
{
    struct jd_heap_spec spec = { .size = 64 << 20, .with_nodes = true };
    struct jd_heap *heap = make_heap(&spec);
    struct jd_heap_request request = { .operation = "test",
                                       .bytes = 1 << 20,
                                       .numa_node = 0 };
    void *memory;
    if (syscall(SYS_get_mempolicy, NULL, NULL, 0, NULL, 0) != 0) {
        printf("# skip: get_mempolicy: %s\n", strerror(errno));
        return;
    }
    UNIT_OK(jd__heap_alloc(heap, &request, &memory));
    ck_assert_int_eq(policy_of(memory), MPOL_PREFERRED);
    ck_assert(jd__heap_free(heap, memory));
    request.numa_node = -1;
    UNIT_OK(jd__heap_alloc(heap, &request, &memory));
    ck_assert_int_eq(policy_of(memory), MPOL_DEFAULT);
    jd__heap_destroy(heap);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("arena system");
    TCase *tcase = unit_case(suite, "limits");
    tcase_add_test(tcase, a_limit_on_files_makes_it_smaller);
    tcase_add_test(tcase, too_small_a_limit_on_files_is_named);
    tcase_add_test(tcase, a_limit_on_addresses_is_shared);
    tcase = unit_case(suite, "systems");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, mlockall_does_not_fill_it);
    tcase_add_test(tcase, signals_do_not_keep_it_from_pages);
    tcase_add_test(tcase, memory_is_zeroed_where_files_have_no_holes);
    tcase_add_test(tcase, a_closed_descriptor_is_not_used);
    tcase_add_test(tcase, a_small_dev_shm_is_named);
    tcase_add_test(tcase, the_rest_of_huge_pages_goes_back);
    tcase_add_test(tcase, pages_come_from_the_node);
    return unit_main(suite);
}
