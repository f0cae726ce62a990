/* SPDX-License-Identifier: BSD-3-Clause */
/* coordination.c - jd_coordination.h for Fortran. */
#include "fortran/buffer.h"

#include <stdint.h>
#include <stdlib.h>

/* What is not present is C's default. */
static double seconds_of(const double *timeout)
{
    return timeout ? *timeout : 0;
}

/* ---- one key ------------------------------------------------------------ */

JD_API void jdf_kv_set(const CFI_cdesc_t *key, const CFI_cdesc_t *value,
                       const bool *allow_overwrite, JDF_OUTCOME)
{
    JDF_CALL("jd_kv_set");
    struct jdf_text text;
    struct jdf_buffer bytes = { .packed = NULL };
    jd_status status = jdf_text_take(&call, key, &text);
    if (status == JD_OK)
        status =
            jdf_buffer_take(&call, "value", value, NULL, JDF_MOVED, &bytes);
    if (status == JD_OK)
        status = jd_kv_set(text.text, bytes.data,
                           bytes.count * jd_dtype_size(bytes.dtype),
                           jdf_is_true(allow_overwrite));
    jdf_buffer_drop(&bytes);
    jdf_text_drop(&text);
    jdf_end(&call, status);
}

/* Gives what the store has, and after a failure an empty text. */
static void end_value(const struct jdf_call *call, jd_status status,
                      void *value, size_t size, CFI_cdesc_t *ret_value)
{
    jd_status given = jdf_bytes_give(call, ret_value, value, size);
    free(value);
    jdf_end(call, status == JD_OK ? given : status);
}

JD_API void jdf_kv_get(const CFI_cdesc_t *key, const double *timeout,
                       CFI_cdesc_t *ret_value, int *stat)
{
    JDF_CALL_WITHIN("jd_kv_get");
    struct jdf_text text;
    void *value = NULL;
    size_t size = 0;
    jd_status status = jdf_text_take(&call, key, &text);
    if (status == JD_OK)
        status = jd_kv_get(text.text, seconds_of(timeout), &value, &size);
    jdf_text_drop(&text);
    end_value(&call, status, value, size, ret_value);
}

JD_API void jdf_kv_try_get(const CFI_cdesc_t *key, CFI_cdesc_t *ret_value,
                           int *stat)
{
    JDF_CALL_WITHIN("jd_kv_try_get");
    struct jdf_text text;
    void *value = NULL;
    size_t size = 0;
    jd_status status = jdf_text_take(&call, key, &text);
    if (status == JD_OK)
        status = jd_kv_try_get(text.text, &value, &size);
    jdf_text_drop(&text);
    end_value(&call, status, value, size, ret_value);
}

JD_API void jdf_kv_delete(const CFI_cdesc_t *key, int64_t *ret_count,
                          JDF_OUTCOME)
{
    JDF_CALL("jd_kv_delete");
    struct jdf_text text;
    size_t count;
    jd_status status = jdf_text_take(&call, key, &text);
    if (status == JD_OK)
        status = jd_kv_delete(text.text, &count);
    if (status == JD_OK && ret_count)
        *ret_count = (int64_t)count;
    jdf_text_drop(&text);
    jdf_end(&call, status);
}

JD_API int64_t jdf_kv_increment(const CFI_cdesc_t *key, const int64_t *by,
                                JDF_OUTCOME)
{
    JDF_CALL("jd_kv_increment");
    struct jdf_text text;
    int64_t sum = 0;
    jd_status status = jdf_text_take(&call, key, &text);
    if (status == JD_OK)
        status = jd_kv_increment(text.text, by ? *by : 1, &sum);
    jdf_text_drop(&text);
    jdf_end(&call, status);
    return sum;
}

/* ---- many keys ---------------------------------------------------------- */

/* A list of entries is C's, which the module copies and frees. */
JD_API jd_kv_entry *jdf_kv_dir_get(const CFI_cdesc_t *directory,
                                   size_t *ret_count, int *stat)
{
    JDF_CALL_WITHIN("jd_kv_dir_get");
    struct jdf_text text;
    jd_kv_entry *entries = NULL;
    *ret_count = 0;
    jd_status status = jdf_text_take(&call, directory, &text);
    if (status == JD_OK)
        status = jd_kv_dir_get(text.text, &entries, ret_count);
    jdf_text_drop(&text);
    jdf_end(&call, status);
    return entries;
}

JD_API jd_kv_entry *jdf_kv_get_many(const CFI_cdesc_t *keys,
                                    const double *timeout, int *stat)
{
    JDF_CALL_WITHIN("jd_kv_get_many");
    const char *const *list;
    jd_kv_entry *entries = NULL;
    jd_status status = jdf_texts_take(&call, keys, &list);
    if (status == JD_OK) {
        status = jd_kv_get_many(list, jdf_count(keys), seconds_of(timeout),
                                &entries);
        free((void *)list);
    }
    jdf_end(&call, status);
    return entries;
}

/* The entries of keys whose values, of these sizes, follow each other. */
static jd_status set_many(const struct jdf_call *call, const char *const *keys,
                          const char *values, const int64_t *sizes, size_t n,
                          bool allow_overwrite)
{
    jd_kv_entry *entries = malloc((n + 1) * sizeof *entries);
    if (!entries)
        return jd_fail_with(JD_RESOURCE_EXHAUSTED,
                            "%s: no memory for %zu entries; free memory on "
                            "this host",
                            call->name, n);
    for (size_t i = 0; i < n; values += sizes[i++])
        entries[i] = (jd_kv_entry){ keys[i], values, (size_t)sizes[i] };
    jd_status status = jd_kv_set_many(entries, n, allow_overwrite);
    free(entries);
    return status;
}

JD_API void jdf_kv_set_many(const CFI_cdesc_t *keys, const CFI_cdesc_t *values,
                            const CFI_cdesc_t *sizes,
                            const bool *allow_overwrite, int *stat)
{
    JDF_CALL_WITHIN("jd_kv_set_many");
    const char *const *list;
    jd_status status = jdf_texts_take(&call, keys, &list);
    if (status == JD_OK) {
        status = set_many(&call, list, values->base_addr, jdf_first(sizes),
                          jdf_count(sizes), jdf_is_true(allow_overwrite));
        free((void *)list);
    }
    jdf_end(&call, status);
}

/* ---- barriers ----------------------------------------------------------- */

JD_API void jdf_wait_at_barrier(const CFI_cdesc_t *id, const double *timeout,
                                const CFI_cdesc_t *process_ids, JDF_OUTCOME)
{
    static const int nobody[1];
    JDF_CALL("jd_wait_at_barrier");
    struct jdf_text text;
    const int *list = jdf_first(process_ids);
    jd_status status = jdf_text_take(&call, id, &text);
    if (process_ids && !list)
        list = nobody; /* an empty list: not all of them */
    if (status == JD_OK)
        status = jd_wait_at_barrier(text.text, seconds_of(timeout), list,
                                    jdf_count(process_ids));
    jdf_text_drop(&text);
    jdf_end(&call, status);
}

JD_API void jdf_cancel_barrier(const CFI_cdesc_t *id, JDF_OUTCOME)
{
    JDF_CALL("jd_cancel_barrier");
    jdf_make_with_text(&call, jd_cancel_barrier, id);
}

JD_API int *jdf_live_processes(const double *timeout, size_t *ret_count,
                               int *stat)
{
    JDF_CALL_WITHIN("jd_live_processes");
    int *processes = NULL;
    *ret_count = 0;
    jdf_end(&call,
            jd_live_processes(seconds_of(timeout), &processes, ret_count));
    return processes;
}

/* ---- failure and preemption --------------------------------------------- */

JD_API void jdf_report_error(const int *status, const CFI_cdesc_t *text,
                             JDF_OUTCOME)
{
    JDF_CALL("jd_report_error");
    struct jdf_text what;
    jd_status taken = jdf_text_take(&call, text, &what);
    if (taken == JD_OK)
        taken = jd_report_error((jd_status)*status, what.text);
    jdf_text_drop(&what);
    jdf_end(&call, taken);
}

JD_API void jdf_on_peer_failure(jd_peer_failure_f callback, void *context,
                                int *stat)
{
    JDF_CALL_WITHIN("jd_on_peer_failure");
    jdf_end(&call, jd_on_peer_failure(callback, context));
}

JD_API void jdf_on_preemption(void (*callback)(void *context), void *context,
                              int *stat)
{
    JDF_CALL_WITHIN("jd_on_preemption");
    jdf_end(&call, jd_on_preemption(callback, context));
}

JD_API void jdf_acknowledge_preemption(JDF_OUTCOME)
{
    JDF_CALL("jd_acknowledge_preemption");
    jdf_end(&call, jd_acknowledge_preemption());
}
