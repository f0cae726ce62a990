/* SPDX-License-Identifier: BSD-3-Clause */
/* test_environment.c - what a environment may set before MPI_Init. */
#include "runtime/wireup/environment.h"
#include "tests/unit/unit.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

START_TEST(what_libpmix_and_the_server_give_is_allowed)
{
    static const char *const pairs[][2] = {
        { "PMIX_NAMESPACE", "jd-explicit-0-1f" },
        { "PMIX_RANK", "3" },
        { "PMIX_HOSTNAME", "node-1" },
        { "PMIX_VERSION", "4.2.2" },
        { "PMIX_SERVER_URI", "a;tcp4://127.0.0.1:99" },
        { "PMIX_SERVER_URI2", "a;tcp4://127.0.0.1:99" },
        { "PMIX_SERVER_URI41", "a;tcp4://127.0.0.1:99" },
        { "PMIX_SECURITY_MODE", "native" },
        { "PMIX_GDS_MODULE", "ds21,hash" },
        { "PMIX_BFROP_BUFFER_TYPE", "PMIX_BFROP_BUFFER_NON_DESC" },
        { "PMIX_SERVER_TMPDIR", "/tmp/jd-wireup-a" },
        { "PMIX_SYSTEM_TMPDIR", "/tmp/jd-wireup-a" },
        { "PMIX_DSTORE_21_BASE_PATH", "/tmp/jd-wireup-a/x" },
        { "PMIX_DSTORE_ESH_BASE_PATH", "/tmp/jd-wireup-a/x" },
        { "PMIX_MCA_psec", "native" },
        { "JSM_JSRUN_PORT", "1" },
        { "OMPI_MCA_btl_vader_backing_directory", "/dev/shm/jd" },
        { "OMPI_MCA_btl_sm_backing_directory", "/dev/shm/jd" },
    };
    for (size_t i = 0; i < COUNT(pairs); i++)
        ck_assert_msg(jd__environment_allows(pairs[i][0], pairs[i][1]), "%s",
                      pairs[i][0]);
}
END_TEST

START_TEST(what_may_run_code_is_not)
{
    static const char *const names[] = {
        "OMPI_MCA_mca_base_component_path",
        "PMIX_MCA_mca_base_component_path",
        "PMIX_MCA_mca_component_path",
        "PMIX_MCA_mca_base_param_files",
        "PMIX_INSTALL_PREFIX",
        "PMIX_PREFIX",
        "PMIX_PKGLIBDIR",
        "PMIX_EXEC_PREFIX",
        "PMIX_OUTPUT_REDIRECT",
        "PMIX_DEBUGGER_DAEMON",
        "OPAL_PREFIX",
        "OMPI_MCA_btl",
        "OMPI_MCA_orte_launch_agent",
        "PRTE_MCA_plm_ssh_agent",
        "LD_PRELOAD",
        "LD_LIBRARY_PATH",
        "PATH",
        "JD_LIBEXEC",
        "UCX_MODULE_DIR",
        "",
    };
    for (size_t i = 0; i < COUNT(names); i++)
        ck_assert_msg(!jd__environment_allows(names[i], "/tmp"), "%s",
                      names[i]);
}
END_TEST

START_TEST(names_count_whole)
{
    ck_assert(!jd__environment_allows("PMIX_RAN", "3"));
    ck_assert(!jd__environment_allows("PMIX_RANK_", "3"));
    ck_assert(!jd__environment_allows("pmix_rank", "3"));
    ck_assert(!jd__environment_allows(" PMIX_RANK", "3"));
    ck_assert(!jd__environment_allows("PMIX_SERVER_URIx", "a"));
    ck_assert(!jd__environment_allows("PMIX_SERVER_URI2x", "a"));
    ck_assert(!jd__environment_allows("PMIX_DSTORE__BASE_PATH", "/a"));
    ck_assert(!jd__environment_allows("PMIX_DSTORE_2", "/a"));
    ck_assert(!jd__environment_allows("PMIX_SERVER_URI#", "a"));
}
END_TEST

START_TEST(values_count_where_one_is_known)
{
    ck_assert(!jd__environment_allows("PMIX_MCA_psec", "munge"));
    ck_assert(!jd__environment_allows("JSM_JSRUN_PORT", "2"));
    ck_assert(!jd__environment_allows("PMIX_SERVER_TMPDIR", "tmp"));
    ck_assert(!jd__environment_allows("OMPI_MCA_btl_sm_backing_directory", ""));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("handed");
    TCase *tcase = unit_case(suite, "handed");
    tcase_add_test(tcase, what_libpmix_and_the_server_give_is_allowed);
    tcase_add_test(tcase, what_may_run_code_is_not);
    tcase_add_test(tcase, names_count_whole);
    tcase_add_test(tcase, values_count_where_one_is_known);
    return unit_main(suite);
}
