"""The least of a shell: runs one command as the foreground job of the terminal at its standard input.

    python -m tests.support.foreground_job COMMAND ARGUMENT…

The command gets a process group of its own, as from an interactive shell. So Ctrl-C reaches that group and not this
process, and nothing is hung up by the kernel when the command itself ends. The exit code is the command's own, or 128
and the number of the signal that ended it.
"""

from __future__ import annotations

import fcntl
import os
import signal
import sys
import termios


def main(command: list[str]) -> int:
    """Run the command, wait for it, and take the terminal back."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)  # tcsetpgrp from the background would stop us
    child = os.fork()
    if child == 0:
        os.setpgid(0, 0)
        os.tcsetpgrp(0, os.getpid())
        signal.signal(signal.SIGTTOU, signal.SIG_DFL)
        os.execvp(command[0], command)
    _, status = os.waitpid(child, 0)
    os.tcsetpgrp(0, os.getpgrp())
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
