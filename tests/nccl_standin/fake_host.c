/* SPDX-License-Identifier: BSD-3-Clause */
/* fake_host.c - a table of simple functions in libjd's place. */
#include "fake_host.h"
#include "base/clock.h"
#include "collectives/cuda/devices.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DEVICES = 8 };

/* ---- status and log ----------------------------------------------------- */

static _Thread_local char message[4096];

static jd_status fail(jd_status status, const char *text)
{
    snprintf(message, sizeof message, "%s", text);
    return status;
}

static jd_status fail_prefix(jd_status status, const char *text)
{
    char rest[sizeof message];
    snprintf(rest, sizeof rest, "%s", message);
    snprintf(message, sizeof message, "%s%.2048s", text, rest);
    return status;
}

static jd_status fail_no_memory(const char *operation, size_t bytes)
{
    snprintf(message, sizeof message, "%s: no memory for %zu bytes", operation,
             bytes);
    return JD_RESOURCE_EXHAUSTED;
}

static const char *error_message(void)
{
    return message;
}

static bool log_enabled(enum jd_log_level level)
{
    return level <= JD_LOG_WARNING;
}

static void write_log(enum jd_log_level level, const char *text)
{
    (void)level;
    snprintf(fake_host.log, sizeof fake_host.log, "%s", text);
}

const char *jd_status_name(jd_status status)
{
    switch (status) {
#define NAME_ROW(name, number, text)                                           \
    case JD_##name:                                                            \
        return #name;
        JD_STATUS_MAP(NAME_ROW)
#undef NAME_ROW
    }
    return "not a jd_status";
}

/* ---- settings and waits ------------------------------------------------- */

static int64_t get_integer(const struct jd_settings *settings,
                           enum jd_option option)
{
    (void)settings;
    (void)option;
    return 0;
}

static double get_seconds(const struct jd_settings *settings,
                          enum jd_option option)
{
    (void)settings;
    (void)option;
    return fake_host.timeout;
}

static bool get_boolean(const struct jd_settings *settings,
                        enum jd_option option)
{
    (void)settings;
    (void)option;
    return false;
}

static struct jd_wait make_wait(const struct jd_runtime *runtime,
                                const char *operation)
{
    return (struct jd_wait){ .operation = operation,
                             .timeout = fake_host.timeout,
                             .notice = -1,
                             .variable = "JD_COLLECTIVE_TIMEOUT",
                             .self = runtime->world.index };
}

static jd_status check_wait(const struct jd_wait *wait)
{
    if (!atomic_load(&fake_host.is_ended))
        return JD_OK;
    snprintf(message, sizeof message, "%s: the job has failed",
             wait->operation);
    return JD_ABORTED;
}

static struct jd_wait_state start_wait(const struct jd_wait *wait)
{
    atomic_fetch_add(&fake_host.waits, 1);
    return (struct jd_wait_state){ .begin = -1,
                                   .next_notice = wait->notice,
                                   .told = 1 };
}

static void end_wait(const struct jd_wait_state *state)
{
    if (state->told)
        atomic_fetch_sub(&fake_host.waits, 1);
}

static void print_ranges(FILE *out, const int *numbers, int count)
{
    for (int i = 0; i < count; i++)
        fprintf(out, "%s%d", i ? "," : "", numbers[i]);
}

static jd_status fail_deadline(const struct jd_wait *wait,
                               jd_wait_missing_f find_missing, void *arg,
                               int count)
{
    int *missing = calloc((size_t)count, sizeof *missing);
    FILE *out = fmemopen(message, sizeof message, "w");
    int found = find_missing(arg, missing);
    fprintf(out, "%s%s: process %d has waited for ", wait->operation,
            wait->detail ? wait->detail : "", wait->self);
    print_ranges(out, missing, found);
    char *call = wait->describe_gpu ? wait->describe_gpu(wait->gpu) : NULL;
    if (call)
        fprintf(out, ", its GPU is in %s", call);
    fclose(out);
    free(missing);
    free(call);
    return JD_DEADLINE_EXCEEDED;
}

static jd_status look(const struct jd_wait *wait, struct jd_wait_state *state,
                      jd_wait_missing_f find_missing, void *arg, int count)
{
    jd_status status = check_wait(wait);
    double now = jd__clock_now();
    if (status != JD_OK)
        return status;
    if (state->begin < 0)
        state->begin = now;
    if (wait->timeout < 0 || now - state->begin < wait->timeout)
        return JD_OK;
    return fail_deadline(wait, find_missing, arg, count);
}

static void make_progress(const struct jd_runtime *runtime)
{
    (void)runtime;
    atomic_fetch_add(&fake_host.turns, 1);
}

static void set_hook(void (*hook)(void))
{
    fake_host.hook = hook;
}

static uint64_t queue_call(int lane)
{
    atomic_store(&fake_host.lane, lane);
    return atomic_load(&fake_host.number);
}

static void set_lane(int lane, uint64_t word)
{
    (void)lane;
    atomic_store(&fake_host.word, word);
}

static void abort_job(int code, const char *why)
{
    (void)code;
    snprintf(fake_host.log, sizeof fake_host.log, "%s", why);
    atomic_fetch_add(&fake_host.aborts, 1);
}

static char *describe_call(uint64_t number)
{
    char *text;
    return number && asprintf(&text, "call %d", (int)number) >= 0 ? text : NULL;
}

struct fake_host fake_host = {
    .timeout = 30,
    .table = {
        .interface = JD_PLATFORM_MODULE_INTERFACE,
        .version = JD_VERSION,
        .fail = fail,
        .fail_prefix = fail_prefix,
        .fail_no_memory = fail_no_memory,
        .error_message = error_message,
        .log_enabled = log_enabled,
        .log = write_log,
        .settings_integer = get_integer,
        .settings_seconds = get_seconds,
        .settings_boolean = get_boolean,
        .runtime_wait = make_wait,
        .wait_check = check_wait,
        .wait_start = start_wait,
        .wait_look = look,
        .wait_end = end_wait,
        .make_progress = make_progress,
        .failure_exit_set_hook = set_hook,
        .print_ranges = print_ranges,
        .recorder_queue = queue_call,
        .recorder_set_lane = set_lane,
        .recorder_own_call = describe_call,
        .abort_job = abort_job,
    },
};

/* ---- the process -------------------------------------------------------- */

static struct jd_found_devices found;
static jd_device devices[MAX_DEVICES];
static const struct jd_runtime runtime = { .number = 1,
                                           .world = { .index = 1 } };

static void give_up(const char *what)
{
    fprintf(stderr, "fake_host: %s: %s\n", what, message);
    abort();
}

static void fill_device(int ordinal)
{
    const struct jd_local_device *local = &found.items[ordinal];
    devices[ordinal] = (jd_device){
        .id = (int64_t)runtime.world.index << 17 | ordinal,
        .process_index = runtime.world.index,
        .local_ordinal = ordinal,
        .platform = "cuda",
        .kind = local->kind,
        .host = "h1",
        .numa_node = local->numa_node,
        .pci_bus_id = local->pci_bus_id,
        .uuid = local->uuid,
        .memory_bytes = local->memory_bytes,
    };
}

void fake_host_start(void)
{
    int natives[MAX_DEVICES];
    if (jd__host_set(&fake_host.table) != JD_OK)
        give_up("the table");
    free(found.items);
    found = (struct jd_found_devices){ 0 };
    if (jd__cuda_source.enumerate(NULL, NULL, &found) != JD_OK ||
        found.count > MAX_DEVICES)
        give_up("the devices");
    for (int i = 0; i < found.count; i++) {
        natives[i] = found.items[i].native;
        fill_device(i);
    }
    jd__cuda_source.settle(natives, found.count);
}

const struct jd_runtime *fake_runtime(void)
{
    return &runtime;
}

const jd_device *fake_device(int ordinal)
{
    return &devices[ordinal];
}

int fake_device_count(void)
{
    return found.count;
}
