/* SPDX-License-Identifier: BSD-3-Clause */
/* lane.c - how far a GPU is on a stream. */
#include "collectives/cuda/lane.h"
#include "base/log.h"
#include "collectives/cuda/driver.h"
#include "runtime/recorder/recorder.h"

#include <pthread.h>
#include <stddef.h>
#include <sys/mman.h>

/* cuStreamWriteValue64; 0 is success. */
typedef int driver_write_f(cudaStream_t stream, unsigned long long address,
                           uint64_t value, unsigned flags);

static struct {
    pthread_once_t once;
    driver_write_f *write; /* NULL: the driver has none */
    pthread_mutex_t lock;
    /* Guarded by lock: */
    bool is_taken[JD_RING_LANES];
    _Atomic uint64_t *page; /* a word for each; NULL: not yet, or it failed */
    char *place;            /* of the page for GPUs */
} state = { .once = PTHREAD_ONCE_INIT, .lock = PTHREAD_MUTEX_INITIALIZER };

static void find_write(void)
{
    jd__driver_find("cuStreamWriteValue64", (void **)&state.write);
    if (!state.write)
        jd__log(JD_LOG_DEBUG,
                "CUDA's driver has no cuStreamWriteValue64: how far GPUs are "
                "with their calls is not known");
}

/* ---- the page ------------------------------------------------------------ */

enum { PAGE = 4096 };
_Static_assert(JD_RING_LANES * sizeof(uint64_t) <= PAGE, "all words fit");

/* Locked. For all devices, now and later; never given back. */
static bool map_page(void)
{
    void *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    void *place = NULL;
    if (page == MAP_FAILED)
        return false;
    cudaError_t error = cudaHostRegister(
        page, PAGE, cudaHostRegisterPortable | cudaHostRegisterMapped);
    if (error == cudaSuccess)
        error = cudaHostGetDevicePointer(&place, page, 0);
    if (error != cudaSuccess) {
        cudaGetLastError();
        munmap(page, PAGE);
        return false;
    }
    state.page = page;
    state.place = place;
    return true;
}

/* Locked. 0: all are taken, or there is no page. */
static int take_number(void)
{
    int number = 0;
    if (!state.page && !map_page())
        return 0;
    while (number < JD_RING_LANES && state.is_taken[number])
        number++;
    if (number == JD_RING_LANES)
        return 0;
    state.is_taken[number] = true;
    return number + 1;
}

/* ---- a lane -------------------------------------------------------------- */

void jd__lane_open(struct jd_cuda_lane *lane)
{
    pthread_once(&state.once, find_write);
    if (!state.write)
        return;
    pthread_mutex_lock(&state.lock);
    lane->number = take_number();
    if (lane->number) {
        lane->word = &state.page[lane->number - 1];
        lane->place =
            (uintptr_t)(state.place + sizeof(uint64_t) * (lane->number - 1u));
        atomic_store(lane->word, 0);
    }
    pthread_mutex_unlock(&state.lock);
}

/* A lane of which nothing was told leaves what was told of it before. */
void jd__lane_close(struct jd_cuda_lane *lane)
{
    uint64_t word = jd__lane_read(lane);
    if (!lane->number)
        return;
    if (word)
        jd__recorder_set_lane(lane->number, word);
    pthread_mutex_lock(&state.lock);
    state.is_taken[lane->number - 1] = false;
    pthread_mutex_unlock(&state.lock);
    *lane = (struct jd_cuda_lane){ .number = 0 };
}

static bool write_word(struct jd_cuda_lane *lane, cudaStream_t handle,
                       uint64_t word)
{
    int error = state.write(handle, lane->place, word, 0);
    if (!error)
        return true;
    atomic_store(&lane->is_off, true);
    cudaGetLastError();
    jd__recorder_queue(0);
    jd__log(JD_LOG_DEBUG,
            "cuStreamWriteValue64 failed with the driver's error %d: how far "
            "the GPU is with its calls is not known from here on",
            error);
    return false;
}

uint64_t jd__lane_begin(struct jd_cuda_lane *lane, cudaStream_t handle)
{
    if (!lane->number || atomic_load(&lane->is_off))
        return 0;
    uint64_t number = jd__recorder_queue(lane->number);
    uint64_t word = jd__ring_lane_word(number, ++lane->serial, false);
    return number && write_word(lane, handle, word) ? word : 0;
}

void jd__lane_end(struct jd_cuda_lane *lane, cudaStream_t handle,
                  uint64_t begun)
{
    if (begun && !atomic_load(&lane->is_off))
        write_word(lane, handle, begun | 1);
}
