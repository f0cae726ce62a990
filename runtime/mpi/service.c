/* SPDX-License-Identifier: BSD-3-Clause */
/* service.c - does a living PMIx server serve this process? */
#include "base/parse.h"
#include "runtime/mpi/service.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <mpi.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define CONNECT_MILLISECONDS 2000

static pthread_once_t name_once = PTHREAD_ONCE_INIT;
static pthread_once_t path_once = PTHREAD_ONCE_INIT;
static char library_path[PATH_MAX];
static char library_name[MPI_MAX_LIBRARY_VERSION_STRING];

/* MPICH's has a tab, and others several blanks. */
static void join_words(char *text)
{
    char *end = text;
    for (const char *from = text; *from; from++)
        if (!isspace((unsigned char)*from))
            *end++ = *from;
        else if (end > text && end[-1] != ' ')
            *end++ = ' ';
    *end = '\0';
}

/* The first words of MPI's own text: up to a comma or the line's end. */
static void find_library_name(void)
{
    int length;
    if (MPI_Get_library_version(library_name, &length) != MPI_SUCCESS)
        snprintf(library_name, sizeof library_name, "MPI");
    library_name[strcspn(library_name, ",\n")] = '\0';
    join_words(library_name);
}

const char *jd__mpi_library_name(void)
{
    pthread_once(&name_once, find_library_name);
    return library_name;
}

/* Where MPI_Init was loaded from, links followed. */
static void find_library_path(void)
{
    Dl_info info;
    if (!dladdr((void *)(uintptr_t)&MPI_Init, &info) || !info.dli_fname ||
        !realpath(info.dli_fname, library_path))
        library_path[0] = '\0';
}

const char *jd__mpi_library_path(void)
{
    pthread_once(&path_once, find_library_path);
    return library_path;
}

bool jd__mpi_is_open_mpi(void)
{
    return strncmp(jd__mpi_library_name(), "Open MPI", 8) == 0;
}

/* ---- the server's address ----------------------------------------------- */

/* The newest of the variables that name the server; NULL where none does. */
static const char *server_uri(const struct jd_env *env, const char **ret_name)
{
    static const char *const names[] = {
        "PMIX_SERVER_URI41", "PMIX_SERVER_URI4", "PMIX_SERVER_URI3",
        "PMIX_SERVER_URI21", "PMIX_SERVER_URI2", "PMIX_SERVER_URI",
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *uri = jd__env_get_nonempty(env, names[i]);
        if (uri) {
            *ret_name = names[i];
            return uri;
        }
    }
    return NULL;
}

/* From "name.rank;tcp4://127.0.0.1:49919"; false for any other form. */
static bool parse_uri(const char *uri, struct sockaddr_in *ret_address)
{
    const char *host = strstr(uri, "tcp4://");
    char text[INET_ADDRSTRLEN];
    size_t length;
    int port;
    if (!host)
        return false;
    host += strlen("tcp4://");
    if (!jd__parse_address(host, &length, &port) || length >= sizeof text)
        return false;
    memcpy(text, host, length);
    text[length] = '\0';
    *ret_address = (struct sockaddr_in){ .sin_family = AF_INET,
                                         .sin_port = htons((uint16_t)port) };
    return inet_pton(AF_INET, text, &ret_address->sin_addr) == 1;
}

/* The error of a connection attempt; 0 where somebody answers. */
static int try_to_connect(const struct sockaddr_in *address)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int error = 0;
    if (fd < 0)
        return 0; /* it cannot be asked: MPI will find out */
    if (connect(fd, (const struct sockaddr *)address, sizeof *address) != 0)
        error = errno;
    if (error == EINPROGRESS) {
        struct pollfd poller = { .fd = fd, .events = POLLOUT };
        socklen_t size = sizeof error;
        int ready = poll(&poller, 1, CONNECT_MILLISECONDS);
        error = ready == 0 ? ETIMEDOUT : 0;
        if (ready == 1)
            getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
    }
    close(fd);
    return error;
}

/* A server on this host is asked; others are trusted. */
static int server_error(const char *uri)
{
    struct sockaddr_in address;
    if (!parse_uri(uri, &address) ||
        ntohl(address.sin_addr.s_addr) >> 24 != IN_LOOPBACKNET)
        return 0;
    return try_to_connect(&address);
}

/* ---- the refusal -------------------------------------------------------- */

/* "the job has 4 processes (SLURM_NTASKS)", or what else is told. */
static void describe_job(const struct jd_cluster *cluster, char *text,
                         size_t size)
{
    const struct jd_cluster_number *count = &cluster->num_processes;
    if (count->known)
        snprintf(text, size, "the job has %lld processes (%s)", count->value,
                 count->source);
    else
        snprintf(text, size, "this is process %lld (%s) of a job",
                 cluster->process_id.value, cluster->process_id.source);
}

static jd_status refuse_start(const struct jd_cluster *cluster,
                              const char *missing)
{
    char job[256];
    describe_job(cluster, job, sizeof job);
    return jd_fail(JD_FAILED_PRECONDITION,
                   "jd_initialize: %s, but %s, so %s cannot join them to one "
                   "world; %s",
                   job, missing, jd__mpi_library_name(),
                   jd__cluster_served_start(cluster));
}

static jd_status refuse_library(const struct jd_cluster *cluster)
{
    char job[256];
    describe_job(cluster, job, sizeof job);
    return jd_fail(JD_UNIMPLEMENTED,
                   "jd_initialize: %s, and jd starts no other MPI than Open "
                   "MPI, but this program is linked with %s; call MPI_Init in "
                   "the program and then "
                   "jd_initialize_on(MPI_COMM_WORLD, NULL, 0)",
                   job, jd__mpi_library_name());
}

static jd_status refuse_dead_server(const struct jd_cluster *cluster,
                                    const char *name, const char *uri,
                                    int error)
{
    char missing[512];
    snprintf(missing, sizeof missing,
             "the PMIx server that %s names (%.200s) does not answer (%s): "
             "the launcher that set it has ended",
             name, uri, strerror(error));
    return refuse_start(cluster, missing);
}

jd_status jd__mpi_service_check(const struct jd_env *env,
                                const struct jd_cluster *cluster)
{
    static const char *const needed[] = { "PMIX_NAMESPACE", "PMIX_RANK" };
    char missing[128];
    const char *name = NULL;
    if (!jd__mpi_is_open_mpi())
        return refuse_library(cluster);
    for (int i = 0; i < 2; i++) {
        snprintf(missing, sizeof missing,
                 "no PMIx server serves them (%s is not set)", needed[i]);
        if (!jd__env_get_nonempty(env, needed[i]))
            return refuse_start(cluster, missing);
    }
    const char *uri = server_uri(env, &name);
    if (!uri)
        return refuse_start(cluster,
                            "no PMIx server serves them (PMIX_SERVER_URI* "
                            "is not set)");
    int error = server_error(uri);
    return error ? refuse_dead_server(cluster, name, uri, error) : JD_OK;
}
