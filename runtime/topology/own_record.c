/* SPDX-License-Identifier: BSD-3-Clause */
/* own_record.c - what this process says of itself. */
#include "runtime/topology/own_record.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct jd_host_facts host_facts(const struct jd_local_facts *facts)
{
    struct jd_host_facts host = {
        .memory_bytes = facts->memory_bytes,
        .numa_node = facts->numa_node,
    };
    snprintf(host.cpu_model, sizeof host.cpu_model, "%s", facts->cpu_model);
    return host;
}

/* Makes room for more bytes at the record's end, which are zero. */
static jd_status grow_record(struct jd_record **record, size_t more)
{
    size_t bytes = (*record)->bytes + more;
    struct jd_record *grown = realloc(*record, bytes);
    if (!grown)
        return jd__fail_no_memory("jd_initialize", bytes);
    memset((char *)grown + grown->bytes, 0, more);
    grown->bytes = (uint32_t)bytes;
    *record = grown;
    return JD_OK;
}

static jd_status append_devices(struct jd_record **record, const char *platform,
                                const struct jd_found_devices *found)
{
    int first = (*record)->num_devices;
    jd_status status =
        grow_record(record, (size_t)found->count * sizeof *(*record)->devices);
    if (status != JD_OK)
        return status;
    for (int i = 0; i < found->count; i++) {
        struct jd_device_record *r = &(*record)->devices[first + i];
        snprintf(r->platform, sizeof r->platform, "%s", platform);
        r->device = found->items[i];
    }
    (*record)->num_devices += found->count;
    return JD_OK;
}

static void note_absence(struct jd_record *record, const char *platform,
                         const char *why)
{
    snprintf(record->absent, sizeof record->absent, "%s", platform);
    snprintf(record->why_absent, sizeof record->why_absent, "%s", why);
}

static jd_status add_platform(struct jd_record **record,
                              const struct jd_device_source *source,
                              const struct jd_settings *settings)
{
    struct jd_host_facts host = host_facts(&(*record)->facts);
    struct jd_found_devices found = { .count = 0 };
    const char *wanted = (*record)->wanted_platform;
    if (strcmp(wanted, "cpu") == 0 && strcmp(source->platform, wanted) != 0) {
        note_absence(*record, source->platform, "JD_PLATFORM is cpu");
        return JD_OK;
    }
    jd_status status = source->enumerate(settings, &host, &found);
    if (status == JD_OK && found.count == 0) {
        note_absence(*record, source->platform, found.why_none);
        (*record)->absent_is_fault = found.is_fault;
    }
    if (status == JD_OK)
        status = append_devices(record, source->platform, &found);
    free(found.items);
    return status;
}

/* local_device_ids, behind the devices; an even number of places, so that the
 * next record begins where one may. */
static jd_status append_ids(struct jd_record **record,
                            const struct jd_settings *settings)
{
    const struct jd_setting *ids =
        jd__options_find(settings, JD_OPTION_LOCAL_DEVICE_IDS);
    size_t places = (ids->num_integers + 1) / 2 * 2;
    jd_status status = grow_record(record, places * sizeof(int32_t));
    if (status != JD_OK || ids->num_integers == 0)
        return status;
    struct jd_record *r = *record;
    snprintf(r->device_ids_source, sizeof r->device_ids_source, "%s",
             ids->origin);
    r->num_device_ids = (int32_t)ids->num_integers;
    int32_t *to = (int32_t *)(uintptr_t)jd__record_device_ids(r);
    for (size_t i = 0; i < ids->num_integers; i++)
        to[i] = ids->integers[i];
    return JD_OK;
}

static struct jd_record *create_plain(const struct jd_settings *settings,
                                      const struct jd_local_facts *facts)
{
    struct jd_record *r = calloc(1, sizeof *r);
    const char *wanted = jd__options_text(settings, JD_OPTION_PLATFORM);
    if (!r)
        return NULL;
    r->bytes = sizeof *r;
    r->facts = *facts;
    r->shares_devices = jd__options_integer(settings, JD_OPTION_OVERSUBSCRIBE);
    snprintf(r->version, sizeof r->version, "%s", jd_version());
    snprintf(r->wanted_platform, sizeof r->wanted_platform, "%s",
             wanted ? wanted : "");
    return r;
}

jd_status jd__own_record_create(const struct jd_settings *settings,
                                const struct jd_local_facts *facts,
                                struct jd_record **ret_record)
{
    struct jd_record *record = create_plain(settings, facts);
    if (!record)
        return jd__fail_no_memory("jd_initialize", sizeof *record);
    jd_status status = JD_OK;
    for (int i = 0; status == JD_OK && jd__device_sources[i]; i++)
        status = add_platform(&record, jd__device_sources[i], settings);
    if (status == JD_OK)
        status = append_ids(&record, settings);
    if (status == JD_OK)
        *ret_record = record;
    else
        free(record);
    return status;
}

/* Of those that others may see too, local_device_ids names the own. */
static int limit_of_devices(const struct jd_record *record,
                            const struct jd_device_record *device, int count)
{
    bool chooses = device->device.uuid[0] && record->num_device_ids;
    return chooses && count > record->num_device_ids ? record->num_device_ids
                                                     : count;
}

int jd__own_record_most_devices(const struct jd_record *record)
{
    int most = 0, count = 0;
    for (int i = 0; i < record->num_devices; i++) {
        const struct jd_device_record *device = &record->devices[i];
        bool is_next = i && strcmp(device->platform, device[-1].platform) == 0;
        count = is_next ? count + 1 : 1;
        int own = limit_of_devices(record, device, count);
        most = own > most ? own : most;
    }
    return most;
}
