# SPDX-License-Identifier: BSD-3-Clause
"""Sentences and traces name the program's line of Python.

TEST_BUILD is the build folder.
"""
import os
import subprocess
import sys
import tempfile
import unittest

from needs import build, need
from test_jobs import HERE, LIMIT, Jobs, environment, mpirun, run


def place(what, file='placed.py', function=None):
    """"placed.py:12 (late)", of the line that has "# what" at its end."""
    with open(os.path.join(HERE, file), encoding='utf-8') as lines:
        found = [number for number, line in enumerate(lines, 1)
                 if line.rstrip().endswith('  # ' + what)]
    assert len(found) == 1, what
    return rf'{file}:{found[0]} \({function or what}\)'


def placed(launcher, *arguments, **more):
    return run(launcher, *arguments, program=os.path.join(HERE, 'placed.py'),
               **more)


class Sentences(Jobs):
    @need('numpy')
    def test_both_lines_of_a_mismatch(self):
        self.ends(placed(mpirun(2), 'unlike'), 1,
                  'process 1 calls jd_psum of 2 x F64, process 0 calls '
                  'jd_psum of 3 x F64;.*process 1 calls at ' +
                  place('tail', 'placed_other.py') + ', process 0 at ' +
                  place('unlike') + '\n')

    def test_a_deadline(self):
        """What the other does is in its own memory, or asked for."""
        key = 'jd_kv_get, called at ' + place('key', function='late')
        self.ends(placed(mpirun(2), 'late'), 1,
                  key + '; the deadline was 3 s .*it was called at ' +
                  place('late') + '\n', 'process 1.* was in ' + key)

    def test_calls_that_are_alike(self):
        self.ends(placed(mpirun(2), 'alike'), 0)
        self.ends(placed(mpirun(2), 'alike', JD_CHECK_SITES='1'), 1,
                  r'at another place of the program \(JD_CHECK_SITES=1\)'
                  '.*process 1 calls at ' + place('one', function='alike') +
                  ', process 0 at ' + place('two', function='alike'))

    def test_without_the_recorder(self):
        """No line is looked for, but to be compared."""
        done = placed(mpirun(2), 'late', JD_RECORDER='0')
        self.ends(done, 1, 'the deadline was 3 s')
        self.assertNotIn('called at placed.py', done[2])
        self.ends(placed(mpirun(2), 'alike', JD_RECORDER='0',
                         JD_CHECK_SITES='1'), 1,
                  'process 1 calls at ' + place('one', function='alike'))


class Traces(Jobs):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.more = {'JD_TRACE_DIR': self.folder.name}

    def tearDown(self):
        self.folder.cleanup()

    def traced(self):
        """What jd-trace says of what a job has left."""
        done = subprocess.run([build('tools/jd-trace'), self.folder.name],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=LIMIT, universal_newlines=True,
                              check=False)
        return done.returncode, done.stdout, ''

    def test_each_thread_has_its_own(self):
        self.ends(placed([], 'threads', JD_NUM_CPU_DEVICES='2', **self.more),
                  0)
        self.ends(self.traced(), 0,
                  'jd_barrier at ' + place('first', function='body'),
                  'jd_barrier at ' + place('second', function='body'))

    @need('numpy')
    def test_behind_a_with(self):
        self.ends(placed([], 'within', **self.more), 0)
        self.ends(self.traced(), 0,
                  'jd_group_end at ' + place('with', function='within'),
                  'jd_barrier at ' + place('comprehension',
                                           function='(<listcomp>|within)'))

    def test_a_call_between(self):
        self.ends(placed([], 'between', **self.more), 0)
        self.ends(self.traced(), 0,
                  'jd_barrier at ' + place('outer', function='between'))

    def test_in_a_folder_that_is_gone(self):
        program = ('import jd, os, tempfile\n'
                   'with jd.initialize(), jd.make_mesh((-1,), ("x",)):\n'
                   '    with tempfile.TemporaryDirectory() as folder:\n'
                   '        os.chdir(folder)\n'
                   '    jd.barrier()\n')
        done = subprocess.run([sys.executable, '-c', program],
                              env=environment(**self.more), timeout=LIMIT,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              universal_newlines=True, check=False)
        self.ends((done.returncode, done.stdout, done.stderr), 0)
        self.ends(self.traced(), 0, 'jd_barrier at <string>:5')

    def test_what_has_no_file(self):
        program = ('import jd\n'
                   'with jd.initialize(), jd.make_mesh((-1,), ("x",)):\n'
                   '    jd.barrier()\n')
        for arguments, wanted in ((('-c', program), '<string>:3'),
                                  (('-',), '<stdin>:3')):
            subprocess.run([sys.executable, *arguments], input=program,
                           env=environment(**self.more), check=True,
                           timeout=LIMIT, universal_newlines=True)
            self.ends(self.traced(), 0, f'jd_barrier at {wanted}')
