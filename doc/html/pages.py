# SPDX-License-Identifier: BSD-3-Clause
"""The pages of the HTML manual that are the tree's own: Markdown, sources, man pages.

A page keeps its place in the tree, and with that its links to other pages. Links to
what is no page lead to one that is made of it: a header's to the reference, that of a
folder or of a source to a page that shows it.
"""
import os
import posixpath
import re
import subprocess

# What asks for a picture that the build makes, in Markdown and in a man page; a forge
# shows nothing there.
PICTURE = re.compile(r'(?:<!--|^\.\\") picture: (?P<file>\S+) (?P<words>[^\n]*?)'
                     r'(?: -->|$)', re.M)
LANGUAGES = {'.c': 'c', '.h': 'c', '.cu': 'c', '.cpp': 'cpp', '.hpp': 'cpp',
             '.py': 'python', '.f90': 'fortran', '.proto': 'protobuf'}
MAN_PAGES = ['tools/*/*.1', 'bench/*.1', 'arrays/checkpoint/*.5']
# Code that is a block: a fence, or indented lines behind an empty one.
BLOCK = re.compile(r'(^```.*?^```$|(?:(?<=\n\n)|\A)(?:(?: {4}[^\n]*)?\n)+)',
                   re.M | re.S)
# A list right behind a paragraph: on a forge it is one, for MkDocs behind an empty
# line only.
LIST = re.compile(r'^((?![-*] |[|>#<]|\d+\. )\S[^\n]*\n)(?=(?:[-*]|1\.) )', re.M)
# What is looked at in a line: a link to the tree, and a public name that is code.
LOOKED_AT = re.compile(
    r'(?<!!)\[(?P<text>[^\]]*)\]\((?!https?:|mailto:|#)(?P<path>[^)#\s]+)'
    r'(?P<anchor>#[^)\s]*)?\)|`(?P<name>(?:jd|JD)_\w+)(?:\(\))?`|'
    r'\[[^\]]*\]\([^)]*\)|`[^`]+`')


class Pages:
    """The pages, by their names in the site; makes those that links ask for."""

    def __init__(self, root, names, mandoc, pictures):
        self.root = root
        self.names = names
        self.mandoc = mandoc
        self.pictures = {os.path.basename(path): path for path in pictures}
        self.made = {}
        self.read = set()

    def text(self, path):
        self.read.add(path)
        with open(os.path.join(self.root, path), encoding='utf-8') as file:
            return file.read()

    def add(self, path):
        """The page of a file or folder of the tree; returns its name in the site."""
        full = os.path.join(self.root, path)
        if os.path.isdir(full) and os.path.exists(os.path.join(full, 'README.md')):
            path = posixpath.join(path, 'README.md')
            full = os.path.join(self.root, path)
        if path == 'include':
            return 'reference/README.md'
        if path.startswith('include/'):
            return f'reference/{posixpath.basename(path)}.md'
        if re.search(r'\.\d$', path):
            name = re.sub(r'(?:.*/)(.*)\.\d$', r'tools/\1.md', path)
        else:
            name = path if path.endswith('.md') else path + '.md'
        if name not in self.made:
            self.made[name] = ''  # pages lead to each other
            self.made[name] = self.make(path, full)
        return name

    def make(self, path, full):
        if os.path.isdir(full):
            return f'# {path}\n\n' + self.sources(path, '##')
        if re.search(r'\.\d$', path):
            shown = [f'## A picture\n\n{found["words"]}.\n\n' +
                     self.picture(found, 'tools')
                     for found in PICTURE.finditer(self.text(path))
                     if found['file'] in self.pictures]
            return self.man_links(man_page(full, self.mandoc)) + '\n\n'.join(shown)
        if not path.endswith('.md'):
            return f'# {posixpath.basename(path)}\n\n' + self.source(path)
        text = self.adapt(self.text(path), posixpath.dirname(path))
        if path.startswith('mpi_examples/') and path.count('/') > 1:
            text += '\n## The sources\n\n' + self.sources(
                posixpath.dirname(path), '###')
        return text

    def picture(self, found, folder):
        """A picture, in a frame that is scrolled where it is too small; or nothing."""
        if found['file'] not in self.pictures:
            return ''
        path = posixpath.relpath('doc/' + found['file'], folder or '.')
        return (f'<div class="picture" markdown="1">\n\n[![{found["words"]}]({path})]'
                f'({path})\n\n</div>')

    def man_links(self, text):
        """jd_psum(3), jd-info(1): to their entry and page."""
        def link(found):
            name = found[1]
            if name in self.names.pages:
                page = '../reference/' + self.names.pages[name].replace('.md', '.html')
            elif name in self.names.man_pages:
                page = name + '.html'
            else:
                return found[0]
            return f'<a href="{page}">{found[0]}</a>'
        return re.sub(r'<b>(jd[-\w]*(?:\.h)?)</b>\(\d?\)', link, text)

    def sources(self, folder, level):
        """The sources of a folder, one below the other."""
        found = sorted(name for name in os.listdir(os.path.join(self.root, folder))
                       if os.path.splitext(name)[1] in LANGUAGES)
        return ''.join(f'{level} {name}\n\n' + self.source(f'{folder}/{name}')
                       for name in found)

    def source(self, path):
        language = LANGUAGES.get(os.path.splitext(path)[1], 'text')
        # No source has a line of four backquotes.
        return f'````{language}\n{self.text(path).rstrip()}\n````\n\n'

    def adapt(self, text, folder):
        """A Markdown page of the tree, as one of the site."""
        text = re.sub(r'<!-- errors:begin -->\n(.*?)<!-- errors:end -->',
                      lambda found: error_sections(found[1]), text, flags=re.S)
        parts = BLOCK.split(text)
        parts[::2] = [LOOKED_AT.sub(lambda found: self.link(found, folder), part)
                      for part in parts[::2]]
        parts[::2] = [LIST.sub(r'\1\n', PICTURE.sub(
            lambda found: self.picture(found, folder), part)) for part in parts[::2]]
        return ''.join(parts)

    def link(self, found, folder):
        """A link, to where it leads in the site; a name, which leads to its entry."""
        if found['path']:
            path = self.add(posixpath.normpath(posixpath.join(folder, found['path'])))
            path = posixpath.relpath(path, folder or '.')
            return f'[{found["text"]}]({path}{found["anchor"] or ""})'
        line = found.string[:found.start()].rsplit('\n', 1)[-1]
        if not found['name'] or line.startswith('#'):
            return found[0]
        base = posixpath.relpath('reference', folder or '.')
        return self.names.link(found['name'], found[0], base + '/')


def cells(row):
    row = row.strip().strip('|').replace('\\|', '\0')
    return [cell.strip().replace('\0', '|') for cell in row.split('|')]


def error_sections(table):
    """The rows of a table of errors as headings, so that the search finds each by the
    words of its sentence."""
    lines = []
    for row in table.strip().split('\n')[2:]:
        sentence, happened, help_ = cells(row)
        lines += ['', f'### {sentence}', '', happened[:1].upper() + happened[1:] + '.',
                  '', f'**What to do:** {help_}.']
    return '\n'.join(lines)


def man_page(path, mandoc):
    """A page of section 1, as mandoc writes it."""
    html = subprocess.run([mandoc, '-Thtml', '-O', 'fragment', path], check=True,
                          stdout=subprocess.PIPE, encoding='utf-8').stdout
    html = re.sub(r'(?s)<table class="(?:head|foot)">.*?</table>\n', '', html)
    name = re.sub(r'\.\d$', '', os.path.basename(path))
    parts = re.split(r'(?s)<h1 class="Sh".*?>([^<]*)</a></h1>', html)
    lines = [f'# {name}', '']
    for head, body in zip(parts[1::2], parts[2::2]):
        head = ' '.join(head.split())
        body = re.sub(r'</?section[^>]*>|<div class="manual-text">|\A\s*|</div>\s*\Z',
                      '', body)
        body = re.sub(r' id="[^"]*"|<a class="permalink"[^>]*>|</a>', '', body)
        body = re.sub(r'<h2 class="Ss">(.*?)</h2>', r'<p><b>\1</b></p>', body)
        lines += [] if head == 'NAME' else [f'## {head.capitalize()}', '']
        # One block: Markdown would take what stands behind an empty line.
        lines += ['<div class="man">', blank_lines(body).strip(), '</div>', '']
    return '\n'.join(lines)


def blank_lines(html):
    """Without empty lines but for those that are shown, which keep their height."""
    parts = re.split(r'(?s)(<pre>.*?</pre>)', html)
    parts[1::2] = [part.replace('\n\n', '\n&#8203;\n') for part in parts[1::2]]
    return re.sub(r'\n\s*\n', '\n', ''.join(parts))
