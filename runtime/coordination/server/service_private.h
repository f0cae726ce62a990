/* SPDX-License-Identifier: BSD-3-Clause */
/* service_private.h - what the service's parts share. */
#ifndef RUNTIME_COORDINATION_SERVER_SERVICE_PRIVATE_H
#define RUNTIME_COORDINATION_SERVER_SERVICE_PRIVATE_H

#include "runtime/coordination/server/service.h"
#include "runtime/coordination/server/speakers.h"
#include "runtime/coordination/server/store.h"

#include <stdio.h>

/* ---- waits -------------------------------------------------------------- */

enum jd_wait_kind {
    JD_WAIT_JOIN,
    JD_WAIT_LEAVE,
    JD_WAIT_KEYS,
    JD_WAIT_BARRIER,
    JD_WAIT_LIVE,
    JD_WAIT_SAME_TEXT,
    JD_WAIT_DOING,
    JD_WAIT_STACK,
    JD_WAIT_TRACE,
};

/* Those who wait for the same, in the order in which they came. */
struct jd_queue {
    struct jd_pending_request *first, *last;
    struct jd_pending_request *lowest; /* by process; NULL: not known yet */
    int count;
};

/* One request that has no reply yet. */
struct jd_pending_request {
    enum jd_wait_kind kind;
    struct jd_connection *connection;
    uint64_t id;
    double since;
    double deadline; /* INFINITY: none */
    size_t heap_index;
    struct jd_queue *queue;
    struct jd_pending_request *next, *previous; /* in the queue */
    struct jd_pending_request *next_of_connection, *previous_of_connection;
    void *owner; /* the barrier, the awaited key, the member, ... */
    Jd__Message
        *keys; /* KEYS: its own copy of the Get; DOING: of what it asks */
    size_t next_key;
    uint64_t show; /* STACK, TRACE: the Show or ShowTrace that asks for it */
    bool gives_up; /* STACK: as StackOf has it */
    bool is_alone; /* BARRIER: as in struct jd_blocked, and it has no timeout */
};

/* What a queue's waiters wait for, for those whose time is up together. */
struct jd_wait_text {
    const struct jd_queue *queue; /* NULL: of none */
    char *text;
    int missing; /* of a barrier: the lowest that has not come; -1: none */
};

/* Waiters by deadline. */
struct jd_deadline_heap {
    struct jd_pending_request **items;
    size_t count, capacity;
};

/* ---- members ------------------------------------------------------------ */

enum jd_process_state {
    JD_PROCESS_STATE_ABSENT,
    JD_PROCESS_STATE_CONNECTED,
    JD_PROCESS_STATE_LEAVING,
    JD_PROCESS_STATE_LEFT,
    JD_PROCESS_STATE_FAILED,
};

enum { JD_BLOCKED_NAMED = 16, JD_BLOCKED_OTHERS = 16 };

/* One that a wait is for: among all that wait for that member. */
struct jd_awaited_member {
    struct jd_blocked *blocked;
    int process;
    uint64_t messages; /* 1 and how many came; 0: none is waited for */
    struct jd_awaited_member *next, *previous;
};

/* A wait of a member for others, as it has told it last. */
struct jd_blocked {
    struct jd_blocked *next; /* older */
    struct jd_service_process *member;
    uint64_t wait;
    char operation[160];
    double since, told;
    uint64_t turn; /* of all that were told, its last */
    bool is_far, is_alone, is_transfer;
    uint64_t comm;                      /* 0: not known */
    char *call; /* in more words, where it has said them of this one */
    uint64_t others[JD_BLOCKED_OTHERS]; /* waits of its member's other threads,
                                         * where it is alone */
    int num_others;
    uint64_t look; /* the last Look before it was told */
    int count;
    struct jd_awaited_member awaited[JD_BLOCKED_NAMED];
    /* A process, a member of a communicator, and so on, as they were said. */
    uint32_t members[2 * JD_BLOCKED_NAMED];
    int num_members; /* pairs */
    uint64_t asked;  /* the Look that asks about it; 0: it is not suspected */
    double suspected, asked_at;
    double due; /* the suspicion has lasted; it is asked about once more */
    /* The one that leaves was asked how many messages it has sent. */
    int sender;
    uint64_t sender_asked; /* the Look; 0: it was not */
    bool has_sent;         /* it has answered */
    uint64_t sent;
    /* While it is to be asked about once more: in the list of those that are.
     */
    struct jd_suspicions *list;
    struct jd_blocked *next_suspected, *previous_suspected;
};

/* Waits that are suspected, the oldest suspicion first. */
struct jd_suspicions {
    struct jd_blocked *first, *last;
};

/* What was answered, for one who asks again because the reply was lost. */
struct jd_answered {
    uint64_t id;
    int32_t status;
    int64_t number;
};
enum { JD_ANSWERS_KEPT = 64 };

/* A minute of waits, in slots of five seconds (stragglers.c). */
enum { JD_MINUTE_SLOTS = 12, JD_MINUTE_NAMED = 4 };
struct jd_minute_slot {
    double caused; /* seconds that others waited for it, each counted */
    double waited; /* and it for others */
    int waiters;   /* who waited for it */
};
struct jd_minute {
    struct jd_minute_slot slots[JD_MINUTE_SLOTS];
    int64_t newest; /* since the clock's begin; its place is the rest */
};

/* A call in which processes have waited (sites.c). */
struct jd_service_site {
    uint64_t key;
    uint64_t told;  /* the number of the last that told of it */
    bool was_asked; /* one of them was, for the words, */
    double asked;   /* at that time */
    char text[224]; /* "": not known */
};
enum { JD_SERVICE_SITES = 64 };

/* One process of the job. */
/* How many collectives of a communicator a process has queued on its GPUs. */
struct jd_told_queue {
    uint64_t comm, calls;
    bool is_over; /* it has destroyed it */
};

/* The last that was asked, and its answer. */
struct jd_queues_answer {
    uint64_t comm, calls;
    double at;
    bool is_whole;    /* there was memory for it */
    uint32_t *ranges; /* who has queued as much, as a Reply has them */
    size_t n_ranges;
    uint64_t fewest; /* 0: nobody has told of fewer */
    int num_unknown;
};

struct jd_service_process {
    int index;
    enum jd_process_state state;
    /* Set by jd__processes_set: */
    bool has_joined;
    bool is_armed;
    bool asks_live; /* waits in jd_live_processes */
    bool has_asked_live;
    bool has_acknowledged; /* the preemption's round */
    bool has_stepped;
    bool is_stuck; /* failed by what it waits for */
    bool shows_traces;
    uint32_t pid;
    int host; /* into hosts */
    uint64_t incarnation;
    char program[64];
    struct jd_connection *connection; /* NULL: none, or it was lost */
    double heard;
    char operation[48];
    uint64_t number;
    bool inside;
    double since, told;         /* since when it is so; when it said so */
    char *call;                 /* in more words; NULL: it has said none */
    double place_asked;         /* when it was asked for them in a circle */
    /* Of a search for circles: its waits from which no way comes back, by their
     * bits. Of another search than the last: nothing. */
    uint64_t dead_in;
    uint32_t dead;
    struct jd_blocked *blocked; /* the newest first */
    struct jd_awaited_member *awaited_by; /* in the waits of others */
    struct jd_minute minute;
    uint64_t waited_in; /* the site at which most of it was waited for it */
    double waited_in_lead;
    int named[JD_MINUTE_NAMED]; /* for whom it has waited, in this slot */
    unsigned num_named;
    int64_t named_in;
    bool is_said_to_straggle;
    struct jd_told_queue *queues;
    int num_queues;
    bool has_more_queues; /* that are not among these */
    double shown; /* when its stack was last shown to one that gave up, */
    struct jd_service_process *shower; /* this one; NULL: it has printed it */
    struct jd_service_process *shows;  /* whose stack it was answered last */
    char *failure; /* how it failed */
    double failed_at;
    struct jd_answered answered[JD_ANSWERS_KEPT]; /* a ring */
    unsigned num_answered;
};

/* How many members ...: kept where a member changes, so that no message needs
 * a walk over all. */
struct jd_tally {
    int staying;   /* have not come to the shutdown */
    int connected; /* have a connection */
    int late_live; /* count as living, and do not ask who lives */
    int to_step;   /* take part in preemption, have not answered */
    int to_acknowledge;
    int armed; /* live, are not process 0, and have a callback for failures */
};

struct jd_known_host {
    char name[72];
    char boot_id[40];
    int count;  /* of its processes that have come */
    int picked; /* of these, while a sentence is made */
};

/* ---- connections -------------------------------------------------------- */

enum jd_connection_state {
    JD_CONNECTION_STRANGER, /* has not said who it is */
    JD_CONNECTION_QUEUED,   /* munge will be asked, when others are answered */
    JD_CONNECTION_VOUCHING, /* munge is asked */
    JD_CONNECTION_KNOWN,
    JD_CONNECTION_ENDED, /* is being closed: what it says does not count */
};

struct jd_connection {
    void *peer;
    enum jd_connection_state state;
    Jd__Role role;
    struct jd_service_process *member; /* NULL for helpers and observers */
    Jd__Message *hello;                /* its own copy, while munge is asked */
    double accepted_at;                /* or when munge was asked */
    bool is_back;                      /* it may ask again what was answered */
    bool is_own;                       /* of the service's own process */
    bool was_known;                    /* it was let in */
    bool is_anybody; /* it was let in, but nothing shows whose it is */
    char from[64];
    uint8_t nonce[JD_AUTH_NONCE];
    uint8_t public_key[JD_AUTH_KEY]; /* the service's, with munge */
    struct jd_auth_keys keys;        /* until the Welcome */
    struct jd_pending_request *waiters;
    struct jd_connection *next, *previous; /* all of a state's, oldest first */
};

struct jd_connection_list {
    struct jd_connection *first, *last;
    int count;
};

/* ---- the service -------------------------------------------------------- */

/* Who reads traces: at most so many at once. */
enum { JD_TRACE_READERS = 4 };
struct jd_trace_reader {
    const struct jd_connection *connection; /* NULL: nobody */
    uint64_t number;
    double asked; /* last */
};

/* The job's failure while it is told to all, some at a time: first to those who
 * print it, then to the others and to helpers, and to process 0 last, with
 * which the service may go. */
struct jd_saying {
    bool is_on;
    double since;
    uint32_t *ranges; /* of the culprits; NULL: there was no memory */
    size_t n_ranges;
    bool *speaks; /* for each process; NULL: there was no memory */
    int silent;   /* survivors who do not */
    int teller;   /* who also prints what was called last; -1: nobody */
    double oldest;
    bool is_for_speakers;              /* those are told now */
    int next;                          /* the process that is looked at next */
    struct jd_connection *next_helper; /* a known one, or NULL */
};

struct jd_service {
    const struct jd_service_hooks *hooks;
    struct jd_auth auth, observer_auth;
    char *job;
    uint32_t attempt;
    int count;
    double heartbeat_timeout;
    size_t max_message, max_store;
    enum jd_failure_speakers speakers;
    char *host, *program;
    uint32_t pid;
    uint64_t incarnation;
    double now;                 /* of the call that is being handled */
    const Jd__Message *handled; /* the request that is, or NULL, and whose */
    const struct jd_connection *handled_of;

    struct jd_connection_list strangers, queued, vouching;
    struct jd_connection_list refused; /* never let in, and being closed */
    struct jd_connection_list known;   /* and those of them being closed */
    struct jd_service_process *members;
    struct jd_tally tally;
    int lowest_gone; /* of the members; count: all that came are there */
    struct jd_known_host *hosts;
    void *hosts_by_name; /* tsearch tree of them */
    int num_hosts;
    struct jd_deadline_heap heap;
    struct jd_queues_answer queues_answer;
    struct jd_wait_text wait_text; /* while waits expire */

    struct jd_store *store;
    void *awaited_keys; /* tsearch tree */
    void *barriers;     /* tsearch tree */
    struct jd_barrier_mismatch *mismatches;

    struct jd_queue joining, leaving, live, asking, stacks, traces;
    struct jd_trace_reader trace_readers[JD_TRACE_READERS];
    int num_joined;
    bool is_complete;   /* all have joined */
    bool somebody_went; /* left or failed, after that */
    bool is_closing;    /* all have left but process 0 */
    double closing_at;

    bool is_failing;   /* culprits are being gathered, or it is being said */
    bool has_failed;   /* and now it has been said to all */
    double failing_at; /* the end of the one, the next turn of the other */
    struct jd_saying saying;
    char *failure_text;
    struct jd_queue reporting; /* who have reported, until it is said */
    struct jd_same_text *same_texts, *last_same_text; /* by age */
    void *same_texts_by_text;                         /* tsearch tree of them */
    double next_look;                                 /* at who is silent */

    double notice; /* how long waits in a circle must last; negative: none */
    struct jd_suspicions near, far; /* by how long each must last */
    double circles_due;             /* barriers are looked at; 0: not */
    uint64_t num_blocked, num_looks, num_searches, num_shows, num_trace_shows,
        num_trace_readers;

    double stranger_told;  /* the last time that one heard why it goes */
    double waits_told;     /* the last time that one was */
    double stragglers_due; /* they are looked for; 0: not */
    struct jd_service_site sites[JD_SERVICE_SITES];
    int num_sites;
    uint64_t num_sites_told;

    uint64_t round; /* of preemption */
    bool round_is_open, round_is_decided;
    bool round_is_wanted; /* the next one, when this is over */
    uint32_t round_process, round_wanted_by;
    int64_t round_step; /* the highest that was polled */
};

/* ---- service.c ---------------------------------------------------------- */

/* A reply without more than a status and a sentence. */
__attribute__((format(printf, 5, 6))) void
jd__service_reply(struct jd_service *service, struct jd_connection *connection,
                  uint64_t id, jd_status status, const char *format, ...);
/* A reply with its body. */
void jd__service_answer(struct jd_service *service,
                        struct jd_connection *connection, uint64_t id,
                        Jd__Reply *reply);
void jd__service_send(struct jd_service *service,
                      struct jd_connection *connection,
                      Jd__Message__BodyCase body, void *message);
/* Nothing it says counts any more; the connection closes. */
void jd__service_connection_end(struct jd_service *service,
                                struct jd_connection *connection);
/* And moves it into the list of those that are so. */
void jd__service_connection_set_state(struct jd_service *service,
                                      struct jd_connection *connection,
                                      enum jd_connection_state state);
/* Frees it. */
void jd__service_connection_destroy(struct jd_service *service,
                                    struct jd_connection *connection);

/* ---- strangers.c -------------------------------------------------------- */

/* Another has come: drops as many as are too many, and never the newcomer. */
void jd__strangers_make_room(struct jd_service *service,
                             const struct jd_connection *newcomer);
/* Refuses those who connect and say nothing; returns when to look again. */
double jd__strangers_end_slow(struct jd_service *service);

/* ---- requests ----------------------------------------------------------- */

typedef void jd_request_f(struct jd_service *service,
                          struct jd_connection *connection,
                          const Jd__Message *message);

/* ---- pending.c ---------------------------------------------------------- */

/* Has the request wait in the queue; replies RESOURCE_EXHAUSTED and gives NULL
 * where there is no memory. */
struct jd_pending_request *jd__pending_begin(struct jd_service *service,
                                             struct jd_queue *queue,
                                             enum jd_wait_kind kind,
                                             struct jd_connection *connection,
                                             const Jd__Message *message);
/* Takes it out of everything and frees it, without a reply. Its owner, where
 * it has nobody left, goes too. */
void jd__pending_end(struct jd_service *service,
                     struct jd_pending_request *waiter);
/* Replies to all of a queue with the same and ends their waits. */
void jd__pending_end_all(struct jd_service *service, struct jd_queue *queue,
                         jd_status status, const char *text);
void jd__pending_move(struct jd_pending_request *waiter,
                      struct jd_queue *queue);
/* Ends those whose time is up; returns the next deadline. */
double jd__pending_expire(struct jd_service *service);
/* What it still waits for, as a phrase. */
void jd__pending_describe(FILE *out, const struct jd_service *service,
                          const struct jd_pending_request *waiter);
/* What a process with this wait is doing: "waits at barrier "a", for 2 s". */
void jd__pending_describe_doing(FILE *out, const struct jd_service *service,
                                const struct jd_pending_request *waiter);
/* What a member waits for at the service; NULL: nothing. */
const struct jd_pending_request *
jd__pending_of(const struct jd_service_process *member);
/* No process below its own waits for the same. */
bool jd__pending_is_lowest(const struct jd_pending_request *waiter);
struct jd_pending_request *
jd__connection_find_waiter(const struct jd_connection *connection, uint64_t id);
jd_request_f jd__pending_on_withdraw;

/* ---- greet.c ------------------------------------------------------------ */

void jd__greet_on_hello(struct jd_service *service,
                        struct jd_connection *connection,
                        const Jd__Message *message);
__attribute__((format(printf, 4, 5))) void
jd__greet_refuse(struct jd_service *service, struct jd_connection *connection,
                 jd_status status, const char *format, ...);
/* Asks munge about those who wait for their turn. */
void jd__greet_ask_munge(struct jd_service *service);

/* ---- admission.c -------------------------------------------------------- */

/* It has shown who it is, and belongs to the job. */
void jd__admission_admit(struct jd_service *service,
                         struct jd_connection *connection,
                         const Jd__Hello *hello);
jd_request_f jd__admission_on_join, jd__admission_on_leave;
/* The member does not wait for the others any more: it has not joined. */
void jd__admission_unjoin(struct jd_service *service,
                          struct jd_service_process *member);
void jd__admission_check_leaving(struct jd_service *service);
void jd__admission_describe_absent(FILE *out, const struct jd_service *service);
void jd__admission_describe_staying(FILE *out,
                                    const struct jd_service *service);

/* ---- processes.c -------------------------------------------------------- */

/* Puts the Hello's words into the member; RESOURCE_EXHAUSTED. */
jd_status jd__processes_fill(struct jd_service *service,
                             struct jd_service_process *member,
                             const Jd__Hello *hello);
const char *jd__processes_host(const struct jd_service *service,
                               const struct jd_service_process *member);
bool jd__processes_is_alive(const struct jd_service_process *member);
/* All that the tally counts is changed by these: the member's state, its
 * connection, one of its flags; and jd__processes_count counts anew. */
void jd__processes_set_state(struct jd_service *service,
                             struct jd_service_process *member,
                             enum jd_process_state state);
void jd__processes_set_connection(struct jd_service *service,
                                  struct jd_service_process *member,
                                  struct jd_connection *connection);
void jd__processes_set(struct jd_service *service,
                       struct jd_service_process *member, bool *flag,
                       bool value);
struct jd_tally jd__processes_count(const struct jd_service *service);
/* The lowest member that is not connected (any more), or count. */
int jd__processes_lowest_gone(struct jd_service *service);
/* It takes part in what is agreed on: it is connected and has joined. */
bool jd__processes_is_in(const struct jd_service_process *member);
/* It has left, in order or not; one that has failed stays so. */
void jd__processes_leave(struct jd_service *service,
                         struct jd_service_process *member);
/* "process 3 (train, pid 99 on h0)". */
void jd__processes_print(FILE *out, const struct jd_service *service,
                         const struct jd_service_process *member);
/* The same of those picked: "process 3 (...), last heard 0.4 s ago, ...",
 * some by name and the rest as ranges. */
typedef bool jd_pick_f(const struct jd_service_process *member,
                       const void *arg);
void jd__processes_describe(FILE *out, const struct jd_service *service,
                            jd_pick_f *pick, const void *arg);
/* Sorted numbers as messages have them, malloc'ed; NULL without memory, or
 * where numbers is. */
uint32_t *jd__processes_ranges(const int *numbers, int count, size_t *ret_n);
/* "; 0.4 s ago it was in jd_psum, its operation 7, for 3.1 s already", or
 * "; it waits at barrier "a", for 3.1 s", or nothing. */
void jd__processes_print_doing(FILE *out, const struct jd_service *service,
                               const struct jd_service_process *member);
/* What a process says of a call, in place of what it has said. */
void jd__processes_take_call(char **words, const char *call);
/* " at train.c:120 (step+0x4c)", of such words; nothing where they have none.
 */
void jd__processes_print_place_of(FILE *out, const char *call);
/* The same, where it has said since then in which call it is; else nothing. */
void jd__processes_print_place(FILE *out,
                               const struct jd_service_process *member,
                               double since);
/* A reply in words about the member: "process 3 (train, pid 99 on h0)" and what
 * follows. */
__attribute__((format(printf, 6, 7))) void
jd__processes_reply(struct jd_service *service,
                    struct jd_connection *connection, uint64_t id,
                    const struct jd_service_process *member, jd_status status,
                    const char *format, ...);
/* What is asked of a process, for sentences: "its stack", "stack", "jd-info".
 */
struct jd_processes_shown {
    const char *whole, *word, *tool;
};
/* The process that a connection may ask for it, and that can be asked; NULL: it
 * has been told why not. */
struct jd_service_process *jd__processes_find_shown(
    struct jd_service *service, struct jd_connection *connection, uint64_t id,
    uint32_t process, const struct jd_processes_shown *what);
jd_request_f jd__processes_on_heartbeat, jd__processes_on_inquiry,
    jd__processes_on_live, jd__processes_on_armed;
/* Answers an inquiry about what some processes do, when they have said so. */
void jd__processes_inquiry_answer(struct jd_service *service,
                                  struct jd_pending_request *waiter);
void jd__processes_check_live(struct jd_service *service);
void jd__processes_live_forget(struct jd_service *service,
                               struct jd_pending_request *waiter);
void jd__processes_hosts_finish(struct jd_service *service);
void jd__processes_describe_not_live(FILE *out,
                                     const struct jd_service *service);

/* ---- kv.c --------------------------------------------------------------- */

jd_request_f jd__kv_on_set, jd__kv_on_get, jd__kv_on_list, jd__kv_on_delete,
    jd__kv_on_increment;
void jd__kv_forget(struct jd_service *service,
                   struct jd_pending_request *waiter);
void jd__kv_describe(FILE *out, const struct jd_service *service,
                     const struct jd_pending_request *waiter);
void jd__kv_finish(struct jd_service *service);

/* ---- quota.c ------------------------------------------------------------ */

/* What is stored from now on is the connection's process's. */
void jd__quota_begin(struct jd_service *service,
                     const struct jd_connection *connection);
/* It may not store so much: the key and its value. */
void jd__quota_refuse(struct jd_service *service,
                      struct jd_connection *connection, uint64_t id,
                      ProtobufCBinaryData key, size_t value);

/* ---- barriers.c --------------------------------------------------------- */

jd_request_f jd__barriers_on_arrive, jd__barriers_on_cancel;
void jd__barriers_forget(struct jd_service *service,
                         struct jd_pending_request *waiter);
/* Its time is up; the others are not to blame it. */
void jd__barriers_give_up(struct jd_service *service,
                          struct jd_pending_request *waiter);
void jd__barriers_describe(FILE *out, const struct jd_service *service,
                           const struct jd_pending_request *waiter);
void jd__barriers_describe_doing(FILE *out,
                                 const struct jd_pending_request *waiter);
/* Ends the barriers that wait for the member, which is no more. */
void jd__barriers_abort(struct jd_service *service,
                        const struct jd_service_process *member);
void jd__barriers_finish(struct jd_service *service);
/* Whom it waits for: writes at most so many, returns how many. */
int jd__barriers_list_missing(const struct jd_service *service,
                              const struct jd_pending_request *waiter,
                              int *processes, int most);

/* ---- stacks.c ----------------------------------------------------------- */

jd_request_f jd__stacks_on_request, jd__stacks_on_answer;
jd_request_f jd__stacks_on_shown;
/* Its time is up. */
void jd__stacks_expire(struct jd_service *service,
                       struct jd_pending_request *waiter);
/* The member's connection is gone: it answers and shows nothing any more. */
void jd__stacks_end(struct jd_service *service,
                    struct jd_service_process *member);

/* ---- traces.c ----------------------------------------------------------- */

jd_request_f jd__traces_on_request, jd__traces_on_answer;
/* Its time is up. */
void jd__traces_expire(struct jd_service *service,
                       struct jd_pending_request *waiter);
/* The member's connection is gone: it shows nothing any more. */
void jd__traces_end(struct jd_service *service,
                    struct jd_service_process *member);
/* The connection reads no more. */
void jd__traces_forget_reader(struct jd_service *service,
                              const struct jd_connection *connection);

/* ---- followed.c --------------------------------------------------------- */

jd_request_f jd__followed_answer;

/* ---- queues.c ----------------------------------------------------------- */

/* What a process tells of its own. */
void jd__queues_on_heartbeat(struct jd_service_process *member,
                             const Jd__Heartbeat *heartbeat);
/* Who has queued as many of the inquiry's calls; until the next is asked. */
const struct jd_queues_answer *jd__queues_ask(struct jd_service *service,
                                              const Jd__Inquiry *inquiry);

/* ---- blocked.c ---------------------------------------------------------- */

jd_request_f jd__blocked_on_message, jd__blocked_on_sent;
/* The member has come to jd_shutdown. */
void jd__blocked_on_leaving(struct jd_service *service,
                            const struct jd_service_process *member);
/* Asks about what is suspected; returns when to call again. */
double jd__blocked_tick(struct jd_service *service);
/* In which calls its threads wait, where it says so of several. */
void jd__blocked_on_heartbeat(struct jd_service_process *member,
                              const Jd__Heartbeat *heartbeat);
/* Its wait of that number; NULL: it has told of none. */
struct jd_blocked *jd__blocked_find(const struct jd_service_process *member,
                                    uint64_t wait);
/* It was told of lately. */
bool jd__blocked_is_fresh(const struct jd_service *service,
                          const struct jd_blocked *blocked);
/* Its newest wait, as far as is known; NULL: none. */
const struct jd_blocked *
jd__blocked_now(const struct jd_service *service,
                const struct jd_service_process *member);
/* " at train.c:120 (step+0x4c)", where it is known; else nothing. */
void jd__blocked_print_place(FILE *out, const struct jd_blocked *blocked);
/* "waits in jd_psum for process 1, for 3.1 s". */
void jd__blocked_describe(FILE *out, const struct jd_service *service,
                          const struct jd_blocked *blocked);
/* The member says what it does. */
void jd__blocked_look(struct jd_service *service,
                      struct jd_service_process *member);
/* The member is no more, or cannot be asked. */
void jd__blocked_forget(struct jd_service *service,
                        struct jd_service_process *member);
/* Such a suspicion must last so long. */
double jd__blocked_seconds(const struct jd_blocked *blocked);
/* Its process says again whether it waits, and for whom: now, and after so
 * many seconds. */
void jd__blocked_suspect(struct jd_service *service, struct jd_blocked *blocked,
                         double seconds);
/* It was asked at the end of that time, and has said the same. */
bool jd__blocked_is_certain(const struct jd_blocked *blocked);

/* ---- stragglers.c ------------------------------------------------------- */

/* The waits that a process tells of. */
void jd__stragglers_on_heartbeat(struct jd_service *service,
                                 struct jd_service_process *teller,
                                 const Jd__Heartbeat *heartbeat);
/* Says who makes others wait; returns when to call again. */
double jd__stragglers_tick(struct jd_service *service);
/* What of the last minute each of those waited that waited for the member, and
 * it itself, in seconds. */
struct jd_minute_sum {
    double caused, waited;
    int waiters;
};
struct jd_minute_sum
jd__stragglers_sum(const struct jd_service *service,
                   const struct jd_service_process *member);

/* ---- sites.c ------------------------------------------------------------ */

/* The call that was waited in, by its number, which is kept; 0: it has none. */
uint64_t jd__sites_take(struct jd_service *service, const Jd__Waited *waited);
/* Its words are worth asking for, and this process has told of it. */
void jd__sites_want(struct jd_service *service, uint64_t key,
                    const struct jd_service_process *teller);
/* "": they are not known. Owns: the service, until it is called again. */
const char *jd__sites_words(const struct jd_service *service, uint64_t key);
jd_request_f jd__sites_on_named;

/* ---- circles.c ---------------------------------------------------------- */

/* Looks for a circle that this wait leads to, and asks those in it; ends the
 * job where all is certain. False where there is none. */
bool jd__circles_weigh(struct jd_service *service, struct jd_blocked *blocked);
/* A process's notice about this wait is due. */
void jd__circles_on_notice(struct jd_service *service,
                           const struct jd_pending_request *waiter);
/* Looks at barriers whose notices were due; returns when to call again. */
double jd__circles_tick(struct jd_service *service);

/* ---- failures.c --------------------------------------------------------- */

/* The member has failed, in these words ("connection closed ..."). */
__attribute__((format(printf, 3, 4))) void
jd__failures_add(struct jd_service *service, struct jd_service_process *member,
                 const char *format, ...);
jd_request_f jd__failures_on_report;
/* Looks for those who are silent, and says what there is to say; returns when
 * to look again. */
double jd__failures_tick(struct jd_service *service);
void jd__failures_finish(struct jd_service *service);

/* ---- preemption_sync.c -------------------------------------------------- */

jd_request_f jd__preemption_sync_on_preempted, jd__preemption_sync_on_step,
    jd__preemption_sync_on_acknowledge;
/* A member has gone: the round may be complete without it. */
void jd__preemption_sync_check(struct jd_service *service);
/* Says again what the member may have missed. */
void jd__preemption_sync_tell(struct jd_service *service,
                              struct jd_service_process *member);

#endif
