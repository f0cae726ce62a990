/* SPDX-License-Identifier: BSD-3-Clause */
/* lane.c - how far a GPU is on a stream. */
#include "collectives/cuda/lane.h"
#include "base/log.h"
#include "collectives/cuda/driver.h"
#include "runtime/recorder/recorder.h"

#include <pthread.h>
#include <stddef.h>

/* cuStreamWriteValue64; 0 is success. */
typedef int driver_write_f(cudaStream_t stream, unsigned long long address,
                           uint64_t value, unsigned flags);

/* Of no call it is said that the GPU is in it, or has not begun it. */
#define LANE_UNKNOWN UINT64_MAX

static struct {
    pthread_once_t once;
    driver_write_f *write; /* NULL: the driver has none */
    pthread_mutex_t lock;
    bool is_taken[JD_RING_LANES];
} state = { .once = PTHREAD_ONCE_INIT, .lock = PTHREAD_MUTEX_INITIALIZER };

static void find_write(void)
{
    jd__driver_find("cuStreamWriteValue64", (void **)&state.write);
    if (!state.write)
        jd__log(JD_LOG_DEBUG,
                "CUDA's driver has no cuStreamWriteValue64: how far GPUs are "
                "with their calls is not known");
}

/* 0: all are. */
static int take_number(void)
{
    int number = 0;
    pthread_mutex_lock(&state.lock);
    while (number < JD_RING_LANES && state.is_taken[number])
        number++;
    if (number < JD_RING_LANES)
        state.is_taken[number] = true;
    pthread_mutex_unlock(&state.lock);
    return number < JD_RING_LANES ? number + 1 : 0;
}

static void give_number_back(int number)
{
    pthread_mutex_lock(&state.lock);
    state.is_taken[number - 1] = false;
    pthread_mutex_unlock(&state.lock);
}

void jd__lane_open(struct jd_cuda_lane *lane)
{
    void *memory = NULL;
    pthread_once(&state.once, find_write);
    lane->number = state.write ? take_number() : 0;
    if (!lane->number)
        return;
    if (cudaMallocHost(&memory, sizeof *lane->word) == cudaSuccess) {
        lane->word = memory;
        atomic_init(lane->word, 0);
        return;
    }
    cudaGetLastError();
    give_number_back(lane->number);
    lane->number = 0;
}

void jd__lane_close(struct jd_cuda_lane *lane)
{
    if (!lane->number)
        return;
    jd__recorder_set_lane(lane->number, jd__lane_read(lane));
    give_number_back(lane->number);
    cudaFreeHost((void *)lane->word);
    *lane = (struct jd_cuda_lane){ .number = 0 };
}

static bool write_word(struct jd_cuda_lane *lane, cudaStream_t handle,
                       uint64_t word)
{
    int error = state.write(handle, (uintptr_t)lane->word, word, 0);
    if (!error)
        return true;
    lane->is_off = true;
    cudaGetLastError();
    jd__recorder_queue(0);
    atomic_store(lane->word, LANE_UNKNOWN);
    jd__log(JD_LOG_DEBUG,
            "cuStreamWriteValue64 failed with the driver's error %d: how far "
            "the GPU is with its calls is not known from here on",
            error);
    return false;
}

uint64_t jd__lane_begin(struct jd_cuda_lane *lane, cudaStream_t handle)
{
    if (!lane->number || lane->is_off)
        return 0;
    uint64_t number = jd__recorder_queue(lane->number);
    return number && write_word(lane, handle, 2 * number) ? number : 0;
}

void jd__lane_end(struct jd_cuda_lane *lane, cudaStream_t handle,
                  uint64_t number)
{
    if (number && !lane->is_off)
        write_word(lane, handle, 2 * number + 1);
}
