/* Checks by ELF headers whether a program can preload the sampling agent. */
#include "agent/agent.h"
#include "arch/arch.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

enum {
    INTERPRETERS_MAX = 4, /* as execve */
    HEADERS_MAX = 64,
    DYNAMIC_MAX = 256,
    LINE_MAX_BYTES = 256,
};

static bool read_at(int fd, void *buffer, size_t size, uint64_t offset)
{
    return pread(fd, buffer, size, (off_t)offset) == (ssize_t)size;
}

static bool is_privileged(int fd)
{
    struct stat status;
    char value[64];
    if (syscall(SYS_fstat, fd, &status)) /* older libcs lack fstat() */
        return false;
    const bool other_user = (status.st_mode & S_ISUID) && status.st_uid != geteuid();
    const bool other_group =
        (status.st_mode & S_ISGID) && (status.st_mode & S_IXGRP) && status.st_gid != getegid();
    return other_user || other_group ||
           (geteuid() != 0 && fgetxattr(fd, "security.capability", value, sizeof value) > 0);
}

/* Converts an address to a file offset. */
static uint64_t offset_of(const Elf64_Phdr *headers, size_t count, uint64_t address)
{
    for (size_t i = 0; i < count; i++)
        if (headers[i].p_type == PT_LOAD && address >= headers[i].p_vaddr &&
            address - headers[i].p_vaddr < headers[i].p_filesz)
            return address - headers[i].p_vaddr + headers[i].p_offset;
    return 0;
}

static bool has_go_tables(int fd, const Elf64_Ehdr *elf)
{
    Elf64_Shdr names, section;
    if (!elf->e_shnum || elf->e_shentsize != sizeof section || elf->e_shstrndx >= elf->e_shnum ||
        !read_at(fd, &names, sizeof names, elf->e_shoff + elf->e_shstrndx * sizeof names))
        return false;
    for (size_t i = 0; i < elf->e_shnum; i++) {
        char name[16] = "";
        if (!read_at(fd, &section, sizeof section, elf->e_shoff + i * sizeof section) ||
            pread(fd, name, sizeof name - 1, (off_t)(names.sh_offset + section.sh_name)) <= 0)
            break;
        if (strcmp(name, ".gopclntab") == 0 || strcmp(name, ".go.buildinfo") == 0)
            return true;
    }
    return false;
}

static bool holds(const char *bytes, size_t size, const char *word)
{
    return memmem(bytes, size, word, strlen(word)) != NULL;
}

const char *const agent_sanitizers[] = {"__asan_init", "__tsan_init", "__msan_init",
                                        "__hwasan_init", NULL};

/* Also if linked statically. Pieces overlap by a name's length. */
static bool names_sanitizer(int fd, const Elf64_Phdr *headers, size_t count,
                            const Elf64_Phdr *dynamic)
{
    enum { PIECE = 16 << 10, OVERLAP = 16, BYTES_MAX = 1 << 20 };
    Elf64_Dyn entry;
    uint64_t strings = 0, size = 0;
    for (size_t i = 0; i < dynamic->p_filesz / sizeof entry && i < DYNAMIC_MAX; i++) {
        if (!read_at(fd, &entry, sizeof entry, dynamic->p_offset + i * sizeof entry))
            return false;
        if (entry.d_tag == DT_STRTAB)
            strings = offset_of(headers, count, entry.d_un.d_ptr);
        if (entry.d_tag == DT_STRSZ)
            size = entry.d_un.d_val;
    }
    size = size < BYTES_MAX ? size : BYTES_MAX;
    for (uint64_t at = 0; strings && at < size; at += PIECE - OVERLAP) {
        char piece[PIECE];
        const ssize_t got = pread(fd, piece, sizeof piece, (off_t)(strings + at));
        if (got <= 0)
            return false;
        for (const char *const *name = agent_sanitizers; *name; name++)
            if (holds(piece, (size_t)got, *name))
                return true;
    }
    return false;
}

/* Running it would raise SIGBUS. */
static bool is_cut_off(int fd, const Elf64_Phdr *headers, size_t count)
{
    const off_t size = lseek(fd, 0, SEEK_END);
    for (size_t i = 0; i < count && size >= 0; i++)
        if (headers[i].p_type == PT_LOAD &&
            (headers[i].p_offset > (uint64_t)size ||
             headers[i].p_filesz > (uint64_t)size - headers[i].p_offset))
            return true;
    return false;
}

/* A startable shared object without an interpreter. Static position-independent programs have
 * DF_1_PIE. */
static bool is_loader(int fd, const Elf64_Ehdr *elf, const Elf64_Phdr *dynamic)
{
    Elf64_Dyn entry;
    for (size_t i = 0; i < dynamic->p_filesz / sizeof entry && i < DYNAMIC_MAX; i++) {
        if (!read_at(fd, &entry, sizeof entry, dynamic->p_offset + i * sizeof entry))
            return false;
        if (entry.d_tag == DT_FLAGS_1 && (entry.d_un.d_val & DF_1_PIE))
            return false;
    }
    return elf->e_type == ET_DYN && elf->e_entry;
}

static enum agent_file check_elf(int fd)
{
    Elf64_Ehdr elf;
    Elf64_Phdr headers[HEADERS_MAX];
    if (!read_at(fd, &elf, EI_NIDENT, 0))
        return AGENT_FILE_DAMAGED;
    if (elf.e_ident[EI_CLASS] == ELFCLASS32)
        return AGENT_FILE_CLASS;
    if (!read_at(fd, &elf, sizeof elf, 0))
        return AGENT_FILE_DAMAGED;
    if (elf.e_ident[EI_CLASS] != ELFCLASS64 || elf.e_machine != ARCH_ELF_MACHINE)
        return AGENT_FILE_CLASS;
    const size_t count = elf.e_phnum < HEADERS_MAX ? elf.e_phnum : HEADERS_MAX;
    if (elf.e_phentsize != sizeof *headers ||
        !read_at(fd, headers, count * sizeof *headers, elf.e_phoff) ||
        is_cut_off(fd, headers, count))
        return AGENT_FILE_DAMAGED;
    const Elf64_Phdr *loader = NULL, *dynamic = NULL;
    for (size_t i = 0; i < count; i++) {
        loader = headers[i].p_type == PT_INTERP ? &headers[i] : loader;
        dynamic = headers[i].p_type == PT_DYNAMIC ? &headers[i] : dynamic;
    }
    if (has_go_tables(fd, &elf))
        return AGENT_FILE_GO;
    if (!loader && dynamic && is_loader(fd, &elf, dynamic))
        return AGENT_FILE_LOADER;
    if (!loader || !dynamic)
        return AGENT_FILE_STATIC;
    return names_sanitizer(fd, headers, count, dynamic) ? AGENT_FILE_SANITIZER : AGENT_FILE_GOOD;
}

/* Changes `line`. NULL: none. */
static const char *interpreter_of(char *line, size_t size)
{
    line[size] = '\0';
    line[strcspn(line, "\n")] = '\0';
    char *name = line + 2 + strspn(line + 2, " \t");
    name[strcspn(name, " \t")] = '\0';
    return *name ? name : NULL;
}

static enum agent_file check_nested(const char *path, unsigned depth)
{
    char line[LINE_MAX_BYTES];
    struct stat status;
    /* a pipe would wait for a writer */
    if (stat(path, &status) || !S_ISREG(status.st_mode))
        return AGENT_FILE_MISSING;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return AGENT_FILE_MISSING;
    const ssize_t got = pread(fd, line, sizeof line - 1, 0);
    enum agent_file result = AGENT_FILE_MISSING;
    const char *next = NULL;
    if (got >= SELFMAG && memcmp(line, ELFMAG, SELFMAG) == 0)
        result = is_privileged(fd) ? AGENT_FILE_SETUID : check_elf(fd);
    else if (got > 2 && line[0] == '#' && line[1] == '!')
        next = interpreter_of(line, (size_t)got);
    else if (got >= 0)
        next = "/bin/sh"; /* like execvp */
    close(fd);
    return next && depth < INTERPRETERS_MAX ? check_nested(next, depth + 1) : result;
}

enum agent_file agent_check_file(const char *path)
{
    const int saved = errno;
    const enum agent_file result = check_nested(path, 0);
    errno = saved;
    return result;
}

static enum agent_file check_loaded(enum agent_file kind, char *const *arguments, char *found)
{
    const char *program = kind == AGENT_FILE_LOADER ? agent_loaded_program(arguments) : NULL;
    if (!program)
        return kind;
    if (found) {
        strncpy(found, program, AGENT_PATH_MAX - 1);
        found[AGENT_PATH_MAX - 1] = '\0';
    }
    return agent_check_file(program);
}

enum agent_file agent_check_program(const char *path, char *const *arguments)
{
    return check_loaded(agent_check_file(path), arguments, NULL);
}

enum agent_file agent_check_command(const char *name, char *const *arguments, const char *search,
                                    char *found)
{
    char candidate[AGENT_PATH_MAX];
    char *path = found ? found : candidate;
    *path = '\0';
    if (strchr(name, '/') || !*name) {
        strncpy(path, name, AGENT_PATH_MAX - 1);
        path[AGENT_PATH_MAX - 1] = '\0';
        return check_loaded(agent_check_file(name), arguments, found);
    }
    const int saved = errno;
    enum agent_file result = AGENT_FILE_MISSING;
    const size_t name_length = strlen(name);
    for (const char *next = search ? search : "/bin:/usr/bin"; next;) {
        const size_t length = strcspn(next, ":");
        const bool fits = length + name_length + 2 <= AGENT_PATH_MAX;
        if (fits) {
            memcpy(path, next, length);
            path[length] = '/';
            memcpy(path + (length ? length + 1 : 0), name, name_length + 1);
        }
        if (fits && access(path, X_OK) == 0) {
            result = check_loaded(agent_check_file(path), arguments, found);
            break;
        }
        next = next[length] ? next + length + 1 : NULL;
    }
    errno = saved;
    return result;
}
