/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cuda_psum.cu - a kernel, a sum over all GPUs, and a kernel that checks it.
 *
 * Objective: kernels and collectives in one stream, without a wait between.
 *
 * Steps:
 *   1. Join the job and lay all GPUs along the axis "data".
 *   2. A body runs for each GPU of this process, on its stream:
 *      a kernel fills a buffer, jd_psum() adds up all GPUs' in place, and
 *      another kernel counts the elements that are wrong.
 *   3. jd_psum() of the counts, which are on the host: staged, and there when
 *      it returns. Member 0 prints.
 */
#include <jd.h>

#include <cuda_runtime.h>
#include <stdio.h>
#include <string.h>

enum {
    COUNT = 1 << 20,
    PERIOD = 1000, /* sums of up to 180 GPUs are exact in F32 */
    THREADS = 256,
    BLOCKS = COUNT / THREADS,
    FAILED = 1,
    NO_GPU = 2
};

/* Ends the job where CUDA does not do what it was asked. */
static void check(cudaError_t error, const char *call)
{
    char text[200];
    if (error == cudaSuccess)
        return;
    snprintf(text, sizeof text, "%s: %s", call, cudaGetErrorString(error));
    jd_abort(FAILED, text);
}

/* Member i has (i + 1) times 0, 1, ..., PERIOD - 1, 0, 1, ... */
static __global__ void fill(float *x, int factor)
{
    int i = blockIdx.x * THREADS + threadIdx.x;
    x[i] = (float)factor * (float)(i % PERIOD);
}

static __global__ void count_wrong(const float *x, int factor, int *wrong)
{
    int i = blockIdx.x * THREADS + threadIdx.x;
    if (x[i] != (float)factor * (float)(i % PERIOD))
        atomicAdd(wrong, 1);
}

/* Kernels are launched on the calling thread's GPU: the shard's. */
static cudaStream_t choose_gpu(const jd_shard *me)
{
    int number;
    const char *id = jd_shard_device(me)->pci_bus_id;
    check(cudaDeviceGetByPCIBusId(&number, id), "cudaDeviceGetByPCIBusId");
    check(cudaSetDevice(number), "cudaSetDevice");
    return (cudaStream_t)jd_shard_stream(me);
}

static int sum_on_gpus(jd_shard *me)
{
    int index = jd_axis_index(me, "data"), size = jd_axis_size(me, "data");
    cudaStream_t stream = choose_gpu(me);
    float *x;
    int *wrong, result;
    JD_CHECK(
        jd_device_alloc(jd_shard_device(me), COUNT * sizeof *x, (void **)&x));
    JD_CHECK(jd_device_alloc(jd_shard_device(me), sizeof *wrong,
                             (void **)&wrong)); /* zero */
    fill<<<BLOCKS, THREADS, 0, stream>>>(x, index + 1);
    check(cudaGetLastError(), "fill");
    JD_CHECK(jd_psum(me, "data", x, x, COUNT, JD_F32));
    count_wrong<<<BLOCKS, THREADS, 0, stream>>>(x, size * (size + 1) / 2,
                                                wrong);
    check(cudaGetLastError(), "count_wrong");
    JD_CHECK(jd_shard_synchronize(me));
    JD_CHECK(jd_device_copy(&result, wrong, sizeof result));
    JD_CHECK(jd_device_free(wrong));
    JD_CHECK(jd_device_free(x));
    return result;
}

static jd_status body(jd_shard *me, void *arg)
{
    int32_t wrong = sum_on_gpus(me), all;
    JD_CHECK(jd_psum(me, "data", &wrong, &all, 1, JD_S32));
    if (jd_axis_index(me, "data") == 0) {
        printf("%d GPUs, %d elements each, the first a %s\n",
               jd_axis_size(me, "data"), (int)COUNT, jd_shard_device(me)->kind);
        printf("result: %s\n", all == 0 ? "right" : "WRONG");
    }
    if (all != 0)
        *(int *)arg = FAILED;
    return JD_OK;
}

static int run(void)
{
    const int sizes[] = { -1 };
    const char *const names[] = { "data" };
    int status = 0;
    jd_mesh *mesh;
    JD_CHECK(jd_mesh_create(&mesh, 1, sizes, names, NULL));
    JD_CHECK(jd_shard_map(mesh, body, &status));
    jd_mesh_destroy(mesh);
    return status;
}

int main(void)
{
    JD_CHECK(jd_initialize());
    int status = NO_GPU;
    if (strcmp(jd_devices(NULL)[0]->platform, "cuda") == 0)
        status = run();
    else if (jd_process_index() == 0)
        fprintf(stderr, "cuda_psum: the job's devices are no GPUs; "
                        "`jd-info --topology` says why\n");
    JD_CHECK(jd_sync_global_devices("the end"));
    JD_CHECK(jd_shutdown());
    return status;
}
