/* SPDX-License-Identifier: BSD-3-Clause */
/* rival.c - a launcher that says more than the one process that was found. */
#include "autodetect/detector.h"

#include <stdlib.h>
#include <string.h>

/* What this detector alone would say; false where it does not tell a count
 * above one. Bad values count as nothing: the launcher is not asked for. */
static bool says_more(const struct jd_env *env,
                      const struct jd_detector *detector,
                      struct jd_cluster_number *ret_number)
{
    char reason[JD_DETECTOR_REASON_SIZE];
    struct jd_cluster *alone;
    if (!detector->present(env, reason, sizeof reason) ||
        !(alone = calloc(1, sizeof *alone)))
        return false;
    alone->method = detector->name;
    jd_status status = detector->detect(env, alone);
    *ret_number = alone->num_processes;
    jd__cluster_destroy(alone);
    return status == JD_OK && ret_number->known && ret_number->value > 1;
}

static bool is_left_out(const struct jd_cluster *cluster, const char *name)
{
    for (size_t i = 0; i < cluster->trace_length; i++)
        if (strcmp(cluster->trace[i].detector, name) == 0)
            return cluster->trace[i].is_left_out;
    return false;
}

/* Where nothing was taken, nothing can have been started inside it. */
static struct jd_cluster_rival
consider_rival(const struct jd_env *env, const struct jd_cluster *cluster,
               const struct jd_detector *detector)
{
    char reason[JD_DETECTOR_REASON_SIZE];
    struct jd_cluster_rival rival = { .detector = NULL };
    if (strcmp(detector->name, cluster->method) == 0 ||
        !says_more(env, detector, &rival.num_processes))
        return rival;
    rival.detector = detector->name;
    rival.is_left_out = is_left_out(cluster, detector->name);
    rival.is_outer =
        strcmp(cluster->method, "none") != 0 &&
        jd__detector_is_outer(env, detector, reason, sizeof reason);
    return rival;
}

void jd__cluster_find_rival(const struct jd_env *env,
                            struct jd_cluster *cluster)
{
    struct jd_cluster_rival *rival = &cluster->rival;
    for (size_t i = 0; jd__detectors[i]; i++) {
        struct jd_cluster_rival other =
            consider_rival(env, cluster, jd__detectors[i]);
        if (other.detector &&
            (!rival->detector || (rival->is_outer && !other.is_outer)))
            *rival = other;
    }
}
