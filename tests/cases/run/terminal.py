"""Runs a program on a terminal of 80 columns, answers its question, and prints what the terminal was sent.

usage: terminal.py ANSWER PROGRAM ARGUMENT...
"""
import fcntl
import os
import pty
import struct
import sys
import termios

answer, argv = sys.argv[1], sys.argv[2:]
pid, terminal = pty.fork()
if pid == 0:
    os.execv(argv[0], argv)
fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
seen = b""
answered = False
while True:
    try:
        some = os.read(terminal, 65536)
    except OSError:  # the program has closed its end
        break
    if not some:
        break
    seen += some
    if not answered and b"[y/N]" in seen:
        os.write(terminal, answer.encode() + b"\n")
        answered = True
_, status = os.waitpid(pid, 0)
sys.stdout.buffer.write(seen)
sys.exit(os.waitstatus_to_exitcode(status))
