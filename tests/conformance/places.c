/* SPDX-License-Identifier: BSD-3-Clause */
/* places.c - meshes, and who the members along their axes are. */
#include "places.h"

#include "numbers.h"

#include <stdio.h>
#include <string.h>

static const char *const names[] = { "x", "y", "z" };

/* ---- plans -------------------------------------------------------------- */

static struct mesh_plan plan_line(int size, enum order order)
{
    struct mesh_plan plan = { .ndim = 1, .shape = { size }, .order = order };
    plan.spans[plan.num_spans++] = (struct span_plan){ "x", CUT_NONE };
    if (order == ORDER_GIVEN && size > 1) {
        plan.spans[plan.num_spans++] = (struct span_plan){ NULL, CUT_UNEVEN };
        if (size > 2)
            plan.spans[plan.num_spans++] = (struct span_plan){ "x", CUT_PAIRS };
    }
    return plan;
}

static struct mesh_plan plan_table(int rows, int columns)
{
    return (struct mesh_plan){
        .ndim = 2,
        .shape = { rows, columns },
        .num_spans = 5,
        .spans = { { "x", CUT_NONE },
                   { "y", CUT_NONE },
                   { NULL, CUT_NONE },
                   { "y,x", CUT_NONE },
                   { "x,y", CUT_UNEVEN } },
    };
}

static struct mesh_plan plan_cube(int a, int b, int c)
{
    return (struct mesh_plan){
        .ndim = 3,
        .shape = { a, b, c },
        .num_spans = 5,
        .spans = { { "y", CUT_NONE },
                   { "z,x", CUT_NONE },
                   { "x,y", CUT_NONE },
                   { "z,y,x", CUT_NONE },
                   { "z,x", CUT_PAIRS } },
    };
}

int plan_meshes(int devices, struct mesh_plan plans[MAX_MESHES])
{
    int n = 0;
    plans[n++] = plan_line(devices, ORDER_GIVEN);
    if (devices > 1)
        plans[n++] = plan_line(devices, ORDER_SHUFFLED);
    if (devices > 2)
        plans[n++] = plan_line(devices - 1, ORDER_WITHOUT_FIRST);
    if (devices > 2 && devices % 2 == 0)
        plans[n++] = plan_table(2, devices / 2);
    if (devices > 4 && devices % 4 == 0)
        plans[n++] = plan_cube(2, devices / 4, 2);
    return n;
}

/* Swaps each place with a random one of those before. */
static void shuffle(const jd_device **devices, int count, uint64_t seed)
{
    for (int i = count - 1; i > 0; i--) {
        int other = (int)(mix(seed + (uint64_t)i) % (uint64_t)(i + 1));
        const jd_device *kept = devices[i];
        devices[i] = devices[other];
        devices[other] = kept;
    }
}

jd_status make_mesh(const struct mesh_plan *plan, uint64_t seed,
                    jd_mesh **ret_mesh)
{
    const jd_device *listed[MAX_MEMBERS];
    int count, first = plan->order == ORDER_WITHOUT_FIRST;
    const jd_device *const *all = jd_devices(&count);
    for (int i = first; i < count; i++)
        listed[i - first] = all[i];
    if (plan->order == ORDER_SHUFFLED)
        shuffle(listed, count, seed);
    return jd_mesh_create(ret_mesh, plan->ndim, plan->shape, names,
                          plan->order == ORDER_GIVEN ? NULL : listed);
}

void print_shape(const struct mesh_plan *plan, char *text, size_t size)
{
    static const char *const orders[] = { "", " shuffled",
                                          " without device 0" };
    size_t used = 0;
    for (int i = 0; i < plan->ndim; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%d",
                                 i > 0 ? "x" : "", plan->shape[i]);
    snprintf(text + used, size - used, "%s", orders[plan->order]);
}

void print_span(const struct span_plan *plan, char *text, size_t size)
{
    static const char *const cuts[] = { "", " in uneven groups", " in pairs" };
    snprintf(text, size, "along %s%s", plan->axes ? plan->axes : "all axes",
             cuts[plan->cut]);
}

/* ---- members ------------------------------------------------------------ */

/* The mesh's axes that the list names, in its order; gives their number. */
static int parse_axes(const struct mesh_plan *mesh, const char *axes,
                      int parsed[3])
{
    int n = 0;
    if (axes)
        for (const char *at = axes; *at; at++)
            if (*at != ',')
                parsed[n++] = *at - 'x';
    for (int i = 0; !axes && i < mesh->ndim; i++)
        parsed[n++] = i;
    return n;
}

static int number_in_mesh(const struct mesh_plan *mesh, const int at[3])
{
    int number = 0;
    for (int i = 0; i < mesh->ndim; i++)
        number = number * mesh->shape[i] + at[i];
    return number;
}

/* The members along the axes, of the shard at `own`; fills in its index. */
static void list_members(const struct mesh_plan *mesh, const int *axes,
                         int num_axes, const int own[3], struct span *span)
{
    span->size = 1;
    for (int i = 0; i < num_axes; i++)
        span->size *= mesh->shape[axes[i]];
    for (int member = 0; member < span->size; member++) {
        int at[3] = { own[0], own[1], own[2] }, rest = member;
        for (int i = num_axes - 1; i >= 0; i--) {
            at[axes[i]] = rest % mesh->shape[axes[i]];
            rest /= mesh->shape[axes[i]];
        }
        span->ids[member] = number_in_mesh(mesh, at);
        if (memcmp(at, own, sizeof at) == 0)
            span->index = member;
    }
}

/* The groups of size members: sizes and lists; gives their number. The uneven
 * ones have the odd indices from the last to the first, then the others. */
static int cut_members(enum cut cut, int size, int sizes[MAX_MEMBERS],
                       int indices[MAX_MEMBERS])
{
    int n = 0, used = 0;
    if (cut == CUT_PAIRS) {
        for (int i = 0; i < size; i += 2, n++) {
            sizes[n] = i + 1 < size ? 2 : 1;
            for (int k = sizes[n] - 1; k >= 0; k--)
                indices[used++] = i + k;
        }
        return n;
    }
    int large = size - (size + 2) / 3;
    for (int i = size - 1; i >= 0; i--)
        if (i % 2)
            indices[used++] = i;
    for (int i = 0; i < size; i += 2)
        indices[used++] = i;
    sizes[0] = large > 0 ? large : size;
    sizes[1] = size - sizes[0];
    return sizes[1] > 0 ? 2 : 1;
}

/* Leaves the members of the own group in the span. */
static void keep_group(struct span *span, int num_groups, const int *sizes,
                       const int *indices)
{
    int all[MAX_MEMBERS], own = span->index, first = 0;
    memcpy(all, span->ids, sizeof all);
    for (int group = 0; group < num_groups; first += sizes[group++])
        for (int i = 0; i < sizes[group]; i++)
            if (indices[first + i] == own) {
                span->size = sizes[group];
                span->index = i;
                for (int k = 0; k < sizes[group]; k++)
                    span->ids[k] = all[indices[first + k]];
            }
}

static jd_status compare_span(const struct span *span, char why[256])
{
    int size = jd_axis_size(span->shard, span->plan->axes);
    int index = jd_axis_index(span->shard, span->plan->axes);
    if (size == span->size && index == span->index)
        return JD_OK;
    snprintf(why, 256, "jd says member %d of %d, and it is %d of %d", index,
             size, span->index, span->size);
    return JD_INTERNAL;
}

jd_status open_span(const struct mesh_plan *mesh, const struct span_plan *plan,
                    jd_shard *shard, struct span *span, char why[256])
{
    int axes[3], own[3] = { 0, 0, 0 };
    int sizes[MAX_MEMBERS], indices[MAX_MEMBERS];
    int num_axes = parse_axes(mesh, plan->axes, axes);
    jd_status status = jd_shard_coordinates(shard, mesh->ndim, own);
    *span = (struct span){ .plan = plan, .shard = shard };
    list_members(mesh, axes, num_axes, own, span);
    if (status == JD_OK && plan->cut != CUT_NONE) {
        int n = cut_members(plan->cut, span->size, sizes, indices);
        status =
            jd_shard_groups(&span->shard, shard, plan->axes, n, sizes, indices);
        keep_group(span, n, sizes, indices);
    }
    for (int i = 0; i < span->size; i++)
        span->group = mix(span->group + (uint64_t)span->ids[i] + 1);
    if (status != JD_OK) {
        snprintf(why, 256, "%s", jd_error_message());
        return status;
    }
    return compare_span(span, why);
}
