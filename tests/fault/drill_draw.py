# SPDX-License-Identifier: BSD-3-Clause
"""What the jobs of a drill are: ways to fail, moments and launchers, drawn by
a seed. Drill K of a seed is the same whatever else is run.
"""
import random

LAUNCHERS = ('mpirun', 'recovery', 'jd-run', 'by-hand')
OWN_WORLD = ('jd-run', 'by-hand')  # no launcher serves MPI: jd-pmix-server does

CALLS = ('psum-few', 'psum-many', 'all-gather', 'psum-scatter', 'all-to-all',
         'ragged', 'ragged-gather', 'ppermute', 'pbroadcast', 'exchange',
         'jd-barrier', 'first')
MOMENTS = CALLS + ('sync', 'barrier', 'kv', 'broadcast', 'reshard', 'save')
ANY_MOMENT = MOMENTS + ('initialize', 'initialize', 'shutdown')
SIGNALS = ('KILL', 'KILL', 'TERM', 'INT')
DEATHS = ('kill', 'segv', 'abort', '_exit')

# The kinds: how often each comes among the others, drilled.c's HOW, or several,
# where it is not all of them its launchers and moments, how many fail, and what
# is sent to a launcher. Those that take long come
# less often.
KINDS = {
    'kill': {'weight': 4, 'how': ('kill',)},
    'segv': {'weight': 3, 'how': ('segv',)},
    'abort': {'weight': 3, 'how': ('abort',)},
    'exit': {'weight': 3, 'how': ('exit',)},
    '_exit': {'weight': 3, 'how': ('_exit',)},
    'two': {'weight': 2, 'how': DEATHS, 'victims': 2},
    'stop': {'weight': 1, 'how': ('stop',), 'moments': ANY_MOMENT},
    'initialize': {'weight': 3, 'how': DEATHS, 'moments': ('initialize',)},
    'shutdown': {'weight': 3, 'how': DEATHS, 'moments': ('shutdown',)},
    'server': {'weight': 2, 'how': ('wait',), 'launchers': OWN_WORLD,
               'moments': ANY_MOMENT},
    'keeper': {'weight': 1, 'how': ('unharmed',), 'launchers': OWN_WORLD,
               'moments': ('-',)},
    'both': {'weight': 1, 'how': ('wait',), 'launchers': OWN_WORLD,
             'moments': ANY_MOMENT},
    'mpirun': {'weight': 1, 'how': ('wait',), 'moments': ANY_MOMENT,
               'launchers': ('mpirun', 'recovery'), 'signals': SIGNALS},
    'jd-run': {'weight': 1, 'how': ('wait',), 'moments': ANY_MOMENT,
               'launchers': ('jd-run',), 'signals': SIGNALS},
    'wrapper': {'weight': 1, 'how': ('wait',), 'moments': ANY_MOMENT,
                'launchers': ('jd-run',)},
    'close': {'weight': 1, 'how': ('close',)},
    # A sync and a barrier return ABORTED then, and a key may be set by others.
    'leave': {'weight': 1, 'how': ('leave',),
              'moments': CALLS + ('broadcast', 'reshard', 'save')},
}

PROCESSES = 4


def deck_of(seed, number):
    """The kinds in an order of their own, each as often as its weight."""
    deck = [name for name, kind in KINDS.items() for _ in range(kind['weight'])]
    random.Random(f'deck {seed} {number}').shuffle(deck)
    return deck


def kind_of(seed, number):
    """One deck after the other, so that a few drills have every kind."""
    length = len(deck_of(seed, 0))
    place = number - 1
    return deck_of(seed, place // length)[place % length]


def draw(seed, number):
    name = kind_of(seed, number)
    kind = KINDS[name]
    dice = random.Random(f'drill {seed} {number}')
    moment = dice.choice(kind.get('moments', MOMENTS))
    return {
        'number': number,
        'kind': name,
        'how': dice.choice(kind['how']),
        'launcher': dice.choice(kind.get('launchers', LAUNCHERS)),
        'moment': moment,
        'victims': dice.sample(range(PROCESSES), kind.get('victims', 1)),
        'devices': dice.choice((1, 2)),
        'shared': dice.random() < 0.6,
        'calls': dice.choice((1, 2, 5, 20, 60)),
        'signal': dice.choice(kind.get('signals', ('KILL',))),
        'microseconds': draw_delay(dice, moment),
    }


def draw_delay(dice, moment):
    """How long after it could: a start takes longer than a call."""
    if moment == 'initialize':
        return dice.randrange(400000)
    return dice.choice((0, dice.randrange(500), dice.randrange(20000)))


def who(drill):
    """Those that fail: "2", or "3,0"."""
    return ','.join(map(str, drill['victims']))


CULPRITS = {'server': 'jd-pmix-server', 'keeper': "jd-pmix-server's keeper",
            'both': 'jd-pmix-server with its keeper',
            'mpirun': 'mpirun', 'jd-run': 'jd-run',
            'wrapper': 'jd-run with a shell between'}


def title(drill):
    what = f'process {who(drill)} fails by {drill["how"]}'
    if drill['kind'] in CULPRITS:
        what = f'{CULPRITS[drill["kind"]]} gets SIG{drill["signal"]}'
    memory = 'shared memory' if drill['shared'] else 'apart'
    return (f'{drill["number"]}: {what}, {drill["moment"]}, '
            f'{drill["launcher"]}, {PROCESSES} x {drill["devices"]}, {memory}')
