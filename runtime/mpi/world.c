/* SPDX-License-Identifier: BSD-3-Clause */
/* world.c - an MPI communicator in process order. */
#include "runtime/mpi/world.h"
#include "base/clock.h"
#include "runtime/mpi/lock.h"
#include "runtime/mpi/message_count.h"
#include "runtime/mpi/library.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

jd_status jd__mpi_check(int code, const char *call, const char *operation)
{
    char text[MPI_MAX_ERROR_STRING];
    int length = 0;
    if (code == MPI_SUCCESS)
        return JD_OK;
    if (MPI_Error_string(code, text, &length) != MPI_SUCCESS)
        snprintf(text, sizeof text, "error %d", code);
    return jd_fail(JD_INTERNAL, "%s: %s failed in %s: %s", operation, call,
                   jd__mpi_library_name(), text);
}

bool jd__mpi_is_up(void)
{
    int initialized = 0, finalized = 0;
    MPI_Initialized(&initialized);
    MPI_Finalized(&finalized);
    return initialized && !finalized;
}

bool jd__mpi_was_finalized(void)
{
    int finalized = 0;
    MPI_Finalized(&finalized);
    return finalized;
}

static int thread_level(const struct jd_settings *settings,
                        int num_local_devices)
{
    const char *level = jd__options_text(settings, JD_OPTION_MPI_THREAD_LEVEL);
    if (strcmp(level, "multiple") == 0)
        return MPI_THREAD_MULTIPLE;
    if (strcmp(level, "serialized") == 0)
        return MPI_THREAD_SERIALIZED;
    return num_local_devices > 1 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SERIALIZED;
}

jd_status jd__world_start_mpi(const struct jd_settings *settings,
                              int num_local_devices)
{
    int provided;
    bool is_lent = jd__env_lend_home();
    int code = MPI_Init_thread(
        NULL, NULL, thread_level(settings, num_local_devices), &provided);
    if (is_lent)
        jd__env_export("HOME", NULL);
    return jd__mpi_check(code, "MPI_Init_thread", "jd_initialize");
}

static jd_status adopt_comm(struct jd_world *world, MPI_Comm comm)
{
    int code = MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    if (code == MPI_SUCCESS)
        code = MPI_Comm_rank(comm, &world->index);
    if (code == MPI_SUCCESS)
        code = MPI_Comm_size(comm, &world->count);
    world->comm = comm;
    world->has_mpi = true;
    jd_status status =
        jd__mpi_check(code, "MPI_Comm_set_errhandler", "jd_initialize");
    return status == JD_OK ? jd__message_count_open(world->count) : status;
}

jd_status jd__world_open(MPI_Comm base, struct jd_world *ret_world)
{
    MPI_Comm comm;
    *ret_world = (struct jd_world){
        .count = 1,
        .comm = MPI_COMM_NULL,
        .user_comm = MPI_COMM_NULL,
    };
    if (base == MPI_COMM_NULL)
        return JD_OK;
    jd__mpi_lock_configure();
    if (jd__mpi_library_flavour()->prepare_finalize)
        jd__mpi_library_flavour()->prepare_finalize();
    jd_status status = jd__mpi_check(MPI_Comm_dup(base, &comm), "MPI_Comm_dup",
                                     "jd_initialize");
    return status == JD_OK ? adopt_comm(ret_world, comm) : status;
}

jd_status jd__world_order(struct jd_world *world, bool in_order, int index)
{
    MPI_Comm ordered, old = world->comm;
    if (in_order || !world->has_mpi)
        return JD_OK;
    jd_status status = jd__mpi_check(MPI_Comm_split(old, 0, index, &ordered),
                                     "MPI_Comm_split", "jd_initialize");
    if (status == JD_OK)
        status = adopt_comm(world, ordered);
    if (status == JD_OK)
        MPI_Comm_free(&old);
    return status;
}

jd_status jd__world_open_user_comm(struct jd_world *world)
{
    MPI_Comm comm;
    if (!world->has_mpi)
        return JD_OK;
    jd_status status = jd__mpi_check(MPI_Comm_dup(world->comm, &comm),
                                     "MPI_Comm_dup", "jd_initialize");
    if (status == JD_OK)
        world->user_comm = comm; /* the error handler is copied too */
    return status;
}

/* ---- the end ------------------------------------------------------------ */

#define PROBES 100       /* some 20 us */
#define LEFT_SECONDS 1.0 /* for all messages that nobody took */

/* Whether all of it came in time; what may still come keeps the buffer. */
static bool take_message(MPI_Message message, void *buffer, int bytes,
                         double deadline)
{
    MPI_Request request;
    int done = 0;
    if (MPI_Imrecv(buffer, bytes, MPI_BYTE, &message, &request) != MPI_SUCCESS)
        return false;
    for (unsigned turns = 0; !done && jd__clock_now() < deadline; turns++) {
        if (MPI_Test(&request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS)
            return false;
        if (!done)
            jd__clock_sleep_step(turns / 100, 1000000);
    }
    return done;
}

/* What has come is seen by one of several probes, not by each. */
static bool find_message(MPI_Comm comm, MPI_Message *message,
                         MPI_Status *status)
{
    int found = 0, code = MPI_SUCCESS;
    for (int i = 0; i < PROBES && code == MPI_SUCCESS && !found; i++)
        code = MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &found, message,
                           status);
    return code == MPI_SUCCESS && found;
}

/* After a member has given up, messages that it was to take may lie there.
 * MPICH 5 ends the job where a communicator is freed with one. A long one whose
 * sender is gone never comes whole. */
static void drop_messages(MPI_Comm comm)
{
    double deadline = jd__clock_now() + LEFT_SECONDS;
    for (bool goes_on = true; goes_on && jd__clock_now() < deadline;) {
        MPI_Message message;
        MPI_Status status;
        int bytes = 0;
        if (!find_message(comm, &message, &status))
            return;
        MPI_Get_count(&status, MPI_BYTE, &bytes);
        void *buffer = malloc(bytes > 0 ? (size_t)bytes : 1);
        goes_on = buffer && bytes >= 0 &&
                  take_message(message, buffer, bytes, deadline);
        if (goes_on)
            free(buffer);
    }
}

void jd__world_close(struct jd_world *world)
{
    if (jd__mpi_is_up()) {
        if (world->user_comm != MPI_COMM_NULL)
            MPI_Comm_free(&world->user_comm);
        if (world->comm != MPI_COMM_NULL) {
            drop_messages(world->comm);
            MPI_Comm_free(&world->comm);
        }
    }
    *world = (struct jd_world){
        .count = 1,
        .comm = MPI_COMM_NULL,
        .user_comm = MPI_COMM_NULL,
    };
}
