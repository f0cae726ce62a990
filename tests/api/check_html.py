#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What a site of the HTML manual lacks, a line each.

    check_html.py names SITE <NAMES     public names without an entry
    check_html.py links SITE            links that lead nowhere in it
    check_html.py hosts SITE            what would be fetched from elsewhere
    check_html.py pictures SITE SOURCE_DIR    pictures that pages ask for and have not
    check_html.py lists SITE            pages with items of a list that are none
    check_html.py search SITE QUESTION WANTED    where the search leads instead
"""
import glob
import html.parser
import json
import os
import re
import sys
import xml.etree.ElementTree
from urllib.parse import unquote, urlsplit

# How a page of the tree asks for a picture: Markdown, and a man page.
ASKS = re.compile(r'^(?:<!--|\.\\") picture: (\S+)', re.M)
SHAPES = {'rect', 'path', 'text', 'line', 'polygon', 'circle'}
# Attributes whose value a browser fetches by itself; of <link> what it has to.
FETCHED = {'src', 'srcset', 'data', 'poster', 'background'}


class Page(html.parser.HTMLParser):
    """The anchors, links and fetched addresses of a page."""

    def __init__(self, path):
        super().__init__()
        self.anchors, self.links, self.fetched = set(), [], []
        with open(path, encoding='utf-8') as file:
            text = file.read()
        self.feed(text)
        self.fetched += addresses_of_css(' '.join(
            re.findall(r'<style.*?</style>|style="[^"]*"', text, re.S)))

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            if name in ('id', 'name') and value:
                self.anchors.add(value)
            elif name in FETCHED or name == 'href' and tag == 'link':
                self.fetched.append(value or '')
            elif name == 'href':
                self.links.append(value or '')


def addresses_of_css(text):
    found = re.findall(r'url\(\s*["\']?([^"\')]+)|@import\s+["\']([^"\']+)', text)
    return [first or second for first, second in found]


def pages_of(site):
    return {path: Page(path) for path in sorted(
        glob.glob(os.path.join(site, '**', '*.html'), recursive=True))}


def missing_names(site, names):
    """Names whose entry is not there, or is a heading of others."""
    anchors = set()
    for path, page in pages_of(os.path.join(site, 'reference')).items():
        if not path.endswith('index.html'):
            anchors |= page.anchors
    return [f'{name} has no entry' for name in names if name not in anchors]


def dead_links(site):
    pages, dead = pages_of(site), []
    for path, page in pages.items():
        for link in page.links + page.fetched:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = os.path.normpath(os.path.join(
                os.path.dirname(path), unquote(parts.path))) if parts.path else path
            anchor = unquote(parts.fragment)
            if not os.path.isfile(target):
                dead.append(f'{os.path.relpath(path, site)}: {link}: no such file')
            elif anchor and target in pages and anchor not in pages[target].anchors \
                    and not anchor.startswith('__'):
                dead.append(f'{os.path.relpath(path, site)}: {link}: no such anchor')
    return dead


def other_hosts(site):
    """Addresses with a host. (A link that a reader follows is none of them.)"""
    fetched = {path: page.fetched for path, page in pages_of(site).items()}
    for path in glob.glob(os.path.join(site, '**', '*.css'), recursive=True):
        with open(path, encoding='utf-8') as file:
            fetched[path] = addresses_of_css(file.read())
    return [f'{os.path.relpath(path, site)}: {one}' for path, all_ in fetched.items()
            for one in all_ if urlsplit(one).netloc and not one.startswith('data:')]


def broken_lists(site):
    """Pages on which a line of a paragraph begins as an item of a list does."""
    broken = []
    for path in pages_of(site):
        with open(path, encoding='utf-8') as file:
            text = re.sub(r'(?s)<pre.*?</pre>', '', file.read())
        if any(re.search(r'^\s*- ', paragraph, re.M) for paragraph in
               re.findall(r'(?s)<p>(.*?)</p>', text)):
            broken.append(f'{os.path.relpath(path, site)}: an item in a paragraph')
    return broken


def page_of(path):
    """The page of the site that is made of one of the tree."""
    if not path.endswith('.md'):
        return f'tools/{os.path.basename(path)[:-2]}.html'
    return re.sub(r'README$', 'index', path[:-3]) + '.html'


def asked_for(source):
    """Each page with a picture that it asks for."""
    asked = []
    for pattern in ('*.md', 'doc/*.md', 'bench/*.md', 'bench/*.1', 'tools/*/*.1'):
        for path in sorted(glob.glob(os.path.join(source, pattern))):
            with open(path, encoding='utf-8') as file:
                page = page_of(os.path.relpath(path, source))
                asked += [(page, name) for name in ASKS.findall(file.read())]
    return asked


def what_is_wrong(picture):
    """Of a file that should be a picture."""
    if not os.path.isfile(picture):
        return 'is not there'
    root = xml.etree.ElementTree.parse(picture).getroot()
    shapes = sum(part.tag.rpartition('}')[2] in SHAPES for part in root.iter())
    return 'is empty' if shapes < 5 else None


def missing_pictures(site, source):
    missing = []
    for name, picture in asked_for(source):
        page = Page(os.path.join(site, name))
        links = [os.path.normpath(os.path.join(site, os.path.dirname(name), link))
                 for link in page.fetched if link.endswith('/' + picture) or
                 link == picture]
        wrong = what_is_wrong(links[0]) if links else 'is not shown'
        missing += [f'{name}: {picture} {wrong}'] if wrong else []
    return missing if asked_for(source) else ['no page asks for a picture']


def words(text):
    return re.findall(r"[a-z0-9_']+", text.lower())


def score(doc, asked):
    """As the theme's: tags before titles before text, and short before long; of a
    sentence what it says before the variable that it names (search.js)."""
    weight = 0
    fields = (('tags', 1e6), ('title', 1e3), ('text', 1))
    for field, factor in fields if len(asked) <= 3 else fields[1:]:
        text = doc.get(field, '')
        there = words(' '.join(text) if isinstance(text, list) else text)
        weight += sum(factor * there.count(word) / (len(there) + 20) for word in asked)
    return weight


def led_astray(site, question, wanted):
    """Where the search leads first, if it is not to what is wanted."""
    with open(os.path.join(site, 'search', 'search_index.json'),
              encoding='utf-8') as file:
        docs = json.load(file)['docs']
    asked = words(question)
    best = max(docs, key=lambda doc: score(doc, asked))['location']
    return [] if best.startswith(wanted) else [f'{question}: {best}, not {wanted}']


def main():
    what, site = sys.argv[1:3]
    if what == 'names':
        found = missing_names(site, sys.stdin.read().split())
    elif what == 'links':
        found = dead_links(site)
    elif what == 'hosts':
        found = other_hosts(site)
    elif what == 'lists':
        found = broken_lists(site)
    elif what == 'pictures':
        found = missing_pictures(site, *sys.argv[3:])
    else:
        found = led_astray(site, *sys.argv[3:])
    print('\n'.join(found), end='\n' if found else '')
    sys.exit(bool(found))


if __name__ == '__main__':
    main()
