"""root_ranges.py FILE SYMBOLS: where in an ELF file its starting functions are, as file offsets, a line
`begin end` each, by what binutils tell: symbols whose name the regular expression matches, the entry
point, and, in files without a symbol table, what call frame information calls the end of the stack, and
where musl's clone calls a thread's first function."""
import re
import subprocess
import sys

file, symbols = sys.argv[1], re.compile(sys.argv[2])
UNKNOWN_SIZE = 80
SYSTEM_CALL_REACH = 10
# xor %ebp, %ebp; pop %rdi; call *%r9
MUSL_THREAD_START = bytes.fromhex("31ed5f41ffd1")


def readelf(*options):
    return subprocess.run(["readelf", "-W", *options, file], capture_output=True, text=True).stdout


def loads():
    for line in readelf("-l").splitlines():
        words = line.split()
        if words and words[0] == "LOAD":
            yield int(words[2], 16), int(words[1], 16), int(words[4], 16)


def entry_point():
    begin = int(re.search(r"Entry point address:\s+(0x\w+)", readelf("-h")).group(1), 16)
    return begin, begin + UNKNOWN_SIZE


def named():
    for line in readelf("-s").splitlines():
        words = line.split()
        if len(words) < 8 or words[6] == "UND" or words[3] not in ("FUNC", "NOTYPE"):
            continue
        if symbols.fullmatch(words[7].split("@")[0]):
            begin = int(words[1], 16)
            yield begin, begin + (int(words[2], 0) or UNKNOWN_SIZE)


def undefined_return_addresses():
    span = None
    for line in readelf("--debug-dump=frames").splitlines():
        place = re.search(r" FDE .* pc=(\w+)\.\.(\w+)", line)
        if place:
            span = int(place.group(1), 16), int(place.group(2), 16)
        elif "DW_CFA_undefined: r16" in line and span:
            # Before it lie the system call that makes the thread and what looks at its answer: there
            # the thread is born.
            yield span[0] - SYSTEM_CALL_REACH, span[1]


def musl_thread_starts():
    content = open(file, "rb").read()
    offset = content.find(MUSL_THREAD_START)
    if offset >= 0:
        yield offset - SYSTEM_CALL_REACH, offset + len(MUSL_THREAD_START)


ranges = [entry_point(), *named()]
if " .symtab " not in readelf("-S"):
    ranges += undefined_return_addresses()
segments = list(loads())
for begin, end in ranges:
    for vaddr, offset, size in segments:
        if vaddr <= begin < vaddr + size:
            print(begin - vaddr + offset, end - vaddr + offset)
for begin, end in musl_thread_starts():
    print(begin, end)
