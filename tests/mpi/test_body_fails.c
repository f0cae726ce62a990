/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_body_fails WHEN - the last body of process 0 fails while all others
 * come to a collective: their waits return ABORTED, in its process with its
 * sentence; the others' callbacks for failures hear of it, and they end.
 *   first  in the members' first collective, where they find each other
 *   later  in a later one
 */
#include "jd.h"

#include "expect.h"

#include <pthread.h>

#define LONG 20.0 /* seconds */

static int self, devices;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int ended; /* waits of this process's bodies */

static void expect_text(const char *text)
{
    EXPECT(strstr(jd_error_message(), text), "wanted '%s' in: %s", text,
           jd_error_message());
}

/* The sentence of the body that fails, as its process has it. */
static const char *failure(void)
{
    static char text[256];
    int last = jd_local_device_count() - 1;
    snprintf(text, sizeof text,
             "jd_shard_map: device %d (process 0, number %d): "
             "INVALID_ARGUMENT: jd_send: to is %d; the members are 0 to %d",
             last, last, devices, devices - 1);
    return text;
}

static jd_status meet(jd_shard *shard, void *arg)
{
    double x = 1;
    (void)arg;
    return jd_psum(shard, NULL, &x, &x, 1, JD_F64);
}

static jd_status wait_or_fail(jd_shard *shard, void *arg)
{
    const jd_device *device = jd_shard_device(shard);
    double x = 1;
    (void)arg;
    if (self == 0 && device->local_ordinal == jd_local_device_count() - 1)
        return jd_send(shard, NULL, devices, &x, 1, JD_F64);
    jd_status status = jd_psum(shard, NULL, &x, &x, 1, JD_F64);
    EXPECT(status == JD_ABORTED, "%s: %s", jd_status_name(status),
           jd_error_message());
    if (self == 0)
        expect_text(failure());
    pthread_mutex_lock(&lock);
    ended++;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
    return status;
}

/* Tells process 0 that this one's waits have ended. */
static void tell(void)
{
    char key[32];
    snprintf(key, sizeof key, "aborted/%d", self);
    EXPECT_OK(jd_kv_set(key, "yes", 3, 0));
}

static void await_others(void)
{
    for (int i = 1; i < jd_process_count(); i++) {
        char key[32];
        void *value;
        size_t size;
        snprintf(key, sizeof key, "aborted/%d", i);
        EXPECT_OK(jd_kv_get(key, LONG, &value, &size));
        free(value);
    }
}

/* The process ends when this returns. */
static void hear(const jd_peer_failure *heard, void *arg)
{
    (void)arg;
    EXPECT(heard->num_processes == 1 && heard->processes[0] == 0, "%s",
           heard->text);
    EXPECT(strstr(heard->text, failure()), "%s", heard->text);
    pthread_mutex_lock(&lock);
    while (ended < jd_local_device_count())
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
    printf("process %d: aborted\n", self);
    fflush(stdout);
    tell(); /* the last word: process 0 ends, and the launcher all others */
}

/* In the others it does not return: their callback is under way. */
static void map(jd_mesh *mesh)
{
    jd_status status = jd_shard_map(mesh, wait_or_fail, NULL);
    EXPECT(self == 0, "%s", jd_error_message());
    EXPECT(status == JD_INVALID_ARGUMENT, "%s", jd_status_name(status));
    EXPECT(strcmp(jd_error_message(), failure()) == 0, "%s",
           jd_error_message());
    EXPECT(ended == jd_local_device_count() - 1, "%d", ended);
}

int main(int argc, char **argv)
{
    jd_mesh *mesh;
    EXPECT(argc == 2, "when?");
    JD_CHECK(jd_initialize());
    self = jd_process_index();
    devices = jd_device_count();
    if (self != 0)
        EXPECT_OK(jd_on_peer_failure(hear, NULL));
    EXPECT_OK(
        jd_mesh_create(&mesh, 1, (int[]){ -1 }, (const char *[]){ "x" }, NULL));
    if (strcmp(argv[1], "later") == 0)
        EXPECT_OK(jd_shard_map(mesh, meet, NULL));
    EXPECT_OK(jd_sync_global_devices("begin"));
    map(mesh);
    await_others();
    return 1;
}
