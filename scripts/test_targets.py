#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Prints the files that the tests of some suites need, a line each, for ninja.

usage: test_targets.py BUILD_DIR [--suite=NAME | --no-suite=NAME]...

The options are those of `meson test`, and choose the same tests.
"""
import json
import os
import subprocess
import sys


def introspect(build, what):
    command = ["meson", "introspect", "--" + what, build]
    return json.loads(subprocess.check_output(command))


def chooser(options):
    """What says whether a test is among those that the options choose."""
    wanted = {o[len("--suite="):] for o in options if o.startswith("--suite=")}
    other = {o[len("--no-suite="):] for o in options
             if o.startswith("--no-suite=")}

    def is_chosen(test):
        suites = {suite.split(":")[-1] for suite in test["suite"]}
        return bool(suites & wanted or not wanted) and not suites & other

    return is_chosen


def main():
    build = sys.argv[1]
    is_chosen = chooser(sys.argv[2:])
    ids = set()
    for test in introspect(build, "tests"):
        if is_chosen(test):
            ids.update(test["depends"])
    for target in introspect(build, "targets"):
        if target["id"] in ids:
            for name in target["filename"]:
                print(os.path.relpath(name, build))


if __name__ == "__main__":
    main()
