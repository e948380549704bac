"""A program in a pseudo terminal, and the screen that it draws: what a person at a terminal sees and types.

Nothing here sleeps: `until` reads until the screen is as wanted, and fails after minutes with what is on it.
"""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time

LONGEST_S = 150
SEQUENCE = re.compile(r"\x1b(?:\[([?>=]?)([0-9;]*)([@-~])|[()*+].|\][^\x07\x1b]*(?:\x07|\x1b\\)|[0-9=>A-Za-z])|[\x00-\x1f\x7f]|[^\x00-\x1f\x7f\x1b]+", re.S)


class Screen:
    """The part of a terminal of xterm's kind that ncurses uses."""

    def __init__(self, rows, columns):
        self.resize(rows, columns)
        self.modes = set()
        self.rest = b""

    def resize(self, rows, columns):
        self.rows, self.columns = rows, columns
        self.cells = [[" "] * columns for _ in range(rows)]
        self.row = self.column = 0
        self.last = " "
        self.inserts = False

    def lines(self):
        return ["".join(line).rstrip() for line in self.cells]

    def text(self):
        return "\n".join(self.lines())

    def put(self, text):
        for character in text:
            if self.column >= self.columns:
                self.row, self.column = min(self.row + 1, self.rows - 1), 0
            if self.inserts:
                self.cells[self.row].insert(self.column, " ")
                self.cells[self.row].pop()
            self.cells[self.row][self.column] = self.last = character
            self.column += 1

    def control(self, character):
        if character == "\r":
            self.column = 0
        elif character == "\b":
            self.column = max(0, self.column - 1)
        elif character == "\t":
            self.column = min(self.column // 8 * 8 + 8, self.columns - 1)
        elif character == "\n":
            if self.row == self.rows - 1:
                self.cells = self.cells[1:] + [[" "] * self.columns]
            self.row = min(self.row + 1, self.rows - 1)

    def erase(self, first, last):
        for at in range(max(first, 0), min(last, self.rows * self.columns)):
            self.cells[at // self.columns][at % self.columns] = " "

    def sequence(self, private, numbers, letter):
        values = [int(number) if number else 0 for number in numbers.split(";")]
        first = values[0]
        count = max(first, 1)
        here, begin = self.row * self.columns + self.column, self.row * self.columns
        if private:
            (self.modes.add if letter == "h" else self.modes.discard)(first)
            if first == 1049 and letter == "h":
                self.before = (self.cells, self.row, self.column)
                self.cells = [[" "] * self.columns for _ in range(self.rows)]
            elif first == 1049:
                self.cells, self.row, self.column = self.before
        elif letter in "hl" and first == 4:
            self.inserts = letter == "h"
        elif letter in "Hf":
            self.row = min(count, self.rows) - 1
            self.column = min(max(values[1] if len(values) > 1 else 1, 1), self.columns) - 1
        elif letter == "d":
            self.row = min(count, self.rows) - 1
        elif letter in "G`":
            self.column = min(count, self.columns) - 1
        elif letter in "AB":
            self.row = min(max(self.row + (count if letter == "B" else -count), 0), self.rows - 1)
        elif letter in "CD":
            self.column = min(max(self.column + (count if letter == "C" else -count), 0), self.columns - 1)
        elif letter == "J":
            self.erase(here if first == 0 else 0, here + 1 if first == 1 else self.rows * self.columns)
        elif letter == "K":
            self.erase(here if first == 0 else begin, here + 1 if first == 1 else begin + self.columns)
        elif letter == "X":
            self.erase(here, here + count)
        elif letter == "P":
            line = self.cells[self.row]
            self.cells[self.row] = (line[: self.column] + line[self.column + count :] + [" "] * count)[: self.columns]
        elif letter == "@":
            line = self.cells[self.row]
            self.cells[self.row] = (line[: self.column] + [" "] * count + line[self.column :])[: self.columns]
        elif letter == "Z":
            self.column = max((self.column - 1) // 8 * 8, 0)
        elif letter in "LM":
            blank = [[" "] * self.columns for _ in range(count)]
            below = self.cells[self.row :]
            below = (blank + below) if letter == "L" else (below[count:] + blank)
            self.cells[self.row :] = below[: self.rows - self.row]
        elif letter == "b":
            self.put(self.last * count)

    def feed(self, data):
        data = self.rest + data
        text = data.decode("utf-8", "ignore")
        # What is not whole yet waits: a sequence, or the bytes of a character.
        whole = len(text)
        escape = text.rfind("\x1b")
        if escape >= 0 and not SEQUENCE.match(text, escape):
            whole = escape
        tail = text[whole:].encode()
        for cut in range(1, 4):
            if len(data) >= cut and data[-cut] >= 0xC0:
                need = 2 if data[-cut] < 0xE0 else 3 if data[-cut] < 0xF0 else 4
                if cut < need:
                    tail += data[-cut:]
                break
        self.rest = tail
        for found in SEQUENCE.finditer(text[:whole]):
            piece = found.group()
            if found.group(3):
                self.sequence(found.group(1), found.group(2), found.group(3))
            elif piece[0] == "\x1b":
                pass
            elif piece[0] < " " or piece[0] == "\x7f":
                self.control(piece)
            else:
                self.put(piece)


class Program:
    """Runs a command in a terminal of its own."""

    def __init__(self, command, rows=24, columns=80, environment=None):
        self.screen = Screen(rows, columns)
        self.status = None
        self.raw = b""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
            variables = dict(os.environ, TERM="xterm-256color", LC_ALL="C.UTF-8")
            variables.update(environment or {})
            os.execvpe(command[0], command, {name: value for name, value in variables.items() if value is not None})
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read(self, seconds):
        """Reads what there is; False at the end."""
        ready, _, _ = select.select([self.fd], [], [], seconds)
        if not ready:
            return True
        try:
            data = os.read(self.fd, 65536)
        except OSError:
            data = b""
        self.raw += data
        self.screen.feed(data)
        return bool(data)

    def until(self, wanted, what):
        """Waits until the screen's text is wanted: a regular expression, or a function of it."""
        is_wanted = wanted if callable(wanted) else lambda text: re.search(wanted, text, re.M)
        end = time.monotonic() + LONGEST_S
        while not is_wanted(self.screen.text()):
            if time.monotonic() > end or not self.read(1):
                raise AssertionError(f"{what}: not on the screen:\n{self.screen.text()}\n--")
        return self.screen.text()

    def keys(self, text):
        os.write(self.fd, text.encode())

    def resize(self, rows, columns):
        self.screen.resize(rows, columns)
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def signal(self, number):
        os.kill(self.pid, number)

    def wait(self):
        """Reads to the end; the exit status, negative for a signal."""
        end = time.monotonic() + LONGEST_S
        while self.read(1):
            if time.monotonic() > end:
                os.kill(self.pid, signal.SIGKILL)
                raise AssertionError(f"it does not end:\n{self.screen.text()}\n--")
        self.status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        os.close(self.fd)
        return self.status
