# SPDX-License-Identifier: BSD-3-Clause
"""What doc/python.md and the examples say is there."""
import glob
import os
import re
import unittest

import jd

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), '../..'))
# But for a beginning of several names, jd.make_array_from_*.
NAME = re.compile(r'(?<![\w/.-])jd((?:\.[a-zA-Z_]\w*)+)\b(?!\*)')


def read(path):
    with open(os.path.join(ROOT, path), encoding='utf-8') as file:
        return file.read()


class Page(unittest.TestCase):
    page = read('doc/python.md')

    def test_snippets_are_python(self):
        blocks = re.findall(r'^```python\n(.*?)^```', self.page, re.M | re.S)
        self.assertGreaterEqual(len(blocks), 3)
        for block in blocks:
            compile(block, 'doc/python.md', 'exec')

    def test_names_are_there(self):
        texts = {'doc/python.md': self.page}
        for path in glob.glob(os.path.join(ROOT, 'python/examples/*.py')) + \
                glob.glob(os.path.join(ROOT, 'python/jd/*.py')):
            texts[path] = read(path)
        count = 0
        for path, text in texts.items():
            for dotted in NAME.findall(text):
                found = jd
                for name in dotted[1:].split('.'):
                    found = getattr(found, name, None)
                    self.assertIsNotNone(found, f'{path}: jd{dotted}')
                count += 1
        self.assertGreater(count, 60)

    def test_lines_are_short(self):
        for path in glob.glob(os.path.join(ROOT, 'python/**/*.py'),
                              recursive=True):
            lines = read(path).splitlines()
            self.assertLess(len(lines), 800, path)
            self.assertEqual([line for line in lines if len(line) > 79], [],
                             path)
            self.assertIn('SPDX', lines[0] + lines[1], path)

    def test_public_functions_have_hints(self):
        for name in jd.__all__:
            function = getattr(jd, name)
            if getattr(function, '__module__', '').startswith('jd.') and \
                    not isinstance(function, type):
                self.assertTrue(function.__doc__, name)
                self.assertIn('return', function.__annotations__, name)


if __name__ == '__main__':
    unittest.main()
