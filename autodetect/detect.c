/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * detect.c - the detectors in their order, which of them are looked for, and
 * explicit values over what was found, item by item.
 */
#include "autodetect/detector.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * The first that is present wins. The order, and why:
 * - jsrun before openmpi: it may set OMPI_COMM_WORLD_* too, mpirun never
 *   JSM_*.
 * - MPI launchers before resource managers: mpirun inside an allocation
 *   leaves SLURM_* of its own step, or of none, in every process. An mpiexec
 *   of the PMI family does the same, but PMI_* alone may also come from srun
 *   --mpi=pmi2 or from flux, who tell more: so these two come before pmi, and
 *   stand back where variables show that an MPI launcher started the process
 *   inside them (jd__detector_is_outer).
 * - pmix after all who start PMIx servers: it gives the index only.
 * - torchrun after them, as scripts under srun set RANK and WORLD_SIZE from
 *   SLURM_*; but torchrun itself, known by TORCHELASTIC_RUN_ID, started
 *   inside a task of any of them, makes that one stand back.
 * - torchrun, tpu, kubernetes: what says most about the process comes first;
 *   pods of a TPU slice and of PyTorch operators are Kubernetes' Jobs too.
 */
const struct jd_detector *const jd__detectors[] = {
    &jd__detector_jsrun,      &jd__detector_openmpi,
    &jd__detector_flux,       &jd__detector_slurm,
    &jd__detector_pmi,        &jd__detector_pmix,
    &jd__detector_torchrun,   &jd__detector_tpu,
    &jd__detector_kubernetes, NULL,
};

enum {
    NUM_DETECTORS = sizeof jd__detectors / sizeof(struct jd_detector *) - 1
};

/* ---- which are looked for ----------------------------------------------- */

struct selection {
    const char *text;   /* "slurm,openmpi"; NULL: all */
    const char *origin; /* "JD_CLUSTER_DETECTION_METHOD" */
    size_t count;
    const struct jd_detector *detectors[NUM_DETECTORS];
};

static bool has_name(const struct jd_detector *detector, const char *name,
                     size_t length)
{
    if (strlen(detector->name) == length &&
        strncmp(detector->name, name, length) == 0)
        return true;
    for (const char *const *alias = detector->aliases; *alias; alias++)
        if (strlen(*alias) == length && strncmp(*alias, name, length) == 0)
            return true;
    return false;
}

static const struct jd_detector *find_detector(const char *name, size_t length)
{
    for (size_t i = 0; i < NUM_DETECTORS; i++)
        if (has_name(jd__detectors[i], name, length))
            return jd__detectors[i];
    return NULL;
}

static jd_status fail_name(const struct selection *selection, const char *name,
                           size_t length)
{
    char known[256] = "";
    for (size_t i = 0; i < NUM_DETECTORS; i++) {
        size_t used = strlen(known);
        snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "",
                 jd__detectors[i]->name);
    }
    return jd_fail(JD_INVALID_ARGUMENT,
                   "%s is \"%s\", but there is no method \"%.*s\"; it must be "
                   "names of %s in the order to look for them (slurm,openmpi), "
                   "or ^ and those to leave out (^tpu), or deactivate",
                   selection->origin, selection->text, (int)length, name,
                   known);
}

static bool is_selected(const struct selection *selection,
                        const struct jd_detector *detector)
{
    for (size_t i = 0; i < selection->count; i++)
        if (selection->detectors[i] == detector)
            return true;
    return false;
}

/* Appends the names' detectors, each once. */
static jd_status add_names(struct selection *selection, const char *names)
{
    for (const char *at = names;; at++) {
        at += strspn(at, " ");
        size_t length = strcspn(at, ", ");
        const struct jd_detector *detector = find_detector(at, length);
        if (!detector)
            return fail_name(selection, at, length);
        if (!is_selected(selection, detector))
            selection->detectors[selection->count++] = detector;
        at += length;
        at += strspn(at, " ");
        if (!*at)
            return JD_OK;
        if (*at != ',')
            return fail_name(selection, at, strcspn(at, ", "));
    }
}

/* Turns "those named" into "all but those". */
static void invert_selection(struct selection *selection)
{
    struct selection named = *selection;
    selection->count = 0;
    for (size_t i = 0; i < NUM_DETECTORS; i++)
        if (!is_selected(&named, jd__detectors[i]))
            selection->detectors[selection->count++] = jd__detectors[i];
}

static jd_status select_detectors(const struct jd_settings *settings,
                                  struct selection *selection)
{
    const struct jd_setting *setting =
        jd__options_find(settings, JD_OPTION_CLUSTER_DETECTION_METHOD);
    *selection =
        (struct selection){ .text = setting->text, .origin = setting->origin };
    if (!setting->text) {
        invert_selection(selection);
        return JD_OK;
    }
    if (strcmp(setting->text, "deactivate") == 0)
        return JD_OK;
    bool leave_out = setting->text[0] == '^';
    jd_status status = add_names(selection, setting->text + leave_out);
    if (status == JD_OK && leave_out)
        invert_selection(selection);
    return status;
}

/* ---- looking ------------------------------------------------------------ */

static jd_status add_trace(struct jd_cluster *cluster,
                           const struct jd_detector *detector, bool taken,
                           const char *reason)
{
    char *copy = strdup(reason);
    if (!copy)
        return jd__fail_no_memory("detecting the launcher", strlen(reason));
    cluster->trace[cluster->trace_length++] = (struct jd_cluster_trace){
        .detector = detector->name,
        .taken = taken,
        .reason = copy,
    };
    return JD_OK;
}

static jd_status try_detector(const struct jd_env *env,
                              const struct jd_detector *detector,
                              const struct jd_detector **taken,
                              struct jd_cluster *cluster)
{
    char reason[JD_DETECTOR_REASON_SIZE];
    bool present = detector->present(env, reason, sizeof reason) &&
                   !jd__detector_is_outer(env, detector, reason, sizeof reason);
    if (!present)
        return add_trace(cluster, detector, false, reason);
    if (*taken) {
        char late[JD_DETECTOR_REASON_SIZE + 64];
        snprintf(late, sizeof late, "%s, but %s comes first", reason,
                 (*taken)->name);
        return add_trace(cluster, detector, false, late);
    }
    *taken = detector;
    cluster->method = detector->name;
    return add_trace(cluster, detector, true, reason);
}

static jd_status trace_left_out(const struct selection *selection,
                                struct jd_cluster *cluster)
{
    char reason[JD_DETECTOR_REASON_SIZE];
    snprintf(reason, sizeof reason, "left out by %s, \"%s\"",
             selection->origin ? selection->origin : "",
             selection->text ? selection->text : "");
    for (size_t i = 0; i < NUM_DETECTORS; i++) {
        if (is_selected(selection, jd__detectors[i]))
            continue;
        jd_status status = add_trace(cluster, jd__detectors[i], false, reason);
        if (status != JD_OK)
            return status;
        cluster->trace[cluster->trace_length - 1].is_left_out = true;
    }
    return JD_OK;
}

static jd_status look_for_cluster(const struct jd_env *env,
                                  const struct selection *selection,
                                  struct jd_cluster *cluster)
{
    const struct jd_detector *taken = NULL;
    for (size_t i = 0; i < selection->count; i++) {
        jd_status status =
            try_detector(env, selection->detectors[i], &taken, cluster);
        if (status != JD_OK)
            return status;
    }
    jd_status status = trace_left_out(selection, cluster);
    if (status != JD_OK || !taken)
        return status;
    status = taken->detect(env, cluster);
    return status == JD_OK
               ? JD_OK
               : jd__fail_prefix(status,
                                 "detecting the launcher (%s): ", taken->name);
}

/* ---- explicit values ---------------------------------------------------- */

static void set_explicit_number(const struct jd_settings *settings,
                                enum jd_option option,
                                struct jd_cluster_number *number)
{
    const struct jd_setting *setting = jd__options_find(settings, option);
    if (!jd__options_is_explicit(settings, option))
        return;
    number->known = true;
    number->value = setting->integer;
    snprintf(number->source, sizeof number->source, "%s", setting->origin);
}

static jd_status set_explicit_address(const struct jd_settings *settings,
                                      struct jd_cluster_text *address)
{
    enum jd_option option = JD_OPTION_COORDINATOR_ADDRESS;
    const struct jd_setting *setting = jd__options_find(settings, option);
    if (!jd__options_is_explicit(settings, option))
        return JD_OK;
    char *copy = strdup(setting->text);
    if (!copy)
        return jd__fail_no_memory("detecting the launcher",
                                  strlen(setting->text));
    free(address->value);
    address->value = copy;
    snprintf(address->source, sizeof address->source, "%s", setting->origin);
    return JD_OK;
}

static void set_device_ids(const struct jd_settings *settings,
                           struct jd_cluster *cluster)
{
    enum jd_option option = JD_OPTION_LOCAL_DEVICE_IDS;
    const struct jd_setting *setting = jd__options_find(settings, option);
    if (!jd__options_is_explicit(settings, option))
        return;
    cluster->local_device_ids = setting->integers;
    cluster->num_local_device_ids = setting->num_integers;
    cluster->local_device_ids_source = setting->origin;
}

static bool says_who_we_are(const struct jd_settings *settings)
{
    return jd__options_is_explicit(settings, JD_OPTION_NUM_PROCESSES) ||
           jd__options_is_explicit(settings, JD_OPTION_PROCESS_ID) ||
           jd__options_is_explicit(settings, JD_OPTION_COORDINATOR_ADDRESS);
}

static void set_single_process(struct jd_cluster *cluster)
{
    const struct jd_cluster_number one = { true, 1, "no launcher" };
    const struct jd_cluster_number zero = { true, 0, "no launcher" };
    cluster->num_processes = one;
    cluster->process_id = zero;
}

static jd_status apply_explicit(const struct jd_settings *settings,
                                struct jd_cluster *cluster)
{
    bool found = strcmp(cluster->method, "none") != 0;
    if (!found && says_who_we_are(settings))
        cluster->method = "explicit";
    else if (!found)
        set_single_process(cluster);
    set_explicit_number(settings, JD_OPTION_NUM_PROCESSES,
                        &cluster->num_processes);
    set_explicit_number(settings, JD_OPTION_PROCESS_ID, &cluster->process_id);
    set_explicit_number(settings, JD_OPTION_NUM_SLICES, &cluster->num_slices);
    set_explicit_number(settings, JD_OPTION_SLICE_INDEX, &cluster->slice_index);
    set_device_ids(settings, cluster);
    return set_explicit_address(settings, &cluster->coordinator_address);
}

/* ---- what must fit ------------------------------------------------------ */

static jd_status check_index(const char *index_name,
                             const struct jd_cluster_number *index,
                             const char *count_name,
                             const struct jd_cluster_number *count)
{
    if (!index->known || !count->known || index->value < count->value)
        return JD_OK;
    return jd_fail(JD_INVALID_ARGUMENT,
                   "%s is %lld (from %s), but %s is %lld (from %s): it must "
                   "be from 0 to %lld; correct one of the two",
                   index_name, index->value, index->source, count_name,
                   count->value, count->source, count->value - 1);
}

static jd_status check_cluster(const struct jd_cluster *cluster)
{
    jd_status status = check_index("process_id", &cluster->process_id,
                                   "num_processes", &cluster->num_processes);
    if (status == JD_OK)
        status = check_index("slice_index", &cluster->slice_index, "num_slices",
                             &cluster->num_slices);
    if (status == JD_OK)
        status = check_index("local_process_id", &cluster->local_process_id,
                             "the number of processes on this host",
                             &cluster->local_num_processes);
    return status;
}

/* A launcher that is asked for by name and is not there would leave N worlds
 * of one. */
static jd_status check_selection(const struct selection *selection,
                                 const struct jd_cluster *cluster)
{
    bool is_named =
        selection->text && selection->text[0] != '^' && selection->count > 0;
    if (!is_named || strcmp(cluster->method, "none") != 0)
        return JD_OK;
    const struct jd_cluster_trace *first = &cluster->trace[0];
    return jd_fail(JD_NOT_FOUND,
                   "%s is \"%s\", but no such launcher has started this "
                   "process (%s: %s); leave it out to have the launcher found, "
                   "or set JD_NUM_PROCESSES=1 and JD_PROCESS_ID=0 to run each "
                   "process alone",
                   selection->origin, selection->text, first->detector,
                   first->reason);
}

static bool is_unasked_one(const struct jd_settings *settings,
                           const struct jd_cluster *cluster)
{
    return cluster->num_processes.known && cluster->num_processes.value == 1 &&
           !jd__options_is_explicit(settings, JD_OPTION_NUM_PROCESSES);
}

/* ---- the module's face -------------------------------------------------- */

/* NULL where memory runs out. */
static struct jd_cluster *create_cluster(void)
{
    struct jd_cluster *cluster = calloc(1, sizeof *cluster);
    struct jd_cluster_trace *trace = calloc(NUM_DETECTORS, sizeof *trace);
    if (!cluster || !trace) {
        free(cluster);
        free(trace);
        return NULL;
    }
    cluster->method = "none";
    cluster->trace = trace;
    return cluster;
}

jd_status jd__cluster_detect(const struct jd_env *env,
                             const struct jd_settings *settings,
                             struct jd_cluster **ret_cluster)
{
    struct selection selection;
    struct jd_cluster *cluster = create_cluster();
    *ret_cluster = cluster;
    if (!cluster)
        return jd__fail_no_memory("detecting the launcher", sizeof *cluster);
    jd_status status = select_detectors(settings, &selection);
    if (status == JD_OK)
        status = look_for_cluster(env, &selection, cluster);
    if (status == JD_OK)
        status = apply_explicit(settings, cluster);
    if (status == JD_OK)
        status = check_selection(&selection, cluster);
    if (status == JD_OK && is_unasked_one(settings, cluster))
        jd__cluster_find_rival(env, cluster);
    return status == JD_OK ? check_cluster(cluster) : status;
}
