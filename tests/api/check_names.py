#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""One word is one thing: a function of the library begins with the name of its
file or its room, a struct tag is defined once, and words that were given up
do not come back, in the library, in its tests and in its pages (doc/glossary.md
has those in use, and at its end those of before).

usage: tests/api/check_names.py [SOURCE_DIR]

Prints each breach as FILE: TEXT and fails where there is one.
"""
import os
import re
import sys

from check_layers import ABOVE, DEFINITION, LIBRARY, bare, files_of, read

# Words that stand for something else today: in code, comments and pages.
RETIRED = [
    'clique', 'cliques', 'team', 'teams', 'teammate', 'jd_between',
    'jd_summary', 'jd_voice', 'jd_belief', 'jd_purpose', 'jd_span',
    'jd_gathering', 'jd_holders', 'jd_arena', 'jd_mail', 'jd_strip',
    'jd_meeting', 'jd_member', 'jd_coordination', 'control block',
    'control blocks', 'handout', 'handouts', 'jd_voiced', 'jd_span_of_block',
    'jd_leaf_span', 'jd_cuda_told', 'jd_cuda_patience', 'jd_listener',
    'fake_clique', 'test_cliques', 'fuzz_between',
]
# Words that are English in a sentence: as a part of a name in C.
RETIRED_PARTS = [
    'keeper', 'card', 'cards', 'holders', 'gatherings', 'seat', 'seats',
    'voiced', 'clique', 'cliques', 'team', 'teams', 'handout', 'handouts',
    'giver', 'givers', 'taker', 'takers', 'spares', 'patience', 'gift', 'gifts',
    'mailbox', 'mail', 'verdict',
]
RETIRED_PREFIXES = [
    'jd__between_', 'jd__clique_', 'jd__cuda_clique_', 'jd__team_', 'jd__arena_', 'jd__mail_',
    'jd__span_', 'jd__group_', 'jd__ending_', 'jd__tell_', 'jd__telling_',
    'jd__gathering_', 'jd__holders_', 'jd__kept_', 'jd__registry_',
    'jd__agreement_', 'jd__peers_', 'jd__coordination_', 'jd__tune_',
]
WORD = re.compile(r'\b(' + '|'.join(RETIRED) + r')\b(?!\.h)|\b(' +
                  '|'.join(RETIRED_PREFIXES) + r')\w+')
PART = re.compile(r'(?<![A-Za-z0-9])(' + '|'.join(RETIRED_PARTS) +
                  r')(?![A-Za-z0-9])', re.I)
STRUCT = re.compile(r'^(?:static )?(?:const )?(?:struct|enum|union) (\w+) \{',
                    re.M)
# A static function stands in a user's backtrace: one word alone does not say
# what was done to what (what runs on a GPU stands in no backtrace),
ONE_WORD = re.compile(r'^static [^;{}()=]*?\b([a-z0-9]+)\([^;{}]*\)\s*\{',
                      re.M)
ATTRIBUTE = re.compile(r'\b__attribute__\(\((?:[^()]|\([^()]*\))*\)\)\s*')
# but for arithmetic that has no other name, waits for nothing and calls nobody.
VOCABULARY = ('earlier', 'later', 'modulo')

# What a file's functions may begin with beside its own name and its room's.
ALSO = {
    'arrays/array/replicas_values.c': ('replica',),
    'base/status.c': ('fail', 'message'),
    'collectives/mesh/axis_comm.c': ('shard',),  # a shard's end of its list
    'collectives/multihost/leaves.c': ('leaf',),
    'runtime/coordination/auth/munge_absent.c': ('munge',),
    'runtime/coordination/server/greet.c': ('service',),
}
EXEMPT = ('doc/glossary.md', 'tests/api/test_source.sh')
# Each platform has its own; and between hosts a range, a message and a run.
DEFINED_TWICE = ('jd_comm', 'message', 'run')


def beginnings(path):
    """What the functions of the file may begin with."""
    stem = os.path.splitext(os.path.basename(path))[0]
    words = stem.split('_')
    found = ['_'.join(words[:n]) for n in range(1, len(words) + 1)]
    found.append(stem[:-1] if stem.endswith('s') else stem)
    found.append(os.path.basename(os.path.dirname(path)))
    return (*found, *ALSO.get(path, ()))


def check_functions(path, code):
    for name in DEFINITION.findall(code):
        plain = name[len('jd__'):]
        if name.startswith('jd__') and not any(
                plain == begin or plain.startswith(begin + '_')
                for begin in beginnings(path)):
            yield f'{path}: {name} does not begin with its file or its room'


def check_static(path, code):
    for name in ONE_WORD.findall(ATTRIBUTE.sub('', code)):
        if name not in VOCABULARY:
            yield f'{path}: {name}() does not say what it does'


def check_words(path, text):
    for match in WORD.finditer(text):
        line = text.count('\n', 0, match.start()) + 1
        yield f'{path}: line {line}: "{match.group()}" was given up'


def check_parts(path, code):
    for match in PART.finditer(code):
        yield f'{path}: "{match.group()}" in a name was given up'


def pages_of(folder):
    """The pages and scripts, but for those that have the old words to say what
    they were."""
    for where, dirs, names in os.walk(folder):
        dirs[:] = sorted(d for d in dirs
                         if not d.startswith(('.', 'build')))
        for name in sorted(names):
            path = os.path.normpath(os.path.join(where, name))
            if name.endswith(('.md', '.sh')) and path not in EXEMPT:
                yield path


def check_tags(texts):
    homes = {}
    for path, text in texts.items():
        for tag in STRUCT.findall(text):
            homes.setdefault(tag, []).append(path)
    for tag, paths in homes.items():
        if len(paths) > 1 and tag not in DEFINED_TWICE:
            yield f'{paths[0]}: {tag} is defined in {paths[1]} too'


def main(arguments):
    if arguments and arguments[0] in ('-h', '--help'):
        print(__doc__.strip())
        return 0
    os.chdir(arguments[0] if arguments else
             os.path.join(os.path.dirname(os.path.abspath(__file__)), '../..'))
    texts = {path: read(path)
             for path in files_of(LIBRARY + ABOVE + ('tests/',))}
    library = {path: text for path, text in texts.items()
               if path.startswith(LIBRARY)}
    found = [breach for path, text in texts.items()
             for breach in check_words(path, text)]
    found += [breach for path in pages_of('.')
              for breach in check_words(path, read(path))]
    found += [breach for path, text in texts.items()
              for breach in check_parts(path, bare(text))]
    found += [breach for path, text in library.items()
              if path.endswith('.c') and
              not path.startswith(('autodetect/', 'collectives/cuda/'))
              for breach in check_functions(path, bare(text))]
    found += [breach for path, text in library.items()
              if path.endswith(('.c', '.h'))
              for breach in check_static(path, bare(text))]
    found += check_tags({path: bare(text) for path, text in library.items()})
    print('\n'.join(found), end='\n' if found else '')
    return 1 if found else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
