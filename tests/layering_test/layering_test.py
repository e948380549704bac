#!/usr/bin/env python3
"""The rule of the layers: holds every #include of every library against the table cmake/layers.

    layering_test.py SOURCE_DIRECTORY

Fails where a library uses one that the table does not put below it, or a private header of another; where a
sub-directory uses a part of its library that its line does not name; where a third-party header stands outside the
library that owns it; where a library other than cli prints; and where code outside arch/ names a processor.
"""
import os
import re
import sys

# Header: the libraries that own it.
OWNERS = {
    "linux/perf_event.h": "sampler agent",
    "bpf/bpf_helpers.h": "sampler symbolize uprobe",
    "bpf/bpf_core_read.h": "sampler",
    "libelf.h": "image symbolize",
    "gelf.h": "image symbolize",
    "elfutils/libdw.h": "symbolize",
    "elfutils/libdwfl.h": "symbolize",
    "elfutils/libdwelf.h": "symbolize",
    "elfutils/debuginfod.h": "symbolize",
    "elfutils/version.h": "symbolize",
    "dwarf.h": "symbolize",
    "libiberty/demangle.h": "symbolize",
    "demangle.h": "symbolize",
    "libunwind.h": "unwind",
    "libunwind-x86_64.h": "unwind",
    "sqlite3.h": "store",
    "zlib.h": "report import fleet",
    "curl/curl.h": "fleet",
    "pprof.pb-c.h": "formats",
    "otlp_profiles.pb-c.h": "formats",
    "otlp_traces.pb-c.h": "formats",
    "xxhash.h": "base",
    "archive.h": "archive",
    "archive_entry.h": "archive",
    "pcre2.h": "plan report",
    "capstone/capstone.h": "report",
    "curses.h": "cli",
    "term.h": "cli",
    "yajl/yajl_gen.h": "report",
    "yajl/yajl_parse.h": "report",
    "yajl/yajl_tree.h": "report",
}

# Headers of libc, the compiler and the kernel, which every library may use.
COMMON = re.compile(
    r"(sys|linux|asm|arpa|netinet)/|(alloca|assert|ctype|dirent|dlfcn|elf|endian|errno|fcntl|fnmatch|ftw|glob|inttypes"
    r"|libgen|limits|link|locale|malloc|math|poll|pthread|pwd|sched|semaphore|setjmp|signal|spawn|stdalign|stdarg|stdatomic|stdbool"
    r"|stddef|stdint|stdio|stdlib|string|strings|syscall|termios|time|ucontext|unistd)\.h$"
)

# Libraries whose public header shows further headers of theirs.
WITH_PARTS = {"agent", "arch", "base", "calls", "counters", "inject", "model", "plan", "probing", "recording", "rules", "store", "trace", "uprobe"}

# Public headers that few need: the library's own does not include them.
APART = {"base/compat.h", "arch/probe.h"}

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(["<])([^">]*)[">]', re.M)
PRINTS = re.compile(r"(^|\W)(?:printf|vprintf|puts|putchar|perror|psignal)\s*\(|(^|\W)(?:stdout|stderr)(\W|$)")
PROCESSOR = re.compile(
    r"__x86_64__|__aarch64__|(?:^|\W)(?:X86_|R_X86_64_|EM_X86_64|PERF_REG_X86|REG_R|NT_X86_)|asm/perf_regs\.h"
    r"|user_regs_struct|PTRACE_[GS]ETREGS|uc_mcontext|__builtin_ia32|\basm\b|__asm__"
)
COMMENT_LINE = re.compile(r"\s*(/?\*|//)")

failures = 0


def fail(message):
    global failures
    print(message, file=sys.stderr)
    failures += 1


def read(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def read_table():
    """Returns two maps of the table: library to libraries it may use, sub-directory to parts it may use."""
    libraries, parts = {}, {}
    for line in read("cmake/layers").splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) < 2 or line.startswith("#"):
            continue
        (parts if line.startswith(" ") else libraries)[cells[0]] = cells[1].split()
    return libraries, parts


def sources(library):
    for directory, _, names in os.walk(library):
        for name in sorted(names):
            if name.endswith((".c", ".h")):
                yield os.path.join(directory, name)


def public_headers(library):
    """The headers a library shows to others: library/library.h and, of some libraries, the headers it includes."""
    shown = {f"{library}/{library}.h"} | {header for header in APART if header.startswith(library + "/")}
    if library in WITH_PARTS:
        new = set(shown)
        for _ in range(2):
            new = {
                header
                for shown_one in new
                if os.path.exists(shown_one)
                for kind, header in INCLUDE.findall(read(shown_one))
                if kind == '"' and header.startswith(library + "/")
            }
            shown |= new
    return shown


def check_part(path, header, parts):
    """Files at a library's top may use all of its parts; a file in a sub-directory uses what its line names."""
    part, other = os.path.dirname(path), os.path.dirname(header)
    if "/" not in part or part == other:
        return
    if part not in parts:
        fail(f"{path}: {part} has no line in cmake/layers")
    elif other not in parts[part]:
        fail(f'{path}: includes "{header}": {part} must not use {other}')


def check_own_header(library, path, header, libraries, parts, public):
    other = header.split("/")[0]
    if other == library:
        check_part(path, header, parts)
    elif other not in libraries[library]:
        fail(f'{path}: includes "{header}": {library} must not use {other}')
    elif header not in public[other]:
        fail(f'{path}: includes "{header}", which is private to {other}: include {other}/{other}.h')


def check_system_header(library, path, header):
    if header in OWNERS:
        if library not in OWNERS[header].split():
            fail(f"{path}: includes <{header}>: only {OWNERS[header]} may")
    elif not COMMON.match(header):
        fail(f"{path}: includes <{header}>: OWNERS in {os.path.basename(__file__)} lacks the library that owns it")


def check_lines(path, text, pattern, message):
    for number, line in enumerate(text.splitlines(), 1):
        if pattern.search(line) and not COMMENT_LINE.match(line):
            fail(f"{message}, but: {path}:{number}: {line.strip()}")


def check_file(library, path, libraries, parts, public):
    text = read(path)
    for kind, header in INCLUDE.findall(text):
        if kind == '"':
            check_own_header(library, path, header, libraries, parts, public)
        else:
            check_system_header(library, path, header)
    if library != "cli" and path.endswith(".c"):
        check_lines(path, text, PRINTS, "only cli/ prints")
    # The agent runs in other programs, and BPF programs run in the kernel: these depend on the processor.
    if library not in ("arch", "agent") and not path.endswith(".bpf.c"):
        check_lines(path, text, PROCESSOR, "only arch/ names a processor")


def main():
    os.chdir(sys.argv[1])
    libraries, parts = read_table()
    public = {library: public_headers(library) for library in libraries}
    for library in libraries:
        if not os.path.isdir(library):
            fail(f"{library}: no such library")
        for path in sources(library):
            check_file(library, path, libraries, parts, public)
    return failures != 0


sys.exit(main())
