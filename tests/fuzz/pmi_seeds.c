/* SPDX-License-Identifier: BSD-3-Clause */
/* pmi_seeds.c - what processes say to their host's PMI. */
#include "tests/fuzz/pmi_seeds.h"
#include "tests/fuzz/pmi_steps.h"

#include <string.h>

struct step {
    enum fuzz_pmi_step kind;
    uint8_t client;
    const char *text; /* of what is said */
    uint8_t first;    /* process; how it is said; which way it leaves */
    uint8_t times;    /* but one, of what is said again */
};

#define COME(client)                                                           \
    {                                                                          \
        FUZZ_PMI_CONNECT, client, NULL, client, 0                              \
    }
#define LINE(client, text)                                                     \
    {                                                                          \
        FUZZ_PMI_LINE, client, text, 0, 0                                      \
    }
#define FRAME(client, text)                                                    \
    {                                                                          \
        FUZZ_PMI_FRAME, client, text, 0, 0                                     \
    }
#define PIECES(client, text)                                                   \
    {                                                                          \
        FUZZ_PMI_FRAME, client, text, 7, 0                                     \
    }
#define AGAIN(client, text, hears)                                             \
    {                                                                          \
        FUZZ_PMI_AGAIN, client, text, hears, 255                               \
    }
#define HEAR(client)                                                           \
    {                                                                          \
        FUZZ_PMI_HEAR, client, NULL, 0, 0                                      \
    }
#define GO(client, half)                                                       \
    {                                                                          \
        FUZZ_PMI_LEAVE, client, NULL, half, 0                                  \
    }
#define ONE(client) LINE(client, "cmd=init pmi_version=1 pmi_subversion=1")
#define TWO(client)                                                            \
    LINE(client, "cmd=init pmi_version=2 pmi_subversion=0"), HEAR(client),     \
        FRAME(client, "cmd=fullinit;pmijobid=jd;pmirank=0;threaded=FALSE;"),   \
        HEAR(client)

static const struct step first[] = {
    COME(0),
    ONE(0),
    COME(1),
    ONE(1),
    COME(2),
    ONE(2),
    LINE(0, "cmd=get_maxes"),
    LINE(0, "cmd=get_appnum"),
    LINE(0, "cmd=get_my_kvsname"),
    LINE(0, "cmd=get_universe_size"),
    LINE(1, "cmd=put kvsname=jd key=bc-1 value=a b=c"),
    LINE(0, "cmd=barrier_in"),
    LINE(1, "cmd=barrier_in"),
    LINE(2, "cmd=barrier_in"),
    HEAR(0),
    HEAR(1),
    HEAR(2),
    LINE(0, "cmd=get kvsname=jd key=bc-1"),
    LINE(0, "cmd=get kvsname=jd key=PMI_process_mapping"),
    LINE(0, "cmd=lookup_name service=x"),
    LINE(1, "cmd=abort exitcode=7"),
    LINE(2, "cmd=finalize"),
    HEAR(2),
    GO(2, 0),
    GO(1, 1),
};
static const struct step second[] = {
    COME(0),
    TWO(0),
    COME(1),
    TWO(1),
    COME(2),
    TWO(2),
    PIECES(0, "cmd=job-getid;"),
    FRAME(0, "cmd=kvs-put;key=a;value=1;;2;"),
    FRAME(0, "cmd=kvs-fence;thrid=7;"),
    FRAME(1, "cmd=kvs-fence;"),
    FRAME(2, "cmd=kvs-fence;"),
    HEAR(0),
    HEAR(1),
    FRAME(1, "cmd=kvs-get;jobid=jd;srcid=-1;key=a;"),
    HEAR(1),
    FRAME(1, "cmd=info-getnodeattr;key=shm;wait=TRUE;thrid=3;"),
    FRAME(0, "cmd=info-putnodeattr;key=shm;value=x;"),
    HEAR(1),
    FRAME(0, "cmd=info-getjobattr;key=PMI_process_mapping;"),
    FRAME(0, "cmd=info-getjobattr;key=universeSize;"),
    FRAME(2, "cmd=abort;isworld=TRUE;msg=why;"),
    FRAME(0, "cmd=finalize;"),
    FRAME(0, "cmd=spawn;ncmds=1;preputcount=0;"),
    HEAR(0),
    GO(0, 0),
};
static const struct step waits[] = {
    COME(0),
    TWO(0),
    COME(1),
    TWO(1),
    AGAIN(0, "cmd=info-getnodeattr;key=a####;wait=TRUE;", 1),
    GO(0, 0),
    AGAIN(1, "cmd=kvs-fence;", 1),
};
static const struct step floods[] = {
    COME(0),
    TWO(0),
    COME(1),
    ONE(1),
    AGAIN(0, "cmd=kvs-put;key=a####;value=1;", 1),
    AGAIN(0, "cmd=info-putnodeattr;key=a####;value=1;", 1),
    AGAIN(1, "cmd=put kvsname=jd key=a#### value=1", 1),
    AGAIN(1, "cmd=get_maxes", 0),
    AGAIN(1, "cmd=get_maxes", 0),
    AGAIN(1, "cmd=init pmi_version=7", 1),
    AGAIN(1, "cmd=abort exitcode=1", 1),
};
static const struct step garbage[] = {
    COME(0),
    LINE(0, "what"),
    COME(3),
    COME(0),
    COME(1),
    TWO(1),
    { FUZZ_PMI_BYTES, 1, "99999 cmd=x;", 3, 0 },
    COME(2),
    TWO(2),
    FRAME(2, "cmd=da;;nce;thrid=7;;rc=0;"),
    FRAME(2, "cmd=kvs-put"),
    { FUZZ_PMI_CONNECT, 2, NULL, 0, 0 },
};

static const struct {
    const char *name;
    const struct step *steps;
    size_t count;
} seeds[] = {
#define ROW(name)                                                              \
    {                                                                          \
#name, name, sizeof name / sizeof *name                                \
    }
    ROW(first), ROW(second), ROW(waits), ROW(floods), ROW(garbage),
#undef ROW
};

/* Returns how many bytes. */
static size_t write_step(const struct step *step, uint8_t *at)
{
    size_t size = 0, length = step->text ? strlen(step->text) : 0;
    at[size++] = (uint8_t)step->kind;
    at[size++] = step->client;
    if (step->kind != FUZZ_PMI_HEAR)
        at[size++] = step->first;
    if (step->kind == FUZZ_PMI_AGAIN)
        at[size++] = step->times;
    if (step->text) {
        at[size++] = (uint8_t)length;
        memcpy(at + size, step->text, length);
    }
    return size + length;
}

const char *pmi_seed(size_t number, uint8_t bytes[PMI_SEED_MOST],
                     size_t *ret_size)
{
    if (number >= sizeof seeds / sizeof *seeds)
        return NULL;
    *ret_size = 1;
    bytes[0] = 1;
    for (size_t i = 0; i < seeds[number].count; i++)
        *ret_size += write_step(&seeds[number].steps[i], bytes + *ret_size);
    return seeds[number].name;
}
