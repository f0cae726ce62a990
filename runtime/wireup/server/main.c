/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * jd-pmix-server - serves PMIx, or PMI, to one host's processes, so that
 * MPI_Init makes one world of them where no launcher serves any.
 * jd_initialize() starts it, or jd-run, and tells it what to do on standard
 * input (runtime/wireup/wireup.proto).
 *
 * On standard output it says "ready", or one sentence on why it cannot, and
 * then has exit code 1.
 */
#include "runtime/wireup/server/log.h"
#include "runtime/wireup/server/plan.h"
#include "runtime/wireup/server/serve.h"
#include "runtime/wireup/server/starter.h"
#include "runtime/wireup/server/supervisor.h"

#include <stdio.h>
#include <unistd.h>

#define PLAN_SECONDS 30

static struct supervisor supervisor;

static void on_ready(const struct jd_bytes *environments)
{
    starter_answer(environments, "ready\n");
    supervisor_say_ready(&supervisor);
}

static int give_up(void)
{
    char sentence[4096];
    snprintf(sentence, sizeof sentence, "%s\n", jd_error_message());
    starter_answer(NULL, sentence);
    return 1;
}

static void introduce_log(const Jd__Plan *plan)
{
    log_as(plan->hosts[plan->host]->name,
           plan->log_level[0] ? plan->log_level : "warning", (int)plan->count);
}

static int run_plan(const Jd__Plan *plan)
{
    struct directory directory;
    char nspace[PLAN_NAME_SIZE];
    introduce_log(plan);
    if (plan->is_held)
        supervisor_name_for_jd_run();
    plan_print_name(plan, nspace);
    if (directory_create(plan->tmpdir, &directory) != JD_OK)
        return give_up();
    if (supervisor_start(&directory, nspace, &supervisor) != JD_OK) {
        directory_remove(&directory);
        return give_up();
    }
    starter_watch();
    jd_status status = serve(plan, &directory, supervisor.pipe_fd, on_ready);
    supervisor_clean(&directory, nspace);
    return status == JD_OK ? 0 : give_up();
}

int main(int argc, char **argv)
{
    Jd__Plan *plan;
    (void)argv;
    if (argc > 1) {
        fputs("jd-pmix-server takes no arguments: jd_initialize() starts it "
              "where no launcher serves PMIx, and jd-run\n",
              stderr);
        return 2;
    }
    supervisor_detach();
    if (plan_read(STDIN_FILENO, PLAN_SECONDS, &plan) != JD_OK)
        return give_up();
    _exit(run_plan(plan)); /* threads of libpmix are left as they are */
}
