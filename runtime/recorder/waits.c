/* SPDX-License-Identifier: BSD-3-Clause */
/* waits.c - for which processes this one has waited lately. */
#include "runtime/recorder/waits.h"
#include "base/digest.h"
#include "base/majority.h"
#include "runtime/recorder/site.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* A call stands for all in which it was waited for the process
 * (base/majority.h). */
struct culprit {
    int process;
    double seconds;
    uint16_t name;
    uint64_t site;
    double lead;
};

struct table {
    struct culprit culprits[JD_WAITS_KEPT];
    int count;
    double all;
};

/* A call that was told of, by its number. */
struct told_site {
    uint64_t key; /* 0: not in use */
    uint64_t address;
    uint16_t name;
};

static struct {
    pthread_mutex_t lock;
    struct table table;
    struct told_site told[JD_WAITS_KEPT]; /* a ring */
    unsigned num_told;
} state = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* ---- to note ------------------------------------------------------------ */

static struct culprit *find_least(struct table *table)
{
    struct culprit *least = &table->culprits[0];
    for (int i = 1; i < table->count; i++)
        if (table->culprits[i].seconds < least->seconds)
            least = &table->culprits[i];
    return least;
}

/* NULL: the others were waited for longer than this. */
static struct culprit *find_place(struct table *table, int process,
                                  double seconds)
{
    for (int i = 0; i < table->count; i++)
        if (table->culprits[i].process == process)
            return &table->culprits[i];
    bool has_room = table->count < JD_WAITS_KEPT;
    struct culprit *place =
        has_room ? &table->culprits[table->count++] : find_least(table);
    if (!has_room && place->seconds > seconds)
        return NULL;
    *place = (struct culprit){ .process = process };
    return place;
}

static void add_wait(struct culprit *culprit, const struct jd_ring_call *call,
                     double seconds)
{
    bool is_own = culprit->name == call->name && culprit->site == call->site;
    culprit->seconds += seconds;
    if (jd__majority_loses(&culprit->lead, is_own, seconds)) {
        culprit->name = call->name;
        culprit->site = call->site;
    }
}

void jd__waits_note(int process, const struct jd_ring_call *call,
                    double seconds, double all)
{
    if (!(all > 0))
        return;
    pthread_mutex_lock(&state.lock);
    state.table.all += all;
    struct culprit *culprit = process >= 0 && seconds > 0
                                  ? find_place(&state.table, process, seconds)
                                  : NULL;
    if (culprit)
        add_wait(culprit, call, seconds);
    pthread_mutex_unlock(&state.lock);
}

/* ---- to take ------------------------------------------------------------ */

static int compare_culprits(const void *a, const void *b)
{
    const struct culprit *left = a, *right = b;
    return (left->seconds < right->seconds) - (left->seconds > right->seconds);
}

static struct told_site *find_told(uint64_t key)
{
    for (unsigned i = 0; i < JD_WAITS_KEPT; i++)
        if (state.told[i].key == key)
            return &state.told[i];
    return NULL;
}

/* With the lock. */
static void keep_told(uint64_t key, const struct culprit *culprit)
{
    struct told_site *told = find_told(key);
    if (!told)
        told = &state.told[state.num_told++ % JD_WAITS_KEPT];
    *told = (struct told_site){ key, culprit->site, culprit->name };
}

/* Programs lie at other addresses in each process: its number is made of the
 * place in the file. */
static void describe_culprit(const struct jd_ring *ring,
                             const struct culprit *culprit,
                             struct jd_waited *waited)
{
    struct jd_site_text site = jd__site_in_file(ring, culprit->site);
    const char *name = ring->names[culprit->name % JD_RING_NAMES];
    snprintf(waited->call, sizeof waited->call, "%s%s%.50s", name,
             site.text[0] ? " at " : "", site.text);
    uint64_t digest = jd__digest(0, site.text, strlen(site.text));
    waited->site = jd__digest(digest, name, strlen(name)) | 1;
    pthread_mutex_lock(&state.lock);
    keep_told(waited->site, culprit);
    pthread_mutex_unlock(&state.lock);
}

int jd__waits_take(const struct jd_ring *ring,
                   struct jd_waited worst[JD_WAITED_MOST], double *ret_all)
{
    pthread_mutex_lock(&state.lock);
    struct table table = state.table;
    state.table.count = 0;
    state.table.all = 0;
    pthread_mutex_unlock(&state.lock);
    qsort(table.culprits, (size_t)table.count, sizeof *table.culprits,
          compare_culprits);
    int count = table.count < JD_WAITED_MOST ? table.count : JD_WAITED_MOST;
    for (int i = 0; i < count; i++) {
        worst[i].process = table.culprits[i].process;
        worst[i].seconds = table.culprits[i].seconds;
        describe_culprit(ring, &table.culprits[i], &worst[i]);
    }
    *ret_all = table.all;
    return count;
}

bool jd__waits_describe(const struct jd_ring *ring, uint64_t site,
                        char text[JD_WAIT_TEXT])
{
    pthread_mutex_lock(&state.lock);
    const struct told_site *found = site ? find_told(site) : NULL;
    struct told_site told = found ? *found : (struct told_site){ .key = 0 };
    pthread_mutex_unlock(&state.lock);
    if (!told.key)
        return false;
    struct jd_site_text place = jd__site_in(ring, told.address);
    snprintf(text, JD_WAIT_TEXT, "%s%s%s",
             ring->names[told.name % JD_RING_NAMES],
             place.text[0] ? " at " : "", place.text);
    return true;
}
