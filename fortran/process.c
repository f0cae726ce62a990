/* SPDX-License-Identifier: BSD-3-Clause */
/* process.c - jd_process.h, jd_status.h, jd_mpi.h and jd_trace.h for Fortran.
 */
#include "fortran/call.h"
#include "jd_mpi.h"

#include <stdint.h>

/* ---- the beginning and the end ------------------------------------------ */

/* Keyword arguments of Fortran as those of C. */
#define OPTION_ARGUMENTS                                                       \
    const CFI_cdesc_t *coordinator_address,                                    \
        const CFI_cdesc_t *coordinator_bind_address, const int *num_processes, \
        const int *process_id, const int *num_slices, const int *slice_index,  \
        const CFI_cdesc_t *local_device_ids,                                   \
        const CFI_cdesc_t *cluster_detection_method,                           \
        const double *initialization_timeout, const double *heartbeat_timeout, \
        const double *shutdown_timeout, const double *collective_timeout

/* An option that is not present is the one that C takes for "not said". */
static int int_of(const int *option)
{
    return option ? *option : 0;
}

static double seconds_of(const double *option)
{
    return option ? *option : 0;
}

/* The texts of the options, which have to outlive the call. */
struct option_texts {
    struct jdf_text address, bind_address, method;
};

static jd_status take_texts(const struct jdf_call *call,
                            const CFI_cdesc_t *address,
                            const CFI_cdesc_t *bind_address,
                            const CFI_cdesc_t *method,
                            struct option_texts *ret_texts)
{
    *ret_texts = (struct option_texts){ .address = { .text = NULL } };
    jd_status status = jdf_text_take(call, address, &ret_texts->address);
    if (status == JD_OK)
        status = jdf_text_take(call, bind_address, &ret_texts->bind_address);
    if (status == JD_OK)
        status = jdf_text_take(call, method, &ret_texts->method);
    return status;
}

static void drop_texts(struct option_texts *texts)
{
    jdf_text_drop(&texts->address);
    jdf_text_drop(&texts->bind_address);
    jdf_text_drop(&texts->method);
}

#define OPTIONS(texts)                                                         \
    (jd_options)                                                               \
    {                                                                          \
        .coordinator_address = (texts).address.text,                           \
        .coordinator_bind_address = (texts).bind_address.text,                 \
        .num_processes = int_of(num_processes),                                \
        .process_id = int_of(process_id), .num_slices = int_of(num_slices),    \
        .slice_index = int_of(slice_index),                                    \
        .local_device_ids = jdf_first(local_device_ids),                       \
        .num_local_device_ids = jdf_count(local_device_ids),                   \
        .cluster_detection_method = (texts).method.text,                       \
        .initialization_timeout = seconds_of(initialization_timeout),          \
        .heartbeat_timeout = seconds_of(heartbeat_timeout),                    \
        .shutdown_timeout = seconds_of(shutdown_timeout),                      \
        .collective_timeout = seconds_of(collective_timeout),                  \
    }

JD_API void jdf_initialize(OPTION_ARGUMENTS, JDF_OUTCOME)
{
    JDF_CALL("jd_initialize");
    struct option_texts texts;
    jd_status status =
        take_texts(&call, coordinator_address, coordinator_bind_address,
                   cluster_detection_method, &texts);
    if (status == JD_OK) {
        jd_options options = OPTIONS(texts);
        status = jd_initialize_with(&options, sizeof options);
    }
    drop_texts(&texts);
    jdf_end(&call, status);
}

JD_API void jdf_initialize_on(const MPI_Fint *comm, OPTION_ARGUMENTS,
                              JDF_OUTCOME)
{
    JDF_CALL("jd_initialize_on");
    struct option_texts texts;
    jd_status status =
        take_texts(&call, coordinator_address, coordinator_bind_address,
                   cluster_detection_method, &texts);
    if (status == JD_OK) {
        jd_options options = OPTIONS(texts);
        status =
            jd_initialize_on(MPI_Comm_f2c(*comm), &options, sizeof options);
    }
    drop_texts(&texts);
    jdf_end(&call, status);
}

JD_API void jdf_shutdown(JDF_OUTCOME)
{
    JDF_CALL("jd_shutdown");
    jdf_flush_units();
    jdf_end(&call, jd_shutdown());
}

JD_API void jdf_abort(const int *code, const CFI_cdesc_t *why)
{
    struct jdf_call call = { .name = "jd_abort" };
    struct jdf_text text;
    jd_status status = jdf_text_take(&call, why, &text);
    jdf_flush_units();
    jd_abort(*code, status == JD_OK ? text.text : jd_error_message());
}

/* ---- a process's place -------------------------------------------------- */

JD_API int jdf_process_index(JDF_OUTCOME)
{
    JDF_CALL("jd_process_index");
    int index = jd_process_index();
    jdf_end(&call, jdf_unless(index < 0, JD_FAILED_PRECONDITION));
    return index;
}

JD_API int jdf_process_count(JDF_OUTCOME)
{
    JDF_CALL("jd_process_count");
    int count = jd_process_count();
    jdf_end(&call, jdf_unless(count < 0, JD_FAILED_PRECONDITION));
    return count;
}

JD_API bool jdf_is_initialized(void)
{
    return jd_is_initialized() != 0;
}

JD_API MPI_Fint jdf_mpi_comm(JDF_OUTCOME)
{
    JDF_CALL("jd_mpi_comm");
    MPI_Fint comm = jd_mpi_comm_f();
    bool failed = MPI_Comm_f2c(comm) == MPI_COMM_NULL;
    jdf_end(&call, jdf_unless(failed, JD_FAILED_PRECONDITION));
    return comm;
}

JD_API double jdf_wtime(void)
{
    return jd_wtime();
}

JD_API size_t jdf_dtype_size(const int *dtype)
{
    return jd_dtype_size((jd_dtype)*dtype);
}

/* ---- failures ----------------------------------------------------------- */

JD_API int jdf_fail_with(const int *status, const CFI_cdesc_t *sentence)
{
    struct jdf_call call = { .name = "jd_fail_with" };
    struct jdf_text text;
    if (jdf_text_take(&call, sentence, &text) == JD_OK)
        jd_fail_with((jd_status)*status, "%s", text.text);
    jdf_text_drop(&text);
    return *status;
}

/* name: where the text cannot be had. */
static void end_job(const void *site, const char *name, int status,
                    const CFI_cdesc_t *what)
{
    struct jdf_call call = { .name = name };
    struct jdf_text text;
    jd_call_site(site);
    if (jdf_text_take(&call, what, &text) != JD_OK)
        text.text = name;
    jdf_flush_units();
    jd_check_failed((jd_status)status, text.text, NULL, 0);
}

JD_API void jdf_check_failed(const int *status, const CFI_cdesc_t *what)
{
    end_job(__builtin_return_address(0), "jd_check_failed", *status, what);
}

/* The same of a call that the module's own procedures have made. */
JD_API void jdf_check_failed_within(const int *status, const CFI_cdesc_t *what)
{
    end_job(jdf_site_outside(), "a call of jd", *status, what);
}

/* ---- named ranges of time ----------------------------------------------- */

JD_API void jdf_trace_begin(const CFI_cdesc_t *name, JDF_OUTCOME)
{
    JDF_CALL("jd_trace_begin");
    jdf_make_with_text(&call, jd_trace_begin, name);
}

JD_API void jdf_trace_end(JDF_OUTCOME)
{
    JDF_CALL("jd_trace_end");
    jdf_end(&call, jd_trace_end());
}
