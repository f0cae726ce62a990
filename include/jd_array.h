/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * jd_array.h - arrays that are spread over the devices of a mesh.
 *
 *     jd_sharding *rows, *columns;
 *     jd_array *a, *b;
 *     JD_CHECK(jd_sharding_create(&rows, mesh, "data,-"));
 *     JD_CHECK(jd_sharding_create(&columns, mesh, "-,data"));
 *     jd_leaf value = { values, JD_F32, 2, shape };
 *     JD_CHECK(jd_device_put(&a, &value, rows));
 *     JD_CHECK(jd_array_reshard(&b, a, columns));
 *     JD_CHECK(jd_visualize_array_sharding(b, stdout));
 *     ...
 *     jd_array_release(a);
 *
 * A sharding says how the dimensions of an array are cut along the axes of a
 * mesh, and which device has which block; an array is a type, a shape, a
 * sharding, and the blocks of this process's devices. Arrays are immutable to
 * jd: none of its calls writes into one. They are row-major, of 0 to
 * JD_MAX_NDIM dimensions and of any type.
 *
 * What holds for all of them:
 * Collective: where it says so, all processes that have a device in one of the
 *             meshes that take part, in the same order; the others need not
 *             call, and may where an array is made (they get one without
 *             blocks): what gathers one into out refuses them, but for root.
 * Blocks:     calls that are not collective do not; the others at most
 *             collective_timeout, as a collective.
 * Threads:    a sharding is immutable, an array's references are counted
 *             atomically; a collective call is one at a time.
 * Owns:       a sharding and an array are the caller's, until it releases
 *             them; arrays hold their sharding, and shardings need their mesh
 *             no longer once they are made.
 * Returns:    JD_OK; INVALID_ARGUMENT; FAILED_PRECONDITION for a sharding or
 *             an array from before jd_shutdown(); RESOURCE_EXHAUSTED;
 *             and what is said at each call. Collective ones also as
 *             jd_collectives.h says.
 */
#ifndef JD_ARRAY_H
#define JD_ARRAY_H

#include "jd_dtype.h"
#include "jd_mesh.h"
#include "jd_multihost.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

#define JD_MAX_NDIM 8

typedef struct jd_sharding jd_sharding;
typedef struct jd_array jd_array;

/* Elements [begin, end) of a dimension. */
typedef struct jd_range {
    int64_t begin;
    int64_t end;
} jd_range;

/* ---- shardings ---------------------------------------------------------- */

/*
 * Says how arrays lie on the mesh: one entry for each dimension, separated by
 * commas: the name of an axis that cuts the dimension, several joined by '+'
 * (the first is the most significant), or "-" for one that is not cut.
 * Dimensions after the last entry are not cut, "" cuts none; axes that are not
 * named have replicas.
 *
 *     "data,-,model+pipe"
 *
 * n elements that are cut w ways are blocks of ceil(n / w), the last ones
 * shorter or empty; a sharding made by jd_sharding_create_even() refuses
 * arrays with a dimension that w does not divide, as JAX does.
 *
 * Collective: no communication.
 * Returns: JD_OK; INVALID_ARGUMENT for a NULL, an empty entry, more than
 *   JD_MAX_NDIM entries, an axis that the mesh has not or that is there twice,
 *   naming the entry, the axis, and the axes of the mesh.
 * Source: jax.sharding.NamedSharding, PartitionSpec.
 */
JD_API jd_status jd_sharding_create(jd_sharding **ret_sharding,
                                    const jd_mesh *mesh, const char *spec);
JD_API jd_status jd_sharding_create_even(jd_sharding **ret_sharding,
                                         const jd_mesh *mesh, const char *spec);

/* Gives back the caller's reference; NULL is allowed. */
JD_API void jd_sharding_release(jd_sharding *sharding);

/* The spec in its shortest form ("data" for "data,-"); the sharding's. */
JD_API const char *jd_sharding_spec(const jd_sharding *sharding);

/* 1 where every device has all of an array; 1 where every device is of this
 * process. 0 for a NULL. */
JD_API int jd_sharding_is_fully_replicated(const jd_sharding *sharding);
JD_API int jd_sharding_is_fully_addressable(const jd_sharding *sharding);

/*
 * Makes a mesh like the one that the sharding was made on, which may be gone:
 * its axes, their names, and its devices at the same places. For collectives
 * on what an array's blocks hold, where only the array is at hand.
 * Collective: no communication; as jd_mesh_create().
 * Owns: the caller, who gives it to jd_mesh_destroy().
 * Returns: JD_OK; INVALID_ARGUMENT for a NULL; FAILED_PRECONDITION for a
 *   sharding from before jd_shutdown(); RESOURCE_EXHAUSTED.
 * Source: NamedSharding.mesh.
 */
JD_API jd_status jd_sharding_mesh(jd_mesh **ret_mesh,
                                  const jd_sharding *sharding);

/*
 * 1 where both put the same block of every array of ndim dimensions on the
 * same device, however they are written; else 0. The order of the devices in
 * their meshes is nothing to it.
 * Source: Sharding.is_equivalent_to.
 */
JD_API int jd_sharding_is_equivalent(const jd_sharding *a, const jd_sharding *b,
                                     int ndim);

/*
 * Which elements of an array of that shape a device has (ndim ranges), and its
 * number among the devices that have the same ones, in the mesh's order. An
 * empty block has the number of its place among the replicas of that place, so
 * that several empty blocks may be number 0: who writes where that is 0, looks
 * at the elements too. Either output may be NULL.
 * Returns: JD_OK; INVALID_ARGUMENT where the spec has more entries than the
 *   array dimensions, a dimension is negative, does not divide though it has
 *   to, or the device is none of the mesh's: naming entry, axes and shape.
 * Source: Sharding.devices_indices_map, Shard.replica_id.
 */
JD_API jd_status jd_sharding_index(const jd_sharding *sharding, int ndim,
                                   const int64_t *shape,
                                   const jd_device *device, jd_range *ret_index,
                                   int *ret_replica_id);

/* The shape of the longest block: ceil(n / ways) in each dimension.
 * Source: Sharding.shard_shape. */
JD_API jd_status jd_sharding_shard_shape(const jd_sharding *sharding, int ndim,
                                         const int64_t *shape,
                                         int64_t *ret_shape);

/* ---- arrays ------------------------------------------------------------- */

/* A block of an array on a device of this process. */
typedef struct jd_array_shard {
    const jd_device *device;
    jd_range index[JD_MAX_NDIM]; /* of the array */
    int64_t shape[JD_MAX_NDIM];  /* of the block */
    int replica_id;
    size_t count; /* elements */
    void *data;   /* of the device's memory, row-major; NULL where count is 0;
                   * on cuda the host reads it by jd_device_copy() */
} jd_array_shard;

/* All zeros. */
JD_API jd_status jd_array_zeros(jd_array **ret_array,
                                const jd_sharding *sharding, jd_dtype dtype,
                                int ndim, const int64_t *shape);

/*
 * Gives an array the blocks that fill() writes: once for each distinct index
 * of this process's devices that has elements, row-major, into zeroed host
 * memory. index has ndim ranges. A fill() that fails ends the call, with its
 * status, the block's index, and its sentence: jd_fail_with() gives one.
 * Source: jax.make_array_from_callback.
 */
JD_API jd_status jd_array_from_callback(
    jd_array **ret_array, const jd_sharding *sharding, jd_dtype dtype, int ndim,
    const int64_t *shape,
    jd_status (*fill)(const jd_range *index, void *block, void *arg),
    void *arg);

/* What a fill() of jd_array_from_blocks() is to write. jd makes it, and may
 * have more to say at its end in a later version. */
typedef struct jd_block {
    jd_dtype dtype;
    int ndim;
    const int64_t *array_shape; /* of the whole array */
    const jd_range *index;      /* of the array; ndim ranges */
    const int64_t *shape;       /* of the block */
    size_t count;               /* elements of the block, at least 1 */
    void *data;                 /* these, row-major, zeroed, in host memory */
} jd_block;

/*
 * The same, and fill() is told what it fills: one fill() serves arrays of any
 * type and shape, with arg for what is the program's own.
 * Source: jax.make_array_from_callback, whose callback knows its array.
 */
JD_API jd_status jd_array_from_blocks(
    jd_array **ret_array, const jd_sharding *sharding, jd_dtype dtype, int ndim,
    const int64_t *shape, jd_status (*fill)(const jd_block *block, void *arg),
    void *arg);

/*
 * Makes an array of what each process has. In each dimension local is as long
 * as the whole array, or as long as this process's distinct blocks together,
 * in the order of their begin (0 for a process without a device of the mesh).
 * With a NULL global_shape it is worked out: each dimension is the local one
 * times the number of distinct shares that processes have. These then have to
 * be alike: of as many blocks, the same or disjoint, and blocks of one length.
 * Whether processes' lengths fit together is not checked: nothing is sent.
 * Returns: also INVALID_ARGUMENT naming the dimension, and the two lengths
 *   that it may have; or why the whole cannot be worked out.
 * Source: jax.make_array_from_process_local_data.
 */
JD_API jd_status jd_array_from_process_local_data(jd_array **ret_array,
                                                  const jd_sharding *sharding,
                                                  const jd_leaf *local,
                                                  const int64_t *global_shape);

/*
 * Makes an array of blocks that are there: one buffer for each device that this
 * process has in the sharding's mesh, in the order of jd_array_shards(), which
 * is the mesh's; NULL for an empty block. The array owns them from then on and
 * gives them to jd_device_free(); after a failure they are still the caller's.
 * They are no other array's.
 * Returns: also INVALID_ARGUMENT naming the buffer that is NULL, too short, not
 *   of jd_device_alloc(), or there twice.
 * Source: jax.make_array_from_single_device_arrays.
 */
JD_API jd_status jd_array_from_shards(jd_array **ret_array,
                                      const jd_sharding *sharding,
                                      jd_dtype dtype, int ndim,
                                      const int64_t *shape,
                                      void *const *buffers, int num_buffers);

/*
 * Puts a value that every process has onto the sharding's devices.
 * Collective: yes. That all have the same one, bit for bit, is checked by a
 *   digest: each reads all of its value, and a few bytes are sent.
 * Returns: also INVALID_ARGUMENT, on every process, where types, shapes, specs,
 *   meshes or values differ, naming two processes; RESOURCE_EXHAUSTED on every
 *   process where one has not the memory.
 * Source: jax.device_put.
 */
JD_API jd_status jd_device_put(jd_array **ret_array, const jd_leaf *value,
                               const jd_sharding *sharding);

/*
 * Makes an array of a value that process source alone has: each device gets its
 * block and nothing else. All give the same type and shape; data is read on the
 * source, in C order, and may be NULL elsewhere.
 *
 *     void *data = jd_process_index() == 0 ? values : NULL;
 *     jd_leaf table = { data, JD_F64, 2, shape };
 *     JD_CHECK(jd_array_from_one(&array, rows, &table, 0));
 *
 * What goes is packed in pieces: beside the value and the array's blocks no
 * more than JD_RESHARD_MEMORY bytes of each device are in use, on the source
 * too. source need not have a device of the mesh; then it takes part too.
 * Collective: yes. A process that cannot take part tells the others.
 * Returns: also INVALID_ARGUMENT for a NULL, a source that is no process or has
 *   no device of the sharding's platform, a shape that does not fit the
 *   sharding; on every process where types, shapes, specs, meshes or sources
 *   differ, naming two processes, or where one came with such a failure,
 *   naming it; RESOURCE_EXHAUSTED on every process where one has not the
 *   memory.
 * Source: MPI_Scatterv, its root being source; jax.device_put of an array that
 *   is on one process's device.
 */
JD_API jd_status jd_array_from_one(jd_array **ret_array,
                                   const jd_sharding *sharding,
                                   const jd_leaf *value, int source);

/* One reference more; the array. And one less: the last one frees it. NULL is
 * allowed. */
JD_API jd_array *jd_array_retain(jd_array *array);
JD_API void jd_array_release(jd_array *array);

/* What it is, of one that was donated too; the shape and the sharding are the
 * array's. Of a NULL it is 0, -1, NULL and NULL. */
JD_API jd_dtype jd_array_dtype(const jd_array *array);
JD_API int jd_array_ndim(const jd_array *array);
JD_API const int64_t *jd_array_shape(const jd_array *array);
JD_API const jd_sharding *jd_array_sharding(const jd_array *array);

/* The blocks of this process's devices, in the mesh's order; the array's. NULL
 * and 0 for an array that was donated.
 * Source: Array.addressable_shards. */
JD_API const jd_array_shard *jd_array_shards(const jd_array *array,
                                             int *ret_count);

/*
 * Copies the whole array into out, whose type and shape are checked.
 * Collective: no, and never communicates.
 * Returns: also FAILED_PRECONDITION where this process's blocks are not all of
 *   it: jd_process_allgather_array() gathers them.
 */
JD_API jd_status jd_array_to_host(const jd_array *array, const jd_leaf *out);

/* ---- moving them -------------------------------------------------------- */

/*
 * Makes an array of the same value that lies as the sharding says: any spec,
 * any mesh, other devices, their order, fewer or more of them. What a device
 * has already does not travel, replicas share the sending, and no more than
 * JD_RESHARD_MEMORY bytes (64 MiB) of each device are in use beside the two
 * arrays: at most half of them for packing, and at most half are blocks of
 * released results, kept for the next call (new memory costs several times
 * what the move does).
 * Collective: all processes of both meshes. Where one cannot take part, or they
 *   do not mean the same, all are told before anything moves.
 * Returns: also INVALID_ARGUMENT where the shape does not fit the sharding, and
 *   on every process where they differ, naming two of them; UNIMPLEMENTED
 *   between devices of different platforms.
 * Source: jax.device_put of an array.
 */
JD_API jd_status jd_array_reshard(jd_array **ret_array, const jd_array *array,
                                  const jd_sharding *sharding);

/*
 * The same with the array donated: its blocks are given back, or used again
 * where they fit, and *array is the new one. Other references to the old one
 * see an array without blocks. After a failure *array is what it was, unless
 * the failure is a collective's: then its blocks are undefined.
 * Source: jax.device_put's donate.
 */
JD_API jd_status jd_array_reshard_donate(jd_array **array,
                                         const jd_sharding *sharding);

/* ---- between arrays and processes' values ------------------------------- */

/*
 * Gives every process of the array's mesh the whole array in out, whose type
 * and shape are checked.
 * Collective: yes. Source: multihost_utils.process_allgather, tiled.
 */
JD_API jd_status jd_process_allgather_array(const jd_array *array,
                                            const jd_leaf *out);

/* Gives it to process root alone; the others' out may be NULL. root need not
 * have a device of the mesh; then it takes part too. */
JD_API jd_status jd_process_gather_array(const jd_array *array,
                                         const jd_leaf *out, int root);

/*
 * Checks that devices that have the same block hold the same in it, which a
 * program that writes into blocks has to see to. The rules are those of
 * jd_assert_equal_with(), replica 0 being b; NULL and 0: values are the same.
 * Values travel only where digests of blocks differ.
 * Collective: yes.
 * Returns: also FAILED_PRECONDITION, on every process, naming the first device
 *   that differs, the index in the array, its value and replica 0's; what (may
 *   be NULL) begins the sentence.
 */
JD_API jd_status jd_array_assert_replicas_equal(const jd_array *array,
                                                const char *what,
                                                const jd_equality *equality,
                                                size_t size);

/*
 * A process's value and an array of all: local is what this process's devices
 * have together, which have to be a box of the mesh, of one shape on all
 * processes (for others: jd_array_from_process_local_data()).
 * Collective: no communication; all processes of the mesh.
 * Returns: also INVALID_ARGUMENT where they are no box, or the shape does not
 *   fit, naming the dimension.
 * Source: multihost_utils.host_local_array_to_global_array, and the inverse.
 */
JD_API jd_status jd_host_local_array_to_global_array(jd_array **ret_array,
                                                     const jd_leaf *local,
                                                     const jd_mesh *mesh,
                                                     const char *spec);
JD_API jd_status jd_global_array_to_host_local_array(const jd_array *array,
                                                     const jd_mesh *mesh,
                                                     const char *spec,
                                                     const jd_leaf *out);

/* ---- pictures ----------------------------------------------------------- */

/* clang-format off */
/*
 * Draws for a person which device has which block: a box for each, with its
 * devices in it, "0-3:0" being device 0 of the processes 0 to 3. Rows and
 * columns are the two longest dimensions that are cut, or the first ones; each
 * index along the other ones that are cut has a table of its own. Blocks that
 * are empty share a box at the end. Long dimensions are cut in the middle.
 *
 *     [64,10] as "data,model": 6 blocks of up to [32,4], each on 1 of 6 cpu devices
 *     at the edges: elements of dimensions 0 and 1; in the boxes: process:device
 *
 *               [0,4)    [4,8)    [8,10)
 *             +--------+--------+--------+
 *     [0,32)  | 0:0    | 0:1    | 0:2    |
 *             +--------+--------+--------+
 *     [32,64) | 1:0    | 1:1    | 1:2    |
 *             +--------+--------+--------+
 *
 * With lines where the program's locale has them (setlocale(LC_ALL, "") and
 * UTF-8); in colour where out is the terminal that the program was started
 * from, which under mpirun it is not: there CLICOLOR_FORCE=1 asks for it.
 * NO_COLOR=1 asks for none.
 *
 * Collective: no; usually process 0 alone does it.
 * Returns: also DATA_LOSS where out cannot be written.
 * Source: jax.debug.visualize_array_sharding.
 */
/* clang-format on */
JD_API jd_status jd_visualize_sharding(const jd_sharding *sharding, int ndim,
                                       const int64_t *shape, FILE *out);
JD_API jd_status jd_visualize_array_sharding(const jd_array *array, FILE *out);

/*
 * Draws what jd_visualize_sharding() draws in SVG, which needs no other file: a
 * box for each block, in colours that differ from one to the next. Letters are
 * dark on light, or light on dark where the reader asks for it.
 *
 *     FILE *out = fopen("sharding.svg", "w");
 *     JD_CHECK(jd_visualize_array_sharding_svg(array, out));
 *
 * Collective: no. Returns: as jd_visualize_sharding().
 */
JD_API jd_status jd_visualize_sharding_svg(const jd_sharding *sharding,
                                           int ndim, const int64_t *shape,
                                           FILE *out);
JD_API jd_status jd_visualize_array_sharding_svg(const jd_array *array,
                                                 FILE *out);

#ifdef __cplusplus
}
#endif

#endif
