# SPDX-License-Identifier: BSD-3-Clause
"""The reference of the HTML manual: a page for each public header, with a heading for
each of its comments and an anchor for each name that is declared there."""
import re

from header_entries import (
    SECTIONS, base_of, blocks_of, declares_call, entries_of, summary, synopsis)


class Names:
    """Where each public name is explained."""

    def __init__(self, headers, man_pages=()):
        self.entries = {}
        self.pages = {}
        self.man_pages = man_pages
        for path in headers:
            found = entries_of(path)
            header = found[0].header
            self.entries[header] = found
            for entry in found:
                for name in entry.names:
                    self.pages[name] = (
                        f'{header}.md' + ('' if name == header else f'#{name}'))
            self.pages[header] = f'{header}.md'

    def link(self, name, text, folder):
        """Markdown for the text, which leads to the name where there is one."""
        if name not in self.pages:
            return text
        return f'[{text}]({folder}{self.pages[name]})'


def escape(text):
    """What Markdown takes as it stands."""
    text = re.sub(r'([\\`*_\[\]{}])', r'\\\1', text)
    text = text.replace('&', '&amp;').replace('<', '&lt;')
    return re.sub(r'^(#|[-+>] |\d+\. )', r'\\\1', text)


def prose(text, names, own):
    """A paragraph, its public names as code that leads to them."""
    parts = re.split(
        r'\b((?:jd|JD)_\w+(?:\.h)?(?:\(\))?|jd\.h|jd-\w+\(\d\))', text)
    for i, part in enumerate(parts):
        name = part.removesuffix('()')
        if i % 2 == 0:
            parts[i] = escape(part)
        elif name in own:
            parts[i] = f'`{part}`'
        elif name in names.pages:
            parts[i] = names.link(name, f'`{part}`', '')
        elif name[:-3] in names.man_pages:
            parts[i] = f'[`{part}`](../tools/{name[:-3]}.md)'
        else:
            parts[i] = f'`{part}`' if part.endswith('()') else escape(part)
    return ''.join(parts)


def markdown(blocks, names, own):
    """The paragraphs of an entry; what stands behind a tag is an item of a list."""
    lines = []
    for kind, held in blocks:
        if kind == 'code':
            lines += ['```c', *'\n'.join(held).rstrip().split('\n'), '```', '']
        elif kind == 'text':
            text = ' '.join(held)
            item = '- ' if text.startswith('- ') else ''
            lines += [item + prose(text.removeprefix(item), names, own), '']
        else:
            term = kind if kind in SECTIONS else held[0]
            said = held if kind in SECTIONS else held[1:]
            lines += [escape(term), ':   ' + prose(' '.join(said), names, own), '']
    return lines


def inherited(entry, head):
    """The line that says what holds for it too, of what its header says."""
    said = {kind for kind, _ in blocks_of(entry.lines)}
    common = {kind for kind, _ in blocks_of(head.lines) if kind in SECTIONS}
    left = [kind for kind in SECTIONS if kind in common - said]
    if 'Returns' in common & said:
        left.append('Returns (beside the above)')
    if not left or not declares_call(entry) or entry is head:
        return []
    return [f'{", ".join(left)}',
            f':   as for [all calls of {entry.header}]({entry.header}.md).', '']


def entry_section(entry, head, names, depth):
    """The heading, the anchors of the other names, the declarations and the text."""
    first, *others = entry.names
    lines = ['#' * depth + f' {", ".join(entry.names)} {{: #{first} }}', '']
    if others:
        lines += [''.join(f'<span id="{name}"></span>' for name in others), '']
    lines += ['```c', *synopsis(entry)[2:], '```', '']
    if same := base_of(entry):
        lines += ['As ' + prose(f'{same.names[0]}()', names, ()) +
                  ', of which this is said:', '']
        lines += ['<blockquote markdown="1">', '', *markdown(
            [block for block in blocks_of(same.lines) if block[0] not in SECTIONS],
            names, entry.names), '</blockquote>', '']
    return (lines + markdown(blocks_of(entry.lines), names, entry.names) +
            inherited(entry, head))


def header_page(header, names):
    """The page of a header."""
    head, *entries = names.entries[header]
    include = '#include <jd_mpi.h>' if header == 'jd_mpi.h' else '#include <jd.h>'
    lines = [f'# {header}', '', '```c', include, '```', '']
    lines += markdown(blocks_of(head.lines), names, head.names)
    if head.declarations:
        lines += [''.join(f'<span id="{name}"></span>' for name in head.names[1:]), '',
                  '```c', *synopsis(head)[2:], '```', '']
    part = None
    for entry in entries:
        if entry.part != part:
            lines += [f'## {entry.part[0].upper()}{entry.part[1:]}', '']
            part = entry.part
        lines += entry_section(entry, head, names, 3 if part else 2)
    return '\n'.join(lines)


def index_page(names):
    """What each header is for, and all names."""
    lines = ['# Reference', '',
             'A program includes `jd.h`, which has all of them but `jd_mpi.h`.', '',
             '| header | |', '|---|---|']
    for header, (head, *_) in names.entries.items():
        lines.append(f'| {names.link(header, header, "")} | '
                     f'{escape(summary(head))} |')
    lines += ['', '## All names', '', '| name | |', '|---|---|']
    rows = [(name, entry) for found in names.entries.values() for entry in found
            for name in entry.names if name != entry.header]
    for name, entry in sorted(rows, key=lambda row: row[0].lower()):
        lines.append(f'| {names.link(name, f"`{name}`", "")} | '
                     f'{escape(summary(entry))} |'.replace('\n', ' '))
    return '\n'.join(lines) + '\n'
