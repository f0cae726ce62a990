#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The manual's section 3, out of the comments of the public headers.

    header_pages.py --list HEADER...            the pages' names, a line each
    header_pages.py VERSION FOLDER HEADER...    writes them

Each comment is the page of all that is declared below it (header_entries.py); what a
header's first one says of Collective, Blocks, Threads, ... holds for its calls where
they say nothing themselves.
"""
import os
import re
import sys

from header_entries import (
    SECTIONS, base_of, blocks_of, declares_call, entries_of, summary, synopsis)


def escape(text):
    """What troff takes as it stands."""
    text = text.replace('\\', '\\e')
    text = re.sub(r"(?m)^([.'])", r'\\&\1', text)
    return text


def marked(text):
    """Calls in bold, as the manual's other pages have them."""
    return re.sub(r'\b(jd_\w+)\(\)', r'\\fB\1\\fR()', escape(text))


def troff(blocks):
    """The paragraphs of one section."""
    lines = []
    for kind, held in blocks:
        if kind == 'code':
            code = escape('\n'.join(held).rstrip()).replace('-', '\\-')
            wide = max(map(len, held))
            step = '+4n' if wide <= 68 else '+0n' if wide <= 72 else '0'
            lines += ['.PP', '.in ' + step, '.EX', code, '.EE', '.in']
        elif kind == 'term':
            lines += ['.TP 12n', '.B ' + escape(held[0]),
                      marked(' '.join(held[1:]))]
        else:
            lines += ['.PP', marked(' '.join(held))]
    return lines[1:] if lines[:1] == ['.PP'] else lines


def troff_synopsis(entry):
    lines = synopsis(entry)
    code = '\n'.join(escape(line).replace('-', '\\-') for line in lines)
    # What is wider than a page with its margin begins at the left.
    margin = ['.in 0'] if max(map(len, lines)) > 72 else []
    return margin + ['.EX', code, '.EE'] + ['.in'] * len(margin)


def sections(entry, head):
    """{heading: lines}, the entry's own and those of its header."""
    found, said = {'DESCRIPTION': []}, set()
    if same := base_of(entry):
        found['DESCRIPTION'] += [('text', [
            f'As {same.names[0]}(), of which this is said:'])]
        found['DESCRIPTION'] += [
            block for block in blocks_of(same.lines) if block[0] not in SECTIONS]
        found['DESCRIPTION'] += [('text', [f'{entry.names[0]}() differs:'])]
    for kind, held in blocks_of(entry.lines):
        found.setdefault(SECTIONS.get(kind, 'DESCRIPTION'), []).append(
            (kind, held))
        said.add(kind)
    if head is not entry and declares_call(entry):
        found['DESCRIPTION'].append(('text', [
            f'What its calls have in common is in {entry.header}(3).']))
        for kind, held in blocks_of(head.lines):
            if kind in SECTIONS and kind in said and kind == 'Returns':
                held = [f'As all calls of {entry.header}:', *held]
            if kind in SECTIONS and (kind not in said or kind == 'Returns'):
                found.setdefault(SECTIONS[kind], []).append((kind, held))
    return found


def see_also(entry, pages):
    """What the comment names, the header, and where errors are explained."""
    named = re.findall(r'\b(jd_\w+)\b', ' '.join(entry.lines))
    named = sorted((set(named) & pages) - set(entry.names))
    if entry.header not in entry.names:
        named.append(entry.header)
    return [f'.BR {name} (3),' for name in named] + ['.BR jd\\-errors (7)']


def page(entry, head, pages, version):
    # REUSE-IgnoreStart
    licence = '.\\" SPDX-License-Identifier: BSD-3-Clause'
    # REUSE-IgnoreEnd
    lines = [licence,
             f'.\\" Made of include/{entry.header} by header_pages.py.',
             f'.TH {entry.names[0].upper()} 3 "" "jd {version}" "jd manual"',
             '.ad l', '.nr HY 0', '.nh', '.SH NAME',
             ', '.join(entry.names) + ' \\- ' + escape(summary(entry)), '.SH SYNOPSIS']
    lines += troff_synopsis(entry)
    found = sections(entry, head)
    for heading in ['DESCRIPTION', *SECTIONS.values()]:
        if found.get(heading):
            lines += ['.SH ' + heading, *troff(found[heading])]
    also = see_also(entry, pages)
    lines += ['.SH SEE ALSO', *also]
    return '\n'.join(lines) + '\n'


def write(version, folder, headers):
    heads = [entries_of(path) for path in headers]
    pages = {name for entries in heads for entry in entries
             for name in entry.names}
    for entries in heads:
        for entry in entries:
            first = entry.names[0]
            for name in entry.names:
                text = page(entry, entries[0], pages, version)
                if name != first:
                    text = f'.so man3/{first}.3\n'
                path = os.path.join(folder, name + '.3')
                with open(path, 'w', encoding='utf-8') as file:
                    file.write(text)


def main():
    if sys.argv[1] == '--list':
        for path in sys.argv[2:]:
            for entry in entries_of(path):
                print('\n'.join(entry.names))
    else:
        write(sys.argv[1], sys.argv[2], sys.argv[3:])


if __name__ == '__main__':
    main()
