# SPDX-License-Identifier: BSD-3-Clause
"""What ctypes is told of jd's interface is what the headers say."""
import ctypes
import glob
import os
import re
import shlex
import shutil
import subprocess
import tempfile
import unittest

from jd import _ffi, errors

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), '../..'))
INCLUDE = os.path.join(ROOT, 'include')
PACKAGE = os.path.join(ROOT, 'python', 'jd')
DECLARATION = re.compile(r'^JD_API ([^;(]*?)(jd_\w+)\(([^;]*)\)[^;()]*;', re.M)
INTEGERS = {'int': ctypes.c_int, 'size_t': ctypes.c_size_t,
            'int32_t': ctypes.c_int32, 'int64_t': ctypes.c_int64,
            'double': ctypes.c_double, 'jd_status': ctypes.c_int,
            'jd_dtype': ctypes.c_int, 'jd_edge': ctypes.c_int,
            'jd_op': ctypes.c_int, 'jd_scan_kind': ctypes.c_int}


def read(path):
    with open(path, encoding='utf-8') as file:
        return file.read()


def without_comments(text):
    return re.sub(r'/\*.*?\*/', ' ', text, flags=re.S)


def declared():
    """Name, what it returns and what it takes, of each public function."""
    found = {}
    for path in sorted(glob.glob(os.path.join(INCLUDE, '*.h'))):
        text = without_comments(read(path))
        text = re.sub(r'\\\n', ' ', text)
        for returns, name, takes in DECLARATION.findall(text):
            takes = re.sub(r'\)\s*JD_FORMAT\(.*', '', takes, flags=re.S)
            found[name] = (returns.replace('JD_NORETURN', '').strip(), takes)
    return found


def split_parameters(text):
    """At the commas that are in no parentheses."""
    parts, depth = [''], 0
    for mark in text:
        depth += (mark == '(') - (mark == ')')
        if mark == ',' and depth == 0:
            parts.append('')
        else:
            parts[-1] += mark
    parts = [' '.join(part.split()) for part in parts]
    return [] if parts == ['void'] else parts


def kind_of_c(text):
    """A parameter or a result of C as ctypes' class; pointers are one."""
    text = text.rstrip(')') if text.count('(') < text.count(')') else text
    if '*' in text or text.split()[0] in ('jd_peer_failure_f',
                                            'jd_reduce_f'):
        return 'pointer'
    words = [word for word in text.split() if word != 'const']
    return INTEGERS.get(words[0], words[0])


def kind_of_ctypes(kind):
    pointers = (ctypes.c_void_p, ctypes.c_char_p)
    if kind is None:
        return 'void'
    if kind in pointers or hasattr(kind, '_type_') and not isinstance(
            kind._type_, str) or issubclass(kind, ctypes._CFuncPtr):
        return 'pointer'
    return kind


class Functions(unittest.TestCase):
    def test_headers_are_read(self):
        found = declared()
        self.assertGreater(len(found), 100)
        for name in ('jd_psum', 'jd_abort', 'jd_devices', 'jd_fail_with',
                     'jd_ragged_all_to_all', 'jd_mesh_axis_names'):
            self.assertIn(name, found)

    def test_none_is_missing(self):
        known = set(_ffi.PROTOTYPES) | set(_ffi.LEFT_OUT)
        self.assertEqual(
            sorted(set(declared()) - known), [],
            'public functions of include/*.h that the package neither wraps '
            'nor names as left out (_ffi.LEFT_OUT, with the reason)')

    def test_none_is_of_before(self):
        known = set(_ffi.PROTOTYPES) | set(_ffi.LEFT_OUT)
        self.assertEqual(sorted(known - set(declared())), [])
        self.assertEqual(set(_ffi.PROTOTYPES) & set(_ffi.LEFT_OUT), set())
        for reason in _ffi.LEFT_OUT.values():
            self.assertGreater(len(reason), 10)

    def test_all_are_called(self):
        """A prototype is no wrapper: some function has to call it."""
        text = ''.join(read(path)
                       for path in glob.glob(os.path.join(PACKAGE, '*.py'))
                       if not path.endswith('_ffi.py'))
        text += read(os.path.join(PACKAGE, '_ffi.py')).split('LEFT_OUT')[-1]
        unused = [name for name in _ffi.PROTOTYPES
                  if not re.search(rf"'{name}'|lib\.{name}\b", text)]
        self.assertEqual(unused, [])

    def test_parameters_are_alike(self):
        for name, (returns, takes) in declared().items():
            if name in _ffi.LEFT_OUT or _ffi.PROTOTYPES[name][1] is None:
                continue
            restype, argtypes = _ffi.PROTOTYPES[name]
            parameters = split_parameters(takes)
            if parameters and parameters[-1] == '...':
                parameters[-1] = 'char *'  # of "%s"
            with self.subTest(name):
                self.assertEqual([kind_of_ctypes(kind) for kind in argtypes],
                                 [kind_of_c(text) for text in parameters])
                self.assertEqual(kind_of_ctypes(restype), kind_of_c(returns))


class Layouts(unittest.TestCase):
    """A C program says sizes, offsets and numbers."""

    @classmethod
    def setUpClass(cls):
        compiler = shlex.split(os.environ.get('CC', 'cc'))
        if not shutil.which(compiler[0]):
            raise unittest.SkipTest(f'no compiler {compiler[0]} here')
        with tempfile.TemporaryDirectory() as folder:
            source = os.path.join(folder, 'layout.c')
            program = os.path.join(folder, 'layout')
            with open(source, 'w', encoding='utf-8') as file:
                file.write(cls.program())
            subprocess.run([*compiler, '-I', INCLUDE, '-o', program, source],
                           check=True)
            out = subprocess.run([program], check=True,
                                 stdout=subprocess.PIPE).stdout.decode()
        cls.said = dict(line.split('=') for line in out.splitlines())

    @staticmethod
    def program():
        lines = ['#include <jd.h>', '#include <stddef.h>',
                 '#include <stdio.h>', 'int main(void) {']

        def say(key, value):
            lines.append(f'printf("{key}=%lld\\n", (long long)({value}));')

        for struct in _ffi.STRUCTS:
            tag = struct.__name__
            say(tag, f'sizeof({tag})')
            for field in struct._fields_:
                member = field[0].rstrip('_') if field[0] == 'from_' \
                    else field[0]
                key = f'{tag}.{field[0]}'
                say(key, f'offsetof({tag}, {member})')
                say(key + '.size', f'sizeof((({tag} *)0)->{member})')
        say('MAX_NDIM', 'JD_MAX_NDIM')
        say('jd_status', 'sizeof(jd_status)')
        say('jd_dtype', 'sizeof(jd_dtype)')
        say('jd_edge', 'sizeof(jd_edge)')
        say('jd_op', 'sizeof(jd_op)')
        say('jd_scan_kind', 'sizeof(jd_scan_kind)')
        lines += [
            '#define S(name, number, text) '
            'printf("status.%s=%d\\n", #name, JD_##name);',
            'JD_STATUS_MAP(S)',
            '#define D(name, number, size) '
            'printf("dtype.%s=%d,%d\\n", #name, JD_##name, size);',
            'JD_DTYPE_MAP(D)', 'JD_STORAGE_DTYPE_MAP(D)', 'return 0; }']
        return '\n'.join(lines)

    def test_structs(self):
        for struct in _ffi.STRUCTS:
            tag = struct.__name__
            with self.subTest(tag):
                self.assertEqual(int(self.said[tag]), ctypes.sizeof(struct))
                for field in struct._fields_:
                    place = getattr(struct, field[0])
                    self.assertEqual(
                        (int(self.said[f'{tag}.{field[0]}']),
                         int(self.said[f'{tag}.{field[0]}.size'])),
                        (place.offset, place.size), field[0])

    def test_all_structs_are_there(self):
        """Those with members that the headers define."""
        found = set()
        for path in glob.glob(os.path.join(INCLUDE, '*.h')):
            found |= set(re.findall(r'^typedef struct (jd_\w+) \{',
                                    without_comments(read(path)), re.M))
        self.assertEqual(found, {s.__name__ for s in _ffi.STRUCTS})

    def test_members_are_all_there(self):
        """A member at the end that ctypes has not would change no offset of
        another."""
        for path in glob.glob(os.path.join(INCLUDE, '*.h')):
            text = without_comments(read(path))
            for tag, body in re.findall(
                    r'^typedef struct (jd_\w+) \{(.*?)^\}', text, re.M | re.S):
                members = re.findall(r'(\w+)(?:\[\w+\])?;', body)
                struct = getattr(_ffi, tag)
                with self.subTest(tag):
                    self.assertEqual(
                        members, [f[0] if f[0] != 'from_' else 'from'
                                  for f in struct._fields_])

    def test_statuses(self):
        said = {name[len('status.'):]: int(value)
                for name, value in self.said.items()
                if name.startswith('status.')}
        self.assertEqual(said.pop('OK'), _ffi.OK)
        words = {kind.status: re.sub('(?<!^)(?=[A-Z])', '_',
                                     kind.__name__).upper()
                 for kind in errors.CLASSES.values()}
        self.assertEqual({number: name for name, number in said.items()},
                         words)

    def test_types(self):
        said = {name[len('dtype.'):]: tuple(map(int, value.split(',')))
                for name, value in self.said.items()
                if name.startswith('dtype.')}
        self.assertEqual(said, _ffi.DTYPES)
        self.assertEqual(int(self.said['MAX_NDIM']), _ffi.MAX_NDIM)
        for enum in ('jd_status', 'jd_dtype', 'jd_edge', 'jd_op',
                     'jd_scan_kind'):
            self.assertEqual(int(self.said[enum]),
                             ctypes.sizeof(ctypes.c_int))


if __name__ == '__main__':
    unittest.main()
