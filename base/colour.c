/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/colour.h"
#include "base/env.h"

#include <string.h>
#include <unistd.h>

/*
 * Launchers give a process a terminal of its own to write into, and may pass
 * on to a file what comes: only the terminal that controls the process is
 * surely looked at by a person.
 */
static bool is_before_a_person(FILE *out, const char *term)
{
    return tcgetpgrp(fileno(out)) != -1 && term && strcmp(term, "dumb") != 0;
}

jd_status jd__colour_is_wanted(FILE *out, bool *ret_is_wanted)
{
    struct jd_env *env;
    jd_status status = jd__env_from_process(&env);
    if (status != JD_OK)
        return status;
    const char *forced = jd__env_get_nonempty(env, "CLICOLOR_FORCE");
    bool is_wanted = forced && strcmp(forced, "0") != 0;
    if (!is_wanted)
        is_wanted = is_before_a_person(out, jd__env_get(env, "TERM"));
    if (jd__env_get_nonempty(env, "NO_COLOR"))
        is_wanted = false;
    jd__env_destroy(env);
    *ret_is_wanted = is_wanted;
    return JD_OK;
}

/* Of a terminal's 256; no two neighbours look alike. */
void jd__colour_begin(FILE *out, int number)
{
    static const unsigned char grounds[JD_COLOURS] = { 153, 223, 157, 225,
                                                       229, 159, 217, 194,
                                                       189, 222, 152, 218 };
    fprintf(out, "\033[38;5;16;48;5;%dm", grounds[number % JD_COLOURS]);
}

void jd__colour_end(FILE *out)
{
    fputs("\033[0m", out);
}
