# SPDX-License-Identifier: BSD-3-Clause
"""What is promised of a job in which somebody fails, and what of it was not
seen, a sentence each.
"""
import itertools
import re

from drill_draw import PROCESSES, who

PEER_FAILED = 117
# More is a log without end. A line that repeats counts once: where all files are
# closed, libevent's own warning comes until the process has seen it and ends.
MOST_LINES = 200

# The cause in a survivor's sentence, and the victim's own codes.
GONE = r'connection closed without shutdown \(killed or crashed\)'
CAUSES = {'kill': GONE, 'segv': GONE, 'abort': GONE, '_exit': GONE,
          'close': GONE, 'exit': 'exited with code 3 without jd_shutdown',
          'stop': r'no sign of life for [0-9.]+ s', 'leave': ''}
CODES = {'kill': 137, 'segv': 139, 'abort': 134, '_exit': 0, 'exit': 3}

# What Open MPI leaves behind when mpirun, or a process of it, is killed.
OF_OPEN_MPI = re.compile(r'/tmp/(ompi|prte)\.[^/]*(/|$)|'
                         r'/dev/shm/(vader|sm)_segment\.')


def lines_of(rank, seen):
    """jd's sentences of this process that are no notices."""
    begin = f'jd {rank}/{PROCESSES} '
    return [line for line in seen['err']
            if line.startswith(begin) and ' error ' in line]


def ends_others(drill):
    """A launcher that ends the others may come before a process has ended
    itself, but not before it has spoken."""
    return drill['launcher'] in ('mpirun', 'jd-run')


def has_code(drill, seen, rank, wanted):
    code = seen['codes'][rank]
    return code in wanted or ends_others(drill) and code in (None, 137, 143)


def judge_code(drill, seen, rank, wanted):
    if has_code(drill, seen, rank, wanted):
        return []
    return [f'process {rank} ended with code {seen["codes"][rank]}, not '
            f'{" or ".join(map(str, wanted))}']


# ---- one of the processes fails ----------------------------------------------

def judge_survivor(drill, seen, rank):
    """It names those that fail, or the first of them that it hears of."""
    lines = lines_of(rank, seen)
    wanted = (rf'process(es)? [{who(drill)}]+ \(drilled, pid [0-9]+ on [^ )]+\)'
              rf'.*{CAUSES[drill["how"]]}')
    if len(lines) != 1:
        return [f'process {rank} has not written one line, but {len(lines)}']
    if not re.search(wanted, lines[0]):
        return [f'process {rank} does not say "{wanted}"']
    return judge_code(drill, seen, rank, [PEER_FAILED])


def judge_victim(drill, seen, victim):
    """One that was stopped or has lost its connections says why it ends; one of
    several may hear of another before it has failed itself."""
    how = drill['how']
    lines = lines_of(victim, seen)
    if how in ('stop', 'close', 'leave'):
        if not lines and not ends_others(drill):
            return [f'process {victim} does not say why it ends']
        return [] if how == 'leave' else \
            judge_code(drill, seen, victim, [PEER_FAILED, 1])
    if len(drill['victims']) > 1:
        return judge_code(drill, seen, victim, [CODES[how], PEER_FAILED])
    if any(f'exit code {PEER_FAILED}' in line for line in lines):
        return [f'process {victim} speaks as a survivor']
    return judge_code(drill, seen, victim, [CODES[how]])


def judge_failure(drill, seen):
    found = [] if seen['failed'] else \
        [f'process {who(drill)} has not come to its failure']
    for rank in range(PROCESSES):
        judge = judge_victim if rank in drill['victims'] else judge_survivor
        found += judge(drill, seen, rank)
    return found


def judge_start(drill, seen):
    """Before a process is known to the others, what starts it may be the only
    one that can name it; somebody does, and nobody goes on."""
    victim = drill['victims'][0]
    name = rf'(process|processes|process rank|rank) {victim}\b'
    found = [] if any(re.search(name, line) for line in seen['err']) else \
        [f'nobody names process {victim}']
    for rank in range(PROCESSES):
        wanted = [CODES[drill['how']]] if rank == victim else [PEER_FAILED, 1]
        found += judge_code(drill, seen, rank, wanted)
    return found


# ---- something else fails ----------------------------------------------------

def judge_server(drill, seen):
    """Each process of the host names it, and ends; one that has not met it yet
    may come too late to see it."""
    found = []
    wanted = r'\(jd-pmix-server.*was killed or has crashed'
    if drill['moment'] == 'initialize':
        return [] if any('jd-pmix-server' in line for line in seen['err']) \
            else ['nobody names jd-pmix-server']
    for rank in range(PROCESSES):
        lines = lines_of(rank, seen)
        if not any(re.search(wanted, line) for line in lines):
            found.append(f'process {rank} does not say "{wanted}"')
        found += judge_code(drill, seen, rank, [PEER_FAILED])
    return found


def judge_unharmed(drill, seen):
    return [f'process {rank} ended with code {code}, not 0'
            for rank, code in enumerate(seen['codes']) if code != 0] + \
        [f'somebody says: {line}' for line in seen['err'] if ' error ' in line]


def judge_nothing(drill, seen):
    """Who is not named to anybody: nobody is there to hear it."""
    return []


JUDGES = {'initialize': judge_start, 'server': judge_server,
          'both': judge_server,
          'keeper': judge_unharmed, 'mpirun': judge_nothing,
          'jd-run': judge_nothing, 'wrapper': judge_nothing}


# ---- the whole ---------------------------------------------------------------

def judge_end(drill, seen, limit):
    found = [f'process {who} does not end by itself'
             for who in seen['overdue']]
    if drill['how'] in ('wait', 'unharmed') and not seen['killed']:
        found.append('nobody was there to be killed')
    found += [f'{path} is left behind' for path in seen['files']
              if not OF_OPEN_MPI.match(path)]
    found += [f'a segment is left behind: {line}' for line in seen['memory']]
    different = len(list(itertools.groupby(seen['err'])))
    if different > MOST_LINES:
        found.append(f'{different} lines are written to stderr')
    seconds = seen['seconds']
    if limit is not None and seconds is not None and seconds > limit:
        found.append(f'the last survivor ended {seconds:.2f} s after the '
                     f'failure, not within {limit} s')
    return found


def deviations(drill, seen, limit):
    judge = JUDGES.get(drill['kind'], judge_failure)
    return judge(drill, seen) + judge_end(drill, seen, limit)
