/* SPDX-License-Identifier: BSD-3-Clause */
/* test_detect.c - what the golden pairs of tests/env cannot show: sources,
 * options of the program, the trace, and what a start requires. */
#include "autodetect/detector.h"
#include "tests/unit/unit.h"

#include <stdio.h>

struct detection {
    struct jd_env *env;
    struct jd_settings *settings;
    struct jd_cluster *cluster;
    jd_status status;
};

static void detect(const char *variables, const jd_options *options,
                   struct detection *d)
{
    struct jd_env *env = unit_env(variables);
    *d = (struct detection){ .env = env };
    UNIT_OK(jd__options_resolve(env, options, options ? sizeof *options : 0,
                                &d->settings));
    d->status = jd__cluster_detect(env, d->settings, &d->cluster);
    ck_assert_ptr_nonnull(d->cluster);
}

static void finish(struct detection *d)
{
    jd__cluster_destroy(d->cluster);
    jd__options_destroy(d->settings);
    jd__env_destroy(d->env);
}

static void expect_number(const struct jd_cluster_number *number,
                          long long value, const char *source)
{
    ck_assert(number->known);
    ck_assert_int_eq(number->value, value);
    ck_assert_str_eq(number->source, source);
}

static const struct jd_cluster_trace *trace_of(const struct jd_cluster *cluster,
                                               const char *name)
{
    for (size_t i = 0; i < cluster->trace_length; i++)
        if (strcmp(cluster->trace[i].detector, name) == 0)
            return &cluster->trace[i];
    ck_abort_msg("no trace of %s", name);
    return NULL;
}

#define SLURM                                                                  \
    "SLURM_JOB_ID=123456\nSLURM_STEP_NODELIST=n[001-002]\nSLURM_PROCID=2\n"    \
    "SLURM_LOCALID=0\nSLURM_STEP_NUM_TASKS=4\n"                                \
    "SLURM_STEP_TASKS_PER_NODE=2(x2)\nSLURM_NODEID=1\n"
#define ARBITRARY(list, process, node)                                         \
    "SLURM_JOB_ID=123456\nSLURM_STEP_NUM_TASKS=4\nSLURM_LOCALID=0\n"           \
    "SLURM_DISTRIBUTION=arbitrary\nSLURM_STEP_NODELIST=" list                  \
    "\nSLURM_PROCID=" process "\nSLURM_NODEID=" node "\n"
#define THREE "n[001-003]"
#define OPENMPI "OMPI_COMM_WORLD_RANK=1\nOMPI_COMM_WORLD_SIZE=4\n"

START_TEST(each_value_has_its_source)
{
    struct detection d;
    detect(SLURM "JAX_COORDINATOR_PORT=99\n", NULL, &d);
    ck_assert_str_eq(d.cluster->method, "slurm");
    expect_number(&d.cluster->num_processes, 4, "SLURM_STEP_NUM_TASKS");
    expect_number(&d.cluster->process_id, 2, "SLURM_PROCID");
    expect_number(&d.cluster->local_process_id, 0, "SLURM_LOCALID");
    expect_number(&d.cluster->local_num_processes, 2,
                  "SLURM_STEP_TASKS_PER_NODE, SLURM_NODEID");
    ck_assert_str_eq(d.cluster->coordinator_address.value, "n001:99");
    ck_assert_str_eq(d.cluster->coordinator_address.source,
                     "SLURM_STEP_NODELIST, JAX_COORDINATOR_PORT");
    ck_assert(!d.cluster->num_slices.known);
    UNIT_OK(jd__cluster_require(d.env, d.cluster));
    finish(&d);
}
END_TEST

START_TEST(an_unknown_address_says_why)
{
    struct detection d;
    detect(OPENMPI, NULL, &d);
    ck_assert_ptr_null(d.cluster->coordinator_address.value);
    ck_assert_str_eq(d.cluster->coordinator_address.source,
                     "only MPI can tell where process 0 is");
    finish(&d);
    detect(ARBITRARY("n[001-002]", "1", "2"), NULL, &d);
    ck_assert_ptr_null(d.cluster->coordinator_address.value);
    ck_assert_int_eq(d.cluster->num_coordinator_candidates, 0);
    ck_assert_str_eq(d.cluster->coordinator_address.source,
                     "SLURM_DISTRIBUTION is arbitrary: process 0 need not be "
                     "on the first host");
    finish(&d);
    detect("RANK=0\nWORLD_SIZE=2\nMASTER_ADDR=localhost\nMASTER_PORT=5\n", NULL,
           &d);
    ck_assert_str_eq(d.cluster->coordinator_address.source,
                     "MASTER_ADDR says localhost, which is another host for "
                     "others");
    finish(&d);
}
END_TEST

/* text: the candidates, a blank after each. */
static void expect_candidates(const struct jd_cluster *cluster,
                              const char *text, const char *source)
{
    char found[128] = "";
    for (size_t i = 0; i < cluster->num_coordinator_candidates; i++) {
        strcat(found, cluster->coordinator_candidates[i]);
        strcat(found, " ");
    }
    ck_assert_str_eq(found, text);
    ck_assert_ptr_null(cluster->coordinator_address.value);
    ck_assert_str_eq(cluster->coordinator_address.source, source);
}

START_TEST(arbitrary_hosts_are_candidates)
{
    struct detection d;
    detect(ARBITRARY(THREE, "2", "1"), NULL, &d);
    UNIT_OK(d.status);
    expect_candidates(d.cluster, "n001:62016 n002:62016 n003:62016 ",
                      "SLURM_DISTRIBUTION is arbitrary: process 0 is on one of "
                      "3 hosts of SLURM_STEP_NODELIST");
    finish(&d);
    detect(ARBITRARY(THREE, "2", "1") "SLURM_GTIDS=2,3\n"
                                      "JAX_COORDINATOR_PORT=99\n",
           NULL, &d);
    UNIT_OK(d.status);
    expect_candidates(d.cluster, "n001:99 n003:99 ",
                      "SLURM_DISTRIBUTION is arbitrary: process 0 is on one of "
                      "2 hosts of SLURM_STEP_NODELIST");
    finish(&d);
    detect(ARBITRARY(THREE, "2", "1") "JAX_COORDINATOR_PORT=0\n", NULL, &d);
    ck_assert_int_eq(d.status, JD_INVALID_ARGUMENT);
    finish(&d);
}
END_TEST

START_TEST(process_0s_own_host_is_certain)
{
    static const struct {
        const char *variables, *address, *source;
    } rows[] = {
        { ARBITRARY(THREE, "0", "1"), "n002:62016",
          "SLURM_STEP_NODELIST, SLURM_NODEID, SLURM_JOB_ID" },
        { ARBITRARY(THREE, "2", "1") "SLURM_GTIDS=0,2\n", "n002:62016",
          "SLURM_STEP_NODELIST, SLURM_NODEID, SLURM_JOB_ID" },
        { ARBITRARY("n[001-002]", "2", "1") "SLURM_GTIDS=2\n", "n001:62016",
          "SLURM_STEP_NODELIST, SLURM_GTIDS, SLURM_JOB_ID" },
        { ARBITRARY(THREE, "2", "1") "JD_COORDINATOR_ADDRESS=a:1\n", "a:1",
          "JD_COORDINATOR_ADDRESS" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct detection d;
        detect(rows[i].variables, NULL, &d);
        UNIT_OK(d.status);
        ck_assert_str_eq(d.cluster->coordinator_address.value, rows[i].address);
        ck_assert_str_eq(d.cluster->coordinator_address.source, rows[i].source);
        finish(&d);
    }
}
END_TEST

START_TEST(slices_and_their_sources)
{
    struct detection d;
    detect("TPU_WORKER_ID=1\nTPU_WORKER_HOSTNAMES=a,b\n"
           "MEGASCALE_COORDINATOR_ADDRESS=z:1\nMEGASCALE_NUM_SLICES=3\n"
           "MEGASCALE_SLICE_ID=2\n",
           NULL, &d);
    ck_assert_int_eq(d.status, JD_OK);
    expect_number(&d.cluster->num_processes, 6,
                  "TPU_WORKER_HOSTNAMES, MEGASCALE_NUM_SLICES");
    expect_number(&d.cluster->process_id, 5,
                  "TPU_WORKER_ID, MEGASCALE_SLICE_ID");
    expect_number(&d.cluster->num_slices, 3, "MEGASCALE_NUM_SLICES");
    expect_number(&d.cluster->slice_index, 2, "MEGASCALE_SLICE_ID");
    ck_assert_str_eq(d.cluster->coordinator_address.value, "z:8482");
    ck_assert_str_eq(d.cluster->coordinator_address.source,
                     "MEGASCALE_COORDINATOR_ADDRESS, the default port");
    finish(&d);
}
END_TEST

START_TEST(local_counts_of_each_node)
{
    static const struct {
        const char *node, *list;
        long long tasks; /* 0: not told */
    } rows[] = {
        { "0", "2(x3),1", 2 }, { "2", "2(x3),1", 2 }, { "3", "2(x3),1", 1 },
        { "4", "2(x3),1", 0 }, { "0", "5", 5 },       { "1", "1,7,2", 7 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[512];
        struct detection d;
        snprintf(text, sizeof text,
                 "SLURM_JOB_ID=1\nSLURM_STEP_NODELIST=n[1-5]\nSLURM_PROCID=0\n"
                 "SLURM_LOCALID=0\nSLURM_NTASKS=10\nSLURM_NODEID=%s\n"
                 "SLURM_STEP_TASKS_PER_NODE=%s\n",
                 rows[i].node, rows[i].list);
        detect(text, NULL, &d);
        ck_assert_int_eq(d.status, JD_OK);
        ck_assert_int_eq(d.cluster->local_num_processes.known,
                         rows[i].tasks != 0);
        ck_assert_int_eq(d.cluster->local_num_processes.value, rows[i].tasks);
        finish(&d);
    }
}
END_TEST

START_TEST(bad_lists_of_tasks_are_refused)
{
    static const char *const bad[] = {
        "2(x", "2(x0)", "x", "2,", "2(x2)1", ",2", "99999999999", "2(2)", "-1",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char text[512], sentence[256];
        struct detection d;
        snprintf(text, sizeof text,
                 "SLURM_JOB_ID=1\nSLURM_STEP_NODELIST=n1\nSLURM_PROCID=0\n"
                 "SLURM_LOCALID=0\nSLURM_NTASKS=2\nSLURM_NODEID=0\n"
                 "SLURM_STEP_TASKS_PER_NODE=%s\n",
                 bad[i]);
        snprintf(sentence, sizeof sentence,
                 "detecting the launcher (slurm): SLURM_STEP_TASKS_PER_NODE is "
                 "\"%s\", but it must be a list like 2(x3),1; correct it or "
                 "unset it",
                 bad[i]);
        detect(text, NULL, &d);
        UNIT_FAILS(d.status, JD_INVALID_ARGUMENT, sentence);
        finish(&d);
    }
}
END_TEST

/* ---- options of the program --------------------------------------------- */

START_TEST(options_win_item_by_item)
{
    int ids[] = { 1 };
    jd_options options = { .coordinator_address = "[::1]:1",
                           .num_slices = 2,
                           .slice_index = 1,
                           .local_device_ids = ids,
                           .num_local_device_ids = 1 };
    struct detection d;
    detect(SLURM, &options, &d);
    ck_assert_int_eq(d.status, JD_OK);
    ck_assert_str_eq(d.cluster->method, "slurm");
    ck_assert_str_eq(d.cluster->coordinator_address.value, "[::1]:1");
    ck_assert_str_eq(d.cluster->coordinator_address.source,
                     "option coordinator_address");
    expect_number(&d.cluster->num_processes, 4, "SLURM_STEP_NUM_TASKS");
    expect_number(&d.cluster->num_slices, 2, "option num_slices");
    expect_number(&d.cluster->slice_index, 1, "option slice_index");
    ck_assert_uint_eq(d.cluster->num_local_device_ids, 1);
    ck_assert_str_eq(d.cluster->local_device_ids_source,
                     "option local_device_ids");
    finish(&d);
}
END_TEST

START_TEST(both_sources_are_named)
{
    jd_options options = { .num_processes = 2, .process_id = 2 };
    struct detection d;
    detect("", &options, &d);
    UNIT_FAILS(d.status, JD_INVALID_ARGUMENT,
               "process_id is 2 (from option process_id), but num_processes is "
               "2 (from option num_processes): it must be from 0 to 1; correct "
               "one of the two");
    finish(&d);
    options.process_id = -1;
    detect(SLURM, &options, &d);
    UNIT_FAILS(d.status, JD_INVALID_ARGUMENT,
               "process_id is 2 (from SLURM_PROCID), but num_processes is 2 "
               "(from option num_processes): it must be from 0 to 1; correct "
               "one of the two");
    finish(&d);
}
END_TEST

START_TEST(the_method_may_be_an_option)
{
    jd_options options = { .cluster_detection_method = "slurm,fish" };
    struct detection d;
    detect("", &options, &d);
    UNIT_FAILS(d.status, JD_INVALID_ARGUMENT,
               "option cluster_detection_method is \"slurm,fish\", but there "
               "is no method \"fish\"; it must be names of jsrun, openmpi, "
               "flux, slurm, pmi, pmix, torchrun, tpu, kubernetes in the order "
               "to look for them (slurm,openmpi), or ^ and those to leave out "
               "(^tpu), or deactivate");
    finish(&d);
}
END_TEST

/* ---- the trace ---------------------------------------------------------- */

START_TEST(each_detector_is_in_the_trace_once)
{
    static const char *const methods[] = {
        "^tpu",
        "slurm,openmpi",
        "deactivate",
        "k8s,kubernetes,torchrun",
    };
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        jd_options options = { .cluster_detection_method = methods[i] };
        struct detection d;
        detect(SLURM, &options, &d);
        ck_assert_uint_eq(d.cluster->trace_length, 9);
        for (int j = 0; jd__detectors[j]; j++)
            trace_of(d.cluster, jd__detectors[j]->name);
        finish(&d);
    }
}
END_TEST

START_TEST(the_trace_says_why)
{
    jd_options options = { .cluster_detection_method = "^tpu" };
    struct detection d;
    detect(SLURM "RANK=2\nWORLD_SIZE=4\nFLUX_JOB_SIZE=2\n", &options, &d);
    ck_assert(trace_of(d.cluster, "slurm")->taken);
    ck_assert_str_eq(trace_of(d.cluster, "slurm")->reason,
                     "SLURM_JOB_ID, SLURM_STEP_NODELIST, SLURM_PROCID, "
                     "SLURM_LOCALID and SLURM_STEP_NUM_TASKS are set");
    ck_assert_str_eq(trace_of(d.cluster, "flux")->reason,
                     "FLUX_TASK_RANK is not set");
    ck_assert_str_eq(trace_of(d.cluster, "torchrun")->reason,
                     "RANK and WORLD_SIZE are set, but slurm comes first");
    ck_assert(!trace_of(d.cluster, "torchrun")->taken);
    ck_assert_str_eq(trace_of(d.cluster, "pmi")->reason,
                     "PMI_RANK (or PALS_RANKID, MV2_COMM_WORLD_RANK, PMI_ID) "
                     "and PMI_SIZE (or MV2_COMM_WORLD_SIZE) are not set");
    ck_assert_str_eq(trace_of(d.cluster, "tpu")->reason,
                     "left out by option cluster_detection_method, \"^tpu\"");
    finish(&d);
}
END_TEST

START_TEST(an_error_leaves_the_trace)
{
    struct detection d;
    detect("OMPI_COMM_WORLD_RANK=x\nOMPI_COMM_WORLD_SIZE=4\n", NULL, &d);
    ck_assert_int_eq(d.status, JD_INVALID_ARGUMENT);
    ck_assert_uint_eq(d.cluster->trace_length, 9);
    ck_assert(trace_of(d.cluster, "openmpi")->taken);
    finish(&d);
}
END_TEST

START_TEST(an_inherited_step_stands_back)
{
    struct detection d;
    detect(SLURM OPENMPI, NULL, &d);
    ck_assert_str_eq(d.cluster->method, "openmpi");
    ck_assert_str_eq(trace_of(d.cluster, "slurm")->reason,
                     "mpirun started this process: OMPI_COMM_WORLD_RANK and "
                     "OMPI_COMM_WORLD_SIZE are set");
    finish(&d);
    /* A sign without its launcher's minimum sets nobody aside. */
    detect(SLURM "OMPI_COMM_WORLD_RANK=1\nHYDI_CONTROL_FD=5\n"
                 "TORCHELASTIC_RUN_ID=x\n",
           NULL, &d);
    ck_assert_str_eq(d.cluster->method, "slurm");
    finish(&d);
}
END_TEST

START_TEST(names_are_unique)
{
    for (int i = 0; jd__detectors[i]; i++) {
        ck_assert_ptr_nonnull(jd__detectors[i]->doc);
        for (int j = 0; j < i; j++)
            ck_assert_str_ne(jd__detectors[i]->name, jd__detectors[j]->name);
    }
}
END_TEST

/* ---- torchrun's port ---------------------------------------------------- */

static int port_of(const char *run, int restart, int rank)
{
    char text[256];
    struct detection d;
    snprintf(text, sizeof text,
             "RANK=%d\nWORLD_SIZE=2\nMASTER_ADDR=a\nMASTER_PORT=61441\n"
             "TORCHELASTIC_RUN_ID=%s\nTORCHELASTIC_RESTART_COUNT=%d\n",
             rank, run, restart);
    detect(text, NULL, &d);
    const char *address = d.cluster->coordinator_address.value;
    ck_assert_msg(address && strncmp(address, "a:", 2) == 0, "%s", address);
    ck_assert_str_eq(d.cluster->coordinator_address.source,
                     "MASTER_ADDR, MASTER_PORT, TORCHELASTIC_RUN_ID");
    int port = atoi(address + 2);
    finish(&d);
    return port;
}

/* Its agent listens at MASTER_PORT itself. */
START_TEST(torchruns_own_port_is_not_taken)
{
    int others = 0;
    for (int restart = 0; restart < 8192; restart++) {
        int port = port_of("none", restart, 0);
        ck_assert_int_ne(port, 61441);
        ck_assert_int_ge(port, JD_FIRST_PORT);
        ck_assert_int_lt(port, JD_FIRST_PORT + JD_NUM_PORTS);
        others += port != port_of("none", restart + 1, 0);
    }
    ck_assert_int_gt(others, 8000);
    ck_assert_int_eq(port_of("none", 3, 0), port_of("none", 3, 1));
    ck_assert_int_ne(port_of("none", 0, 0), port_of("other", 0, 0));
}
END_TEST

/* ---- what a start requires ---------------------------------------------- */

START_TEST(what_is_missing_is_named)
{
    struct detection d;
    detect("KUBERNETES_SERVICE_HOST=10.0.0.1\nJOB_COMPLETION_INDEX=3\n", NULL,
           &d);
    UNIT_FAILS(jd__cluster_require(d.env, d.cluster), JD_FAILED_PRECONDITION,
               "jd_initialize: the launcher (method kubernetes) does not tell "
               "num_processes (JD_NUM_PROCESSES or JAX_NUM_PROCESSES), "
               "coordinator_address (JD_COORDINATOR_ADDRESS or "
               "JAX_COORDINATOR_ADDRESS): JOBSET_NAME and REPLICATED_JOB_NAME "
               "are not both set; give it as an option or as that variable, "
               "in every process (jd-info shows what each variable says)");
    finish(&d);
    detect("JD_COORDINATOR_ADDRESS=a:1\n", NULL, &d);
    ck_assert_str_eq(d.cluster->method, "explicit");
    UNIT_FAILS(jd__cluster_require(d.env, d.cluster), JD_FAILED_PRECONDITION,
               "jd_initialize: the launcher (method explicit) does not tell "
               "num_processes (JD_NUM_PROCESSES or JAX_NUM_PROCESSES), "
               "process_id (JD_PROCESS_ID or JAX_PROCESS_ID); give it as an "
               "option or as that variable, in every process (jd-info shows "
               "what each variable says)");
    finish(&d);
}
END_TEST

START_TEST(no_launcher_is_one_process)
{
    struct detection d;
    detect("HOME=/\nSLURM_JOB_ID=7\n", NULL, &d);
    ck_assert_str_eq(d.cluster->method, "none");
    expect_number(&d.cluster->num_processes, 1, "no launcher");
    expect_number(&d.cluster->process_id, 0, "no launcher");
    UNIT_OK(jd__cluster_require(d.env, d.cluster));
    finish(&d);
    jd__cluster_destroy(NULL);
}
END_TEST

/* A server of PMIx tells the count itself, and where process 0 is. */
START_TEST(a_pmix_server_need_not_tell_the_count)
{
    static const char *const lacking[] = {
        "PMIX_RANK=1\nPMIX_NAMESPACE=a\n",
        "PMIX_RANK=1\nPMIX_NAMESPACE=a\nPMIX_SERVER_TMPDIR=/tmp\n",
    };
    struct detection d;
    detect("PMIX_RANK=1\nPMIX_NAMESPACE=a\nPMIX_SERVER_URI41=x\n", NULL, &d);
    UNIT_OK(jd__cluster_require(d.env, d.cluster));
    finish(&d);
    for (size_t i = 0; i < sizeof lacking / sizeof *lacking; i++) {
        detect(lacking[i], NULL, &d);
        ck_assert_int_eq(jd__cluster_require(d.env, d.cluster),
                         JD_FAILED_PRECONDITION);
        finish(&d);
    }
}
END_TEST

/* ---- worlds of one ------------------------------------------------------ */

#define TORCH "RANK=1\nWORLD_SIZE=4\nMASTER_ADDR=a\nMASTER_PORT=1\n"
#define TASK_OF_ONE                                                            \
    "SLURM_JOB_ID=7\nSLURM_STEP_NODELIST=n1\nSLURM_PROCID=0\n"                 \
    "SLURM_LOCALID=0\nSLURM_STEP_NUM_TASKS=1\n"
#define MPIRUN_OF_ONE "OMPI_COMM_WORLD_RANK=0\nOMPI_COMM_WORLD_SIZE=1\n"

START_TEST(one_task_and_more_ranks_contradict_each_other)
{
    struct detection d;
    detect(TASK_OF_ONE TORCH, NULL, &d);
    ck_assert_str_eq(d.cluster->method, "slurm");
    UNIT_FAILS(jd__cluster_require(d.env, d.cluster), JD_FAILED_PRECONDITION,
               "jd_initialize: the launcher (method slurm) says 1 process "
               "(SLURM_STEP_NUM_TASKS), but torchrun says 4 (WORLD_SIZE): each "
               "would be a world of one; set "
               "JD_CLUSTER_DETECTION_METHOD=torchrun to take the latter, or "
               "set JD_NUM_PROCESSES=1 and JD_PROCESS_ID=0 if that is meant");
    finish(&d);
    detect(TASK_OF_ONE TORCH "JD_CLUSTER_DETECTION_METHOD=torchrun\n", NULL,
           &d);
    UNIT_OK(jd__cluster_require(d.env, d.cluster));
    expect_number(&d.cluster->num_processes, 4, "WORLD_SIZE");
    finish(&d);
    detect(TASK_OF_ONE TORCH "JD_NUM_PROCESSES=1\nJD_PROCESS_ID=0\n", NULL, &d);
    UNIT_OK(jd__cluster_require(d.env, d.cluster));
    finish(&d);
}
END_TEST

START_TEST(who_is_left_out_contradicts_too)
{
    static const char *const methods[] = { "deactivate", "^openmpi" };
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        struct detection d;
        char variables[256];
        snprintf(variables, sizeof variables,
                 OPENMPI "JD_CLUSTER_DETECTION_METHOD=%s\n", methods[i]);
        detect(variables, NULL, &d);
        UNIT_FAILS(jd__cluster_require(d.env, d.cluster),
                   JD_FAILED_PRECONDITION,
                   "jd_initialize: the launcher (method none) says 1 process "
                   "(no launcher), but openmpi says 4 (OMPI_COMM_WORLD_SIZE): "
                   "each would be a world of one; leave "
                   "JD_CLUSTER_DETECTION_METHOD out, which leaves openmpi out, "
                   "or set JD_NUM_PROCESSES=1 and JD_PROCESS_ID=0 if that is "
                   "meant");
        finish(&d);
    }
}
END_TEST

START_TEST(a_method_that_is_named_must_be_there)
{
    struct detection d;
    detect(OPENMPI "JD_CLUSTER_DETECTION_METHOD=flux,torchrun\n", NULL, &d);
    ck_assert_int_eq(d.status, JD_NOT_FOUND);
    ck_assert_str_eq(
        jd_error_message(),
        "JD_CLUSTER_DETECTION_METHOD is \"flux,torchrun\", but no such "
        "launcher "
        "has started this process (flux: FLUX_TASK_RANK and FLUX_JOB_SIZE are "
        "not set); leave it out to have the launcher found, or set "
        "JD_NUM_PROCESSES=1 and JD_PROCESS_ID=0 to run each process alone");
    finish(&d);
    detect(OPENMPI "JD_CLUSTER_DETECTION_METHOD=flux\nJD_NUM_PROCESSES=1\n"
                   "JD_PROCESS_ID=0\n",
           NULL, &d);
    UNIT_OK(d.status);
    finish(&d);
}
END_TEST

/* mpirun in a step, or a step under mpirun: more than variables must tell. */
START_TEST(an_outer_step_is_left_to_be_looked_at)
{
    struct detection d;
    detect(SLURM MPIRUN_OF_ONE, NULL, &d);
    ck_assert_str_eq(d.cluster->method, "openmpi");
    ck_assert_str_eq(d.cluster->rival.detector, "slurm");
    ck_assert(d.cluster->rival.is_outer);
    UNIT_OK(jd__cluster_require(d.env, d.cluster));
    finish(&d);
    detect(SLURM MPIRUN_OF_ONE TORCH, NULL, &d);
    ck_assert_str_eq(d.cluster->rival.detector, "torchrun");
    ck_assert_int_eq(jd__cluster_require(d.env, d.cluster),
                     JD_FAILED_PRECONDITION);
    finish(&d);
}
END_TEST

/* MPI_Init of a program that nobody started sets PMIX_* itself. */
START_TEST(a_singleton_is_no_launcher)
{
    struct detection d;
    detect("OMPI_MCA_ess=singleton\nPMIX_RANK=0\nPMIX_NAMESPACE=9\n"
           "TPU_WORKER_ID=1\nTPU_WORKER_HOSTNAMES=a,b\n",
           NULL, &d);
    ck_assert_str_eq(d.cluster->method, "tpu");
    ck_assert_str_eq(trace_of(d.cluster, "pmix")->reason,
                     "OMPI_MCA_ess is singleton: MPI_Init has set PMIX_* "
                     "itself");
    finish(&d);
}
END_TEST

START_TEST(loopback_hosts)
{
    static const char *const yes[] = {
        "localhost", "LocalHost", "127.0.0.1", "127.1.2.3",
        "::1",       "[::1]",     "0.0.0.0",
    };
    static const char *const no[] = {
        "host", "localhost1", "128.0.0.1", "127.example.org", "fd00::1", "",
    };
    for (size_t i = 0; i < sizeof yes / sizeof *yes; i++)
        ck_assert_msg(jd__host_is_loopback(yes[i], strlen(yes[i])), "%s",
                      yes[i]);
    for (size_t i = 0; i < sizeof no / sizeof *no; i++)
        ck_assert_msg(!jd__host_is_loopback(no[i], strlen(no[i])), "%s", no[i]);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("detect");
    TCase *values = unit_case(suite, "values");
    tcase_add_test(values, each_value_has_its_source);
    tcase_add_test(values, an_unknown_address_says_why);
    tcase_add_test(values, arbitrary_hosts_are_candidates);
    tcase_add_test(values, process_0s_own_host_is_certain);
    tcase_add_test(values, slices_and_their_sources);
    tcase_add_test(values, local_counts_of_each_node);
    tcase_add_test(values, bad_lists_of_tasks_are_refused);
    tcase_add_test(values, loopback_hosts);
    TCase *options = unit_case(suite, "options");
    tcase_add_test(options, options_win_item_by_item);
    tcase_add_test(options, both_sources_are_named);
    tcase_add_test(options, the_method_may_be_an_option);
    TCase *trace = unit_case(suite, "trace");
    tcase_add_test(trace, each_detector_is_in_the_trace_once);
    tcase_add_test(trace, the_trace_says_why);
    tcase_add_test(trace, an_error_leaves_the_trace);
    tcase_add_test(trace, an_inherited_step_stands_back);
    tcase_add_test(trace, names_are_unique);
    tcase_add_test(values, torchruns_own_port_is_not_taken);
    TCase *start = unit_case(suite, "start");
    tcase_add_test(start, what_is_missing_is_named);
    tcase_add_test(start, no_launcher_is_one_process);
    tcase_add_test(start, a_pmix_server_need_not_tell_the_count);
    TCase *one = unit_case(suite, "worlds of one");
    tcase_add_test(one, one_task_and_more_ranks_contradict_each_other);
    tcase_add_test(one, who_is_left_out_contradicts_too);
    tcase_add_test(one, a_method_that_is_named_must_be_there);
    tcase_add_test(one, an_outer_step_is_left_to_be_looked_at);
    tcase_add_test(one, a_singleton_is_no_launcher);
    return unit_main(suite);
}
