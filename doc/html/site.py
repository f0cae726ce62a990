#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The HTML manual: what the public headers say, the pages of doc/, the tools' man
pages and the examples, made a site by MkDocs with its theme Material.

    site.py VERSION MKDOCS MANDOC DEPFILE OUTPUT PICTURE...
    site.py --check MKDOCS      fails where the theme is not there
    site.py --missing TEXT      says why there is no manual, and fails

Nothing in OUTPUT asks for another host, and it needs none that serves it: opened as
files its search works too (search.js).
"""
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.realpath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, 'doc', 'man'))
sys.dont_write_bytecode = True

import pages  # noqa: E402
import reference  # noqa: E402

# What the navigation of mkdocs.yml names is a page, and what these link to.
STARTS = ['README.md', 'CONTRIBUTING.md', 'NEWS.md', 'LICENSE', 'doc/*.md', 'bench/*.md',
          'mpi_examples/README.md', *pages.MAN_PAGES]
OWN = ['jd.css', 'scheme.js', 'search.js']


def write(folder, name, text):
    path = os.path.join(folder, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, 'w', encoding='utf-8') as file:
        file.write(text)


def headers():
    return sorted(glob.glob(os.path.join(ROOT, 'include', 'jd*.h')))


def man_pages():
    return [os.path.splitext(os.path.basename(path))[0] for pattern in pages.MAN_PAGES
            for path in glob.glob(os.path.join(ROOT, pattern))]


def stage(folder, version, names, made):
    """Writes the site's sources into the folder; returns what they were made of."""
    for pattern in STARTS:
        for path in sorted(glob.glob(os.path.join(ROOT, pattern))):
            made.add(os.path.relpath(path, ROOT))
    docs = os.path.join(folder, 'docs')
    for name, text in made.made.items():
        write(docs, name, text)
    for header in names.entries:
        write(docs, f'reference/{header}.md', reference.header_page(header, names))
    write(docs, 'reference/README.md', reference.index_page(names))
    for picture in made.pictures.values():
        shutil.copy(picture, os.path.join(docs, 'doc'))
    for name in OWN:
        shutil.copy(os.path.join(HERE, name), docs)
    configure(folder, version, names)
    return ([os.path.join(ROOT, path) for path in made.read] + headers() +
            glob.glob(os.path.join(HERE, '*')) +
            [os.path.join(ROOT, 'doc', 'man', 'header_entries.py')])


def configure(folder, version, names):
    with open(os.path.join(HERE, 'mkdocs.yml'), encoding='utf-8') as file:
        text = file.read()
    listed = ''.join(f'\n      - {header}: reference/{header}.md'
                     for header in names.entries)
    text = text.replace(' @HEADERS@', listed).replace('@VERSION@', version)
    write(folder, 'mkdocs.yml', text)
    shutil.copytree(os.path.join(HERE, 'theme'), os.path.join(folder, 'theme'))


def build(mkdocs, folder, output):
    """Calls MkDocs, which speaks only where it fails."""
    made = subprocess.run(
        [mkdocs, 'build', '--strict', '--clean', '--config-file',
         os.path.join(folder, 'mkdocs.yml'), '--site-dir', output], check=False,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding='utf-8')
    if made.returncode:
        sys.exit(made.stdout)


def check(mkdocs):
    """Builds a page with the settings of all."""
    with tempfile.TemporaryDirectory() as folder:
        write(folder, 'docs/index.md', '# jd\n')
        configure(folder, '', reference.Names([]))
        text = open(os.path.join(folder, 'mkdocs.yml'), encoding='utf-8').read()
        write(folder, 'mkdocs.yml', text[:text.index('\nnav:')] + '\n')
        build(mkdocs, folder, os.path.join(folder, 'site'))


def tags_of(names):
    """What is found in these places before all others: in the reference the names of
    an entry and of its values, in the table of options each variable."""
    tags = {}
    for found in names.entries.values():
        page = f'reference/{found[0].header}.html'
        for entry in found:
            place = page if entry is found[0] else f'{page}#{entry.names[0]}'
            tags[place] = entry.names + values_of(entry)
    with open(os.path.join(ROOT, 'doc', 'options.md'), encoding='utf-8') as file:
        rows = re.findall(r'^\|.*', file.read(), re.M)
    tags['doc/options.html'] = re.findall(r'`(JD_\w+)`', '\n'.join(rows))
    return tags


def values_of(entry):
    """The enumerators, written out or as rows of a macro."""
    code = '\n'.join(entry.declarations)
    rows = re.findall(r'^ +X\((\w+),', code, re.M)
    return re.findall(r'^ +(JD_\w+)\b(?: =|,|$)', code, re.M) + rows + [
        'JD_' + row for row in rows]


def finish_index(output, names):
    """Adds tags to the search's index, and writes it once more for a browser that may
    not read files."""
    path = os.path.join(output, 'search', 'search_index.json')
    with open(path, encoding='utf-8') as file:
        index = json.load(file)
    tags = tags_of(names)
    for doc in index['docs']:
        if doc['location'] in tags:
            doc['tags'] = tags[doc['location']]
        if doc['location'] == 'doc/options.html':
            # So that "heartbeat timeout" finds JD_HEARTBEAT_TIMEOUT.
            doc['text'] += ' ' + ' '.join(doc['tags']).replace('_', ' ')
    text = json.dumps(index, ensure_ascii=False)
    write(output, 'search/search_index.json', text)
    write(output, 'search/search_index.js',
          'jdSearchIndex(' + text.replace('</', '<\\/') + ');\n')


def without_unused(output):
    """Without what only a server would use, and what the theme has for its authors and
    for other languages."""
    unused = glob.glob(os.path.join(output, 'assets', '**', '*.map'), recursive=True)
    unused += glob.glob(os.path.join(output, 'sitemap.*'))
    for path in unused + glob.glob(os.path.join(output, '404.html')):
        os.remove(path)
    shutil.rmtree(os.path.join(output, 'assets', 'javascripts', 'lunr'),
                  ignore_errors=True)


def main():
    if sys.argv[1] == '--missing':
        sys.exit('the HTML manual ' + sys.argv[2])
    if sys.argv[1] == '--check':
        check(sys.argv[2])
        return
    version, mkdocs, mandoc, depfile, output, *pictures = sys.argv[1:]
    output = os.path.abspath(output)
    names = reference.Names(headers(), man_pages())
    with tempfile.TemporaryDirectory() as folder:
        inputs = stage(folder, version, names,
                       pages.Pages(ROOT, names, mandoc, pictures))
        build(mkdocs, folder, output)
    finish_index(output, names)
    without_unused(output)
    # The time of its folder is what a build compares.
    os.utime(output)
    with open(depfile, 'w', encoding='utf-8') as file:
        file.write(sys.argv[5] + ': ' + ' '.join(
            path.replace(' ', '\\ ') for path in sorted(inputs) if
            os.path.isfile(path)) + '\n')


if __name__ == '__main__':
    main()
