# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# partings.sh - what jd-trace says of where processes part ways, so that what it
# shows of a job that runs and of its files can be compared.

# partings: of its output, a line for each process, without when the wait ended,
# and how: who hears of another's deadline before its own is ABORTED.
partings() {
    sed -n '/^Where they part ways/,/^$/p' |
        sed -E 's/, which failed with [A-Z_]+//
            s/ [0-9.e+-]+ s before its record ends//
            s/^    process(es)? /    /; s/^    ([0-9,-]+) waits? /    \1 waits /' |
        awk '/^    [0-9,-]+:? / {
                rest = $0
                sub(/^ *[^ ]+/, "", rest)
                end = $1 ~ /:$/ ? ":" : ""
                sub(/:$/, "", $1)
                count = split($1, parts, ",")
                for (i = 1; i <= count; i++) {
                    n = split(parts[i], ends, "-")
                    for (k = ends[1]; k <= ends[n]; k++)
                        print "    " k end rest
                }
                next
            }
            { print }' | sort
}
