# SPDX-License-Identifier: BSD-3-Clause
"""One job of a drill, from inside the namespaces that are the job's alone. This
process is the first one there: whoever loses his parent is its child, and what
is left when the job is over was left behind.
"""
import ctypes
import itertools
import os
import resource
import signal
import subprocess
import time

import drill_judge
from drill_draw import PROCESSES, who

FACTOR = int(os.environ.get('TEST_TIME_FACTOR', 1))
LIMIT = 60 * FACTOR  # seconds: whoever runs then does not end by himself
# Of jd's own deadlines, which are to pass.
DEADLINE_FACTOR = int(os.environ.get('TEST_DEADLINE_FACTOR', 1))
HEARTBEAT = 5 * DEADLINE_FACTOR  # s, where somebody is stopped
POLL = 0.005  # s
MOST_TEXT = 1 << 20
WORK = '/run/drill'
EMPTY = ('/tmp', '/var/tmp', '/dev/shm', '/run')
SPACE = b'size=256m'  # for each: a job that writes without end fills no machine
ADDRESS = '127.0.0.1:7117'

MS_BIND = 4096
libc = ctypes.CDLL(None, use_errno=True)


# ---- the place ---------------------------------------------------------------

def mount(source, target, kind, flags=0, data=None):
    if libc.mount(source.encode(), target.encode(), kind, flags, data) != 0:
        raise OSError(ctypes.get_errno(), f'mount of {target}')


def make_place(build):
    """Empty directories over those that programs share; the build stays."""
    fd = os.open(build, os.O_PATH)
    for directory in EMPTY:
        mount('tmpfs', directory, b'tmpfs', data=SPACE)
        os.chmod(directory, 0o1777)
    if not os.path.exists(build):
        os.makedirs(build)
        mount(f'/proc/self/fd/{fd}', build, None, MS_BIND)
    os.close(fd)
    os.makedirs(WORK + '/marks')
    subprocess.run(['ip', 'link', 'set', 'lo', 'up'], check=True)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def found_files():
    """What is in those directories, one path each."""
    found = []
    for top in EMPTY:
        device = os.lstat(top).st_dev
        for directory, names, files in os.walk(top):
            names[:] = [name for name in names if is_within(
                os.path.join(directory, name), device)]
            if not names:
                found += [directory] if directory not in EMPTY else []
            found += [os.path.join(directory, name) for name in files]
    return sorted(found)


def is_within(path, device):
    return path != WORK and os.lstat(path).st_dev == device


def left_memory():
    """The segments of System V shared memory."""
    with open('/proc/sysvipc/shm', encoding='ascii') as table:
        return table.read().splitlines()[1:]


# ---- processes ---------------------------------------------------------------

def read(path):
    """What is in a file, of a very long one its beginning and its end."""
    try:
        with open(path, 'rb') as file:
            data = file.read(MOST_TEXT)
            rest = os.fstat(file.fileno()).st_size - len(data)
            if rest > MOST_TEXT:
                file.seek(-MOST_TEXT, os.SEEK_END)
                data += b'\n...\n'
            return (data + file.read()).decode(errors='replace')
    except OSError:
        return ''


def others():
    """The ids of all processes here but this one."""
    return [int(name) for name in os.listdir('/proc')
            if name.isdigit() and int(name) != os.getpid()]


def describe(pid):
    words = read(f'/proc/{pid}/cmdline').replace('\0', ' ').strip()
    state = read(f'/proc/{pid}/stat').rpartition(')')[2].split()[:1]
    return f'{pid} {words or read(f"/proc/{pid}/comm").strip()} {state}'


def named(name):
    """The processes that are called so."""
    return [pid for pid in others()
            if read(f'/proc/{pid}/comm').strip() == name]


def reap():
    """Takes the codes of the children, and of those that lost their parent."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0] != 0:
            pass
    except ChildProcessError:
        pass


def signal_all(pids, number):
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass


# ---- the job -----------------------------------------------------------------

def mark(name):
    return f'{WORK}/marks/{name}'


def make_mark(name):
    open(mark(name), 'w', encoding='ascii').close()


def environment(drill):
    kept = ('PATH', 'HOME', 'LANG', 'LD_LIBRARY_PATH', 'ASAN_OPTIONS',
            'UBSAN_OPTIONS', 'LSAN_OPTIONS')
    env = {name: os.environ[name] for name in kept if name in os.environ}
    env.update(
        FAULT_DIR=WORK + '/marks', JD_PLATFORM='cpu',
        JD_NUM_CPU_DEVICES=str(drill['devices']),
        OMPI_ALLOW_RUN_AS_ROOT='1', OMPI_ALLOW_RUN_AS_ROOT_CONFIRM='1',
        OMPI_MCA_mpi_yield_when_idle='1')
    if not drill['shared']:
        env['JD_SHARED_MEMORY'] = '0'
    if drill['how'] == 'stop':
        env['JD_HEARTBEAT_TIMEOUT'] = str(HEARTBEAT)
    if drill['moment'] == 'initialize':
        env['JD_INITIALIZATION_TIMEOUT'] = str(20 * DEADLINE_FACTOR)
    return env


def is_watched(drill):
    """Whether each process's code is seen by a witness, which would be one
    more process between a launcher that is killed and its job."""
    return drill['kind'] not in ('mpirun', 'jd-run', 'wrapper')


def program(drill, build):
    words = [f'{build}/tests/fault/drilled', drill['how'], who(drill),
             drill['moment'], str(drill['calls']), str(drill['microseconds'])]
    if is_watched(drill):
        words.insert(0, f'{build}/tests/fault/witness')
    if drill['kind'] == 'wrapper':
        words = ['sh', '-c', '"$@"; exit $?', 'sh', *words]
    return words


def commands(drill, build, strict):
    """The command lines of the job, each with what its environment has more."""
    count = str(PROCESSES)
    if drill['launcher'] == 'by-hand':
        return [([], {'JD_COORDINATOR_ADDRESS': ADDRESS, 'JD_PROCESS_ID': str(i),
                      'JD_NUM_PROCESSES': count}) for i in range(PROCESSES)]
    if drill['launcher'] == 'jd-run':
        grace = [] if strict else ['--grace', str(LIMIT / 2)]
        return [([f'{build}/tools/jd-run', '-n', count, *grace, '--'], {})]
    more = []
    if drill['launcher'] == 'recovery':
        more = ['--enable-recovery', '--mca', 'orte_abort_on_non_zero_status',
                '0']
    return [(['mpirun', '--oversubscribe', *more, '-n', count], {})]


def who_stays(drill):
    """Those of whose ends a launcher that ends the others hears last: all have
    to have spoken before."""
    if drill['launcher'] not in ('mpirun', 'jd-run'):
        return ''
    if len(drill['victims']) > 1:
        return ' '.join(map(str, range(PROCESSES)))
    return ' '.join(map(str, survivors(drill)))


def start(drill, build, strict):
    env = dict(environment(drill), FAULT_STAY=who_stays(drill),
               FAULT_STDERR=f'{WORK}/err')
    with open(f'{WORK}/out', 'ab') as out, open(f'{WORK}/err', 'ab') as err:
        return [subprocess.Popen(
            [*launcher, *program(drill, build)], cwd=WORK, stdout=out,
            stderr=err, stdin=subprocess.DEVNULL, env=dict(env, **more))
            for launcher, more in commands(drill, build, strict)]


# ---- from outside ------------------------------------------------------------

class Attack:
    """What this process does to the job."""

    def __init__(self, drill, jobs):
        self.drill = drill
        self.launcher = jobs[0].pid
        self.at = None  # when somebody was killed
        self.killed = None  # how many

    def targets(self):
        if self.drill['kind'] in ('mpirun', 'jd-run', 'wrapper'):
            return [self.launcher]
        keepers = named('jd-pmix-keeper')
        if self.drill['kind'] == 'keeper' or not keepers:
            return keepers
        if self.drill['kind'] == 'both':
            return keepers + named('jd-pmix-server')
        # Before there is a keeper nobody can clean up; who starts both is older.
        return [max(named('jd-pmix-server'), default=keepers[0])]

    def is_due(self):
        """In a start there is no sign: as soon as there is somebody to kill."""
        if self.drill['how'] not in ('wait', 'unharmed') or self.at:
            return False
        if self.drill['moment'] == 'initialize':
            return bool(self.targets())
        return os.path.exists(mark('ready'))

    def kill(self):
        time.sleep(self.drill['microseconds'] / 1e6)
        targets = self.targets()
        self.at = time.time()
        self.killed = len(targets)
        signal_all(targets, signal.Signals['SIG' + self.drill['signal']])
        if self.drill['kind'] == 'keeper':
            while targets and os.path.exists(f'/proc/{targets[0]}'):
                time.sleep(POLL)
                reap()
            make_mark('go')

    def step(self):
        if self.is_due():
            self.kill()
        if self.drill['how'] == 'stop' and survivors_ended(self.drill):
            signal_all([int(read(mark('failed')) or 0) or 2 ** 22],
                       signal.SIGCONT)


def survivors(drill):
    return [i for i in range(PROCESSES) if i not in drill['victims']]


def survivors_ended(drill):
    return all(os.path.exists(mark(f'code.{i}')) for i in survivors(drill))


def time_of(name):
    try:
        return os.stat(mark(name)).st_mtime
    except OSError:
        return None


def measure(drill, attack, end):
    """From the failure to the end of the last survivor, in seconds."""
    begin = time_of('failed') if attack.at is None else attack.at
    ends = [time_of(f'code.{i}') for i in survivors(drill)]
    if begin is None or drill['kind'] == 'keeper':
        return None
    return (max(ends) if is_watched(drill) and None not in ends else end) - begin


def wait_for_all(step):
    """Until nobody is there; gives those who are there too late. Calls step
    again and again."""
    limit = time.monotonic() + LIMIT
    while True:
        reap()
        pids = others()
        if not pids:
            return []
        if time.monotonic() > limit:
            late = [describe(pid) for pid in pids]
            signal_all(pids, signal.SIGKILL)
            return late
        step()
        time.sleep(POLL)


def watch(drill, jobs):
    attack = Attack(drill, jobs)
    late = wait_for_all(attack.step)
    return {'overdue': late, 'killed': attack.killed, 'codes': codes(),
            'seconds': measure(drill, attack, time.time())}


def codes():
    """The exit code of each process, None where nobody saw it."""
    texts = [read(mark(f'code.{i}')).strip() for i in range(PROCESSES)]
    return [int(text) if text else None for text in texts]


def start_another(build):
    """Of whom nobody was left to clean up, the next start does."""
    make_mark('go')
    drill = {'kind': '', 'how': 'unharmed', 'victims': [0], 'moment': '-',
             'calls': 1, 'microseconds': 0, 'launcher': 'jd-run', 'devices': 1,
             'shared': True}
    start(drill, build, False)
    late = wait_for_all(lambda: None)
    if late or any(codes()):
        raise RuntimeError(f'the next job fails: {late}, {codes()}, '
                           f'{read(f"{WORK}/err")}')


def shorten(prefix, lines):
    """Lines that repeat once, with their number."""
    return [f'{prefix}{line}' + (f' ({times} times)' if times > 1 else '')
            for line, times in ((line, len(list(same)))
                                for line, same in itertools.groupby(lines))]


def run(drill, build, strict):
    make_place(build)
    before = found_files()
    env = environment(drill)
    jobs = start(drill, build, strict)
    seen = watch(drill, jobs)
    if drill['kind'] == 'both':
        start_another(build)
    seen.update(failed=os.path.exists(mark('failed')),
                files=[path for path in found_files()
                       if path not in before], memory=left_memory(),
                err=read(f'{WORK}/err').splitlines(),
                out=read(f'{WORK}/out').splitlines())
    limit = None
    if strict:
        limit = 2 + (HEARTBEAT if drill['how'] == 'stop' else 0)
    return {
        'deviations': drill_judge.deviations(drill, seen, limit),
        'seconds': seen['seconds'],
        'lines': [f'environment: {name}={value}'
                  for name, value in sorted(env.items())
                  if name.startswith('JD_')] +
                 [f'codes: {seen["codes"]}, seconds: {seen["seconds"]}'] +
                 shorten('stdout: ', seen['out']) +
                 shorten('stderr: ', seen['err']),
    }
