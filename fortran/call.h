/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * call.h - what each call from Fortran has in common: where it was made, how
 * it fails, and the texts that come with it.
 *
 *     void jdf_barrier(jd_shard *const *shard, const CFI_cdesc_t *axes,
 *                      JDF_OUTCOME)
 *     {
 *         JDF_CALL("jd_barrier");
 *         struct jdf_text along;
 *         jd_status status = jdf_axes_take(&call, axes, &along);
 *         if (status == JD_OK)
 *             status = jd_barrier(*shard, along.text);
 *         jdf_text_drop(&along);
 *         jdf_end(&call, status);
 *     }
 *
 * Fortran calls these functions directly, by its descriptors of arrays and
 * texts (ISO_Fortran_binding.h): the address that they return to is the line of
 * the program. A handle is a derived type with one pointer, passed by its
 * address. An argument that is not present is NULL.
 */
#ifndef FORTRAN_CALL_H
#define FORTRAN_CALL_H

#include "jd.h"

#include <ISO_Fortran_binding.h>
#include <stdbool.h>
#include <stddef.h>

/* ---- the call itself ---------------------------------------------------- */

struct jdf_call {
    const char *name; /* "jd_psum" */
    const void *site; /* where the program made it */
    int *stat;
    CFI_cdesc_t *errmsg;
};

/* The last two arguments of each call. */
#define JDF_OUTCOME int *stat, CFI_cdesc_t *errmsg

/* Of a function that Fortran programs call; and of one that the module's own
 * procedures do, where the program is some frames up, and which end the call
 * themselves (outcomes.f90). */
#define JDF_CALL(name)                                                         \
    struct jdf_call call =                                                     \
        jdf_begin(name, __builtin_return_address(0), stat, errmsg)
#define JDF_CALL_WITHIN(name)                                                  \
    struct jdf_call call = jdf_begin(name, jdf_site_outside(), stat, NULL)

struct jdf_call jdf_begin(const char *name, const void *site, JDF_OUTCOME);

/*
 * Ends the call: sets stat= and, on a failure, errmsg=; a failure without
 * stat= ends the job as JD_CHECK does.
 */
void jdf_end(const struct jdf_call *call, jd_status status);

/* Writes out what waits in Fortran's units of standard output and standard
 * error, as jd does with C's streams: before a job may end (units.f90). */
void jdf_flush_units(void);

/* The first place up the stack that is not in this library. */
const void *jdf_site_outside(void);

/* JD_OK, or the failure that C tells by a NULL or a negative number, with its
 * reason in jd_error_message(). */
static inline jd_status jdf_unless(bool failed, jd_status status)
{
    return failed ? status : JD_OK;
}

/* Of a logical(c_bool) that may not be present. */
static inline bool jdf_is_true(const bool *option)
{
    return option && *option;
}

/* ---- texts -------------------------------------------------------------- */

/* A text without the blanks at its end, as C wants it; short ones need no
 * memory. */
struct jdf_text {
    const char *text; /* NULL where the argument is not present */
    char *memory;
    char room[128];
};

jd_status jdf_text_take(const struct jdf_call *call, const CFI_cdesc_t *from,
                        struct jdf_text *ret_text);
void jdf_text_drop(struct jdf_text *text);

/* The same of axes, where jd_all_axes, "*", is NULL. */
jd_status jdf_axes_take(const struct jdf_call *call, const CFI_cdesc_t *from,
                        struct jdf_text *ret_text);

/* Makes a call of C's that is given a text alone, and ends it. */
void jdf_make_with_text(const struct jdf_call *call,
                        jd_status (*make)(const char *text),
                        const CFI_cdesc_t *from);

/* An array of texts, as C's list: one block, free() it. */
jd_status jdf_texts_take(const struct jdf_call *call, const CFI_cdesc_t *from,
                         const char *const **ret_list);

/* Gives a text, or bytes, to an allocatable one. */
jd_status jdf_text_give(const struct jdf_call *call, CFI_cdesc_t *to,
                        const char *text);
jd_status jdf_bytes_give(const struct jdf_call *call, CFI_cdesc_t *to,
                         const void *bytes, size_t size);

/* ---- lists of numbers, which the interfaces say are contiguous ----------- */

/* The elements of an array of rank 1, and the first; NULL and 0 where it is not
 * present. */
size_t jdf_count(const CFI_cdesc_t *list);
void *jdf_first(const CFI_cdesc_t *list);

#endif
