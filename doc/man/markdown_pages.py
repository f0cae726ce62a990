#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The manual's section 7, out of the pages of doc/.

    markdown_pages.py VERSION NAME TITLE FILE.md >NAME.7

Knows what those pages use of Markdown: headings, paragraphs, lists, tables, code
that is indented or fenced, bold, `code` and links. (pandoc would do it too, and is
400 MB of packages.)
"""
import re
import sys

# The pages that name each other.
PAGES = [('jd\\-info', 1), ('jd\\-run', 1), ('jd_initialize', 3), ('jd', 7),
         ('jd\\-errors', 7), ('jd\\-launching', 7), ('jd\\-security', 7)]
ITEM = re.compile(r'^(?:[-*]|(\d+)\.) (.*)$')


def escape(text):
    text = text.replace('\\', '\\e')
    return re.sub(r"(?m)^([.'])", r'\\&\1', text)


def inline(text):
    """Bold for code and what is bold; a link's text, without its address."""
    text = re.sub(r'\[([^\]]*)\]\((?!http)[^)]*\)', r'\1', text)
    text = re.sub(r'\[([^\]]*)\]\(([^)]*)\)', r'\1 (\2)', text)
    parts = re.split(r'(`+[^`]+`+|\*\*[^*]+\*\*)', text)
    for i in range(1, len(parts), 2):
        bare = parts[i].strip('`') if parts[i][0] == '`' else parts[i][2:-2]
        parts[i] = '\\fB' + bare.replace('\\', '\\e').replace('-', '\\-') + '\\fR'
    parts[::2] = [part.replace('\\', '\\e') for part in parts[::2]]
    text = ''.join(parts)
    return '\\&' + text if text[:1] in ".'" else text


def cells(row):
    row = row.strip().strip('|').replace('\\|', '\0')
    return [cell.strip().replace('\0', '|') for cell in row.split('|')]


def table(rows):
    """A row is an item: its first cell, and then each cell that says something,
    behind its column's name where there are several."""
    heads, lines = cells(rows[0]), []
    for row in rows[2:]:
        first, *rest = cells(row)
        said = [(head, cell) for head, cell in zip(heads[1:], rest) if cell]
        first = inline(first) or '\\ '
        lines += ['.TP', first if '\\f' in first else f'\\fB{first}\\fR']
        lines += ['.br\n'.join(
            inline(cell if len(heads) <= 2 or not head else f'{head}: {cell}') + '\n'
            for head, cell in said).strip() or '\\ ']
    return lines


def code(rows):
    step = '.in +4n' if max(map(len, rows)) <= 68 else '.in +0n'
    text = escape('\n'.join(rows).rstrip()).replace('-', '\\-')
    return ['.PP', step, '.EX', text, '.EE', '.in']


def block(rows):
    """The lines of one block: what stands between empty lines."""
    if rows[0].startswith('#'):
        depth, text = re.match(r'(#+) (.*)', rows[0]).groups()
        head = inline(text.upper() if len(depth) <= 2 else text)
        return [('.SH ' if len(depth) <= 2 else '.SS ') + head] + (
            block(rows[1:]) if rows[1:] else [])
    if rows[0].startswith('|'):
        return table(rows)
    if rows[0].startswith('    '):
        return code([row[4:] for row in rows])
    lines, held = [], []
    for row in rows + ['- ']:
        item = ITEM.match(row)
        if item and held:
            lines.append(inline(' '.join(held)))
            held = []
        elif not held and not item:
            lines.append('.PP')
        if item and row != '- ':
            lines.append('.IP %s 4n' % (item[1] + '.' if item[1] else '\\(bu'))
            row = item[2]
        held.append(row.strip())
    return lines


def blocks_of(text):
    """Runs of lines; code goes on over empty lines, and a fence to its end."""
    text = re.sub(r'(?ms)^```\w*\n(.*?)^```$', lambda found: re.sub(
        r'(?m)^', '    ', found[1]).rstrip(' '), text)
    found, held = [], []
    for line in text.split('\n') + ['']:
        line = line.rstrip() if line.strip() else ''
        is_code = held and held[0].startswith('    ')
        if line and is_code and not line.startswith('    ') or (
                not line and held and not is_code) or (
                line.startswith('    ') and held and held[-1] and not is_code
                and not ITEM.match(held[0])):
            found.append(held)
            held = []
        if line or is_code and held:
            held.append(line)
    return found + ([held] if held else [])


def page(version, name, title, text):
    # REUSE-IgnoreStart
    licence = '.\\" SPDX-License-Identifier: BSD-3-Clause'
    # REUSE-IgnoreEnd
    lines = [licence,
             '.\\" Made of the page of doc/ by markdown_pages.py.',
             f'.TH {name.upper()} 7 "" "jd {version}" "jd manual"',
             '.ad l', '.nr HY 0', '.nh', '.SH NAME',
             name.replace('-', '\\-') + ' \\- ' + title, '.SH DESCRIPTION']
    for rows in blocks_of(re.sub(r'(?s)<!--.*?-->\n?', '', text)):
        if rows[0].startswith('# '):
            rows = rows[1:]
        if rows:
            lines += block(rows)
    lines.append('.SH SEE ALSO')
    lines += [f'.BR {other} ({section}),' for other, section in PAGES
              if other != name.replace('-', '\\-')]
    lines[-1] = lines[-1].rstrip(',')
    return '\n'.join(needed(lines)) + '\n'


def needed(lines):
    """Without the paragraphs that a heading or an item begins itself."""
    return [line for before, line, after in zip(
        [''] + lines, lines, lines[1:] + ['']) if line != '.PP' or not (
            before[:3] in ('.SH', '.SS') or after[:3] in ('.IP', '.TP', '.SH'))]


def main():
    version, name, title, path = sys.argv[1:]
    with open(path, encoding='utf-8') as file:
        sys.stdout.write(page(version, name, title, file.read()))


if __name__ == '__main__':
    main()
