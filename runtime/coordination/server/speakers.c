/* SPDX-License-Identifier: BSD-3-Clause */
/* speakers.c - who says that the job has failed. */
#include "runtime/coordination/server/speakers.h"

static int most_of(const struct jd_speakers *speakers)
{
    switch (speakers->which) {
    case JD_SPEAK_ALL:
        return speakers->survivors;
    case JD_SPEAK_ONE:
        return 1;
    case JD_SPEAK_NONE:
        return 0;
    case JD_SPEAK_SOME:
        break;
    }
    return JD_MAX_SPEAKERS;
}

bool jd__speakers_next(struct jd_speakers *speakers, int process, bool is_first,
                       bool is_near)
{
    bool all = speakers->which == JD_SPEAK_ALL ||
               (speakers->which == JD_SPEAK_SOME &&
                speakers->survivors <= JD_MAX_SPEAKERS);
    bool speaks = speakers->chosen < most_of(speakers) && (all || is_first);
    speakers->chosen += speaks;
    if (speaks && (speakers->teller < 0 || (is_near && !speakers->is_near))) {
        speakers->teller = process;
        speakers->is_near = is_near;
    }
    return speaks;
}
