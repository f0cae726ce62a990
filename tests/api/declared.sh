# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# declared.sh - which functions headers declare. Source it.

# declared HEADER...: the functions that are JD_API there: the first name
# before a parenthesis in each declaration that begins so.
declared() {
    local header
    for header in "$@"; do
        cc -w -fpreprocessed -dD -E -P -x c "$header"
    done | sed '/^ *#/d' | tr -s '\n\t ' ' ' |
        grep -oE '\bJD_API [^;]*' |
        sed -E 's/^JD_API (JD_NORETURN )?[^(]*\b(jd_[a-z0-9_]+)\(.*/\2/' | sort
}
