/* SPDX-License-Identifier: BSD-3-Clause */
/* mesh.c - jd_device.h, jd_mesh.h and jd_shard.h for Fortran. */
#include "fortran/mesh.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- devices ------------------------------------------------------------ */

/* A list of C's and its length; a failure with an empty one. */
static const jd_device *const *end_list(const struct jdf_call *call,
                                        const jd_device *const *list,
                                        int *count, jd_status status)
{
    if (*count < 0)
        *count = 0;
    jdf_end(call, jdf_unless(!list, status));
    return list;
}

JD_API const jd_device *const *jdf_devices(int *ret_count, int *stat)
{
    JDF_CALL_WITHIN("jd_devices");
    const jd_device *const *list = jd_devices(ret_count);
    return end_list(&call, list, ret_count, JD_FAILED_PRECONDITION);
}

JD_API const jd_device *const *jdf_local_devices(int *ret_count, int *stat)
{
    JDF_CALL_WITHIN("jd_local_devices");
    const jd_device *const *list = jd_local_devices(ret_count);
    return end_list(&call, list, ret_count, JD_FAILED_PRECONDITION);
}

JD_API const jd_device *const *jdf_platform_devices(const CFI_cdesc_t *platform,
                                                    int *ret_count, int *stat)
{
    JDF_CALL_WITHIN("jd_platform_devices");
    struct jdf_text text;
    const jd_device *const *list = NULL;
    *ret_count = 0;
    jd_status status = jdf_text_take(&call, platform, &text);
    if (status == JD_OK) {
        list = jd_platform_devices(text.text, ret_count);
        status = *ret_count < 0 ? JD_FAILED_PRECONDITION : JD_NOT_FOUND;
    }
    jdf_text_drop(&text);
    return end_list(&call, list, ret_count, status);
}

JD_API int jdf_device_count(JDF_OUTCOME)
{
    JDF_CALL("jd_device_count");
    int count = jd_device_count();
    jdf_end(&call, jdf_unless(count < 0, JD_FAILED_PRECONDITION));
    return count;
}

JD_API int jdf_local_device_count(JDF_OUTCOME)
{
    JDF_CALL("jd_local_device_count");
    int count = jd_local_device_count();
    jdf_end(&call, jdf_unless(count < 0, JD_FAILED_PRECONDITION));
    return count;
}

/* ---- meshes ------------------------------------------------------------- */

static jd_status create_mesh(const struct jdf_call *call, jd_mesh **ret_mesh,
                             const CFI_cdesc_t *shape, const CFI_cdesc_t *names,
                             const CFI_cdesc_t *devices)
{
    const char *const *list;
    if (jdf_count(shape) != jdf_count(names))
        return jd_fail_with(JD_INVALID_ARGUMENT,
                            "%s: shape has %zu sizes and axis_names %zu names; "
                            "each axis has one of each",
                            call->name, jdf_count(shape), jdf_count(names));
    jd_status status = jdf_texts_take(call, names, &list);
    if (status != JD_OK)
        return status;
    status = jd_mesh_create(ret_mesh, (int)jdf_count(shape), jdf_first(shape),
                            list, jdf_first(devices));
    free((void *)list);
    return status;
}

JD_API void jdf_mesh_create(jd_mesh **ret_mesh, const CFI_cdesc_t *shape,
                            const CFI_cdesc_t *names, JDF_OUTCOME)
{
    JDF_CALL("jd_mesh_create");
    jdf_end(&call, create_mesh(&call, ret_mesh, shape, names, NULL));
}

/* Of that many devices, which is compared with the sizes here: C would take
 * the list for as long as they say. */
static jd_status check_devices(const struct jdf_call *call,
                               const CFI_cdesc_t *shape,
                               const CFI_cdesc_t *devices)
{
    const int *sizes = jdf_first(shape);
    long long places = 1;
    for (size_t i = 0; i < jdf_count(shape); i++)
        places *= sizes[i];
    if (places < 0 || places == (long long)jdf_count(devices))
        return JD_OK;
    return jd_fail_with(JD_INVALID_ARGUMENT,
                        "%s: the sizes of the axes make %lld places, and "
                        "devices has %zu; give each place one",
                        call->name, places, jdf_count(devices));
}

JD_API void jdf_mesh_create_on(jd_mesh **ret_mesh, const CFI_cdesc_t *shape,
                               const CFI_cdesc_t *names,
                               const CFI_cdesc_t *devices, int *stat)
{
    JDF_CALL_WITHIN("jd_mesh_create");
    jd_status status = check_devices(&call, shape, devices);
    if (status == JD_OK)
        status = create_mesh(&call, ret_mesh, shape, names, devices);
    jdf_end(&call, status);
}

JD_API void jdf_mesh_shape(const int *n, const CFI_cdesc_t *shape, JDF_OUTCOME)
{
    JDF_CALL("jd_mesh_shape");
    jdf_end(&call, jd_mesh_shape(*n, (int)jdf_count(shape), jdf_first(shape)));
}

JD_API void jdf_mesh_set_nccl(jd_mesh *const *mesh, const CFI_cdesc_t *name,
                              const int *value, JDF_OUTCOME)
{
    JDF_CALL("jd_mesh_set_nccl");
    struct jdf_text text;
    jd_status status = jdf_text_take(&call, name, &text);
    if (status == JD_OK)
        status = jd_mesh_set_nccl(*mesh, text.text, *value);
    jdf_text_drop(&text);
    jdf_end(&call, status);
}

JD_API int jdf_mesh_ndim(jd_mesh *const *mesh, JDF_OUTCOME)
{
    JDF_CALL("jd_mesh_ndim");
    int ndim = jd_mesh_ndim(*mesh);
    jdf_end(&call, jdf_unless(ndim < 0, JD_INVALID_ARGUMENT));
    return ndim < 0 ? 0 : ndim;
}

JD_API const char *jdf_mesh_axis_name(jd_mesh *const *mesh, const int *axis)
{
    return jd_mesh_axis_names(*mesh)[*axis];
}

JD_API int jdf_mesh_axis_size(jd_mesh *const *mesh, const int *axis)
{
    return jd_mesh_axis_sizes(*mesh)[*axis];
}

JD_API const jd_device *const *jdf_mesh_devices(jd_mesh *const *mesh,
                                                int *ret_count, int *stat)
{
    JDF_CALL_WITHIN("jd_mesh_devices");
    const jd_device *const *list = jd_mesh_devices(*mesh, ret_count);
    return end_list(&call, list, ret_count, JD_FAILED_PRECONDITION);
}

JD_API const jd_device *const *jdf_mesh_local_devices(jd_mesh *const *mesh,
                                                      int *ret_count, int *stat)
{
    JDF_CALL_WITHIN("jd_mesh_local_devices");
    const jd_device *const *list = jd_mesh_local_devices(*mesh, ret_count);
    bool failed = *ret_count < 0;
    if (failed)
        *ret_count = 0;
    jdf_end(&call, jdf_unless(failed, JD_FAILED_PRECONDITION));
    return list;
}

static jd_status draw_mesh(const struct jdf_call *call, const jd_mesh *mesh,
                           jd_status (*draw)(const jd_mesh *mesh, FILE *out),
                           CFI_cdesc_t *ret_picture)
{
    struct jdf_picture picture;
    jd_status status = jdf_picture_begin(call, &picture);
    if (status == JD_OK)
        status = jdf_picture_end(call, &picture, draw(mesh, picture.out),
                                 ret_picture);
    return status;
}

JD_API void jdf_mesh_visualize(jd_mesh *const *mesh, CFI_cdesc_t *ret_picture,
                               int *stat)
{
    JDF_CALL_WITHIN("jd_mesh_visualize");
    jdf_end(&call, draw_mesh(&call, *mesh, jd_mesh_visualize, ret_picture));
}

JD_API void jdf_mesh_visualize_svg(jd_mesh *const *mesh,
                                   CFI_cdesc_t *ret_picture, int *stat)
{
    JDF_CALL_WITHIN("jd_mesh_visualize_svg");
    jdf_end(&call, draw_mesh(&call, *mesh, jd_mesh_visualize_svg, ret_picture));
}

JD_API void jdf_mesh_destroy(jd_mesh **mesh)
{
    jd_call_site(__builtin_return_address(0));
    jd_mesh_destroy(*mesh);
    jd_call_site(NULL);
    *mesh = NULL;
}

/* ---- pictures, which go to a unit of Fortran as a text --------------------
 */

jd_status jdf_picture_begin(const struct jdf_call *call,
                            struct jdf_picture *ret_picture)
{
    ret_picture->out = open_memstream(&ret_picture->text, &ret_picture->size);
    if (ret_picture->out)
        return JD_OK;
    return jd_fail_with(JD_RESOURCE_EXHAUSTED,
                        "%s: no memory for the picture; free memory on this "
                        "host",
                        call->name);
}

jd_status jdf_picture_end(const struct jdf_call *call,
                          struct jdf_picture *picture, jd_status status,
                          CFI_cdesc_t *ret_text)
{
    fclose(picture->out);
    jd_status given = jdf_bytes_give(call, ret_text, picture->text,
                                     status == JD_OK ? picture->size : 0);
    free(picture->text);
    return status == JD_OK ? given : status;
}

/* ---- shards ------------------------------------------------------------- */

JD_API void jdf_mesh_shard(jd_shard **ret_shard, jd_mesh *const *mesh,
                           int *stat)
{
    JDF_CALL_WITHIN("jd_mesh_shard");
    *ret_shard = jd_mesh_shard(*mesh);
    jdf_end(&call, jdf_unless(!*ret_shard, JD_FAILED_PRECONDITION));
}

struct body {
    jdf_body_f run;
    void *context;
};

static jd_status run_body(jd_shard *shard, void *arg)
{
    struct body *body = arg;
    int status = JD_OK;
    body->run(&shard, body->context, &status);
    return (jd_status)status;
}

JD_API void jdf_shard_map(jd_mesh *const *mesh, jdf_body_f run, void *context,
                          int *stat)
{
    JDF_CALL_WITHIN("jd_shard_map");
    struct body body = { run, context };
    jdf_end(&call, jd_shard_map(*mesh, run_body, &body));
}

/* A number of the shard's along axes; -1 is a failure. */
static int ask_along(const struct jdf_call *call,
                     int (*ask)(const jd_shard *shard, const char *axes),
                     const jd_shard *shard, const CFI_cdesc_t *axes)
{
    struct jdf_text along;
    int number = -1;
    jd_status status = jdf_axes_take(call, axes, &along);
    if (status == JD_OK) {
        number = ask(shard, along.text);
        status = jdf_unless(number < 0, JD_INVALID_ARGUMENT);
    }
    jdf_text_drop(&along);
    jdf_end(call, status);
    return number;
}

JD_API int jdf_axis_index(jd_shard *const *shard, const CFI_cdesc_t *axes,
                          JDF_OUTCOME)
{
    JDF_CALL("jd_axis_index");
    return ask_along(&call, jd_axis_index, *shard, axes);
}

JD_API int jdf_axis_size(jd_shard *const *shard, const CFI_cdesc_t *axes,
                         JDF_OUTCOME)
{
    JDF_CALL("jd_axis_size");
    return ask_along(&call, jd_axis_size, *shard, axes);
}

JD_API void jdf_shard_coordinates(jd_shard *const *shard,
                                  const CFI_cdesc_t *coordinates, JDF_OUTCOME)
{
    JDF_CALL("jd_shard_coordinates");
    jdf_end(&call, jd_shard_coordinates(*shard, (int)jdf_count(coordinates),
                                        jdf_first(coordinates)));
}

JD_API const jd_device *jdf_shard_device(jd_shard *const *shard, int *stat)
{
    JDF_CALL_WITHIN("jd_shard_device");
    const jd_device *device = jd_shard_device(*shard);
    jdf_end(&call, jdf_unless(!device, JD_INVALID_ARGUMENT));
    return device;
}

static jd_status check_groups(const struct jdf_call *call,
                              const CFI_cdesc_t *sizes,
                              const CFI_cdesc_t *indices)
{
    const int *list = jdf_first(sizes);
    long long listed = 0;
    for (size_t i = 0; i < jdf_count(sizes); i++)
        listed += list[i] > 0 ? list[i] : 0;
    if (listed == (long long)jdf_count(indices))
        return JD_OK;
    return jd_fail_with(JD_INVALID_ARGUMENT,
                        "%s: group_sizes add up to %lld, and indices has %zu; "
                        "each member's index is listed once",
                        call->name, listed, jdf_count(indices));
}

JD_API void jdf_shard_groups(jd_shard **ret_shard, jd_shard *const *shard,
                             const CFI_cdesc_t *axes,
                             const CFI_cdesc_t *group_sizes,
                             const CFI_cdesc_t *indices, JDF_OUTCOME)
{
    JDF_CALL("jd_shard_groups");
    struct jdf_text along;
    jd_status status = jdf_axes_take(&call, axes, &along);
    if (status == JD_OK)
        status = check_groups(&call, group_sizes, indices);
    if (status == JD_OK)
        status = jd_shard_groups(ret_shard, *shard, along.text,
                                 (int)jdf_count(group_sizes),
                                 jdf_first(group_sizes), jdf_first(indices));
    jdf_text_drop(&along);
    jdf_end(&call, status);
}
