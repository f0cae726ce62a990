/* SPDX-License-Identifier: BSD-3-Clause */
/* call.c - what each call from Fortran has in common. */
#include "fortran/call.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <stdlib.h>
#include <string.h>

/* ---- the call itself ---------------------------------------------------- */

struct jdf_call jdf_begin(const char *name, const void *site, JDF_OUTCOME)
{
    jd_call_site(site);
    return (struct jdf_call){ name, site, stat, errmsg };
}

/* As an assignment does: cut where it does not fit, else followed by blanks. */
static void assign_text(const CFI_cdesc_t *to, const char *text)
{
    size_t length = strlen(text), room = to->elem_len;
    size_t copied = length < room ? length : room;
    memcpy(to->base_addr, text, copied);
    memset((char *)to->base_addr + copied, ' ', room - copied);
}

void jdf_end(const struct jdf_call *call, jd_status status)
{
    if (status != JD_OK && !call->stat) {
        jdf_flush_units();
        jd_call_site(call->site);
        jd_check_failed(status, call->name, NULL, 0);
    }
    if (call->stat)
        *call->stat = (int)status;
    if (status != JD_OK && call->errmsg)
        assign_text(call->errmsg, jd_error_message());
    jd_call_site(NULL);
}

/* Something of this library, by whose address it is told from others. */
static const char own_byte;

const void *jdf_site_outside(void)
{
    enum { MOST_FRAMES = 16 };
    void *frames[MOST_FRAMES];
    Dl_info own, other;
    int num_frames = backtrace(frames, MOST_FRAMES);
    if (!dladdr(&own_byte, &own))
        return NULL;
    for (int i = 0; i < num_frames; i++)
        if (dladdr(frames[i], &other) && other.dli_fbase != own.dli_fbase)
            return frames[i];
    return NULL;
}

/* ---- texts -------------------------------------------------------------- */

static size_t trimmed_length(const char *text, size_t length)
{
    const char *end = memchr(text, '\0', length);
    if (end)
        length = (size_t)(end - text);
    while (length > 0 && text[length - 1] == ' ')
        length--;
    return length;
}

static jd_status fail_no_memory(const struct jdf_call *call, size_t bytes)
{
    return jd_fail_with(JD_RESOURCE_EXHAUSTED,
                        "%s: %zu bytes of memory could not be allocated; free "
                        "memory on this host or raise its limit (ulimit -v)",
                        call->name, bytes);
}

jd_status jdf_text_take(const struct jdf_call *call, const CFI_cdesc_t *from,
                        struct jdf_text *ret_text)
{
    ret_text->text = NULL;
    ret_text->memory = NULL;
    if (!from)
        return JD_OK;
    size_t length = trimmed_length(from->base_addr, from->elem_len);
    char *to = ret_text->room;
    if (length >= sizeof ret_text->room)
        to = ret_text->memory = malloc(length + 1);
    if (!to)
        return fail_no_memory(call, length + 1);
    memcpy(to, from->base_addr, length);
    to[length] = '\0';
    ret_text->text = to;
    return JD_OK;
}

void jdf_text_drop(struct jdf_text *text)
{
    free(text->memory);
}

jd_status jdf_axes_take(const struct jdf_call *call, const CFI_cdesc_t *from,
                        struct jdf_text *ret_text)
{
    jd_status status = jdf_text_take(call, from, ret_text);
    if (status == JD_OK && ret_text->text && strcmp(ret_text->text, "*") == 0)
        ret_text->text = NULL;
    return status;
}

void jdf_make_with_text(const struct jdf_call *call,
                        jd_status (*make)(const char *text),
                        const CFI_cdesc_t *from)
{
    struct jdf_text text;
    jd_status status = jdf_text_take(call, from, &text);
    if (status == JD_OK)
        status = make(text.text);
    jdf_text_drop(&text);
    jdf_end(call, status);
}

jd_status jdf_texts_take(const struct jdf_call *call, const CFI_cdesc_t *from,
                         const char *const **ret_list)
{
    size_t n = jdf_count(from), each = from->elem_len + 1;
    size_t bytes = (n + 1) * sizeof(char *) + n * each;
    const char **list = malloc(bytes);
    if (!list)
        return fail_no_memory(call, bytes);
    char *to = (char *)(list + n + 1);
    for (size_t i = 0; i < n; i++, to += each) {
        const char *text =
            (const char *)from->base_addr + (ptrdiff_t)i * from->dim[0].sm;
        size_t length = trimmed_length(text, from->elem_len);
        memcpy(to, text, length);
        to[length] = '\0';
        list[i] = to;
    }
    list[n] = NULL;
    *ret_list = list;
    return JD_OK;
}

jd_status jdf_bytes_give(const struct jdf_call *call, CFI_cdesc_t *to,
                         const void *bytes, size_t size)
{
    if (CFI_allocate(to, NULL, NULL, size) != CFI_SUCCESS)
        return fail_no_memory(call, size);
    if (size > 0)
        memcpy(to->base_addr, bytes, size);
    return JD_OK;
}

jd_status jdf_text_give(const struct jdf_call *call, CFI_cdesc_t *to,
                        const char *text)
{
    return jdf_bytes_give(call, to, text, strlen(text));
}

/* ---- lists of numbers --------------------------------------------------- */

size_t jdf_count(const CFI_cdesc_t *list)
{
    return list ? (size_t)list->dim[0].extent : 0;
}

void *jdf_first(const CFI_cdesc_t *list)
{
    return list ? list->base_addr : NULL;
}
