/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fold_host.c - fold.h where jd was built without nvcc: piece by piece the
 * vectors are copied into a pinned buffer, folded there by the cpu platform's
 * fold, in a host function of the stream, and copied back. All of it is queued.
 *
 * A buffer is used by one stream at a time and stays until the process ends. A
 * graph that is captured keeps those of its folds for itself: nobody says when
 * it was launched for the last time.
 */
#include "collectives/cuda/fold.h"
#include "collectives/kernels/fold.h"

#include <pthread.h>
#include <stdlib.h>

enum { BUFFER_BYTES = 4 << 20 };

struct buffer {
    struct buffer *next;
    unsigned char *memory;
    size_t bytes;
    cudaEvent_t done;    /* after the last use */
    cudaStream_t stream; /* of the last use, on that device */
    int device;
};

/* What is queued. */
struct host_fold {
    const struct jd_cuda_fold *fold;
    jd_fold_function *function;
};

/* Those that no call is queueing work for. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct buffer *buffers;

/* What the host function does: the result is where the first vector was. */
struct fold_piece {
    struct fold_piece *next;
    jd_fold_function *function;
    struct jd_fold fold;
    bool stays; /* a graph runs it, as often as it is launched */
    void *out;
    const void *ins[];
};

/* What nobody gets again: graphs have it, or it is not known whether a stream
 * still uses it. */
static struct buffer *kept_buffers;
static struct fold_piece *kept_pieces;

static void CUDART_CB run_piece(void *arg)
{
    struct fold_piece *piece = arg;
    piece->function(&piece->fold);
    if (!piece->stays)
        free(piece);
}

static struct fold_piece *make_piece(const struct host_fold *host,
                                     unsigned char *memory, size_t count,
                                     bool stays)
{
    const struct jd_cuda_fold *fold = host->fold;
    size_t num_ins = (size_t)fold->terms;
    size_t bytes = count * jd_dtype_size(fold->dtype);
    struct fold_piece *piece =
        malloc(sizeof *piece + num_ins * sizeof *piece->ins);
    if (!piece)
        return NULL;
    *piece = (struct fold_piece){
        .function = host->function,
        .fold = { .ins = piece->ins,
                  .outs = &piece->out,
                  .num_ins = fold->terms,
                  .num_outs = 1,
                  .count = count,
                  .divisor = fold->divisor },
        .stays = stays,
        .out = memory,
    };
    for (size_t i = 0; i < num_ins; i++)
        piece->ins[i] = memory + i * bytes;
    return piece;
}

/* Takes it out of the list: one that the stream has used, or that nobody uses
 * any more; NULL. */
static struct buffer *take_buffer(cudaStream_t stream, int device, size_t bytes)
{
    struct buffer **link, **found = NULL, *buffer;
    pthread_mutex_lock(&lock);
    for (link = &buffers; *link && !found; link = &(*link)->next)
        if ((*link)->stream == stream && (*link)->device == device &&
            (*link)->bytes >= bytes)
            found = link;
    for (link = &buffers; *link && !found; link = &(*link)->next)
        if ((*link)->device == device && (*link)->bytes >= bytes &&
            cudaEventQuery((*link)->done) == cudaSuccess)
            found = link;
    buffer = found ? *found : NULL;
    if (found)
        *found = buffer->next;
    pthread_mutex_unlock(&lock);
    return buffer;
}

static void give_buffer(struct buffer *buffer)
{
    pthread_mutex_lock(&lock);
    buffer->next = buffers;
    buffers = buffer;
    pthread_mutex_unlock(&lock);
}

static void destroy_buffer(struct buffer *buffer)
{
    if (buffer->done)
        cudaEventDestroy(buffer->done);
    if (buffer->memory)
        cudaFreeHost(buffer->memory);
    free(buffer);
}

static cudaError_t make_buffer(int device, size_t bytes,
                               struct buffer **ret_buffer)
{
    struct buffer *buffer = malloc(sizeof *buffer);
    if (!buffer)
        return cudaErrorMemoryAllocation;
    *buffer = (struct buffer){ .bytes = bytes, .device = device };
    cudaError_t error = cudaMallocHost((void **)&buffer->memory, bytes);
    if (error == cudaSuccess)
        error = cudaEventCreateWithFlags(&buffer->done, cudaEventDisableTiming);
    if (error != cudaSuccess)
        destroy_buffer(buffer);
    else
        *ret_buffer = buffer;
    return error;
}

static void keep_buffer(struct buffer *buffer)
{
    pthread_mutex_lock(&lock);
    buffer->next = kept_buffers;
    kept_buffers = buffer;
    pthread_mutex_unlock(&lock);
}

static void keep_piece(struct fold_piece *piece)
{
    pthread_mutex_lock(&lock);
    piece->next = kept_pieces;
    kept_pieces = piece;
    pthread_mutex_unlock(&lock);
}

/* A buffer for the stream's next fold. */
static cudaError_t find_buffer(cudaStream_t stream, size_t bytes,
                               bool is_captured, struct buffer **ret_buffer)
{
    int device;
    cudaError_t error = cudaGetDevice(&device);
    if (error != cudaSuccess)
        return error;
    if (is_captured) {
        error = make_buffer(device, bytes, ret_buffer);
        if (error == cudaSuccess)
            keep_buffer(*ret_buffer);
        return error;
    }
    *ret_buffer = take_buffer(stream, device, bytes);
    if (!*ret_buffer)
        return make_buffer(device, bytes < BUFFER_BYTES ? BUFFER_BYTES : bytes,
                           ret_buffer);
    /* Its last stream may have gone, and this one have got its name. */
    if ((*ret_buffer)->stream == stream)
        error = cudaStreamWaitEvent(stream, (*ret_buffer)->done, 0);
    if (error != cudaSuccess)
        keep_buffer(*ret_buffer);
    return error;
}

/* As find_buffer, and no capture of any thread minds what it calls. */
static cudaError_t find_buffer_quietly(cudaStream_t stream, size_t bytes,
                                       bool is_captured,
                                       struct buffer **ret_buffer)
{
    enum cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    cudaError_t error = cudaThreadExchangeStreamCaptureMode(&mode);
    if (error != cudaSuccess)
        return error;
    error = find_buffer(stream, bytes, is_captured, ret_buffer);
    cudaThreadExchangeStreamCaptureMode(&mode);
    return error;
}

/* The elements from start on, and there. */
static cudaError_t queue_piece(const struct host_fold *host, size_t start,
                               size_t count, struct buffer *buffer,
                               bool is_captured, cudaStream_t stream)
{
    const struct jd_cuda_fold *fold = host->fold;
    size_t size = jd_dtype_size(fold->dtype), bytes = count * size;
    const unsigned char *in = (const unsigned char *)fold->in + start * size;
    cudaError_t error = cudaSuccess;
    for (int i = 0; i < fold->terms && error == cudaSuccess; i++)
        error = cudaMemcpyAsync(buffer->memory + (size_t)i * bytes,
                                in + (size_t)i * fold->stride * size, bytes,
                                cudaMemcpyDeviceToHost, stream);
    if (error != cudaSuccess)
        return error;
    struct fold_piece *piece =
        make_piece(host, buffer->memory, count, is_captured);
    if (!piece)
        return cudaErrorMemoryAllocation;
    error = cudaLaunchHostFunc(stream, run_piece, piece);
    if (error != cudaSuccess) {
        free(piece);
        return error;
    }
    if (is_captured)
        keep_piece(piece);
    return cudaMemcpyAsync((unsigned char *)fold->out + start * size,
                           buffer->memory, bytes, cudaMemcpyHostToDevice,
                           stream);
}

static cudaError_t queue_pieces(const struct host_fold *host,
                                struct buffer *buffer, bool is_captured,
                                cudaStream_t stream)
{
    const struct jd_cuda_fold *fold = host->fold;
    size_t size = jd_dtype_size(fold->dtype);
    size_t most = buffer->bytes / ((size_t)fold->terms * size);
    cudaError_t error = cudaSuccess;
    for (size_t start = 0; start < fold->count && error == cudaSuccess;
         start += most) {
        size_t left = fold->count - start;
        error = queue_piece(host, start, left < most ? left : most, buffer,
                            is_captured, stream);
    }
    return error;
}

/* Whoever gets it next uses it after what is queued. */
static cudaError_t end_use(struct buffer *buffer, cudaStream_t stream)
{
    buffer->stream = stream;
    cudaError_t error = cudaEventRecord(buffer->done, stream);
    if (error == cudaSuccess)
        give_buffer(buffer);
    else
        keep_buffer(buffer);
    return error;
}

/* At least an element of each vector, at most all of them. */
static size_t wanted_bytes(const struct jd_cuda_fold *fold)
{
    size_t one = (size_t)fold->terms * jd_dtype_size(fold->dtype);
    size_t most = BUFFER_BYTES / one;
    if (most == 0)
        most = 1;
    return one * (fold->count < most ? fold->count : most);
}

static cudaError_t fold_in_buffer(const struct jd_cuda_fold *fold,
                                  jd_fold_function *function,
                                  cudaStream_t stream)
{
    const struct host_fold host = { fold, function };
    enum cudaStreamCaptureStatus capture;
    cudaError_t error = cudaStreamIsCapturing(stream, &capture);
    if (error != cudaSuccess)
        return error;
    bool is_captured = capture != cudaStreamCaptureStatusNone;
    struct buffer *buffer;
    error =
        find_buffer_quietly(stream, wanted_bytes(fold), is_captured, &buffer);
    if (error != cudaSuccess)
        return error;
    error = queue_pieces(&host, buffer, is_captured, stream);
    if (is_captured)
        return error;
    cudaError_t ended = end_use(buffer, stream);
    return error == cudaSuccess ? ended : error;
}

cudaError_t jd__cuda_fold(const struct jd_cuda_fold *fold, cudaStream_t stream)
{
    size_t bytes = fold->count * jd_dtype_size(fold->dtype);
    if (fold->count == 0)
        return cudaSuccess;
    if (fold->terms > 1 || fold->op == JD_REDUCE_MEAN)
        return fold_in_buffer(
            fold, jd__fold_find(fold->dtype, fold->op, JD_FOLD_WHOLE), stream);
    return fold->in == fold->out
               ? cudaSuccess
               : cudaMemcpyAsync(fold->out, fold->in, bytes,
                                 cudaMemcpyDeviceToDevice, stream);
}

cudaError_t jd__cuda_fold_keys(const struct jd_cuda_fold *fold,
                               enum jd_order_way way, cudaStream_t stream)
{
    struct jd_cuda_fold one = *fold;
    one.terms = 1;
    return fold->count == 0
               ? cudaSuccess
               : fold_in_buffer(&one,
                                jd__order_keys_find(fold->dtype, fold->op, way),
                                stream);
}

cudaError_t jd__cuda_fold_load(void)
{
    return cudaSuccess;
}

const char *jd__cuda_fold_way(void)
{
    return "host";
}
