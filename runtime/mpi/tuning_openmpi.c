/* SPDX-License-Identifier: BSD-3-Clause */
/* tuning_openmpi.c - what jd sets for Open MPI before MPI_Init, and why. */
#include "runtime/mpi/tuning_openmpi.h"

#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

/* Where the kernel shows devices that a transport other than ob1's is for:
 * InfiniBand, RoCE, EFA and usNIC (class infiniband), Slingshot (cxi),
 * Omni-Path (hfi1), TrueScale (ipath), BXI, Gemini/Aries (kgni). */
static const char *const device_patterns[] = {
    "/sys/class/infiniband/*",
    "/sys/class/cxi/*",
    "/sys/class/bxi/*",
    "/dev/hfi1*",
    "/dev/ipath*",
    "/dev/kgni*",
};

/* Whoever names one of these has chosen a transport. A file that only leaves
 * some out ("btl = ^openib", as Debian's does) has not. */
static const char *const transport_names[] = { "pml", "mtl", "btl", "osc" };

static void leave_alone(struct jd_tune_setting *setting, const char *why)
{
    setting->value = NULL;
    snprintf(setting->why, sizeof setting->why, "left alone: %s", why);
}

/* ---- has the user chosen? ----------------------------------------------- */

/* The value in "NAME = value", or NULL where the line sets something else. */
static const char *value_of(const char *line, const char *name)
{
    line += strspn(line, " \t");
    if (strncmp(line, name, strlen(name)) != 0)
        return NULL;
    line += strlen(name);
    line += strspn(line, " \t");
    return *line == '=' ? line + 1 + strspn(line + 1, " \t") : NULL;
}

/* "pml = ucx" does, "pml = ^ucx" does not unless ob1 is what it leaves out. */
static bool line_sets_transport(const char *line)
{
    for (size_t i = 0; i < sizeof transport_names / sizeof *transport_names;
         i++) {
        const char *value = value_of(line, transport_names[i]);
        if (value && (*value != '^' || strstr(value, "ob1")))
            return true;
    }
    return false;
}

static bool line_sets_btl(const char *line)
{
    return value_of(line, "btl") != NULL;
}

/* True where some line of the file is one that the function looks for. */
static bool file_has(const char *path, bool (*is_wanted)(const char *line))
{
    FILE *file = fopen(path, "re");
    char line[512];
    bool found = false;
    if (!file)
        return false;
    while (!found && fgets(line, sizeof line, file))
        found = is_wanted(line);
    fclose(file);
    return found;
}

static bool variable_sets_transport(const struct jd_env *env, char *why,
                                    size_t size)
{
    for (size_t i = 0; i < sizeof transport_names / sizeof *transport_names;
         i++) {
        char name[64];
        snprintf(name, sizeof name, "OMPI_MCA_%s", transport_names[i]);
        if (jd__env_get(env, name)) {
            snprintf(why, size, "%s is set", name);
            return true;
        }
    }
    return false;
}

/* The folder of the parameter file that belongs to this MPI's installation:
 * below OPAL_PREFIX, below /etc for a distribution's, else beside lib. */
static void find_installation(const struct jd_tune_request *request,
                              char *folder, size_t size)
{
    const char *prefix = jd__env_get_nonempty(request->env, "OPAL_PREFIX");
    const char *file = strrchr(request->library, '/');
    size_t lib = file ? (size_t)(file - request->library) : 0;
    while (lib && request->library[lib - 1] != '/')
        lib--; /* PREFIX/lib or PREFIX/lib64 */
    if (prefix)
        snprintf(folder, size, "%s/etc", prefix);
    else if (strncmp(request->library, "/usr/lib64", 10) == 0)
        snprintf(folder, size, "/etc/openmpi-x86_64");
    else if (strncmp(request->library, "/usr/lib", 8) == 0)
        snprintf(folder, size, "/etc/openmpi");
    else
        snprintf(folder, size, "%.*setc", (int)lib, request->library);
}

/* The first of Open MPI's parameter files (the user's, the installation's)
 * with such a line, into path; false where there is none. */
static bool find_file(const struct jd_tune_request *request,
                      bool (*is_wanted)(const char *line), char *path,
                      size_t size)
{
    const char *home = jd__env_get_nonempty(request->env, "HOME");
    char folder[PATH_MAX / 2];
    if (home) {
        snprintf(path, size, "%s%s/.openmpi/mca-params.conf", request->root,
                 home);
        if (file_has(path, is_wanted))
            return true;
    }
    find_installation(request, folder, sizeof folder);
    snprintf(path, size, "%s%s/openmpi-mca-params.conf", request->root, folder);
    return file_has(path, is_wanted);
}

static bool some_file_sets_transport(const struct jd_tune_request *request,
                                     char *why, size_t size)
{
    char path[PATH_MAX];
    if (!find_file(request, line_sets_transport, path, sizeof path))
        return false;
    snprintf(why, size, "%.120s chooses a transport", path);
    return true;
}

/* ---- is there a device? ------------------------------------------------- */

static bool find_device(const char *root, char *why, size_t size)
{
    for (size_t i = 0; i < sizeof device_patterns / sizeof *device_patterns;
         i++) {
        char pattern[PATH_MAX];
        glob_t found;
        snprintf(pattern, sizeof pattern, "%s%s", root, device_patterns[i]);
        if (glob(pattern, GLOB_NOSORT, NULL, &found) != 0)
            continue;
        snprintf(why, size, "this host has %.120s", found.gl_pathv[0]);
        globfree(&found);
        return true;
    }
    return false;
}

/* ---- the plan ----------------------------------------------------------- */

static void plan_pml(const struct jd_tune_request *request,
                     struct jd_tune_setting *setting)
{
    char why[160];
    setting->variable = "OMPI_MCA_pml";
    if (!request->enabled) {
        leave_alone(setting, "JD_TUNE_MPI is 0");
    } else if (variable_sets_transport(request->env, why, sizeof why) ||
               some_file_sets_transport(request, why, sizeof why) ||
               find_device(request->root, why, sizeof why)) {
        leave_alone(setting, why);
    } else {
        setting->value = "ob1";
        snprintf(setting->why, sizeof setting->why,
                 "this host has no RDMA device, and looking for one takes "
                 "MPI_Init 200 ms; JD_TUNE_MPI=0 leaves it alone");
    }
}

/* Goes with the other one, but a file's list of exclusions is not replaced:
 * it may leave out more than ofi. */
static void plan_btl(const struct jd_tune_request *request,
                     const struct jd_tune_setting *pml,
                     struct jd_tune_setting *setting)
{
    char path[PATH_MAX], why[160];
    setting->variable = "OMPI_MCA_btl";
    if (!pml->value) {
        snprintf(setting->why, sizeof setting->why, "%s", pml->why);
    } else if (find_file(request, line_sets_btl, path, sizeof path)) {
        snprintf(why, sizeof why, "%.120s sets it", path);
        leave_alone(setting, why);
    } else {
        setting->value = "^ofi";
        snprintf(setting->why, sizeof setting->why,
                 "this host has no RDMA device, and looking for one through "
                 "libfabric takes MPI_Init of Open MPI 5 1 s; JD_TUNE_MPI=0 "
                 "leaves it alone");
    }
}

static void plan_yield(const struct jd_tune_request *request,
                       struct jd_tune_setting *setting)
{
    const struct jd_cluster_number *local =
        &request->cluster->local_num_processes;
    setting->variable = "OMPI_MCA_mpi_yield_when_idle";
    if (jd__env_get(request->env, setting->variable)) {
        leave_alone(setting, "it is set");
    } else if (!local->known) {
        leave_alone(setting, "the processes on this host are not known");
    } else if (local->value <= request->cores_allowed) {
        leave_alone(setting, "there is a core for each process on this host");
    } else {
        setting->value = "1";
        snprintf(setting->why, sizeof setting->why,
                 "%lld processes (%s) share %d allowed cores on this host",
                 local->value, local->source, request->cores_allowed);
    }
}

static bool line_sets_interfaces(const char *line)
{
    return value_of(line, "btl_tcp_if_include") ||
           value_of(line, "btl_tcp_if_exclude");
}

/* Not a matter of JD_TUNE_MPI: the user has chosen. */
static void plan_interfaces(const struct jd_tune_request *request,
                            struct jd_tune_setting *setting)
{
    static const char include[] = "OMPI_MCA_btl_tcp_if_include";
    static const char exclude[] = "OMPI_MCA_btl_tcp_if_exclude";
    const struct jd_tune_interfaces *chosen = request->interfaces;
    const char *set = jd__env_get(request->env, include)   ? include
                      : jd__env_get(request->env, exclude) ? exclude
                                                           : NULL;
    char path[PATH_MAX], why[160];
    setting->variable = chosen && chosen->excludes ? exclude : include;
    if (!chosen || !chosen->text[0]) {
        leave_alone(setting, "JD_INTERFACE chooses none");
    } else if (set) {
        snprintf(why, sizeof why, "%s is set", set);
        leave_alone(setting, why);
    } else if (find_file(request, line_sets_interfaces, path, sizeof path)) {
        snprintf(why, sizeof why, "%.120s sets it", path);
        leave_alone(setting, why);
    } else {
        setting->value = chosen->text;
        snprintf(setting->why, sizeof setting->why,
                 "JD_INTERFACE chooses for MPI too");
    }
}

void jd__tuning_plan_open_mpi(const struct jd_tune_request *request,
                              struct jd_tuning *ret_plan)
{
    plan_yield(request, &ret_plan->settings[JD_TUNE_YIELD]);
    plan_pml(request, &ret_plan->settings[JD_TUNE_PML]);
    plan_btl(request, &ret_plan->settings[JD_TUNE_PML],
             &ret_plan->settings[JD_TUNE_BTL]);
    plan_interfaces(request, &ret_plan->settings[JD_TUNE_INTERFACES]);
}
