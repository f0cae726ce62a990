#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What the public headers say, for the writers of the manual's formats.

A comment that stands before declarations, with no empty line between, is an entry: of
all that is declared up to the next comment; a header's first one is the entry of the
header. Doxygen would want each parameter and section marked up; the comments are
prose with a few words before a colon, and stay so.
"""
import os
import re

# The words before a colon, and the headings that they become, in the page's order.
SECTIONS = {
    'In place': 'IN PLACE',
    'Collective': 'WHO MUST CALL',
    'Blocks': 'WAITING',
    'Threads': 'THREADS',
    'Owns': 'OWNERSHIP',
    'Returns': 'RETURN VALUE AND ERRORS',
    'Source': 'SOURCE',
}
TAG = re.compile(r'(?:(?<=^)|(?<=[.;)] ))(%s):(?:\s+|$)' % '|'.join(SECTIONS))
COMMENT = re.compile(r'^/\*.*?\*/\n', re.M | re.S)
PART = re.compile(r'^/\* -{4} (.*?) -*\s?\*/$', re.M)
# "axes        one name, several ...": a word, and what it means in a column.
TERM = re.compile(r'^(\S+(?: \S+)?) {2,}(\S.*)$')
DECLARED = re.compile(
    r'^JD_API [^;]*;|^typedef (?:struct|enum) \w+ \{.*?^\} \w+;|^typedef [^{;]*;'
    r'|^#define (?:jd|JD)_\w+[^\n]*(?:(?<=\\)\n[^\n]*)*', re.M | re.S)


class Entry:
    """A comment and what is declared below it."""

    def __init__(self, header, comment, code, before):
        self.header = header
        self.lines = text_of(comment)
        self.declarations = [
            found.group() for found in DECLARED.finditer(code)
            if is_public(name_of(found.group()))]
        self.names = list(dict.fromkeys(map(name_of, self.declarations)))
        self.before = before
        # The heading that it stands under: /* ---- reductions ---- */
        self.part = None


def text_of(comment):
    """The lines of a comment without its stars."""
    body = comment.strip()[2:-2].strip('\n')
    lines = [re.sub(r'^ ?\* ?', '', line).rstrip()
             for line in body.strip().split('\n')]
    # A header's begins with its own name.
    lines[0] = re.sub(r'^jd\w*\.h - (\w)', lambda found: found[1].upper(), lines[0])
    return lines


def name_of(declaration):
    text = re.sub(r'/\*.*?\*/', '', declaration, flags=re.S)
    if text.startswith('#define'):
        return re.match(r'#define (\w+)', text)[1]
    if text.startswith('JD_API'):
        return re.search(r'\b(jd_\w+)\(', text)[1]
    if pointer := re.search(r'\(\*(jd_\w+)\)', text):
        return pointer[1]
    return re.search(r'(\w+);$', text)[1]


def is_public(name):
    """Not what guards a header or makes only its own declarations."""
    return not (name.endswith('_H') or name in (
        'JD_API', 'JD_NORETURN', 'JD_FORMAT', 'JD_STATUS_ENUM_ROW',
        'JD_DTYPE_ENUM_ROW'))


def entries_of(path):
    """The header's entries; the first is the one of the header itself."""
    with open(path, encoding='utf-8') as file:
        text = file.read()
    # Behind the declarations stands what is C++'s, and jd_initialize's macro.
    text = text.split('\n#ifdef __cplusplus\n}')[0]
    header, comments = os.path.basename(path), list(COMMENT.finditer(text))
    comments = [found for found in comments
                if not re.match(r'/\* (SPDX|----|clang-format)', found.group())]
    entries = []
    for found, following in zip(comments, comments[1:] + [None]):
        code = text[found.end():following.start() if following else None]
        before = entries[-1] if entries else None
        entry = Entry(header, found.group(), code, before)
        if entries and not entry.names and not code.strip():
            continue
        parts = PART.findall(text, 0, found.start())
        entry.part = parts[-1] if parts else None
        entries.append(entry)
    entries[0].names.insert(0, header)
    return [entry for entry in entries if entry.names]


def blocks_of(lines):
    """(kind, text) of each paragraph: text, code, term, or a tag's name.
    An item of a list is one."""
    blocks, kind, held, column = [], 'text', [], 0

    def close():
        nonlocal kind, held
        if held:
            blocks.append((kind, held))
        kind, held = 'text', []

    for line in lines:
        indent = len(line) - len(line.lstrip())
        tag, term = TAG.match(line), TERM.match(line)
        if not line:
            if kind == 'code':
                held.append('')
            else:
                close()
        elif kind == 'code' and indent >= 4:
            held.append(line[4:])
        elif indent >= 4 and kind != 'term' and (
                not held or kind == 'text' and held[-1].endswith(':')):
            close()
            kind, held = 'code', [line[4:]]
        elif term and not tag and indent == 0:
            close()
            kind, held, column = 'term', [term[1], term[2]], line.index(term[2])
        elif kind == 'code' or (tag or line.startswith('- ')) and indent == 0 or (
                kind == 'term' and indent < column):
            close()
            held = [line.strip()]
        else:
            held.append(line.strip())
    close()
    return [part for block in blocks for part in split_tags(*block)]


def split_tags(kind, held):
    """A paragraph cut at the tags in it."""
    if kind in ('code', 'term'):
        return [(kind, held)]
    parts = TAG.split(' '.join(held))
    cut = [('text', [parts[0].strip()])] if parts[0].strip() else []
    for tag, text in zip(parts[1::2], parts[2::2]):
        text = text.strip()
        cut.append((tag, [text[:1].upper() + text[1:] if tag != 'In place' and
                          not text.startswith('jax.') else text]))
    return cut


def summary(entry):
    """The sentence behind the names, without its details."""
    text = ' '.join(line for kind, held in blocks_of(entry.lines)[:1]
                    for line in held)
    text = re.split(r'[.:;](?: |$)', text)[0]
    if len(text) > 78 and ', ' in text[:78]:
        text = text[:78].rsplit(', ', 1)[0]
    if same := base_of(entry):
        text = re.sub(r'^The same,?', f'as {same.names[0]}()', text)
    return text[0].lower() + text[1:] if not text[1:2].isupper() else text


def base_of(entry):
    """The call that "The same ..." is about."""
    if not entry.lines[0].startswith('The same'):
        return None
    before = entry.before
    while before and not declares_call(before):
        before = before.before
    return before


def declares_call(entry):
    return any(one.startswith('JD_API') for one in entry.declarations)


def synopsis(entry):
    """The declarations as a program sees them, in lines."""
    include = entry.header if entry.header == 'jd_mpi.h' else 'jd.h'
    lines = [f'#include <{include}>']
    for declaration in entry.declarations:
        if declaration.startswith('#define'):
            declaration = re.sub(r' *\\\n', r' \\\n', declaration)
        else:
            shown = re.sub(r'^JD_API (JD_NORETURN )?', '', declaration)
            gone = len(declaration) - len(shown)
            declaration = re.sub(r'\n {%d}' % gone, '\n', shown) if gone else shown
        lines += [''] + declaration.split('\n')
    return lines
