#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# test_manual_errors.sh - the sentences that the table of errors of doc/errors.md quotes
# are still in the source. A quotation is the first `code` of a row between the
# errors:begin and errors:end comments; "..." in it stands for what differs.
# usage: test_manual_errors.sh SOURCE_DIR
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source-path=SCRIPTDIR source=../lib/tap.sh
source "$here/../lib/tap.sh"
source_dir=$1

# All string literals of the library, those that the compiler joins joined.
literals() {
    find "$source_dir"/{base,autodetect,runtime,collectives,arrays,tools} \
        -name '*.[ch]' -exec cat {} + |
        tr '\n' ' ' | sed -E 's/"[[:space:]]+"//g'
}

# shellcheck disable=SC2016 # backquotes of Markdown
quotations() {
    sed -n '/<!-- errors:begin -->/,/<!-- errors:end -->/p' \
        "$source_dir/doc/errors.md" | sed -nE 's/^\| `([^`]+)`.*/\1/p'
}

# missing_part QUOTATION: the first part that no literal has; nothing if none.
missing_part() {
    local part
    while IFS= read -r part; do
        part=${part#"${part%%[! ]*}"}
        part=${part%"${part##*[! ]}"}
        [[ -z $part || $text == *"$part"* ]] || { echo "$part"; return; }
    done <<<"${1//.../$'\n'}"
}

text=$(literals)
while IFS= read -r quotation; do
    part=$(missing_part "$quotation")
    if [[ -z $part ]]; then
        tap_ok "$quotation"
    else
        tap_not_ok "$quotation"
        echo "# not in the source: $part"
    fi
done < <(quotations)
if [[ -z $(missing_part "there is no such sentence in the source") ]]; then
    tap_not_ok "a sentence that is gone would be seen"
else
    tap_ok "a sentence that is gone would be seen"
fi
((tap_count > 10)) || tap_not_ok "doc/errors.md has a table of errors"
tap_done
