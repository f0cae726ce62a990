/* SPDX-License-Identifier: BSD-3-Clause */
/* checkpoint.c - jd_checkpoint.h for Fortran. */
#include "fortran/leaf.h"
#include "fortran/sharding.h"

#include <stdlib.h>

/* ---- saving and restoring ----------------------------------------------- */

static jd_status check_counts(const struct jdf_call *call,
                              const CFI_cdesc_t *names, const char *what,
                              const CFI_cdesc_t *list)
{
    if (jdf_count(names) == jdf_count(list))
        return JD_OK;
    return jd_fail_with(JD_INVALID_ARGUMENT,
                        "%s: names has %zu elements and %s %zu; they have as "
                        "many",
                        call->name, jdf_count(names), what, jdf_count(list));
}

JD_API void jdf_array_save(const CFI_cdesc_t *dir, const CFI_cdesc_t *names,
                           const CFI_cdesc_t *arrays, JDF_OUTCOME)
{
    JDF_CALL("jd_array_save");
    struct jdf_text text;
    const char *const *list = NULL;
    jd_status status = jdf_text_take(&call, dir, &text);
    if (status == JD_OK)
        status = check_counts(&call, names, "arrays", arrays);
    if (status == JD_OK)
        status = jdf_texts_take(&call, names, &list);
    if (status == JD_OK)
        status =
            jd_array_save(text.text, list, jdf_first(arrays), jdf_count(names));
    free((void *)list);
    jdf_text_drop(&text);
    jdf_end(&call, status);
}

/* Gives them back where one has other dimensions than its sharding is for. */
static jd_status check_ranks(const struct jdf_call *call,
                             const struct jdf_sharding *shardings,
                             jd_array **arrays, size_t n)
{
    jd_status status = JD_OK;
    for (size_t i = 0; status == JD_OK && i < n; i++)
        status =
            jdf_sharding_check(call, &shardings[i], jd_array_ndim(arrays[i]));
    for (size_t i = 0; status != JD_OK && i < n; i++) {
        jd_array_release(arrays[i]);
        arrays[i] = NULL;
    }
    return status;
}

static jd_status restore(const struct jdf_call *call, const char *dir,
                         const CFI_cdesc_t *names,
                         const struct jdf_sharding *shardings,
                         jd_array **arrays)
{
    size_t n = jdf_count(names);
    const char *const *list = NULL;
    jd_sharding **plain = calloc(n + 1, sizeof *plain);
    jd_status status = jdf_texts_take(call, names, &list);
    if (status == JD_OK && !plain)
        status = jd_fail_with(JD_RESOURCE_EXHAUSTED,
                              "%s: no memory for %zu shardings; free memory on "
                              "this host",
                              call->name, n);
    for (size_t i = 0; status == JD_OK && i < n; i++)
        plain[i] = shardings[i].c;
    if (status == JD_OK)
        status = jd_array_restore(dir, list, plain, n, arrays);
    if (status == JD_OK)
        status = check_ranks(call, shardings, arrays, n);
    free((void *)list);
    free(plain);
    return status;
}

JD_API void jdf_array_restore(const CFI_cdesc_t *dir, const CFI_cdesc_t *names,
                              const CFI_cdesc_t *shardings,
                              const CFI_cdesc_t *arrays, JDF_OUTCOME)
{
    JDF_CALL("jd_array_restore");
    struct jdf_text text;
    jd_status status = jdf_text_take(&call, dir, &text);
    if (status == JD_OK)
        status = check_counts(&call, names, "shardings", shardings);
    if (status == JD_OK)
        status = check_counts(&call, names, "arrays", arrays);
    if (status == JD_OK)
        status = restore(&call, text.text, names, jdf_first(shardings),
                         jdf_first(arrays));
    jdf_text_drop(&text);
    jdf_end(&call, status);
}

/* ---- looking into one --------------------------------------------------- */

JD_API void jdf_checkpoint_open(jd_checkpoint **ret_checkpoint,
                                const CFI_cdesc_t *dir, JDF_OUTCOME)
{
    JDF_CALL("jd_checkpoint_open");
    struct jdf_text text;
    jd_status status = jdf_text_take(&call, dir, &text);
    if (status == JD_OK)
        status = jd_checkpoint_open(ret_checkpoint, text.text);
    jdf_text_drop(&text);
    jdf_end(&call, status);
}

JD_API void jdf_checkpoint_close(jd_checkpoint **checkpoint)
{
    jd_checkpoint_close(*checkpoint);
    *checkpoint = NULL;
}

JD_API int jdf_checkpoint_count(jd_checkpoint *const *checkpoint)
{
    return (int)jd_checkpoint_count(*checkpoint);
}

JD_API const char *jdf_checkpoint_name(jd_checkpoint *const *checkpoint,
                                       const int *i)
{
    return *i < 1 ? NULL : jd_checkpoint_name(*checkpoint, (size_t)*i - 1);
}

JD_API void jdf_checkpoint_leaf(jd_checkpoint *const *checkpoint,
                                const CFI_cdesc_t *name,
                                struct jdf_listed *ret_listed, JDF_OUTCOME)
{
    JDF_CALL("jd_checkpoint_leaf");
    struct jdf_text text;
    jd_leaf leaf;
    jd_status status = jdf_text_take(&call, name, &text);
    if (status == JD_OK)
        status = jd_checkpoint_leaf(*checkpoint, text.text, &leaf);
    if (status == JD_OK) {
        *ret_listed =
            (struct jdf_listed){ .dtype = (int)leaf.dtype, .ndim = leaf.ndim };
        for (int i = 0; i < leaf.ndim; i++)
            ret_listed->shape[i] = leaf.shape[i];
    }
    jdf_text_drop(&text);
    jdf_end(&call, status);
}

JD_API void jdf_checkpoint_verify(jd_checkpoint *const *checkpoint,
                                  const CFI_cdesc_t *name, JDF_OUTCOME)
{
    JDF_CALL("jd_checkpoint_verify");
    struct jdf_text text;
    jd_status status = jdf_text_take(&call, name, &text);
    if (status == JD_OK)
        status = jd_checkpoint_verify(*checkpoint, text.text);
    jdf_text_drop(&text);
    jdf_end(&call, status);
}
