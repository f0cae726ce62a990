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

# names_declared HEADER...: calls, types and macros, whose lines are in no comment.
names_declared() {
    local code name
    code=$(code_of "$@")
    {
        declared "$@"
        sed -nE 's/^typedef struct (jd_\w+) jd_\w+;.*/\1/p; s/^\} (jd_\w+);.*/\1/p' \
            <<<"$code"
        sed -nE 's/^#define (JD_\w+).*/\1/p' <<<"$code" | sort -u |
            while IFS= read -r name; do
                grep -q "^#undef $name" <<<"$code" || [[ $name == *_H ]] ||
                    echo "$name"
            done | grep -vxE 'JD_API|JD_NORETURN|JD_FORMAT'
    } | sort -u
}
