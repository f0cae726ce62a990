/* SPDX-License-Identifier: BSD-3-Clause */
/* transfers.c - sends and receives for Fortran, one by one and in groups. */
#include "fortran/buffer.h"

#include <stdint.h>

#define JDF_TRANSFER                                                           \
    jd_shard *const *shard, const CFI_cdesc_t *axes, const int *peer
#define JDF_TYPED const int *dtype, JDF_OUTCOME

/* This thread's shard is between jd_group_begin() and jd_group_end(). */
static _Thread_local bool is_in_group;

/* In a group the elements are read and written after the call has returned,
 * when a packed copy would be gone. */
static jd_status check_grouped(const struct jdf_call *call,
                               const struct jdf_buffer *buffer)
{
    if (!is_in_group || !buffer->packed)
        return JD_OK;
    return jd_fail_with(
        JD_INVALID_ARGUMENT,
        "%s: %s is a section that is not contiguous, and in a group the "
        "elements move in jd_group_end(); pass a contiguous array, or call "
        "without a group",
        call->name, buffer->name);
}

/* tag is NULL of those without one. */
static void send_array(const struct jdf_call *call, JDF_TRANSFER,
                       const int32_t *tag, const CFI_cdesc_t *in,
                       const int *dtype)
{
    struct jdf_text along;
    struct jdf_buffer buffer = { .packed = NULL };
    jd_status status = jdf_axes_take(call, axes, &along);
    if (status == JD_OK)
        status = jdf_buffer_take(call, "in", in, dtype, JDF_MOVED, &buffer);
    if (status == JD_OK)
        status = check_grouped(call, &buffer);
    if (status == JD_OK && tag)
        status = jd_send_tagged(*shard, along.text, *peer, *tag, buffer.data,
                                buffer.count, buffer.dtype);
    else if (status == JD_OK)
        status = jd_send(*shard, along.text, *peer, buffer.data, buffer.count,
                         buffer.dtype);
    jdf_buffer_drop(&buffer);
    jdf_text_drop(&along);
    jdf_end(call, status);
}

static void receive_array(const struct jdf_call *call, JDF_TRANSFER,
                          const int32_t *tag, const CFI_cdesc_t *out,
                          const int *dtype)
{
    struct jdf_text along;
    struct jdf_buffer buffer = { .packed = NULL };
    jd_status status = jdf_axes_take(call, axes, &along);
    if (status == JD_OK)
        status = jdf_buffer_take(call, "out", out, dtype, JDF_MOVED, &buffer);
    if (status == JD_OK)
        status = check_grouped(call, &buffer);
    if (status == JD_OK && tag)
        status = jd_recv_tagged(*shard, along.text, *peer, *tag, buffer.data,
                                buffer.count, buffer.dtype);
    else if (status == JD_OK)
        status = jd_recv(*shard, along.text, *peer, buffer.data, buffer.count,
                         buffer.dtype);
    if (status == JD_OK)
        jdf_buffer_write(&buffer);
    jdf_buffer_drop(&buffer);
    jdf_text_drop(&along);
    jdf_end(call, status);
}

JD_API void jdf_recv_any_size(JDF_TRANSFER, const CFI_cdesc_t *out,
                              size_t *count, JDF_TYPED)
{
    JDF_CALL("jd_recv_any_size");
    struct jdf_text along;
    struct jdf_buffer buffer = { .packed = NULL };
    jd_status status = jdf_axes_take(&call, axes, &along);
    if (status == JD_OK)
        status = jdf_buffer_take(&call, "out", out, dtype, JDF_MOVED, &buffer);
    if (status == JD_OK)
        status = check_grouped(&call, &buffer);
    if (status == JD_OK)
        status = jd_recv_any_size(*shard, along.text, *peer, buffer.data,
                                  buffer.count, count, buffer.dtype);
    if (status == JD_OK)
        jdf_buffer_write(&buffer);
    jdf_buffer_drop(&buffer);
    jdf_text_drop(&along);
    jdf_end(&call, status);
}

JD_API void jdf_send(JDF_TRANSFER, const CFI_cdesc_t *in, JDF_TYPED)
{
    JDF_CALL("jd_send");
    send_array(&call, shard, axes, peer, NULL, in, dtype);
}

JD_API void jdf_recv(JDF_TRANSFER, const CFI_cdesc_t *out, JDF_TYPED)
{
    JDF_CALL("jd_recv");
    receive_array(&call, shard, axes, peer, NULL, out, dtype);
}

JD_API void jdf_send_tagged(JDF_TRANSFER, const int32_t *tag,
                            const CFI_cdesc_t *in, JDF_TYPED)
{
    JDF_CALL("jd_send_tagged");
    send_array(&call, shard, axes, peer, tag, in, dtype);
}

JD_API void jdf_recv_tagged(JDF_TRANSFER, const int32_t *tag,
                            const CFI_cdesc_t *out, JDF_TYPED)
{
    JDF_CALL("jd_recv_tagged");
    receive_array(&call, shard, axes, peer, tag, out, dtype);
}

static jd_status check_types(const struct jdf_call *call,
                             const struct jdf_buffer *in,
                             const struct jdf_buffer *out)
{
    if (in->dtype == out->dtype)
        return JD_OK;
    return jd_fail_with(JD_INVALID_ARGUMENT,
                        "%s: in is %s and out %s; they have the same type",
                        call->name, jdf_type_text(in->array).text,
                        jdf_type_text(out->array).text);
}

JD_API void jdf_sendrecv(JDF_TRANSFER, const CFI_cdesc_t *in, const int *from,
                         const CFI_cdesc_t *out, JDF_TYPED)
{
    JDF_CALL("jd_sendrecv");
    struct jdf_text along;
    struct jdf_buffer sent = { .packed = NULL }, received = { .packed = NULL };
    jd_status status = jdf_axes_take(&call, axes, &along);
    if (status == JD_OK)
        status = jdf_buffer_take(&call, "in", in, dtype, JDF_MOVED, &sent);
    if (status == JD_OK)
        status =
            jdf_buffer_take(&call, "out", out, dtype, JDF_MOVED, &received);
    if (status == JD_OK)
        status = check_types(&call, &sent, &received);
    if (status == JD_OK)
        status = jd_sendrecv(*shard, along.text, *peer, sent.data, sent.count,
                             *from, received.data, received.count, sent.dtype);
    if (status == JD_OK)
        jdf_buffer_write(&received);
    jdf_buffer_drop(&sent);
    jdf_buffer_drop(&received);
    jdf_text_drop(&along);
    jdf_end(&call, status);
}

JD_API void jdf_group_begin(jd_shard *const *shard, JDF_OUTCOME)
{
    JDF_CALL("jd_group_begin");
    jd_status status = jd_group_begin(*shard);
    if (status == JD_OK)
        is_in_group = true;
    jdf_end(&call, status);
}

JD_API void jdf_group_end(jd_shard *const *shard, JDF_OUTCOME)
{
    JDF_CALL("jd_group_end");
    is_in_group = false;
    jdf_end(&call, jd_group_end(*shard));
}

/* Where it fails the group is open still, if it was. */
JD_API void jdf_group_start(jd_shard *const *shard, jd_request **request,
                            JDF_OUTCOME)
{
    JDF_CALL("jd_group_start");
    jd_status status = jd_group_start(*shard, request);
    if (status == JD_OK)
        is_in_group = false;
    jdf_end(&call, status);
}
