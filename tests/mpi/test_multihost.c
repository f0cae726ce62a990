/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_multihost [uninitialised] - the multihost utilities on lists of leaves,
 * short ones (one message) and long ones (many), and each way in which
 * processes can disagree. "uninitialised": without jd_initialize().
 */
#include "jd.h"

#include "expect.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

static int count, self;

static void fill(char *data, size_t bytes, int process)
{
    for (size_t i = 0; i < bytes; i++)
        data[i] = (char)(i * 31 + i / 251 + (size_t)process * 7);
}

/* Leaves of n, 3 and no elements of unlike size, and a scalar. */
struct leaves {
    char *wide, *odd;
    float scalar;
    int64_t wide_shape[2], odd_shape[1], empty_shape[2];
    jd_leaf list[4];
};

static void make_leaves(struct leaves *l, int64_t n)
{
    l->wide = malloc((size_t)n * 16);
    l->odd = malloc(9);
    l->wide_shape[0] = n;
    l->wide_shape[1] = 2;
    l->odd_shape[0] = 9;
    l->empty_shape[0] = 0;
    l->empty_shape[1] = 5;
    l->list[0] = (jd_leaf){ l->odd, JD_U8, 1, l->odd_shape };
    l->list[1] = (jd_leaf){ l->wide, JD_F64, 2, l->wide_shape };
    l->list[2] = (jd_leaf){ NULL, JD_S32, 2, l->empty_shape };
    l->list[3] = (jd_leaf){ &l->scalar, JD_F32, 0, NULL };
    fill(l->wide, (size_t)n * 16, self);
    fill(l->odd, 9, self);
    l->scalar = (float)self;
}

static void free_leaves(struct leaves *l)
{
    free(l->wide);
    free(l->odd);
}

static void expect_filled(const char *data, size_t bytes, int process)
{
    char *wanted = malloc(bytes);
    fill(wanted, bytes, process);
    EXPECT(memcmp(data, wanted, bytes) == 0, "%zu bytes of process %d", bytes,
           process);
    free(wanted);
}

static void try_broadcast(int64_t n, int source)
{
    struct leaves l;
    make_leaves(&l, n);
    EXPECT_OK(jd_broadcast_one_to_all(l.list, 4, source));
    expect_filled(l.wide, (size_t)n * 16, source);
    expect_filled(l.odd, 9, source);
    EXPECT(l.scalar == (float)source, "%g", (double)l.scalar);
    free_leaves(&l);
}

/* jax adds the source's leaf to zeros, which loses the sign of zero. */
static void try_broadcast_of_bits(void)
{
    uint32_t bits[2] = { 0x80000000, 0x7fa00001 }, seen[2] = { 0, 0 };
    jd_leaf leaf = { seen, JD_F32, 1, (int64_t[]){ 2 } };
    if (self == 0)
        memcpy(seen, bits, sizeof seen);
    EXPECT_OK(jd_broadcast_one_to_all(&leaf, 1, 0));
    EXPECT(memcmp(seen, bits, sizeof seen) == 0, "%x %x", seen[0], seen[1]);
}

/* out's leaves, with the axis that gathering adds or lengthens. */
static void make_gathered(jd_leaf *out, int64_t shapes[4][3],
                          const struct leaves *in, int tiled)
{
    for (int i = 0; i < 4; i++) {
        const jd_leaf *leaf = &in->list[i];
        bool adds = !tiled || (leaf->ndim == 0 && count > 1);
        size_t bytes = 16;
        for (int d = 0; d < leaf->ndim; d++)
            shapes[i][d + adds] = leaf->shape[d];
        if (adds)
            shapes[i][0] = count;
        else if (leaf->ndim)
            shapes[i][0] *= count;
        out[i] = (jd_leaf){ NULL, leaf->dtype, leaf->ndim + adds, shapes[i] };
        for (int d = 0; d < out[i].ndim; d++)
            bytes *= (size_t)shapes[i][d];
        out[i].data = malloc(bytes + 1);
    }
}

static void try_allgather(int64_t n, int tiled)
{
    struct leaves in;
    jd_leaf out[4];
    int64_t shapes[4][3];
    make_leaves(&in, n);
    make_gathered(out, shapes, &in, tiled);
    EXPECT_OK(jd_process_allgather(in.list, out, 4, tiled));
    for (int p = 0; p < count; p++) {
        float scalar;
        expect_filled((char *)out[0].data + p * 9, 9, p);
        expect_filled((char *)out[1].data + p * n * 16, (size_t)n * 16, p);
        memcpy(&scalar, (char *)out[3].data + 4 * p, sizeof scalar);
        EXPECT(scalar == (float)p, "%g", (double)scalar);
    }
    for (int i = 0; i < 4; i++)
        free(out[i].data);
    free_leaves(&in);
}

static void try_shapes(void)
{
    double data[4], gathered[64];
    int64_t shape[] = { 3 }, wrong[] = { count, 2 }, tiled[] = { 3 * count };
    jd_leaf in = { data, JD_F64, 1, shape };
    jd_leaf out = { gathered, JD_F64, 2, wrong };
    const char *many = count == 1 ? "process gathers" : "processes gather";
    expect_sentence(jd_process_allgather(&in, &out, 1, 0), JD_INVALID_ARGUMENT,
                    "jd_process_allgather: out[0] is F64[%d,2]; in[0] is "
                    "F64[3], which %d %s into F64[%d,3]",
                    count, count, many, count);
    expect_sentence(jd_process_allgather(&in, &out, 1, 1), JD_INVALID_ARGUMENT,
                    "jd_process_allgather: out[0] is F64[%d,2]; in[0] is "
                    "F64[3], which %d %s into F64[%d] (tiled)",
                    count, count, many, 3 * count);
    out = (jd_leaf){ gathered, JD_F32, 1, tiled };
    EXPECT_STATUS(jd_process_allgather(&in, &out, 1, 1), JD_INVALID_ARGUMENT,
                  "out[0] is F32[");
    in.ndim = 0;
    out = (jd_leaf){ gathered, JD_F64, 0, NULL };
    EXPECT_STATUS(jd_process_allgather(&in, &out, 1, 0), JD_INVALID_ARGUMENT,
                  "out[0] is F64[]; in[0] is F64[], which");
    out = (jd_leaf){ data, JD_F64, 1, (int64_t[]){ count } };
    expect_sentence(jd_process_allgather(&in, &out, 1, 0), JD_INVALID_ARGUMENT,
                    "jd_process_allgather: in[0] and out[0] overlap; give out "
                    "memory of its own");
}

static void try_bad_leaves(void)
{
    double data = 0;
    int64_t negative[] = { 2, -1 }, huge[] = { INT64_MAX, INT64_MAX };
    jd_leaf leaf = { &data, (jd_dtype)99, 0, NULL };
    expect_sentence(jd_broadcast_one_to_all(NULL, 2, 0), JD_INVALID_ARGUMENT,
                    "jd_broadcast_one_to_all: leaves is NULL and num_leaves is "
                    "2");
    expect_sentence(jd_assert_equal(&leaf, 1, NULL), JD_INVALID_ARGUMENT,
                    "jd_assert_equal: leaves[0].dtype is 99, which is no "
                    "jd_dtype");
    leaf.dtype = JD_F64;
    leaf.ndim = -2;
    expect_sentence(jd_assert_equal(&leaf, 1, NULL), JD_INVALID_ARGUMENT,
                    "jd_assert_equal: leaves[0].ndim is -2; it is at least 0");
    leaf.ndim = 2;
    expect_sentence(jd_assert_equal(&leaf, 1, NULL), JD_INVALID_ARGUMENT,
                    "jd_assert_equal: leaves[0].shape is NULL and its ndim 2; "
                    "only a scalar needs no shape");
    leaf.shape = negative;
    expect_sentence(jd_assert_equal(&leaf, 1, NULL), JD_INVALID_ARGUMENT,
                    "jd_assert_equal: leaves[0].shape[1] is -1; it is at least "
                    "0");
    leaf.shape = huge;
    expect_sentence(jd_process_allgather(&leaf, &leaf, 1, 0),
                    JD_INVALID_ARGUMENT,
                    "jd_process_allgather: in[0] has more elements than an "
                    "address space has room for");
    leaf = (jd_leaf){ NULL, JD_F64, 0, NULL };
    expect_sentence(jd_assert_equal(&leaf, 1, NULL), JD_INVALID_ARGUMENT,
                    "jd_assert_equal: leaves[0].data is NULL; only a leaf "
                    "without elements needs no data");
    leaf.data = &data;
    expect_sentence(jd_broadcast_one_to_all(&leaf, 1, count),
                    JD_INVALID_ARGUMENT,
                    "jd_broadcast_one_to_all: source is %d; the processes are "
                    "0 to %d",
                    count, count - 1);
    expect_sentence(jd_broadcast_one_to_all(&leaf, 1, -1), JD_INVALID_ARGUMENT,
                    "jd_broadcast_one_to_all: source is -1; the processes are "
                    "0 to %d",
                    count - 1);
}

static void try_sync(void)
{
    static char longest[5000];
    EXPECT_OK(jd_sync_global_devices("one"));
    EXPECT_OK(jd_sync_global_devices(""));
    expect_sentence(jd_sync_global_devices(NULL), JD_INVALID_ARGUMENT,
                    "jd_sync_global_devices: name is NULL; give every point "
                    "of the program a name");
    memset(longest, 'x', sizeof longest - 1);
    expect_sentence(jd_sync_global_devices(longest), JD_INVALID_ARGUMENT,
                    "jd_sync_global_devices: the name has 4999 bytes; at most "
                    "4096");
    longest[4096] = '\0';
    EXPECT_OK(jd_sync_global_devices(longest));
}

#define AGREE                                                                  \
    "all processes must make the same calls in the same order, with equal "    \
    "lists "                                                                   \
    "of leaves"

/* One process is the odd one; of two, it is the second. */
static void try_disagreement(int odd)
{
    int other = odd == 0 ? 1 : 0;
    bool am_odd = self == odd;
    double data[3] = { 0 };
    int64_t shape[] = { am_odd ? 3 : 2 };
    jd_leaf leaves[2] = { { data, JD_F64, 1, shape },
                          { data, JD_S32, 0, NULL } };
    EXPECT_STATUS(jd_sync_global_devices(am_odd ? "b" : "a"),
                  JD_INVALID_ARGUMENT, "; all must come with the same");
    expect_sentence(jd_broadcast_one_to_all(leaves, 1, 0), JD_INVALID_ARGUMENT,
                    "jd_broadcast_one_to_all: process %d calls "
                    "jd_broadcast_one_to_all from process 0 of 1 leaf: F64[3], "
                    "process %d calls jd_broadcast_one_to_all from process 0 "
                    "of 1 leaf: F64[2]; " AGREE,
                    odd, other);
    shape[0] = 2;
    expect_sentence(jd_broadcast_one_to_all(leaves, 1, am_odd ? 1 : 0),
                    JD_INVALID_ARGUMENT,
                    "jd_broadcast_one_to_all: process %d calls "
                    "jd_broadcast_one_to_all from process 1 of 1 leaf: F64[2], "
                    "process %d calls jd_broadcast_one_to_all from process 0 "
                    "of 1 leaf: F64[2]; " AGREE,
                    odd, other);
    expect_sentence(jd_assert_equal(leaves, am_odd ? 1 : 2, "x"),
                    JD_INVALID_ARGUMENT,
                    "jd_assert_equal: process %d calls jd_assert_equal of 1 "
                    "leaf: F64[2], process %d calls jd_assert_equal of 2 "
                    "leaves: F64[2], S32[]; " AGREE,
                    odd, other);
    jd_status status = am_odd ? jd_broadcast_one_to_all(leaves, 2, 0)
                              : jd_assert_equal(leaves, 2, NULL);
    expect_sentence(status, JD_INVALID_ARGUMENT,
                    "%s: process %d calls jd_broadcast_one_to_all from process "
                    "0 of 2 leaves: F64[2], S32[], process %d calls "
                    "jd_assert_equal of 2 leaves: F64[2], S32[]; " AGREE,
                    am_odd ? "jd_broadcast_one_to_all" : "jd_assert_equal", odd,
                    other);
    EXPECT_OK(jd_sync_global_devices("together again"));
}

static void expect_unequal(const jd_leaf *leaves, size_t n, const char *what,
                           const char *begin, const char *end)
{
    int n_devices;
    const jd_device *const *all = jd_devices(&n_devices);
    expect_sentence(jd_assert_equal(leaves, n, what), JD_FAILED_PRECONDITION,
                    "%sjd_assert_equal: process %d (%s) has %s", begin,
                    count - 1, all[count - 1]->host, end);
}

/* The last process differs. */
static void try_unequal(int64_t n)
{
    bool differs = self == count - 1 && count > 1;
    double *data = calloc((size_t)n * 2, sizeof *data);
    char text[200];
    int64_t shape[] = { n, 2 };
    uint16_t half = differs ? 0xc100 : 0x3c00; /* -2.5 and 1 */
    float complex_number[2] = { 1, differs ? -0.1f : 2 };
    int8_t small = differs ? -3 : 100;
    unsigned char truth = differs;
    jd_leaf leaves[] = { { &small, JD_S8, 0, NULL },
                         { data, JD_F64, 2, shape },
                         { &half, JD_F16, 0, NULL },
                         { complex_number, JD_C64, 0, NULL },
                         { &truth, JD_PRED, 0, NULL } };
    if (differs)
        data[2 * n - 1] = 0.1;
    snprintf(text, sizeof text,
             "0.1 in leaf 0 at index [%lld,1], where process 0 has 0",
             (long long)n - 1);
    expect_unequal(leaves + 1, 1, "the model", "the model: ", text);
    expect_unequal(leaves, 2, NULL, "",
                   "-3 in leaf 0 at index [], where process 0 has 100");
    expect_unequal(leaves + 2, 1, NULL, "",
                   "-2.5 in leaf 0 at index [], where process 0 has 1");
    expect_unequal(leaves + 3, 1, NULL, "",
                   "1-0.1i in leaf 0 at index [], where process 0 has 1+2i");
    expect_unequal(leaves + 4, 1, NULL, "",
                   "true in leaf 0 at index [], where process 0 has false");
    data[2 * n - 1] = differs ? -0.0 : 0.0;
    data[0] = differs ? -NAN : NAN;
    EXPECT_OK(jd_assert_equal(leaves + 1, 1, "equal values"));
    free(data);
}

/* The last process differs; of one, it is NaN that differs from itself. */
static void expect_unlike(const jd_leaf *leaf, jd_equality rules,
                          const char *end)
{
    int n_devices;
    const jd_device *const *all = jd_devices(&n_devices);
    expect_sentence(jd_assert_equal_with(leaf, 1, "p", &rules, sizeof rules),
                    JD_FAILED_PRECONDITION,
                    "p: jd_assert_equal_with: process %d (%s) has %s",
                    count - 1, all[count - 1]->host, end);
}

static void try_bitwise(void)
{
    bool differs = self == count - 1;
    double zero = differs ? -0.0 : 0.0;
    uint32_t quiet = differs ? 0x7fc00001 : 0x7fc00000;
    jd_leaf leaf = { &zero, JD_F64, 0, NULL };
    jd_leaf bad = { &quiet, JD_F32, 0, NULL };
    jd_equality bitwise = { .bitwise = 1 };
    expect_unlike(&leaf, bitwise,
                  "-0 in leaf 0 at index [], where process 0 has 0 (bitwise)");
    expect_unlike(&bad, bitwise,
                  "0x7fc00001 in leaf 0 at index [], where process 0 has "
                  "0x7fc00000 (bitwise)");
    EXPECT_OK(jd_assert_equal_with(&bad, 1, NULL, NULL, 0));
    zero = 0;
    EXPECT_OK(jd_assert_equal_with(&leaf, 1, NULL, &bitwise, sizeof bitwise));
}

static void try_tolerances(int64_t n)
{
    bool differs = self == count - 1;
    float *data = calloc((size_t)n, sizeof *data);
    jd_leaf leaf = { data, JD_F32, 1, &n };
    jd_equality near = { .relative = 0.125, .absolute = 0.25 };
    char end[128];
    for (int64_t i = 0; i < n; i++)
        data[i] = differs ? 2.5f : 2;
    EXPECT_OK(jd_assert_equal_with(&leaf, 1, NULL, &near, sizeof near));
    data[n - 1] = differs ? 2.75f : 2;
    snprintf(end, sizeof end,
             "2.75 in leaf 0 at index [%lld], where process 0 has 2 (within "
             "0.25 + 0.125 * |b|)",
             (long long)n - 1);
    expect_unlike(&leaf, near, end);
    free(data);
}

/* A NaN of process 0 differs from itself, so that process 0 is named. */
static void try_nan_differs(int64_t n)
{
    int n_devices;
    const char *host = jd_devices(&n_devices)[0]->host;
    double *data = calloc((size_t)n, sizeof *data);
    jd_leaf leaf = { data, JD_F64, 1, &n };
    jd_equality rules = { .nan_differs = 1 };
    EXPECT_OK(jd_assert_equal_with(&leaf, 1, NULL, &rules, sizeof rules));
    data[n - 1] = NAN;
    expect_sentence(jd_assert_equal_with(&leaf, 1, NULL, &rules, sizeof rules),
                    JD_FAILED_PRECONDITION,
                    "jd_assert_equal_with: process 0 (%s) has nan in leaf 0 at "
                    "index [%lld], where process 0 has nan (NaNs differ)",
                    host, (long long)n - 1);
    EXPECT_OK(jd_assert_equal_with(&leaf, 1, NULL, NULL, 0));
    free(data);
}

/* Each process must bring the same rules. */
static void try_other_rules(void)
{
    double data = 1;
    jd_leaf leaf = { &data, JD_F64, 0, NULL };
    jd_equality rules = { .relative = self == count - 1 ? 0.5 : 0.25 };
    expect_sentence(jd_assert_equal_with(&leaf, 1, NULL, &rules, sizeof rules),
                    JD_INVALID_ARGUMENT,
                    "jd_assert_equal_with: process %d calls "
                    "jd_assert_equal_with of 1 leaf: F64[] (within 0 + 0.5 * "
                    "|b|), process 0 calls jd_assert_equal_with of 1 leaf: "
                    "F64[] (within 0 + 0.25 * |b|); " AGREE,
                    count - 1);
}

static void try_rules(int64_t n)
{
    try_nan_differs(n);
    if (count == 1)
        return;
    try_bitwise();
    try_tolerances(n);
    try_other_rules();
}

int main(int argc, char **argv)
{
    if (argc < 2 || strcmp(argv[1], "uninitialised") != 0)
        JD_CHECK(jd_initialize());
    count = jd_process_count();
    self = jd_process_index();
    static const int64_t lengths[] = { 1, 245, 249, 250, 300, 400001 };
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        try_broadcast(lengths[i], 0);
        try_broadcast(lengths[i], count - 1);
        try_allgather(lengths[i], 0);
        try_allgather(lengths[i], 1);
        if (count > 1)
            try_unequal(lengths[i]);
        try_rules(lengths[i]);
    }
    try_broadcast_of_bits();
    try_shapes();
    try_bad_leaves();
    try_sync();
    if (count > 1)
        try_disagreement(1);
    if (count > 2)
        try_disagreement(0);
    if (count > 2)
        try_disagreement(2);
    EXPECT_OK(jd_assert_equal(NULL, 0, NULL));
    JD_CHECK(jd_shutdown());
    return 0;
}
