/* SPDX-License-Identifier: BSD-3-Clause */
/* multihost.c - jd_multihost.h for Fortran: one array, or a list of leaves. */
#include "fortran/leaf.h"

#include <stdlib.h>

/* ---- one array ---------------------------------------------------------- */

JD_API void jdf_broadcast_one_to_all(const CFI_cdesc_t *array,
                                     const int *source, const int *dtype,
                                     JDF_OUTCOME)
{
    JDF_CALL("jd_broadcast_one_to_all");
    struct jdf_leaf leaf;
    jd_status status = jdf_leaf_take(&call, "array", array, dtype, &leaf);
    if (status == JD_OK)
        status = jd_broadcast_one_to_all(&leaf.leaf, 1, *source);
    jdf_leaf_end(&leaf, status);
    jdf_end(&call, status);
}

JD_API void jdf_process_allgather(const CFI_cdesc_t *in, const CFI_cdesc_t *out,
                                  const bool *tiled, const int *dtype,
                                  JDF_OUTCOME)
{
    JDF_CALL("jd_process_allgather");
    struct jdf_leaf given, gathered = { .buffer.packed = NULL };
    jd_status status = jdf_leaf_take(&call, "in", in, dtype, &given);
    if (status == JD_OK)
        status = jdf_leaf_take(&call, "out", out, dtype, &gathered);
    if (status == JD_OK)
        status = jd_process_allgather(&given.leaf, &gathered.leaf, 1,
                                      tiled && *tiled);
    jdf_leaf_drop(&given);
    jdf_leaf_end(&gathered, status);
    jdf_end(&call, status);
}

/* What jd_assert_equal_with() is told; the members that are not present are
 * zeros. */
#define JDF_EQUALITY                                                           \
    const bool *bitwise, const bool *nan_differs, const double *absolute,      \
        const double *relative
#define EQUALITY                                                               \
    {                                                                          \
        .bitwise = bitwise && *bitwise,                                        \
        .nan_differs = nan_differs && *nan_differs,                            \
        .absolute = absolute ? *absolute : 0,                                  \
        .relative = relative ? *relative : 0,                                  \
    }

static void assert_equal(const struct jdf_call *call, const CFI_cdesc_t *array,
                         const CFI_cdesc_t *what, const jd_equality *equality,
                         const int *dtype)
{
    struct jdf_leaf leaf = { .buffer.packed = NULL };
    struct jdf_text text;
    jd_status status = jdf_text_take(call, what, &text);
    if (status == JD_OK)
        status = jdf_leaf_take(call, "array", array, dtype, &leaf);
    if (status == JD_OK && equality)
        status = jd_assert_equal_with(&leaf.leaf, 1, text.text, equality,
                                      sizeof *equality);
    else if (status == JD_OK)
        status = jd_assert_equal(&leaf.leaf, 1, text.text);
    jdf_leaf_drop(&leaf);
    jdf_text_drop(&text);
    jdf_end(call, status);
}

JD_API void jdf_assert_equal(const CFI_cdesc_t *array, const CFI_cdesc_t *what,
                             const int *dtype, JDF_OUTCOME)
{
    JDF_CALL("jd_assert_equal");
    assert_equal(&call, array, what, NULL, dtype);
}

JD_API void jdf_assert_equal_with(const CFI_cdesc_t *array,
                                  const CFI_cdesc_t *what, JDF_EQUALITY,
                                  const int *dtype, JDF_OUTCOME)
{
    JDF_CALL("jd_assert_equal_with");
    jd_equality equality = EQUALITY;
    assert_equal(&call, array, what, &equality, dtype);
}

/* ---- several at once ---------------------------------------------------- */

JD_API void jdf_leaf_of(const CFI_cdesc_t *array, const int *dtype,
                        struct jdf_listed *ret_listed, int *stat)
{
    JDF_CALL_WITHIN("jd_leaf_of");
    struct jdf_leaf leaf;
    jd_status status = jdf_leaf_take(&call, "array", array, dtype, &leaf);
    if (status == JD_OK && leaf.buffer.packed)
        status = jd_fail_with(JD_INVALID_ARGUMENT,
                              "jd_leaf_of: array is a section that is not "
                              "contiguous; a leaf is where the array lies: "
                              "pass a contiguous one");
    if (status == JD_OK && leaf.leaf.ndim > JD_MAX_NDIM)
        status = jd_fail_with(JD_INVALID_ARGUMENT,
                              "jd_leaf_of: array has %d dimensions; a leaf has "
                              "%d at most",
                              leaf.leaf.ndim, JD_MAX_NDIM);
    if (status == JD_OK) {
        *ret_listed = (struct jdf_listed){ .data = leaf.leaf.data,
                                           .dtype = (int)leaf.leaf.dtype,
                                           .ndim = leaf.leaf.ndim };
        for (int i = 0; i < leaf.leaf.ndim; i++)
            ret_listed->shape[i] = leaf.shape[i];
    }
    jdf_leaf_drop(&leaf);
    jdf_end(&call, status);
}

/* C's list of the leaves: free() it. */
static jd_status take_list(const struct jdf_call *call, const CFI_cdesc_t *list,
                           jd_leaf **ret_leaves)
{
    const struct jdf_listed *listed = jdf_first(list);
    size_t n = jdf_count(list);
    jd_leaf *leaves = malloc((n + 1) * sizeof *leaves);
    *ret_leaves = leaves;
    if (!leaves)
        return jd_fail_with(JD_RESOURCE_EXHAUSTED,
                            "%s: no memory for %zu leaves; free memory on this "
                            "host",
                            call->name, n);
    for (size_t i = 0; i < n; i++)
        leaves[i] = (jd_leaf){ listed[i].data, (jd_dtype)listed[i].dtype,
                               listed[i].ndim, listed[i].shape };
    return JD_OK;
}

JD_API void jdf_broadcast_leaves(const CFI_cdesc_t *list, const int *source,
                                 JDF_OUTCOME)
{
    JDF_CALL("jd_broadcast_one_to_all");
    jd_leaf *leaves;
    jd_status status = take_list(&call, list, &leaves);
    if (status == JD_OK)
        status = jd_broadcast_one_to_all(leaves, jdf_count(list), *source);
    free(leaves);
    jdf_end(&call, status);
}

JD_API void jdf_allgather_leaves(const CFI_cdesc_t *in, const CFI_cdesc_t *out,
                                 const bool *tiled, JDF_OUTCOME)
{
    JDF_CALL("jd_process_allgather");
    jd_leaf *given, *gathered = NULL;
    jd_status status = take_list(&call, in, &given);
    if (status == JD_OK && jdf_count(in) != jdf_count(out))
        status = jd_fail_with(JD_INVALID_ARGUMENT,
                              "%s: in has %zu leaves and out %zu; they have as "
                              "many",
                              call.name, jdf_count(in), jdf_count(out));
    if (status == JD_OK)
        status = take_list(&call, out, &gathered);
    if (status == JD_OK)
        status = jd_process_allgather(given, gathered, jdf_count(in),
                                      tiled && *tiled);
    free(given);
    free(gathered);
    jdf_end(&call, status);
}

JD_API void jdf_assert_leaves_equal(const CFI_cdesc_t *list,
                                    const CFI_cdesc_t *what, JDF_EQUALITY,
                                    JDF_OUTCOME)
{
    JDF_CALL("jd_assert_equal_with");
    jd_equality equality = EQUALITY;
    struct jdf_text text;
    jd_leaf *leaves = NULL;
    jd_status status = jdf_text_take(&call, what, &text);
    if (status == JD_OK)
        status = take_list(&call, list, &leaves);
    if (status == JD_OK)
        status = jd_assert_equal_with(leaves, jdf_count(list), text.text,
                                      &equality, sizeof equality);
    free(leaves);
    jdf_text_drop(&text);
    jdf_end(&call, status);
}

/* ---- meeting ------------------------------------------------------------ */

JD_API void jdf_sync_global_devices(const CFI_cdesc_t *name, JDF_OUTCOME)
{
    JDF_CALL("jd_sync_global_devices");
    jdf_make_with_text(&call, jd_sync_global_devices, name);
}

JD_API bool jdf_reached_preemption_sync_point(const int64_t *step)
{
    jd_call_site(__builtin_return_address(0));
    bool reached = jd_reached_preemption_sync_point(*step) != 0;
    jd_call_site(NULL);
    return reached;
}
