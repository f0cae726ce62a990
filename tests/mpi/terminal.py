#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""terminal.py ROWS COUNT COMMAND... - runs the command on a terminal of so many
rows, prints what it writes there until the screen was cleared COUNT + 1 times,
and ends it."""

import fcntl
import os
import pty
import signal
import struct
import sys
import termios

CLEAR = b'\x1b[H\x1b[2J'


def main():
    rows, count, command = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
    signal.alarm(30)
    go_read, go_write = os.pipe()
    pid, terminal = pty.fork()
    if pid == 0:
        os.read(go_read, 1)
        os.execvp(command[0], command)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ,
                struct.pack('HHHH', rows, 200, 0, 0))
    os.write(go_write, b'!')
    seen = b''
    while seen.count(CLEAR) <= count:
        try:
            seen += os.read(terminal, 65536)
        except OSError:  # the command has ended
            break
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    print(seen.replace(b'\r\n', b'\n').decode())
    return 0 if seen.count(CLEAR) > count else 1


sys.exit(main())
