/* SPDX-License-Identifier: BSD-3-Clause */
/* starting.c - the steps of a start, and who watches over them. */
#include "runtime/process/starting.h"
#include "runtime/recorder/recorder.h"

#include <stdio.h>

static const char *const step_names[] = {
    [JD_STARTING_DETECT] = "detection",
    [JD_STARTING_MPI_INIT] = "MPI_Init_thread",
    [JD_STARTING_DUP] = "MPI_Comm_dup",
    [JD_STARTING_GATHER] = "the gathering of all processes' records",
    [JD_STARTING_ORDER] = "the making of the ordered communicators",
    [JD_STARTING_COORDINATE] = "the meeting at the coordination service",
};

/* The first messages between hosts: MPI opens connections with them, and waits
 * for each for ever. */
static const char hint_of_interfaces[] =
    "where some are on other hosts, MPI may wait for an interface that leads "
    "nowhere: JD_INTERFACE chooses the one that all hosts share (eth0, "
    "10.0.0.0/8), or OMPI_MCA_btl_tcp_if_include under mpirun";

static const char *const step_hints[] = {
    [JD_STARTING_DUP] = hint_of_interfaces,
    [JD_STARTING_GATHER] = hint_of_interfaces,
    [JD_STARTING_COORDINATE] = NULL,
};

static const struct jd_phases phases = {
    .operation = "jd_initialize()",
    .thread_name = "jd-start:",
    .step_names = step_names,
    .num_steps = sizeof step_names / sizeof *step_names,
    .step_hints = step_hints,
};

jd_status jd__starting_watch(struct jd_starting *s)
{
    const struct jd_settings *settings = s->runtime->settings;
    struct jd_watchdog_spec spec = {
        .phases = &phases,
        .timeout =
            jd__options_seconds(settings, JD_OPTION_INITIALIZATION_TIMEOUT),
        .notice = jd__options_seconds(settings, JD_OPTION_WAIT_NOTICE),
        .variable = "JD_INITIALIZATION_TIMEOUT",
        .env = s->env,
    };
    return jd__watchdog_start(&spec, &s->watchdog);
}

void jd__starting_step(struct jd_starting *s, enum jd_starting_step step)
{
    jd__watchdog_step(s->watchdog, step);
    jd__recorder_step(step_names[step]);
}

int jd__starting_number(const struct jd_cluster_number *number, int otherwise)
{
    return number->known ? (int)number->value : otherwise;
}

void jd__starting_set_number(struct jd_cluster_number *number, int value,
                             const char *source)
{
    number->known = true;
    number->value = value;
    snprintf(number->source, sizeof number->source, "%s", source);
}
