/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_mesh.c - what jd_mesh_create() takes and refuses, axis lists and
 * positions, the default order of devices, and meshes as they are printed.
 */
#include "collectives/mesh/mesh.h"
#include "collectives/mesh/shard.h"
#include "tests/unit/unit.h"
#include "tests/unit/xml.h"

#include <limits.h>
#include <stdio.h>

/* pipe = 2, data = 3, model = 4 */
static const struct jd_mesh mesh = {
    .ndim = 3,
    .shape = { 2, 3, 4 },
    .axis_names = { (char[]){ "pipe" }, (char[]){ "data" },
                    (char[]){ "model" } },
    .axes = (char[]){ "\"pipe\", \"data\", \"model\"" },
    .size = 24,
};

static int index_of(const char *text, int position)
{
    struct jd_axes axes;
    UNIT_OK(jd__axes_parse(&mesh, text, "test", &axes));
    return jd__axes_index(&mesh, &axes, position);
}

static int size_of(const char *text)
{
    struct jd_axes axes;
    UNIT_OK(jd__axes_parse(&mesh, text, "test", &axes));
    return jd__axes_size(&mesh, &axes);
}

START_TEST(positions_are_row_major_along_the_axes)
{
    int position = 1 * 12 + 2 * 4 + 3; /* pipe 1, data 2, model 3 */
    ck_assert_int_eq(index_of("pipe", position), 1);
    ck_assert_int_eq(index_of("data", position), 2);
    ck_assert_int_eq(index_of("model", position), 3);
    ck_assert_int_eq(index_of("data,model", position), 2 * 4 + 3);
    ck_assert_int_eq(index_of("model,data", position), 3 * 3 + 2);
    ck_assert_int_eq(index_of("model,pipe", position), 3 * 2 + 1);
    ck_assert_int_eq(index_of("model+pipe", position), 3 * 2 + 1);
    ck_assert_int_eq(index_of("data+model,pipe", position),
                     (2 * 4 + 3) * 2 + 1);
    for (int i = 0; i < 24; i++) {
        ck_assert_int_eq(index_of(NULL, i), i);
        ck_assert_int_eq(index_of("pipe,data,model", i), i);
    }
    ck_assert_int_eq(size_of("pipe,model"), 8);
    ck_assert_int_eq(size_of("data"), 3);
    ck_assert_int_eq(size_of(NULL), 24);
}
END_TEST

START_TEST(positions_are_found_from_any_member)
{
    static const char *const lists[] = {
        "pipe", "data", "model,data", "model,pipe", "data,pipe,model", NULL
    };
    struct jd_axes axes;
    for (size_t t = 0; t < sizeof lists / sizeof *lists; t++) {
        UNIT_OK(jd__axes_parse(&mesh, lists[t], "test", &axes));
        for (int from = 0; from < 24; from++)
            for (int i = 0; i < jd__axes_size(&mesh, &axes); i++) {
                int to = jd__axes_position(&mesh, &axes, from, i);
                ck_assert_int_eq(jd__axes_index(&mesh, &axes, to), i);
                ck_assert_int_eq(
                    jd__axes_position(&mesh, &axes, to,
                                      jd__axes_index(&mesh, &axes, from)),
                    from);
            }
    }
    UNIT_OK(jd__axes_parse(&mesh, "data", "test", &axes));
    ck_assert_int_eq(jd__axes_position(&mesh, &axes, 12 + 4 + 3, 2),
                     12 + 8 + 3);
}
END_TEST

START_TEST(bad_lists_are_named)
{
    struct jd_axes axes = { .count = 7 };
    UNIT_FAILS(jd__axes_parse(&mesh, "data,mode", "jd_psum", &axes),
               JD_INVALID_ARGUMENT,
               "jd_psum: the mesh has no axis \"mode\" (of \"data,mode\"); its "
               "axes are \"pipe\", \"data\", \"model\", and NULL stands for "
               "all of them");
    UNIT_FAILS(jd__axes_parse(&mesh, "data,pipe,data", "jd_psum", &axes),
               JD_INVALID_ARGUMENT,
               "jd_psum: the axis \"data\" is there twice in "
               "\"data,pipe,data\"; name each axis once");
    ck_assert_int_eq(jd__axes_parse(&mesh, "", "x", &axes),
                     JD_INVALID_ARGUMENT);
    ck_assert_int_eq(jd__axes_parse(&mesh, ",data", "x", &axes),
                     JD_INVALID_ARGUMENT);
    ck_assert_int_eq(jd__axes_parse(&mesh, "data+", "x", &axes),
                     JD_INVALID_ARGUMENT);
    ck_assert_int_eq(jd__axes_parse(&mesh, " data", "x", &axes),
                     JD_INVALID_ARGUMENT);
    ck_assert_int_eq(axes.count, 7);
}
END_TEST

/* Two hosts whose processes alternate: 0 and 2 are on one, 1 and 3 on the
 * other; a device each. */
START_TEST(default_order_is_host_by_host)
{
    enum { COUNT = 4 };
    static const int wanted[COUNT] = { 0, 2, 1, 3 };
    struct jd_process_info processes[COUNT] = {
        { .host = 0 }, { .host = 1 }, { .host = 0 }, { .host = 1 }
    };
    jd_device devices[COUNT];
    const jd_device *list[COUNT], *ordered[COUNT];
    for (int i = 0; i < COUNT; i++) {
        devices[i] = (jd_device){ .process_index = i, .platform = "cpu" };
        list[i] = &devices[i];
    }
    struct jd_device_list platform = { .count = COUNT, .devices = list };
    struct jd_topology topology = {
        .num_hosts = 2,
        .num_processes = COUNT,
        .processes = processes,
        .platforms = &platform,
    };
    UNIT_OK(jd__mesh_order_devices(&topology, 2, ordered));
    for (int i = 0; i < COUNT; i++)
        ck_assert_int_eq(ordered[i]->process_index, wanted[i]);
    /* A mesh of one axis counts by processes all the same. */
    UNIT_OK(jd__mesh_order_devices(&topology, 1, ordered));
    for (int i = 0; i < COUNT; i++)
        ck_assert_int_eq(ordered[i]->process_index, i);
}
END_TEST

/* Three hosts of two slices: the first slice has the first and the last. */
START_TEST(hosts_of_a_slice_are_together)
{
    enum { COUNT = 6 };
    static const int wanted[COUNT] = { 0, 1, 4, 5, 2, 3 };
    struct jd_process_info processes[COUNT] = {
        { .host = 0 },
        { .host = 0 },
        { .host = 1, .slice = 1 },
        { .host = 1, .slice = 1 },
        { .host = 2 },
        { .host = 2 },
    };
    jd_device devices[COUNT];
    const jd_device *list[COUNT], *ordered[COUNT];
    for (int i = 0; i < COUNT; i++) {
        devices[i] = (jd_device){ .process_index = i, .platform = "cpu" };
        list[i] = &devices[i];
    }
    struct jd_device_list platform = { .count = COUNT, .devices = list };
    struct jd_topology topology = {
        .num_hosts = 3,
        .num_slices = 2,
        .num_processes = COUNT,
        .processes = processes,
        .platforms = &platform,
    };
    UNIT_OK(jd__mesh_order_devices(&topology, 2, ordered));
    for (int i = 0; i < COUNT; i++)
        ck_assert_int_eq(ordered[i]->process_index, wanted[i]);
}
END_TEST

/* ---- numbers in sentences ----------------------------------------------- */

static char *numbers_of(const int *processes, int count)
{
    static jd_device devices[16];
    static const jd_device *list[16];
    for (int i = 0; i < count; i++) {
        devices[i] = (jd_device){ .process_index = processes[i] };
        list[i] = &devices[i];
    }
    struct jd_mesh line = {
        .ndim = 1, .shape = { count }, .size = count, .devices = list
    };
    struct jd_shard shard = { .mesh = &line };
    struct jd_axis_comm axis_comm = { .shard = &shard,
                                      .axes = { .count = 1 },
                                      .size = count,
                                      .axes_text = (char[]){ "\"p\"" } };
    return jd__axis_comm_numbers(&axis_comm);
}

START_TEST(processes_that_are_other_indices_are_told)
{
    ck_assert_ptr_null(numbers_of((int[]){ 0, 1, 2 }, 3));
    char *text = numbers_of((int[]){ 0, 2, 1, 3 }, 4);
    ck_assert_str_eq(text, "; process 0 is index 0 of \"p\", process 1 index "
                           "2, process 2 index 1, process 3 index 3");
    free(text);
    text = numbers_of((int[]){ 0, 0, 0, 1, 0 }, 5);
    ck_assert_str_eq(text, "; process 0 is indices 0-2 of \"p\", process 0 "
                           "index 4, process 1 index 3");
    free(text);
    text = numbers_of((int[]){ 9, 8, 7, 6, 5, 4, 3, 2, 1, 0 }, 10);
    ck_assert_ptr_nonnull(strstr(text, "process 7 index 2, ... (jd_mesh_"
                                       "visualize() shows all)"));
    ck_assert_ptr_null(strstr(text, "process 8"));
    free(text);
}
END_TEST

/* ---- what is refused ---------------------------------------------------- */

START_TEST(names_are_checked)
{
    UNIT_OK(jd__mesh_check_names(2, (const char *[]){ "a", "b" }));
    UNIT_FAILS(jd__mesh_check_names(0, (const char *[]){ "a" }),
               JD_INVALID_ARGUMENT,
               "jd_mesh_create: ndim is 0; a mesh has at least one axis");
    UNIT_FAILS(jd__mesh_check_names(9, (const char *[]){ "a" }),
               JD_INVALID_ARGUMENT,
               "jd_mesh_create: ndim is 9; a mesh has at most 8 axes");
    UNIT_FAILS(jd__mesh_check_names(2, (const char *[]){ "a", "" }),
               JD_INVALID_ARGUMENT,
               "jd_mesh_create: axis_names[1] is empty; give the axis a name");
    UNIT_FAILS(jd__mesh_check_names(2, (const char *[]){ "a", NULL }),
               JD_INVALID_ARGUMENT,
               "jd_mesh_create: axis_names[1] is NULL; give the axis a name");
    UNIT_FAILS(jd__mesh_check_names(1, (const char *[]){ "-" }),
               JD_INVALID_ARGUMENT,
               "jd_mesh_create: the axis name \"-\" has a ',' or '+', or is "
               "\"-\": these have a meaning where axes are listed; use "
               "letters, digits and '_'");
    UNIT_FAILS(jd__mesh_check_names(3, (const char *[]){ "a", "b", "a" }),
               JD_INVALID_ARGUMENT,
               "jd_mesh_create: axis_names[0] and axis_names[2] are both "
               "\"a\"; give each axis a name of its own");
}
END_TEST

static jd_status resolve(int ndim, const int *shape, int available,
                         int *ret_shape, int *ret_size)
{
    static const char *const names[] = { "a", "b", "c" };
    struct jd_mesh_sizes sizes = { ndim, shape, names, available };
    return jd__mesh_resolve_sizes(&sizes, ret_shape, ret_size);
}

START_TEST(sizes_are_resolved)
{
    int shape[3], size;
    UNIT_OK(resolve(3, (int[]){ 2, -1, 3 }, 24, shape, &size));
    ck_assert_int_eq(shape[0], 2);
    ck_assert_int_eq(shape[1], 4);
    ck_assert_int_eq(shape[2], 3);
    ck_assert_int_eq(size, 24);
    UNIT_OK(resolve(2, (int[]){ 1, 6 }, 6, shape, &size));
    ck_assert_int_eq(size, 6);
    UNIT_OK(resolve(2, (int[]){ 2, 5 }, -1, shape, &size));
    ck_assert_int_eq(size, 10);
}
END_TEST

START_TEST(sizes_are_checked)
{
    int shape[3] = { 7, 7, 7 }, size = 7;
    UNIT_FAILS(resolve(2, (int[]){ 2, 0 }, 4, shape, &size),
               JD_INVALID_ARGUMENT,
               "jd_mesh_create: the size of axis \"b\" is 0; a size is "
               "positive, or -1 for what is left of all devices");
    UNIT_FAILS(resolve(2, (int[]){ -2, 2 }, 4, shape, &size),
               JD_INVALID_ARGUMENT,
               "jd_mesh_create: the size of axis \"a\" is -2; a size is "
               "positive, or -1 for what is left of all devices");
    UNIT_FAILS(resolve(3, (int[]){ -1, 1, -1 }, 4, shape, &size),
               JD_INVALID_ARGUMENT,
               "jd_mesh_create: the sizes of axes \"a\" and \"c\" are both "
               "-1; only one can be what is left");
    UNIT_FAILS(resolve(2, (int[]){ 2, -1 }, -1, shape, &size),
               JD_INVALID_ARGUMENT,
               "jd_mesh_create: the size of axis \"b\" is -1, and devices are "
               "given; say how many they are");
    UNIT_FAILS(resolve(2, (int[]){ 2, 3 }, 4, shape, &size),
               JD_INVALID_ARGUMENT,
               "jd_mesh_create: the mesh has 6 places (\"a\" 2 x \"b\" 3), "
               "and the job has 4 devices; make the product of the sizes 4, "
               "make one of them -1, or give the devices that are to be used");
    UNIT_FAILS(resolve(2, (int[]){ -1, 3 }, 4, shape, &size),
               JD_INVALID_ARGUMENT,
               "jd_mesh_create: nothing whole is left for the size -1 of axis "
               "\"a\" (\"a\" -1 x \"b\" 3): the job has 4 devices, which is "
               "no multiple of 3; change the other sizes, or give the devices "
               "that are to be used");
    UNIT_FAILS(resolve(2, (int[]){ INT_MAX, 2 }, -1, shape, &size),
               JD_INVALID_ARGUMENT,
               "jd_mesh_create: the mesh has more than 2147483647 places "
               "(\"a\" 2147483647 x \"b\" 2); make it smaller");
    ck_assert_int_eq(resolve(2, (int[]){ 65536, 65537 }, -1, shape, &size),
                     JD_INVALID_ARGUMENT); /* 65536, were it to wrap */
    ck_assert_int_eq(shape[0], 7);
    ck_assert_int_eq(size, 7);
}
END_TEST

START_TEST(devices_are_checked)
{
    jd_device devices[3] = { { .id = 5, .platform = "cpu" },
                             { .id = 6, .platform = "cpu" },
                             { .id = 7, .platform = "cuda" } };
    struct jd_topology topology = { .devices = devices, .num_devices = 3 };
    jd_device copy = devices[0];
    const jd_device *inside =
        (const jd_device *)((const char *)devices + sizeof(int64_t));
    UNIT_OK(jd__mesh_check_devices(
        &topology, (const jd_device *[]){ &devices[1], &devices[0] }, 2));
    UNIT_FAILS(
        jd__mesh_check_devices(
            &topology,
            (const jd_device *[]){ &devices[0], &devices[1], &devices[0] }, 3),
        JD_INVALID_ARGUMENT,
        "jd_mesh_create: devices[0] and devices[2] are the same device, 5; a "
        "device is in a mesh once");
    UNIT_FAILS(jd__mesh_check_devices(
                   &topology, (const jd_device *[]){ &devices[0], &copy }, 2),
               JD_INVALID_ARGUMENT,
               "jd_mesh_create: devices[1] is no device of this job; take the "
               "pointers from jd_devices() or jd_platform_devices()");
    UNIT_FAILS(
        jd__mesh_check_devices(&topology, (const jd_device *[]){ inside }, 1),
        JD_INVALID_ARGUMENT,
        "jd_mesh_create: devices[0] is no device of this job; take the "
        "pointers from jd_devices() or jd_platform_devices()");
    UNIT_FAILS(
        jd__mesh_check_devices(
            &topology, (const jd_device *[]){ &devices[1], &devices[2] }, 2),
        JD_INVALID_ARGUMENT,
        "jd_mesh_create: devices[0] is of platform cpu and devices[1] of cuda; "
        "a mesh is of one platform");
}
END_TEST

/* ---- printing ----------------------------------------------------------- */

enum { MAX_PRINTED = 4096 };

/* A job of made-up processes, `each` devices in each, `per_host` processes on
 * each host, in a mesh of the given shape. */
static char *write_by(jd_status (*write)(const jd_mesh *mesh, FILE *out),
                      int ndim, const int *shape, int each, int per_host)
{
    static jd_device devices[MAX_PRINTED];
    static const jd_device *list[MAX_PRINTED];
    static struct jd_process_info processes[MAX_PRINTED];
    static const char *const hosts[] = { "n0", "n1", "<n2>", "n3" };
    const struct jd_runtime *real;
    UNIT_OK(jd__runtime_get(&real, "test"));
    struct jd_mesh made = {
        .world = real->number,
        .ndim = ndim,
        .axis_names = { (char[]){ "pipe" }, (char[]){ "data" },
                        (char[]){ "model" } },
        .devices = list,
        .size = 1,
    };
    for (int i = 0; i < ndim; i++)
        made.size *= made.shape[i] = shape[i];
    for (int i = 0; i < made.size; i++) {
        int process = i / each;
        processes[process].host = process / per_host;
        devices[i] = (jd_device){ .process_index = process,
                                  .local_ordinal = i % each,
                                  .platform = "cpu",
                                  .host = hosts[process / per_host % 4] };
        list[i] = &devices[i];
    }
    struct jd_topology topology = {
        .num_processes = (made.size + each - 1) / each,
        .processes = processes,
    };
    topology.num_hosts = (topology.num_processes + per_host - 1) / per_host;
    struct jd_runtime runtime = { .topology = &topology };
    made.runtime = &runtime;
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    UNIT_OK(write(&made, out));
    fclose(out);
    return text;
}

static char *visualize(int ndim, const int *shape, int each, int per_host)
{
    return write_by(jd_mesh_visualize, ndim, shape, each, per_host);
}

#define SHOWS(text_, ndim, shape, each, per_host)                              \
    do {                                                                       \
        char *got_ = visualize(ndim, shape, each, per_host);                   \
        ck_assert_str_eq(got_, text_);                                         \
        free(got_);                                                            \
    } while (0)

START_TEST(one_axis_is_a_row)
{
    SHOWS("mesh \"pipe\" 4: 4 cpu devices of 2 processes on 1 host\n"
          "at each place: process:device\n\n"
          "pipe  0    1    2    3\n"
          "      0:0  0:1  1:0  1:1\n",
          1, ((int[]){ 4 }), 2, 2);
    SHOWS("mesh \"pipe\" 1: 1 cpu device of 1 process on 1 host\n"
          "at each place: process:device\n\n"
          "pipe  0\n"
          "      0:0\n",
          1, ((int[]){ 1 }), 1, 1);
}
END_TEST

START_TEST(two_axes_are_a_table)
{
    SHOWS("mesh \"pipe\" 2 x \"data\" 3: 6 cpu devices of 6 processes on 2 "
          "hosts\n"
          "at each place: host process:device\n\n"
          "        data 0  data 1  data 2\n"
          "pipe 0  n0 0:0  n0 1:0  n0 2:0\n"
          "pipe 1  n1 3:0  n1 4:0  n1 5:0\n",
          2, ((int[]){ 2, 3 }), 1, 3);
}
END_TEST

START_TEST(more_axes_are_tables)
{
    SHOWS("mesh \"pipe\" 2 x \"data\" 1 x \"model\" 2: 4 cpu devices of 4 "
          "processes on 1 host\n"
          "at each place: process:device\n"
          "\n"
          "pipe 0\n"
          "        model 0  model 1\n"
          "data 0  0:0      1:0\n"
          "\n"
          "pipe 1\n"
          "        model 0  model 1\n"
          "data 0  2:0      3:0\n",
          3, ((int[]){ 2, 1, 2 }), 1, 4);
}
END_TEST

static void start_plain(void)
{
    unsetenv("CLICOLOR_FORCE");
    unsetenv("NO_COLOR");
}

START_TEST(long_axes_are_cut)
{
    char *text = visualize(3, (int[]){ 16, 16, 16 }, 64, 64);
    ck_assert_ptr_nonnull(strstr(text, "\npipe 5\n"));
    ck_assert_ptr_null(strstr(text, "\npipe 6\n"));
    ck_assert_ptr_nonnull(strstr(text, "\n...\n\npipe 15\n"));
    ck_assert_int_eq(unit_count_of(text, "\ndata 15"), 7);
    free(text);
    text = visualize(2, (int[]){ 40, 100 }, 100, 100);
    ck_assert_int_eq(unit_count_of(text, "\npipe "), 15);
    ck_assert_ptr_nonnull(strstr(text, "\npipe 13"));
    ck_assert_ptr_null(strstr(text, "\npipe 14"));
    ck_assert_ptr_nonnull(strstr(text, "\n...\npipe 39"));
    ck_assert_ptr_nonnull(strstr(text, "  ...  data 99\n"));
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
        ck_assert_uint_le(strlen(line), 110);
    free(text);
}
END_TEST

#define ON(number) "\033[38;5;16;48;5;" #number "m"
#define OFF "\033[0m"

START_TEST(a_host_has_a_colour)
{
    setenv("CLICOLOR_FORCE", "1", 1);
    SHOWS("mesh \"pipe\" 2 x \"data\" 2: 4 cpu devices of 4 processes on 2 "
          "hosts\n"
          "at each place: host process:device\n\n"
          "        data 0  data 1\n"
          "pipe 0  " ON(153) "n0 0:0" OFF "  " ON(
              153) "n0 1:0" OFF "\n"
                   "pipe 1  " ON(223) "n1 2:0" OFF "  " ON(223) "n1 3:0" OFF
                                                                "\n",
          2, ((int[]){ 2, 2 }), 1, 2);
    setenv("NO_COLOR", "1", 1);
    SHOWS("mesh \"pipe\" 2: 2 cpu devices of 2 processes on 1 host\n"
          "at each place: process:device\n\n"
          "pipe  0    1\n"
          "      0:0  1:0\n",
          1, ((int[]){ 2 }), 1, 2);
}
END_TEST

static char *draw_svg(int ndim, const int *shape, int each, int per_host)
{
    char *text = write_by(jd_mesh_visualize_svg, ndim, shape, each, per_host);
    ck_assert(xml_is_well_formed(text));
    return text;
}

START_TEST(a_picture_has_what_the_text_has)
{
    char *text = draw_svg(2, (int[]){ 3, 2 }, 1, 2);
    ck_assert_ptr_nonnull(
        strstr(text, ">mesh &quot;pipe&quot; 3 x &quot;data&quot; 2: 6 cpu "
                     "devices of 6 processes on 3 hosts</text>"));
    ck_assert_ptr_nonnull(
        strstr(text, ">at each place: host process:device</text>"));
    ck_assert_ptr_nonnull(strstr(text, ">data 1</text>"));
    ck_assert_ptr_nonnull(strstr(text, ">pipe 2</text>"));
    ck_assert_ptr_nonnull(strstr(text, ">n1 3:0</text>"));
    ck_assert_ptr_nonnull(strstr(text, ">&lt;n2&gt; 4:0</text>"));
    for (int colour = 0; colour < 3; colour++) {
        char class[24];
        snprintf(class, sizeof class, "class=\"c%d\"", colour);
        ck_assert_int_eq(unit_count_of(text, class), 2);
    }
    ck_assert_int_eq(unit_count_of(text, "<rect "), 1 + 6);
    free(text);
}
END_TEST

START_TEST(long_axes_are_cut_in_a_picture)
{
    char *text = draw_svg(3, (int[]){ 16, 16, 16 }, 64, 64);
    ck_assert_ptr_nonnull(strstr(text, ">pipe 5</text>"));
    ck_assert_ptr_null(strstr(text, ">pipe 6</text>"));
    ck_assert_ptr_nonnull(strstr(text, ">pipe 15</text>"));
    ck_assert_int_eq(unit_count_of(text, ">data 15</text>"), 7);
    free(text);
    text = draw_svg(2, (int[]){ 40, 100 }, 100, 100);
    ck_assert_int_eq(unit_count_of(text, ">pipe "), 15);
    ck_assert_ptr_nonnull(strstr(text, ">pipe 39</text>"));
    ck_assert_ptr_nonnull(strstr(text, ">data 99</text>"));
    ck_assert_int_lt(unit_count_of(text, ">data "), 20);
    free(text);
}
END_TEST

START_TEST(what_cannot_be_printed_is_said)
{
    jd_mesh *one;
    UNIT_OK(
        jd_mesh_create(&one, 1, (int[]){ -1 }, (const char *[]){ "x" }, NULL));
    FILE *full = fopen("/dev/full", "w");
    UNIT_FAILS(jd_mesh_visualize(NULL, stdout), JD_INVALID_ARGUMENT,
               "jd_mesh_visualize: mesh is NULL");
    UNIT_FAILS(jd_mesh_visualize(one, NULL), JD_INVALID_ARGUMENT,
               "jd_mesh_visualize: out is NULL");
    UNIT_FAILS(jd_mesh_visualize(one, full), JD_DATA_LOSS,
               "jd_mesh_visualize: the mesh could not be written: No space "
               "left on device");
    UNIT_FAILS(jd_mesh_visualize_svg(NULL, stdout), JD_INVALID_ARGUMENT,
               "jd_mesh_visualize_svg: mesh is NULL");
    UNIT_FAILS(jd_mesh_visualize_svg(one, NULL), JD_INVALID_ARGUMENT,
               "jd_mesh_visualize_svg: out is NULL");
    UNIT_FAILS(jd_mesh_visualize_svg(one, full), JD_DATA_LOSS,
               "jd_mesh_visualize_svg: the picture could not be written: No "
               "space left on device");
    fclose(full);
    jd_mesh_destroy(one);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("mesh");
    TCase *axes = unit_case(suite, "axes");
    tcase_add_test(axes, positions_are_row_major_along_the_axes);
    tcase_add_test(axes, positions_are_found_from_any_member);
    tcase_add_test(axes, bad_lists_are_named);
    TCase *order = unit_case(suite, "order");
    tcase_add_test(order, default_order_is_host_by_host);
    tcase_add_test(order, hosts_of_a_slice_are_together);
    tcase_add_test(order, processes_that_are_other_indices_are_told);
    TCase *checks = unit_case(suite, "checks");
    tcase_add_test(checks, names_are_checked);
    tcase_add_test(checks, sizes_are_resolved);
    tcase_add_test(checks, sizes_are_checked);
    tcase_add_test(checks, devices_are_checked);
    TCase *printing = unit_case(suite, "printing");
    tcase_add_checked_fixture(printing, start_plain, NULL);
    tcase_add_test(printing, one_axis_is_a_row);
    tcase_add_test(printing, two_axes_are_a_table);
    tcase_add_test(printing, more_axes_are_tables);
    tcase_add_test(printing, long_axes_are_cut);
    tcase_add_test(printing, a_host_has_a_colour);
    tcase_add_test(printing, a_picture_has_what_the_text_has);
    tcase_add_test(printing, long_axes_are_cut_in_a_picture);
    tcase_add_test(printing, what_cannot_be_printed_is_said);
    return unit_main(suite);
}
