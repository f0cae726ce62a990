# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# declared.sh - what headers declare, whatever their comments say. Source it.

# code_of HEADER...: without comments; directives stay.
code_of() {
    local header
    for header in "$@"; do
        cc -w -fpreprocessed -dD -E -P -x c "$header"
    done
}

# declarations HEADER...: those of functions that are JD_API, a line each.
declarations() {
    code_of "$@" | sed '/^ *#/d' | tr -s '\n\t ' ' ' | grep -oE '\bJD_API [^;]*'
}

# declared HEADER...: their names: the first before a parenthesis in each.
declared() {
    declarations "$@" |
        sed -E 's/^JD_API (JD_NORETURN )?[^(]*\b(jd_[a-z0-9_]+)\(.*/\2/' | sort
}
