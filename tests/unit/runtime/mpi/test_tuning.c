/* SPDX-License-Identifier: BSD-3-Clause */
/* test_tuning.c - what jd sets for Open MPI, and why, over a made-up root. */
#include "runtime/mpi/tuning_openmpi.h"
#include "tests/unit/unit.h"

#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static char root[] = "/tmp/jd-test-tune-XXXXXX";

static void make_root(void)
{
    ck_assert_ptr_nonnull(mkdtemp(root));
}

static int remove_one(const char *path, const struct stat *facts, int type,
                      struct FTW *place)
{
    (void)facts, (void)type, (void)place;
    return remove(path);
}

static void remove_root(void)
{
    nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* Makes a file below the root, and the folders above it. */
static void put(const char *path, const char *text)
{
    char full[PATH_MAX];
    snprintf(full, sizeof full, "%s%s", root, path);
    for (char *slash = full + strlen(root) + 1; (slash = strchr(slash, '/'));) {
        *slash = '\0';
        mkdir(full, 0700);
        *slash++ = '/';
    }
    FILE *file = fopen(full, "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_ge(fputs(text, file), 0);
    fclose(file);
}

/* libmpi.so's path; each test starts with a distribution's. */
static const char distribution[] = "/usr/lib/x86_64-linux-gnu/libmpi.so.40";
static const char *library = distribution;

static struct jd_tuning plan_with(const char *variables, bool enabled,
                                  const struct jd_cluster *cluster)
{
    struct jd_env *env = unit_env(variables);
    struct jd_tune_request request = {
        .env = env,
        .cluster = cluster,
        .cores_allowed = 2,
        .enabled = enabled,
        .root = root,
        .library = library,
    };
    struct jd_tuning plan = { .settings[0].value = NULL };
    jd__tuning_plan_open_mpi(&request, &plan);
    jd__env_destroy(env);
    return plan;
}

/* ---- the transport ------------------------------------------------------ */

static struct jd_tune_setting pml_with(const char *variables, bool enabled)
{
    static const struct jd_cluster unknown = { .method = "none" };
    struct jd_tuning plan = plan_with(variables, enabled, &unknown);
    ck_assert_str_eq(plan.settings[JD_TUNE_PML].variable, "OMPI_MCA_pml");
    return plan.settings[JD_TUNE_PML];
}

static void expect_ob1(const char *variables)
{
    struct jd_tune_setting pml = pml_with(variables, true);
    ck_assert_msg(pml.value != NULL, "%s", pml.why);
    ck_assert_str_eq(pml.value, "ob1");
    ck_assert_str_eq(pml.why,
                     "this host has no RDMA device, and looking for one takes "
                     "MPI_Init 200 ms; JD_TUNE_MPI=0 leaves it alone");
}

/* place is below the root; NULL where the reason names no path. */
static void expect_left_alone(const char *variables, const char *before,
                              const char *place, const char *after)
{
    struct jd_tune_setting pml = pml_with(variables, true);
    char expected[512];
    snprintf(expected, sizeof expected, "left alone: %s%s%s%s", before,
             place ? root : "", place ? place : "", after);
    ck_assert_ptr_null(pml.value);
    ck_assert_str_eq(pml.why, expected);
}

START_TEST(a_host_without_a_device_gets_ob1)
{
    expect_ob1("");
    put("/sys/class/net/eth0", "");
    put("/dev/null", "");
    expect_ob1("HOME=/home/u\nOPAL_PREFIX=/opt/ompi\nOMPI_MCA_pml_ob1=1\n"
               "OMPI_MCA_pmix=^s1\nOMPI_MCA_plm=rsh\n");
}
END_TEST

START_TEST(an_empty_class_folder_is_no_device)
{
    put("/sys/class/infiniband/x", "");
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/sys/class/infiniband/x", root);
    unlink(path);
    expect_ob1("");
}
END_TEST

static const char *const devices[] = {
    "/sys/class/infiniband/mlx5_0",
    "/sys/class/cxi/cxi0",
    "/sys/class/bxi/bxi0",
    "/dev/hfi1_0",
    "/dev/ipath",
    "/dev/kgni0",
};

START_TEST(each_kind_of_device_is_found)
{
    put(devices[_i], "");
    expect_left_alone("", "this host has ", devices[_i], "");
}
END_TEST

static const char *const transports[] = {
    "OMPI_MCA_pml",
    "OMPI_MCA_mtl",
    "OMPI_MCA_btl",
    "OMPI_MCA_osc",
};

START_TEST(a_variable_chooses)
{
    char line[64], why[64];
    snprintf(line, sizeof line, "%s=^openib\n", transports[_i]);
    snprintf(why, sizeof why, "%s is set", transports[_i]);
    expect_left_alone(line, why, NULL, "");
    snprintf(line, sizeof line, "%s=\n", transports[_i]);
    expect_left_alone(line, why, NULL, "");
}
END_TEST

static const struct {
    const char *path;
    const char *variables;
    const char *library;
} files[] = {
    { "/home/u/.openmpi/mca-params.conf", "HOME=/home/u\n", distribution },
    { "/opt/ompi/etc/openmpi-mca-params.conf", "OPAL_PREFIX=/opt/ompi\n",
      distribution },
    { "/etc/openmpi/openmpi-mca-params.conf", "", distribution },
    { "/etc/openmpi-x86_64/openmpi-mca-params.conf", "",
      "/usr/lib64/openmpi/lib/libmpi.so.40" },
    { "/usr/local/etc/openmpi-mca-params.conf", "",
      "/usr/local/lib/libmpi.so.40.30.4" },
    { "/home/lib/ompi/etc/openmpi-mca-params.conf", "",
      "/home/lib/ompi/lib64/libmpi.so.40" },
};

START_TEST(each_file_chooses)
{
    put(files[_i].path, "# mine\n\npml = ucx\n");
    library = files[_i].library;
    expect_left_alone(files[_i].variables, "", files[_i].path,
                      " chooses a transport");
}
END_TEST

/* The file of another installation says nothing about this one. */
START_TEST(other_files_do_not)
{
    put("/etc/openmpi/openmpi-mca-params.conf", "pml = ucx\n");
    expect_ob1("OPAL_PREFIX=/opt/ompi\n");
    library = "/opt/ompi/lib/libmpi.so.40";
    expect_ob1("");
    library = "";
    expect_ob1("");
}
END_TEST

/* ---- what is left out --------------------------------------------------- */

static struct jd_tune_setting btl_with(const char *variables)
{
    static const struct jd_cluster unknown = { .method = "none" };
    struct jd_tuning plan = plan_with(variables, true, &unknown);
    ck_assert_str_eq(plan.settings[JD_TUNE_BTL].variable, "OMPI_MCA_btl");
    return plan.settings[JD_TUNE_BTL];
}

START_TEST(ofi_is_left_out)
{
    struct jd_tune_setting btl = btl_with("");
    ck_assert_ptr_nonnull(btl.value);
    ck_assert_str_eq(btl.value, "^ofi");
    ck_assert_str_eq(btl.why,
                     "this host has no RDMA device, and looking for one "
                     "through libfabric takes MPI_Init of Open MPI 5 1 s; "
                     "JD_TUNE_MPI=0 leaves it alone");
}
END_TEST

START_TEST(a_files_exclusions_stand)
{
    char why[512];
    put("/etc/openmpi/openmpi-mca-params.conf", "btl = ^openib\n");
    struct jd_tune_setting btl = btl_with("");
    ck_assert_ptr_null(btl.value);
    snprintf(why, sizeof why, "left alone: %s%s sets it", root,
             "/etc/openmpi/openmpi-mca-params.conf");
    ck_assert_str_eq(btl.why, why);
}
END_TEST

START_TEST(both_are_left_alone_together)
{
    struct jd_tune_setting btl = btl_with("OMPI_MCA_pml=ucx\n");
    ck_assert_ptr_null(btl.value);
    ck_assert_str_eq(btl.why, "left alone: OMPI_MCA_pml is set");
}
END_TEST

/* ---- the transport again ------------------------------------------------ */

START_TEST(files_of_nobody_are_not_read)
{
    put("/.openmpi/mca-params.conf", "pml = ucx\n");
    put("/home/u/.openmpi/mca-params.conf", "pml = ucx\n");
    expect_ob1("HOME=\nOPAL_PREFIX=\n");
}
END_TEST

static const struct {
    const char *text;
    bool chooses;
} contents[] = {
    { "pml = ucx\n", true },
    { "pml=cm", true }, /* no newline at the end */
    { "\t pml\t=\tucx\n", true },
    { "pml = ^ob1\n", true },
    { "pml = ^ucx,ob1\n", true },
    { "btl = self,vader,tcp\n", true },
    { "mtl = ofi\n", true },
    { "osc = ucx\n", true },
    { "btl_tcp_if_include = eth0\nbtl = tcp,self\n", true },
    { "pml = ^ucx\n", false },
    { "pml=^ucx\n", false },
    { "btl = ^openib\n", false },
    { "# pml = ucx\n", false },
    { "  #pml = ucx\n", false },
    { "pml_base_verbose = 10\n", false },
    { "btl_tcp_if_include = eth0\n", false },
    { "opal_pml = ucx\n", false },
    { "pml\n", false },
    { "p\nb\n=\n", false },
    { "", false },
};

START_TEST(lines_of_a_file)
{
    put(files[2].path, contents[_i].text);
    if (contents[_i].chooses)
        expect_left_alone("", "", files[2].path, " chooses a transport");
    else
        expect_ob1("");
}
END_TEST

START_TEST(jd_tune_mpi_0_switches_it_off)
{
    struct jd_tune_setting pml = pml_with("", false);
    ck_assert_ptr_null(pml.value);
    ck_assert_str_eq(pml.why, "left alone: JD_TUNE_MPI is 0");
}
END_TEST

/* ---- yielding ----------------------------------------------------------- */

static struct jd_tune_setting yield_with(const char *text, bool enabled,
                                         int local)
{
    struct jd_cluster cluster = {
        .method = "slurm",
        .local_num_processes = { local > 0, local, "SLURM_NTASKS_ON_NODE" },
    };
    struct jd_tuning plan = plan_with(text, enabled, &cluster);
    ck_assert_str_eq(plan.settings[JD_TUNE_YIELD].variable,
                     "OMPI_MCA_mpi_yield_when_idle");
    return plan.settings[JD_TUNE_YIELD];
}

START_TEST(more_processes_than_cores_yield)
{
    for (int enabled = 0; enabled < 2; enabled++) {
        struct jd_tune_setting yield = yield_with("", enabled, 3);
        ck_assert_str_eq(yield.value, "1");
        ck_assert_str_eq(yield.why, "3 processes (SLURM_NTASKS_ON_NODE) share "
                                    "2 allowed cores on this host");
    }
}
END_TEST

static const struct {
    const char *variables;
    int local; /* 0: not known */
    const char *why;
} idle[] = {
    { "", 2, "left alone: there is a core for each process on this host" },
    { "", 1, "left alone: there is a core for each process on this host" },
    { "", 0, "left alone: the processes on this host are not known" },
    { "OMPI_MCA_mpi_yield_when_idle=0\n", 3, "left alone: it is set" },
    { "OMPI_MCA_mpi_yield_when_idle=\n", 3, "left alone: it is set" },
};

START_TEST(else_they_do_not)
{
    struct jd_tune_setting yield =
        yield_with(idle[_i].variables, true, idle[_i].local);
    ck_assert_ptr_null(yield.value);
    ck_assert_str_eq(yield.why, idle[_i].why);
}
END_TEST

/* ---- putting it into force ---------------------------------------------- */

static void expect_variable(const char *name, const char *value)
{
    struct jd_env *env;
    UNIT_OK(jd__env_from_process(&env));
    const char *found = jd__env_get(env, name);
    ck_assert_str_eq(found ? found : "(not set)", value ? value : "(not set)");
    jd__env_destroy(env);
}

/* ---- JD_INTERFACE ------------------------------------------------------- */

static const struct {
    const char *list;
    const char *text;
    bool excludes;
} lists[] = {
    { NULL, "", false },
    { "", "", false },
    { "lo", "lo", false },
    { "lo:1,10.0.0.0/8", "lo,10.0.0.0/8", false },
    { "nosuch0,10.1.2.3", "10.1.2.3/32", false },
    { "nosuch0", "", false },
    { "fd00::/8,fd00::1", "", false },
    { "^docker0,fd00::1,10.1.0.0/16", "127.0.0.1/8,sppp,docker0,10.1.0.0/16",
      true },
};

START_TEST(interfaces_as_open_mpi_reads_them)
{
    struct jd_tune_interfaces interfaces;
    jd__tuning_interfaces(lists[_i].list, &interfaces);
    ck_assert_str_eq(interfaces.text, lists[_i].text);
    ck_assert_int_eq(interfaces.excludes, lists[_i].excludes);
}
END_TEST

static struct jd_tune_setting interfaces_with(const char *variables,
                                              const char *list)
{
    static const struct jd_cluster unknown = { .method = "none" };
    static struct jd_tune_interfaces interfaces;
    struct jd_env *env = unit_env(variables);
    struct jd_tune_request request = { .env = env,
                                       .cluster = &unknown,
                                       .root = root,
                                       .library = library,
                                       .interfaces = &interfaces };
    struct jd_tuning plan = { .settings[0].value = NULL };
    jd__tuning_interfaces(list, &interfaces);
    jd__tuning_plan_open_mpi(&request, &plan);
    jd__env_destroy(env);
    return plan.settings[JD_TUNE_INTERFACES];
}

/* Whatever JD_TUNE_MPI says, which is off here. */
START_TEST(mpi_gets_the_interfaces_too)
{
    struct jd_tune_setting set = interfaces_with("HOME=/h\n", "lo");
    ck_assert_str_eq(set.variable, "OMPI_MCA_btl_tcp_if_include");
    ck_assert_str_eq(set.value, "lo");
    set = interfaces_with("HOME=/h\n", "^lo");
    ck_assert_str_eq(set.variable, "OMPI_MCA_btl_tcp_if_exclude");
    ck_assert_str_eq(set.value, "127.0.0.1/8,sppp,lo");
    set = interfaces_with("OMPI_MCA_btl_tcp_if_exclude=eth1\n", "lo");
    ck_assert_ptr_null(set.value);
    ck_assert_str_eq(set.why, "left alone: OMPI_MCA_btl_tcp_if_exclude is set");
    put("/h/.openmpi/mca-params.conf", "btl_tcp_if_include = eth1\n");
    set = interfaces_with("HOME=/h\n", "lo");
    ck_assert_ptr_null(set.value);
    ck_assert_ptr_null(interfaces_with("HOME=/h\n", NULL).value);
}
END_TEST

START_TEST(a_plan_comes_and_goes)
{
    struct jd_tuning plan = {
        .settings = { { .variable = "JD_TEST_LEFT" },
                      { .variable = "JD_TEST_SET", .value = "ob1" } },
    };
    UNIT_OK(jd__env_export("JD_TEST_LEFT", "theirs"));
    UNIT_OK(jd__tuning_apply(&plan));
    expect_variable("JD_TEST_LEFT", "theirs");
    expect_variable("JD_TEST_SET", "ob1");
    UNIT_OK(jd__tuning_restore(&plan));
    expect_variable("JD_TEST_LEFT", "theirs");
    expect_variable("JD_TEST_SET", NULL);
}
END_TEST

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

int main(void)
{
    Suite *suite = suite_create("tune");
    TCase *pml = unit_case(suite, "pml");
    tcase_add_checked_fixture(pml, make_root, remove_root);
    tcase_add_test(pml, a_host_without_a_device_gets_ob1);
    tcase_add_test(pml, an_empty_class_folder_is_no_device);
    tcase_add_loop_test(pml, each_kind_of_device_is_found, 0, COUNT(devices));
    tcase_add_loop_test(pml, a_variable_chooses, 0, COUNT(transports));
    tcase_add_loop_test(pml, each_file_chooses, 0, COUNT(files));
    tcase_add_test(pml, other_files_do_not);
    tcase_add_test(pml, ofi_is_left_out);
    tcase_add_test(pml, a_files_exclusions_stand);
    tcase_add_test(pml, both_are_left_alone_together);
    tcase_add_test(pml, files_of_nobody_are_not_read);
    tcase_add_loop_test(pml, lines_of_a_file, 0, COUNT(contents));
    tcase_add_test(pml, jd_tune_mpi_0_switches_it_off);
    TCase *yield = unit_case(suite, "yield");
    tcase_add_test(yield, more_processes_than_cores_yield);
    tcase_add_loop_test(yield, else_they_do_not, 0, COUNT(idle));
    TCase *interfaces = unit_case(suite, "interfaces");
    tcase_add_checked_fixture(interfaces, make_root, remove_root);
    tcase_add_loop_test(interfaces, interfaces_as_open_mpi_reads_them, 0,
                        COUNT(lists));
    tcase_add_test(interfaces, mpi_gets_the_interfaces_too);
    TCase *plan = unit_case(suite, "plan");
    tcase_add_test(plan, a_plan_comes_and_goes);
    return unit_main(suite);
}
