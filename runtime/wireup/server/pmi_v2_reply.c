/* SPDX-License-Identifier: BSD-3-Clause */
/* pmi_v2_reply.c - the frames of answers. */
#include "runtime/wireup/server/pmi_v2_reply.h"
#include "runtime/wireup/server/pmi_v2_wire.h"

#include <stdio.h>
#include <string.h>

/* A value may be twice as long as it was put; a name that is not known, and is
 * longer, is cut. */
enum {
    ESCAPED = 2 * PMI_VALUE_MOST,
    FRAME = ESCAPED + 512,
    ESCAPED_NAME = 84,
    ESCAPED_THREAD = 2 * PMI_KEY_MOST,
};

/* Behind room for the header, which says how long it has become. */
static bool send_reply(const struct pmi_v2_asker *asker, const char *result,
                       const char *rest)
{
    char frame[FRAME], header[PMI_V2_HEADER + 1];
    char command[ESCAPED_NAME], thread[ESCAPED_THREAD];
    char *text = frame + PMI_V2_HEADER;
    size_t room = sizeof frame - PMI_V2_HEADER;
    bool has_thread = asker->thread[0] != '\0';
    pmi_v2_wire_escape(asker->command, command, sizeof command);
    pmi_v2_wire_escape(asker->thread, thread, sizeof thread);
    int length = snprintf(text, room, "cmd=%s-response;%s%s%s%s%s", command,
                          has_thread ? "thrid=" : "", thread,
                          has_thread ? ";" : "", result, rest);
    if (length < 0 || (size_t)length >= room)
        return false;
    snprintf(header, sizeof header, "%6d", length);
    memcpy(frame, header, PMI_V2_HEADER);
    return pmi_client_send(asker->client, frame,
                           PMI_V2_HEADER + (size_t)length);
}

bool pmi_v2_reply_done(const struct pmi_v2_asker *asker, const char *more)
{
    return send_reply(asker, "rc=0;", more);
}

bool pmi_v2_reply_found(const struct pmi_v2_asker *asker, const char *value)
{
    static const char begin[] = "found=TRUE;value=";
    char rest[ESCAPED + sizeof begin + 1];
    char *at = rest + sizeof begin - 1;
    if (!value)
        return send_reply(asker, "rc=0;", "found=FALSE;");
    memcpy(rest, begin, sizeof begin);
    if (!pmi_v2_wire_escape(value, at, ESCAPED))
        return false;
    strcat(at, ";");
    return send_reply(asker, "rc=0;", rest);
}

bool pmi_v2_reply_fault(const struct pmi_v2_asker *asker,
                        enum pmi_v2_fault fault, const char *why)
{
    char result[32], rest[256];
    snprintf(result, sizeof result, "rc=%d;", (int)fault);
    snprintf(rest, sizeof rest, "errmsg=%.200s;", why);
    return send_reply(asker, result, rest);
}
