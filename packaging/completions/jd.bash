# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# jd.bash - completion of jd-run, jd-info, jd-trace and jd-bench in bash. What
# they take is asked of their own --help, so that it is never another version's.

# _jd_argument HELP OPTION: what follows the option, "FILE" for example, in another
# word; nothing where it stands alone.
_jd_argument() {
    [[ $2 == -* ]] || return 0
    sed -nE "s/^ +$2 ([A-Z][A-Za-z:.]*).*/\1/p" <<<"$1"
}

# _jd_has_program: whether jd-run's program is named before the cursor's word, so
# that what comes belongs to it. -n, --timeout and --grace take the next word.
_jd_has_program() {
    local i
    for ((i = 1; i < COMP_CWORD; i++)); do
        case ${COMP_WORDS[i]} in
        -n | --timeout | --grace) i=$((i + 1)) ;;
        -*) ;;
        *) return 0 ;;
        esac
    done
    return 1
}

_jd() {
    local tool=("$1") word=$2 previous=$3 help choices
    COMPREPLY=()
    if [[ ${1##*/} == jd-bench ]] && ((COMP_CWORD > 1)); then
        tool+=("${COMP_WORDS[1]}")
    fi
    help=$("${tool[@]}" --help 2>/dev/null) || return 0
    if [[ ${1##*/} == jd-run ]] && _jd_has_program; then
        mapfile -t COMPREPLY < <(compgen -f -- "$word")
        return
    fi
    case $(_jd_argument "$help" "$previous") in
    FILE* | DIR) mapfile -t COMPREPLY < <(compgen -f -- "$word") ;;
    '')
        choices=$(sed -nE 's/^ +(--?[a-z][a-z-]*)\b.*/\1/p' <<<"$help")
        if [[ $word == -* ]]; then
            mapfile -t COMPREPLY < <(compgen -W "$choices" -- "$word")
        elif [[ ${1##*/} == jd-bench ]] && ((COMP_CWORD == 1)); then
            choices=$(sed -nE 's/^  ([a-z]+)  .*/\1/p' <<<"$help")
            mapfile -t COMPREPLY < <(compgen -W "$choices" -- "$word")
        elif [[ ${1##*/} == jd-run ]]; then
            mapfile -t COMPREPLY < <(compgen -c -- "$word" && compgen -f -- "$word")
        elif [[ ${1##*/} == jd-trace ]]; then
            mapfile -t COMPREPLY < <(compgen -f -- "$word")
        fi
        ;;
    esac
}

complete -o filenames -F _jd jd-run jd-info jd-trace jd-bench
