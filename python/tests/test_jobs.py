# SPDX-License-Identifier: BSD-3-Clause
"""Jobs of several processes: how they start, and how they end.

TEST_BUILD is the build folder.
"""
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from needs import build, need

HERE = os.path.dirname(os.path.abspath(__file__))
FOREIGN = re.compile('SLURM_|SRUN_|OMPI_|PMI|PRTE_|FLUX_|JAX_|TPU_|JD_|'
                     'PYTHONUNBUFFERED')
LIMIT = 60 * int(os.environ.get('TEST_TIME_FACTOR', '1'))


def environment(**more):
    found = {name: value for name, value in os.environ.items()
             if not FOREIGN.match(name) or name == 'JD_LIBRARY'}
    found.update(OMPI_ALLOW_RUN_AS_ROOT='1',
                 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM='1',
                 OMPI_MCA_mpi_yield_when_idle='1',
                 PYTHONDONTWRITEBYTECODE='1', JD_PLATFORM='cpu', **more)
    return found


def run(launcher, *arguments, program=os.path.join(HERE, 'job.py'), **more):
    """Exit status, standard output, standard error and seconds."""
    begin = time.monotonic()
    done = subprocess.run([*launcher, sys.executable, program, *arguments],
                          env=environment(**more), stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
                          timeout=LIMIT, universal_newlines=True, check=False)
    return (done.returncode, done.stdout, done.stderr,
            time.monotonic() - begin)


def jd_run(count):
    return [build('tools/jd-run'), '-n', str(count)]


def mpirun(count):
    return ['mpirun', '--oversubscribe', '-n', str(count)]


def need_jd_run(function):
    there = 'TEST_BUILD' in os.environ and \
        os.path.exists(build('runtime/wireup/server/jd-pmix-server'))
    return unittest.skipUnless(there, 'jd was built without PMIx')(function)


class Jobs(unittest.TestCase):
    def ends(self, done, status, *texts):
        """Exit status, and what is in what it printed."""
        said = f'exit status {done[0]}\n{done[1]}\n{done[2]}'
        self.assertEqual(done[0], status, said)
        for text in texts:
            self.assertRegex(done[1] + done[2], text, said)


@need('numpy')
class Launches(Jobs):
    @need_jd_run
    def test_jd_run(self):
        self.ends(run(jd_run(4), 'right'), 0, 'right: 4 processes')

    def test_mpirun(self):
        self.ends(run(mpirun(3), 'right'), 0, 'right: 3 processes')

    def test_alone(self):
        self.ends(run([], 'right'), 0, 'right: 1 process')

    def test_quiet(self):
        """Nothing but what the program says, of JD_LIBRARY neither."""
        self.assertEqual(run(mpirun(2), 'right')[1:3],
                         ('right: 2 processes\n', ''))


class Ends(Jobs):
    """By mpirun: jd-run does not wait for the others' last words."""

    def test_one_raises(self):
        done = run(mpirun(3), 'raises', 'error')
        self.ends(done, 1, 'in raises\n', 'ValueError: the loss\nis not',
                  r'process 1 \(python.*job.py:\d+: uncaught exception: '
                  'UNKNOWN: ValueError: the loss is not finite',
                  'exit code 117')
        self.assertNotIn('went on', done[1])
        self.assertNotIn('Aborted', done[2])
        self.assertLess(done[3], 20)

    def test_one_fails_in_jd(self):
        self.ends(run(mpirun(3), 'raises', 'jd'), 1,
                  'NotFound: jd_kv_try_get of key "nothing"',
                  'uncaught exception: NOT_FOUND: jd_kv_try_get of key')

    def test_one_exits(self):
        self.ends(run(mpirun(3), 'raises', 'exit'), 3,
                  'process 1 .* exited with code 3 without jd_shutdown')

    def test_a_callback_raises(self):
        self.ends(run(mpirun(3), 'raises', 'callback'), 1,
                  'ZeroDivisionError', 'UNKNOWN: ZeroDivisionError: integer')

    def test_a_body_raises(self):
        self.ends(run(mpirun(3), 'raises', 'body'), 1,
                  'IndexError: list index', 'process 1 .*IndexError: list')

    def test_all_raise(self):
        """One line of jd's for all of them."""
        done = run(mpirun(3), 'all_raise')
        self.ends(done, 1, 'error processes 0-2: .*ValueError: all alike')
        self.assertEqual(len(re.findall('uncaught exception', done[2])), 1)

    def test_what_is_caught(self):
        self.ends(run(mpirun(2), 'caught'), 0, 'right')

    def test_a_callback_hears(self):
        self.ends(run(mpirun(2), 'failure'), 1,
                  r'heard of \(1,\): process 1 .*ValueError: of process 1')

    def test_a_child_raises(self):
        done = run(mpirun(2), 'forked')
        self.ends(done, 0, 'ValueError: of the child', 'right')
        self.assertNotIn('uncaught exception', done[2])

    def test_abort(self):
        """What was printed before is not lost."""
        self.ends(run([], 'aborts'), 7, 'kept in a buffer', 'jd_abort: why')

    def test_preemption(self):
        self.ends(run(mpirun(2), 'preempted'), 0, 'right')


class Interrupts(Jobs):
    """SIGINT in a wait is KeyboardInterrupt, and the others end too."""

    def test_in_waits(self):
        for where in ('collective', 'key', 'barrier'):
            with self.subTest(where):
                done = run(mpirun(2), 'interrupted', where)
                self.assertNotEqual(done[0], 0)
                self.assertIn('KeyboardInterrupt was raised', done[1])
                self.assertRegex(done[2], r'process 1 .*KeyboardInterrupt '
                                 r'\(SIGINT\) in jd_')
                self.assertLess(done[3], 20)

    def test_alone(self):
        done = run([], 'interrupted_alone')
        self.ends(done, 130, r'KeyboardInterrupt \(SIGINT\) in jd_kv_get')


@need('mpi4py')
class Mpi4py(Jobs):
    def test_their_communicator(self):
        self.ends(run(mpirun(3), 'with_mpi'), 0, 'right: 3 processes')

    def test_jds_communicator(self):
        self.ends(run(mpirun(2), 'with_jd'), 0, 'right: 2 processes')
        self.ends(run([], 'with_jd'), 0, 'right: 1 process')


class Examples(Jobs):
    """The numbers are those of the examples in C."""

    def examples(self, name):
        return os.path.join(HERE, '..', 'examples', name)

    @need('numpy')
    def test_psum(self):
        for count, total in ((4, '1000000'), (3, '1000')):
            ours = run(mpirun(count), total,
                       program=self.examples('psum.py'))
            theirs = subprocess.run(
                [*mpirun(count), build('mpi_examples/03_psum/psum'), total],
                env=environment(), stdout=subprocess.PIPE, timeout=LIMIT,
                universal_newlines=True, check=True)
            self.assertEqual(ours[:2], (0, theirs.stdout), ours[2])

    @need('numpy')
    def test_arrays(self):
        def lasting(text):
            return [line for line in text.splitlines() if ' ms, ' not in line]
        # Python asks for UTF-8, and gets lines; C's example does not.
        ours = run(mpirun(4), program=self.examples('arrays.py'), LC_ALL='C')
        theirs = subprocess.run(
            [*mpirun(4), build('mpi_examples/10_sharded_arrays/arrays')],
            env=environment(), stdout=subprocess.PIPE, timeout=LIMIT,
            universal_newlines=True, check=True)
        self.assertEqual(ours[0], 0, ours[2])
        self.assertEqual(lasting(ours[1]), lasting(theirs.stdout))


class Libraries(Jobs):
    """Where libjd is looked for."""

    def test_a_wrong_name(self):
        for name, text in (('/nowhere/libjd.so', 'there is no such file'),
                           (HERE, 'libjd.so.0 cannot be loaded'),
                           (os.path.join(HERE, 'job.py'), 'invalid ELF')):
            done = run([], 'with_jd', JD_LIBRARY=name)
            self.ends(done, 1, f'JD_LIBRARY is "{name}", and .*{text}')

    def test_every_place_is_named(self):
        done = self.look_elsewhere()
        self.ends(done, 1, 'libjd was not found. JD_LIBRARY is not set',
                  re.escape(os.path.join(sys.prefix, 'lib', 'libjd.so.0')),
                  'pkg-config --variable=libdir jd', 'LD_LIBRARY_PATH')

    def test_the_loaders_path(self):
        self.ends(self.look_elsewhere(
            LD_LIBRARY_PATH=os.environ['TEST_BUILD']), 0, 'right')

    def look_elsewhere(self, **more):
        with tempfile.TemporaryDirectory() as folder:
            package = os.path.join(folder, 'lib', 'python', 'site')
            shutil.copytree(os.path.join(HERE, '..', 'jd'),
                            os.path.join(package, 'jd'))
            program = os.path.join(folder, 'look.py')
            with open(program, 'w', encoding='utf-8') as file:
                file.write('import jd\njd.initialize()\nprint("right")\n')
            before = dict(os.environ)
            os.environ.pop('JD_LIBRARY', None)
            try:
                return run([], program=program, PYTHONPATH=package,
                           PKG_CONFIG_PATH=folder,
                           **{'LD_LIBRARY_PATH': '', **more})
            finally:
                os.environ.update(before)


def setUpModule():
    if not shutil.which('mpirun'):
        raise unittest.SkipTest('no mpirun here')
    # Jobs end by signals that they send themselves: not ours.
    signal.signal(signal.SIGINT, signal.default_int_handler)


if __name__ == '__main__':
    unittest.main()
