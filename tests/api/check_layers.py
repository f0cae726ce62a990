#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The rooms of the house stand in one order: no file includes a header of a
higher room, nor calls a function that a higher room defines, and no files of
the library call each other in a circle but those that are one class.

usage: tests/api/check_layers.py [--graph] [SOURCE_DIR]

Prints each breach as FILE: TEXT and fails where there is one. --graph prints
how many files, calls and circles there are instead.
"""
import os
import re
import sys

# Lowest first. A room's number is its place here; what is in none of them
# (bench, tools, mpi_examples) stands above all.
ROOMS = [
    'include',
    'base',
    'autodetect',
    'runtime/mpi',
    'runtime/topology',
    'runtime/recorder',
    'runtime/coordination/net',
    'runtime/coordination/auth',
    'runtime/coordination/server',
    'runtime/coordination/client',
    'runtime/coordination/failure',
    'runtime/coordination/preemption',
    'runtime/coordination/session',
    'runtime/wireup',
    'runtime/wireup/server',
    'runtime/process',
    'runtime/api',
    'collectives/kernels',
    'collectives/check',
    'collectives/platform',
    'collectives/schedule',
    'collectives/channel',
    'collectives/mesh',
    'collectives/cpu/heap',
    'collectives/cpu/shm',
    'collectives/cpu/inter',
    'collectives/cpu',
    'collectives/cuda',
    'collectives/api',
    'collectives/multihost',
    'arrays/sharding',
    'arrays/array',
    'arrays/reshard',
    'arrays/gather',
    'arrays/halo',
    'arrays/checkpoint',
]
NUMBER = {room: number for number, room in enumerate(ROOMS)}
LIBRARY = ('include/', 'base/', 'autodetect/', 'runtime/', 'collectives/',
           'arrays/')
ABOVE = ('tools/', 'bench/', 'mpi_examples/')

# Files of one room that call each other in a circle: the private header over
# which they are one class, who belongs to it, and why it is one. Nobody else
# may be in a circle, and a class that has none any more goes from this list.
CLASSES = {
    # A plan is made in one go; its parts share its arrays.
    'arrays/reshard/plan_private.h': 'plan plan_kind plan_pieces',
    # Blocks, pages and slabs of one range, under one lock.
    'collectives/cpu/heap/heap_private.h':
        'heap_blocks heap_pages heap_range heap_slabs',
    # Room is what the host, its nodes and its cgroups leave together.
    'collectives/cpu/heap/heap_space.h': 'heap_cgroup heap_nodes heap_space',
    # Parts of one collective by the other's messages.
    'collectives/cpu/inter/inter_private.h':
        'inter inter_gather inter_transfer',
    # A group of members: its wait looks at what pairs send, and they wait.
    'collectives/cpu/shm/shm_private.h': 'shm shm_cma shm_levels shm_p2p shm_wait',
    # One reduction in three ways, which give what is left to each other.
    'collectives/cpu/shm/shm_reduce_private.h':
        'shm_reduce shm_reduce_bounce shm_reduce_cma',
    # A communicator on GPUs, its stream and what waits there.
    'collectives/cuda/comm.h': 'comm staging stream stream_wait',
    # A shard, its mesh, its communicators along axes, and its twin.
    'collectives/mesh/shard.h':
        'axis_comm axis_comm_numbers mesh shard started',
    # The agent's connection: greeting, heartbeats and calls of one state.
    'runtime/coordination/client/agent_private.h':
        'agent agent_connect agent_greet agent_heartbeat',
    # The service is one state machine.
    'runtime/coordination/server/service_private.h':
        'admission barriers blocked circle_search circles failures followed '
        'greet kv pending preemption_sync processes quota service sites '
        'stacks stragglers strangers traces',
}

COMMENT = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|'
                     r"'(?:\\.|[^'\\\n])*'", re.S)
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*["<]([^">]+)[">]', re.M)
DEFINITION = re.compile(r'^(?!static\b|typedef\b|#)[A-Za-z_][^\n;{}()=]*?'
                        r'\b(\w+)\([^;{}]*\)\s*\{', re.M)
CALL = re.compile(r'\b(jd_\w+)\s*\(')


def room_of(path):
    """The room's number; above all for what is not of the library."""
    folder = os.path.dirname(path).replace('collectives/cuda/kernels',
                                           'collectives/cuda')
    return NUMBER.get(folder, len(ROOMS))


def check_room(path):
    if path.startswith(LIBRARY) and room_of(path) == len(ROOMS):
        yield f'{path}: stands in no room'


def read(path):
    with open(path, encoding='utf-8', errors='replace') as file:
        return file.read()


def bare(text):
    """The code without comments and strings."""
    return COMMENT.sub(lambda m: ' ' if m.group()[0] == '/' else '""', text)


def files_of(folders):
    for folder in folders:
        for where, dirs, names in os.walk(folder.rstrip('/')):
            dirs.sort()
            for name in sorted(names):
                if name.endswith(('.c', '.h', '.cu', '.cuh')):
                    yield os.path.join(where, name)


def resolve(path, name):
    """The header of ours that FILE names so, or None."""
    for candidate in (name, os.path.join(os.path.dirname(path), name),
                      os.path.join('include', name)):
        if os.path.isfile(candidate):
            return os.path.normpath(candidate)
    return None


def check_includes(path, text):
    for name in INCLUDE.findall(text):
        header = resolve(path, name)
        if header == 'include/jd.h' and path.startswith(LIBRARY):
            if path != 'include/jd.h':
                yield f'{path}: includes the umbrella {name}'
        elif header and room_of(header) > room_of(path):
            yield f'{path}: includes {header} of a higher room'


def graph_of(code):
    """Which file calls which, by names that one file alone defines: a
    dictionary of FILE to a dictionary of FILE to a name."""
    homes = {}
    for path, text in code.items():
        for name in DEFINITION.findall(text):
            homes.setdefault(name, set()).add(path)
    home = {name: min(paths) for name, paths in homes.items()
            if len(paths) == 1}
    graph = {}
    for path, text in code.items():
        for name in CALL.findall(text):
            other = home.get(name)
            if other and other != path:
                graph.setdefault(path, {}).setdefault(other, name)
    return graph


def check_calls(graph):
    for path, others in graph.items():
        for other, name in others.items():
            if path.endswith('.c') and room_of(other) > room_of(path):
                yield f'{path}: calls {name} of {other}, a higher room'


def circles_of(graph):
    """The sets of files that can reach each other (Tarjan)."""
    index, low, stack, found = {}, {}, [], []

    def visit(node):
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in graph.get(node, ()):
            if other not in index:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            members = []
            while not members or members[-1] != node:
                members.append(stack.pop())
            if len(members) > 1:
                found.append(sorted(members))

    for node in sorted(graph):
        if node not in index:
            visit(node)
    return sorted(found)


def members_of(header):
    """The files of the class over the private header."""
    folder = os.path.dirname(header)
    return {f'{folder}/{stem}.c' for stem in CLASSES[header].split()}


def check_circles(graph):
    circles = [set(circle) for circle in circles_of(graph)]
    for circle in circles:
        if not any(circle <= members_of(header) for header in CLASSES):
            for file in sorted(circle):
                yield f'{file}: in a circle of calls: {" ".join(sorted(circle))}'
    for header in CLASSES:
        used = set().union(*(c for c in circles if c <= members_of(header)))
        for file in sorted(members_of(header) - used):
            yield f'{file}: listed as of a circle over {header}, and in none'


def main(arguments):
    wants_graph = '--graph' in arguments
    rest = [a for a in arguments if a != '--graph']
    if rest and rest[0] in ('-h', '--help'):
        print(__doc__.strip())
        return 0
    os.chdir(rest[0] if rest else
             os.path.join(os.path.dirname(os.path.abspath(__file__)), '../..'))
    texts = {path: read(path) for path in files_of(LIBRARY + ABOVE)}
    code = {path: bare(text) for path, text in texts.items()
            if path.startswith(LIBRARY)}
    graph = graph_of(code)
    if wants_graph:
        print(f'{len(code)} files, {sum(map(len, graph.values()))} arrows, '
              f'{len(circles_of(graph))} circles')
        return 0
    found = [breach for path, text in texts.items()
             for breach in (*check_room(path), *check_includes(path, text))]
    found += check_calls(graph)
    found += check_circles(graph)
    print('\n'.join(found), end='\n' if found else '')
    return 1 if found else 0


if __name__ == '__main__':
    sys.setrecursionlimit(10000)
    sys.exit(main(sys.argv[1:]))
