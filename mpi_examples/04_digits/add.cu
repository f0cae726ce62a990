/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * add.cu - one pass over the rows of this process, on its GPU. Rows are added
 * in their order, as on the host, so that the sums are the same bits each time.
 */
extern "C" {
#include "data.h"
}
#include <jd.h>

#include <cuda_runtime.h>
#include <stdio.h>

enum {
    THREADS = 128,
    COUNTS = SUMS - PARAMETERS /* loss and what is counted, as in struct sums */
};

/* What one row adds: error is 0 for one that is held out. */
struct part {
    double error[CLASSES];
    double counts[COUNTS];
};

/* In device memory, made at the first pass. */
static struct {
    struct model *model;
    struct row *rows;
    struct part *parts;
    struct sums *sums;
    int64_t capacity; /* rows */
} there;

static void check(cudaError_t error, const char *call)
{
    char text[200];
    if (error == cudaSuccess)
        return;
    snprintf(text, sizeof text, "%s: %s", call, cudaGetErrorString(error));
    jd_abort(FAILED, text);
}

/* A thread for each row. */
static __global__ void find_parts(const struct model *model,
                                  const struct row *rows, int64_t count,
                                  int64_t first_line, struct part *parts)
{
    int64_t i = blockIdx.x * (int64_t)THREADS + threadIdx.x;
    double scores[CLASSES], sum = 0;
    int best = 0;
    if (i >= count)
        return;
    bool is_held_out = (first_line + i) % HELD_OUT == 0;
    for (int c = 0; c < CLASSES; c++) {
        scores[c] = model->bias[c];
        for (int p = 0; p < PIXELS; p++)
            scores[c] += rows[i].pixels[p] * model->weights[p][c];
        if (scores[c] > scores[best])
            best = c;
    }
    double largest = scores[best], own = scores[rows[i].digit];
    for (int c = 0; c < CLASSES; c++)
        sum += scores[c] = exp(scores[c] - largest);
    for (int c = 0; c < CLASSES; c++)
        parts[i].error[c] =
            is_held_out ? 0 : scores[c] / sum - (c == rows[i].digit);
    parts[i].counts[0] = is_held_out ? 0 : largest + log(sum) - own;
    parts[i].counts[1] = !is_held_out;
    parts[i].counts[2] = is_held_out;
    parts[i].counts[3] = is_held_out && best == rows[i].digit;
}

/* A thread for each sum. */
static __global__ void add_parts(const struct row *rows,
                                 const struct part *parts, int64_t count,
                                 struct sums *sums)
{
    int s = blockIdx.x * THREADS + threadIdx.x;
    double sum = 0;
    for (int64_t i = 0; i < count && s < SUMS; i++)
        if (s < PIXELS * CLASSES)
            sum += rows[i].pixels[s / CLASSES] * parts[i].error[s % CLASSES];
        else if (s < PARAMETERS)
            sum += parts[i].error[s - PIXELS * CLASSES];
        else
            sum += parts[i].counts[s - PARAMETERS];
    if (s < SUMS)
        ((double *)sums)[s] = sum;
}

/* This process's GPU, and room for so many rows. */
static void prepare(int64_t count)
{
    const jd_device *device = jd_local_devices(NULL)[0];
    int number;
    check(cudaDeviceGetByPCIBusId(&number, device->pci_bus_id),
          "cudaDeviceGetByPCIBusId");
    check(cudaSetDevice(number), "cudaSetDevice");
    if (count <= there.capacity)
        return;
    JD_CHECK(jd_device_free(there.model));
    JD_CHECK(jd_device_free(there.rows));
    JD_CHECK(jd_device_free(there.parts));
    JD_CHECK(jd_device_free(there.sums));
    JD_CHECK(
        jd_device_alloc(device, sizeof *there.model, (void **)&there.model));
    JD_CHECK(jd_device_alloc(device, (size_t)count * sizeof *there.rows,
                             (void **)&there.rows));
    JD_CHECK(jd_device_alloc(device, (size_t)count * sizeof *there.parts,
                             (void **)&there.parts));
    JD_CHECK(jd_device_alloc(device, sizeof *there.sums, (void **)&there.sums));
    there.capacity = count;
}

extern "C" void add_rows(const struct model *model, const struct data *data,
                         struct sums *sums)
{
    unsigned blocks = (unsigned)(data->count / THREADS + 1);
    prepare(data->count + 1);
    JD_CHECK(jd_device_copy(there.model, model, sizeof *model));
    JD_CHECK(jd_device_copy(there.rows, data->rows,
                            (size_t)data->count * sizeof *data->rows));
    find_parts<<<blocks, THREADS>>>(there.model, there.rows, data->count,
                                    data->first_line, there.parts);
    check(cudaGetLastError(), "find_parts");
    add_parts<<<(SUMS + THREADS - 1) / THREADS, THREADS>>>(
        there.rows, there.parts, data->count, there.sums);
    check(cudaGetLastError(), "add_parts");
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    JD_CHECK(jd_device_copy(sums, there.sums, sizeof *sums));
}
