#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A picture of the HTML manual: calls what draws it, which speaks only where it fails.

    draw.py stdout FILE PROGRAM ARGUMENT...     the program writes it to stdout
    draw.py itself FILE PROGRAM ARGUMENT...     it is told the file by an argument

Nothing of the environment but PATH goes to the program: a build may be part of a job.
"""
import os
import subprocess
import sys


def main():
    how, path, *command = sys.argv[1:]
    made = subprocess.run(
        command, check=False, env={'PATH': os.environ.get('PATH', os.defpath)},
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if made.returncode:
        sys.exit((made.stdout + made.stderr).decode(errors='replace'))
    if how == 'stdout':
        with open(path, 'wb') as file:
            file.write(made.stdout)


if __name__ == '__main__':
    main()
