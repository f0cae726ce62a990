/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_mpi_service.c - what is served, and the sentence where it is not
 * enough.
 */
#include "runtime/mpi/library.h"
#include "runtime/mpi/service.h"
#include "tests/unit/played_mpi.h"
#include "tests/unit/unit.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

static void play_open_mpi(void)
{
    library_version = "Open MPI v4.1.4, package: Debian OpenMPI";
}

static jd_status check_method(const char *variables, const char *method)
{
    struct jd_cluster cluster = {
        .method = method,
        .num_processes = { true, 4, "SLURM_STEP_NUM_TASKS" },
    };
    struct jd_env *env = unit_env(variables);
    jd_status status = jd__mpi_service_check(env, &cluster);
    jd__env_destroy(env);
    return status;
}

/* ---- nothing is served -------------------------------------------------- */

static const struct {
    const char *method;
    const char *remedy;
} methods[] = {
    { "slurm",
      "start it with `srun --mpi=pmix` (`srun --mpi=list` shows whether Slurm "
      "has it), or with the mpirun of this MPI inside the allocation" },
    { "pmi", "start it with the mpirun of this MPI; the mpiexec of another MPI "
             "cannot start it" },
    { "flux", "start it with `flux run -o pmi=pmix`, or with the mpirun of "
              "this MPI" },
    { "torchrun", "start it with the mpirun of this MPI, `mpirun -n N` over "
                  "the same hosts" },
};

START_TEST(each_launcher_has_its_remedy)
{
    char sentence[512];
    snprintf(sentence, sizeof sentence,
             "jd_initialize: the job has 4 processes (SLURM_STEP_NUM_TASKS), "
             "but no PMIx server serves them (PMIX_NAMESPACE is not set), so "
             "Open MPI v4.1.4 cannot join them to one world; %s",
             methods[_i].remedy);
    UNIT_FAILS(check_method("", methods[_i].method), JD_FAILED_PRECONDITION,
               sentence);
}
END_TEST

static const struct {
    const char *variables;
    const char *missing;
} gaps[] = {
    { "PMIX_RANK=0\nPMIX_SERVER_URI4=x\n", "PMIX_NAMESPACE" },
    { "PMIX_NAMESPACE=\nPMIX_RANK=0\nPMIX_SERVER_URI4=x\n", "PMIX_NAMESPACE" },
    { "PMIX_NAMESPACE=a\nPMIX_SERVER_URI4=x\n", "PMIX_RANK" },
    { "PMIX_NAMESPACE=a\nPMIX_RANK=0\n", "PMIX_SERVER_URI*" },
    { "PMIX_NAMESPACE=a\nPMIX_RANK=0\nPMIX_SERVER_URI4=\n",
      "PMIX_SERVER_URI*" },
    { "PMI_RANK=0\nPMI_SIZE=4\nPMI_FD=9\n", "PMIX_NAMESPACE" },
};

START_TEST(the_missing_variable_is_named)
{
    char sentence[512];
    snprintf(sentence, sizeof sentence,
             "jd_initialize: the job has 4 processes (SLURM_STEP_NUM_TASKS), "
             "but no PMIx server serves them (%s is not set), so Open MPI "
             "v4.1.4 cannot join them to one world; %s",
             gaps[_i].missing, methods[1].remedy);
    UNIT_FAILS(check_method(gaps[_i].variables, "pmi"), JD_FAILED_PRECONDITION,
               sentence);
}
END_TEST

/* ---- a server ----------------------------------------------------------- */

/* A port that is ours; who does not listen refuses. */
static int open_port_of(in_addr_t host, bool listens, int *ret_port)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET,
        .sin_addr.s_addr = htonl(host),
    };
    socklen_t size = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, size), 0);
    if (listens)
        ck_assert_int_eq(listen(fd, 1), 0);
    ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&address, &size), 0);
    *ret_port = ntohs(address.sin_port);
    return fd;
}

static int open_port(bool listens, int *ret_port)
{
    return open_port_of(INADDR_LOOPBACK, listens, ret_port);
}

/* The check with the server at this port in the variable of this name. */
static jd_status check_port(const char *name, int port, const char *more)
{
    char text[512];
    snprintf(text, sizeof text,
             "PMIX_NAMESPACE=n\nPMIX_RANK=0\n%s=n.0;tcp4://127.0.0.1:%d\n%s",
             name, port, more);
    return check_method(text, "slurm");
}

static const char *const uri_names[] = {
    "PMIX_SERVER_URI41", "PMIX_SERVER_URI4", "PMIX_SERVER_URI3",
    "PMIX_SERVER_URI21", "PMIX_SERVER_URI2", "PMIX_SERVER_URI",
};

START_TEST(a_living_server_is_enough)
{
    int port, fd = open_port(true, &port), lowest = dup(fd);
    close(lowest);
    UNIT_OK(check_port(uri_names[_i], port, ""));
    ck_assert_int_eq(dup(fd), lowest); /* nothing stays open */
    close(lowest);
    close(fd);
}
END_TEST

START_TEST(a_dead_server_is_named)
{
    int port, fd = open_port(false, &port);
    char sentence[700];
    jd_status status = check_port(uri_names[_i], port, "");
    snprintf(sentence, sizeof sentence,
             "jd_initialize: the job has 4 processes (SLURM_STEP_NUM_TASKS), "
             "but the PMIx server that %s names (n.0;tcp4://127.0.0.1:%d) does "
             "not answer (Connection refused): the launcher that set it has "
             "ended, so Open MPI v4.1.4 cannot join them to one world; %s",
             uri_names[_i], port, methods[0].remedy);
    UNIT_FAILS(status, JD_FAILED_PRECONDITION, sentence);
    close(fd);
}
END_TEST

/* All of 127/8 is this host. */
START_TEST(any_loopback_address_is_asked)
{
    int port, fd = open_port_of(INADDR_LOOPBACK + 1, false, &port);
    char text[256];
    snprintf(text, sizeof text,
             "PMIX_NAMESPACE=n\nPMIX_RANK=0\nPMIX_SERVER_URI4="
             "n.0;tcp4://127.0.0.2:%d\n",
             port);
    ck_assert_int_eq(check_method(text, "slurm"), JD_FAILED_PRECONDITION);
    close(fd);
}
END_TEST

/* Clients take the newest variable, so that is the one to ask. */
START_TEST(the_newest_variable_counts)
{
    int living, dead;
    int a = open_port(true, &living), b = open_port(false, &dead);
    char older[128];
    snprintf(older, sizeof older, "PMIX_SERVER_URI2=n.0;tcp4://127.0.0.1:%d\n",
             dead);
    UNIT_OK(check_port("PMIX_SERVER_URI4", living, older));
    snprintf(older, sizeof older, "PMIX_SERVER_URI2=n.0;tcp4://127.0.0.1:%d\n",
             living);
    ck_assert_int_eq(check_port("PMIX_SERVER_URI4", dead, older),
                     JD_FAILED_PRECONDITION);
    close(a);
    close(b);
}
END_TEST

static const char *const foreign_uris[] = {
    "n.0;tcp4://192.0.2.1:9",
    "n.0;tcp6://[::1]:9",
    "n.0;usock:/tmp/x",
    "n.0;tcp4://127.0.0.1:0x",
    "n.0;tcp4://127.0.0.1",
    "n.0;tcp4://here:9",
    "n.0;tcp4://127.127.127.127.127:9",
};

/* Other hosts are not asked, other forms not understood: MPI will see. */
START_TEST(what_cannot_be_asked_is_trusted)
{
    char text[256];
    snprintf(text, sizeof text,
             "PMIX_NAMESPACE=n\nPMIX_RANK=0\nPMIX_SERVER_URI4=%s\n",
             foreign_uris[_i]);
    UNIT_OK(check_method(text, "slurm"));
}
END_TEST

/* ---- the library -------------------------------------------------------- */

static const struct {
    const char *version;
    const char *name;
} libraries[] = {
    { "Open MPI v5.0.3, package: x", "Open MPI v5.0.3" },
    { "MPICH Version:      4.0.2\nMPICH Release date: x",
      "MPICH Version: 4.0.2" },
    { "MPICH Version:\t4.0.2\nMPICH Release date:\tx", "MPICH Version: 4.0.2" },
    { "Intel(R) MPI Library 2021.9 for Linux* OS\n",
      "Intel(R) MPI Library 2021.9 for Linux* OS" },
    { NULL, "MPI" },
};

START_TEST(the_library_has_a_name)
{
    library_version = libraries[_i].version;
    ck_assert_str_eq(jd__mpi_library_name(), libraries[_i].name);
}
END_TEST

START_TEST(an_unknown_mpi_is_not_started)
{
    library_version = "HAL MPI 1.2";
    UNIT_FAILS(check_method("", "pmi"), JD_UNIMPLEMENTED,
               "jd_initialize: the job has 4 processes "
               "(SLURM_STEP_NUM_TASKS), and jd starts Open MPI, MPICH and its "
               "descendants (Cray MPICH, Intel MPI, MVAPICH), but this program "
               "is linked with HAL MPI 1.2; call MPI_Init in the program and "
               "then jd_initialize_on(MPI_COMM_WORLD, NULL, 0)");
}
END_TEST

static const struct {
    const char *version;
    const struct jd_mpi_flavour *flavour;
} kin[] = {
    { "Open MPI v5.0.3, package: x", &jd__flavour_open_mpi },
    { "MPICH Version:\t4.0.2\n", &jd__flavour_mpich },
    { "MPI VERSION    : CRAY MPICH version 8.1.25 (ANL base 3.4a2)\n",
      &jd__flavour_cray },
    { "Intel(R) MPI Library 2021.9 for Linux* OS\n", &jd__flavour_intel },
    { "MVAPICH2 Version      :\t2.3.7\n", &jd__flavour_mvapich },
};

START_TEST(each_library_is_of_its_kin)
{
    library_version = kin[_i].version;
    ck_assert_ptr_eq(jd__mpi_library_flavour(), kin[_i].flavour);
}
END_TEST

/* ---- PMI ---------------------------------------------------------------- */

static void play_mpich(void)
{
    library_version = "MPICH Version: 4.0.2\n";
}

static const char mpiexec_remedy[] =
    "start it with the mpiexec of this MPI, `mpiexec -n N` over the same "
    "hosts; the launcher of another MPI cannot start it";

static jd_status check_descriptor(int fd)
{
    char text[64];
    snprintf(text, sizeof text, "PMI_RANK=0\nPMI_SIZE=4\nPMI_FD=%d\n", fd);
    return check_method(text, "pmi");
}

/* That what is missing is said, with the remedy of a PMI. */
static void fails_for(jd_status status, const char *missing)
{
    char sentence[640];
    snprintf(sentence, sizeof sentence,
             "jd_initialize: the job has 4 processes (SLURM_STEP_NUM_TASKS), "
             "but %s, so MPICH Version: 4.0.2 cannot join them to one world; "
             "%s",
             missing, mpiexec_remedy);
    UNIT_FAILS(status, JD_FAILED_PRECONDITION, sentence);
}

START_TEST(an_open_descriptor_serves_mpich)
{
    int pair[2];
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    UNIT_OK(check_descriptor(pair[0]));
    close(pair[1]);
    char missing[128];
    snprintf(missing, sizeof missing,
             "the launcher at the other end of PMI_FD (%d) has ended", pair[0]);
    fails_for(check_descriptor(pair[0]), missing);
    close(pair[0]);
    snprintf(missing, sizeof missing,
             "PMI_FD is %d, which is no open descriptor of this process (a "
             "program between it and the launcher has closed it)",
             pair[0]);
    fails_for(check_descriptor(pair[0]), missing);
}
END_TEST

START_TEST(what_mpich_misses_is_named)
{
    fails_for(check_method("PMI_RANK=0\nPMI_SIZE=4\n", "pmi"),
              "no PMI server serves them (neither PMI_FD nor PMI_PORT is set)");
    fails_for(check_method("PMI_FD=x\n", "pmi"),
              "PMI_FD is \"x\", which is no descriptor");
    fails_for(check_method("PMI_FD=99999999999\n", "pmi"),
              "PMI_FD is \"99999999999\", which is no descriptor");
    UNIT_OK(check_method("PMI_PORT=node1:4711\n", "pmi"));
}
END_TEST

START_TEST(cray_has_signs_of_its_own)
{
    library_version = "CRAY MPICH version 8.1.25";
    UNIT_OK(check_method("PALS_APID=7\n", "pmi"));
    UNIT_OK(check_method("PMI_CONTROL_PORT=20000\n", "slurm"));
    ck_assert_int_eq(check_method("", "pmi"), JD_FAILED_PRECONDITION);
}
END_TEST

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

int main(void)
{
    Suite *suite = suite_create("mpi_service");
    TCase *nothing = unit_case(suite, "nothing");
    tcase_add_checked_fixture(nothing, play_open_mpi, NULL);
    tcase_add_loop_test(nothing, each_launcher_has_its_remedy, 0,
                        COUNT(methods));
    tcase_add_loop_test(nothing, the_missing_variable_is_named, 0, COUNT(gaps));
    TCase *server = unit_case(suite, "server");
    tcase_add_checked_fixture(server, play_open_mpi, NULL);
    tcase_add_loop_test(server, a_living_server_is_enough, 0, COUNT(uri_names));
    tcase_add_loop_test(server, a_dead_server_is_named, 0, COUNT(uri_names));
    tcase_add_test(server, any_loopback_address_is_asked);
    tcase_add_test(server, the_newest_variable_counts);
    tcase_add_loop_test(server, what_cannot_be_asked_is_trusted, 0,
                        COUNT(foreign_uris));
    TCase *library = unit_case(suite, "library");
    tcase_add_loop_test(library, the_library_has_a_name, 0, COUNT(libraries));
    tcase_add_test(library, an_unknown_mpi_is_not_started);
    tcase_add_loop_test(library, each_library_is_of_its_kin, 0, COUNT(kin));
    tcase_add_test(library, cray_has_signs_of_its_own);
    TCase *pmi = unit_case(suite, "pmi");
    tcase_add_checked_fixture(pmi, play_mpich, NULL);
    tcase_add_test(pmi, an_open_descriptor_serves_mpich);
    tcase_add_test(pmi, what_mpich_misses_is_named);
    return unit_main(suite);
}
