/* SPDX-License-Identifier: BSD-3-Clause */
/* environment.c - the names that a environment may set. */
#include "runtime/wireup/environment.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

/* What a value may be, beside the name. */
enum variable_kind {
    ANY,    /* a number, a name, or where the server listens */
    FOLDER, /* an absolute path */
    EXACT,  /* the one that is there */
};

/* '#' in a name stands for one or more digits. */
struct allowed {
    const char *name;
    enum variable_kind kind;
    const char *value;
};

/* What PMIx_server_setup_fork of libpmix 3 to 6 gives, then what
 * jd-pmix-server adds. None of them names a file that is loaded. */
static const struct allowed allowed[] = {
    { "PMIX_NAMESPACE", ANY, NULL },
    { "PMIX_RANK", ANY, NULL },
    { "PMIX_HOSTNAME", ANY, NULL },
    { "PMIX_VERSION", ANY, NULL },
    { "PMIX_SERVER_NSPACE", ANY, NULL },
    { "PMIX_SERVER_RANK", ANY, NULL },
    { "PMIX_SERVER_URI", ANY, NULL },
    { "PMIX_SERVER_URI#", ANY, NULL },
    { "PMIX_SECURITY_MODE", ANY, NULL },
    { "PMIX_PTL_MODULE", ANY, NULL },
    { "PMIX_GDS_MODULE", ANY, NULL },
    { "PMIX_BFROP_BUFFER_TYPE", ANY, NULL },
    { "PMIX_SERVER_TMPDIR", FOLDER, NULL },
    { "PMIX_SYSTEM_TMPDIR", FOLDER, NULL },
    { "PMIX_DSTORE_ESH_BASE_PATH", FOLDER, NULL },
    { "PMIX_DSTORE_#_BASE_PATH", FOLDER, NULL },
    { "PMIX_MCA_psec", EXACT, "native" },
    { "PMI_RANK", ANY, NULL },
    { "PMI_SIZE", ANY, NULL },
    { "JSM_JSRUN_PORT", EXACT, "1" },
    { "OMPI_MCA_btl", EXACT, "^vader,sm" },
    { "OMPI_MCA_btl_vader_backing_directory", FOLDER, NULL },
    { "OMPI_MCA_btl_sm_backing_directory", FOLDER, NULL },
};

static bool has_name(const char *name, const char *pattern)
{
    for (; *pattern; pattern++) {
        if (*pattern != '#') {
            if (*name++ != *pattern)
                return false;
            continue;
        }
        if (!isdigit((unsigned char)*name))
            return false;
        while (isdigit((unsigned char)*name))
            name++;
    }
    return !*name;
}

static bool has_value(const struct allowed *entry, const char *value)
{
    switch (entry->kind) {
    case ANY:
        return true;
    case FOLDER:
        return value[0] == '/';
    case EXACT:
        break;
    }
    return strcmp(value, entry->value) == 0;
}

bool jd__environment_allows(const char *name, const char *value)
{
    for (size_t i = 0; i < sizeof allowed / sizeof *allowed; i++)
        if (has_name(name, allowed[i].name))
            return has_value(&allowed[i], value);
    return false;
}
