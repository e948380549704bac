/* Maps the agent's file by system calls of a borrowed thread, as a loader would, and unmaps it. */
#include "arch/arch.h"
#include "inject/borrowed.h"
#include "inject/inside.h"
#include "inject/raw_inside.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    PAGE = 4096,
    HEADERS_MAX = 32,
    RELOCATIONS_MAX = 4096,
};

/* Marks the agent's file: no program opens one with these flags. */
#define MARK (O_APPEND | O_NONBLOCK | O_DSYNC | O_NOFOLLOW)

struct raw_file {
    int fd;
    Elf64_Phdr parts[HEADERS_MAX];
    size_t part_count;
    uint64_t bytes;           /* whole pages, without the note */
    uint64_t tables, dynamic; /* vaddr of .eh_frame and PT_DYNAMIC */
    uint64_t dynamic_bytes;
};

static uint64_t page_of(uint64_t address)
{
    return address & ~(uint64_t)(PAGE - 1);
}

static uint64_t pages_of(uint64_t bytes)
{
    return page_of(bytes + PAGE - 1);
}

/* == The file == */

static bool read_at(const struct raw_file *file, void *to, size_t size, uint64_t offset)
{
    return pread(file->fd, to, size, (off_t)offset) == (ssize_t)size;
}

static bool read_vaddr(const struct raw_file *file, void *to, size_t size, uint64_t vaddr)
{
    for (size_t i = 0; i < file->part_count; i++) {
        const Elf64_Phdr *part = &file->parts[i];
        if (vaddr - part->p_vaddr < part->p_filesz && size <= part->p_filesz)
            return read_at(file, to, size, part->p_offset + (vaddr - part->p_vaddr));
    }
    return false;
}

static bool read_headers(struct raw_file *file)
{
    Elf64_Ehdr elf;
    Elf64_Phdr headers[HEADERS_MAX];
    if (!read_at(file, &elf, sizeof elf, 0) || memcmp(elf.e_ident, ELFMAG, SELFMAG) ||
        elf.e_phnum > HEADERS_MAX ||
        !read_at(file, headers, elf.e_phnum * sizeof *headers, elf.e_phoff))
        return false;
    for (size_t i = 0; i < elf.e_phnum; i++) {
        const Elf64_Phdr *header = &headers[i];
        if (header->p_type == PT_TLS)
            return false;
        if (header->p_type == PT_DYNAMIC) {
            file->dynamic = header->p_vaddr;
            file->dynamic_bytes = header->p_filesz;
        }
        if (header->p_type != PT_LOAD)
            continue;
        file->parts[file->part_count++] = *header;
        if (pages_of(header->p_vaddr + header->p_memsz) > file->bytes)
            file->bytes = pages_of(header->p_vaddr + header->p_memsz);
    }
    return file->part_count;
}

static bool open_file(struct raw_file *file, const char *library)
{
    struct image_extent tables;
    struct image *image;
    const struct image_request request = {.file = {.path = library}};
    *file = (struct raw_file){.fd = open(library, O_RDONLY | O_CLOEXEC)};
    if (file->fd < 0)
        return false;
    if (!read_headers(file) || image_open(&image, &request, NULL)) {
        close(file->fd);
        return false;
    }
    if (image_section_extent(image, ".eh_frame", &tables))
        file->tables = tables.vaddr;
    image_free(image);
    return true;
}

/* == Mapping == */

struct mapping {
    const struct inject_raw *raw;
    struct inject_borrowed *borrowed;
    const struct raw_file *file;
    uint64_t base;
    struct sprof_error *error;
};

/* -EIO with the error set: no call was made. */
static int64_t call(struct mapping *mapping, long number, uint64_t a, uint64_t b, uint64_t c,
                    uint64_t d, uint64_t e, uint64_t f)
{
    const uint64_t arguments[] = {a, b, c, d, e, f};
    int64_t result;
    return inject_borrowed_system_call(mapping->borrowed, number, arguments, &result,
                                       mapping->error)
               ? -EIO
               : result;
}

static bool is_error(int64_t result)
{
    return result < 0 && result > -4096;
}

static bool write_at(const struct mapping *mapping, uint64_t address, const void *from, size_t size)
{
    return pwrite(mapping->borrowed->memory_fd, from, size, (off_t)address) == (ssize_t)size;
}

static int protection_of(const Elf64_Phdr *part)
{
    return (part->p_flags & PF_R ? PROT_READ : 0) | (part->p_flags & PF_W ? PROT_WRITE : 0) |
           (part->p_flags & PF_X ? PROT_EXEC : 0);
}

/* Behind the file's bytes, a part is zero. */
static int64_t map_part(struct mapping *mapping, const Elf64_Phdr *part, int fd)
{
    static const uint8_t zero[PAGE];
    const uint64_t start = mapping->base + page_of(part->p_vaddr),
                   file_end = mapping->base + part->p_vaddr + part->p_filesz,
                   end = mapping->base + pages_of(part->p_vaddr + part->p_memsz);
    const uint64_t protection = (uint64_t)protection_of(part);
    int64_t result = call(mapping, SYS_mmap, start, pages_of(file_end) - start, protection,
                          MAP_PRIVATE | MAP_FIXED, (uint64_t)fd, page_of(part->p_offset));
    if (is_error(result) || !(part->p_flags & PF_W))
        return result;
    if (file_end < pages_of(file_end) &&
        !write_at(mapping, file_end, zero, (size_t)(pages_of(file_end) - file_end)))
        return -EIO;
    return pages_of(file_end) < end
               ? call(mapping, SYS_mmap, pages_of(file_end), end - pages_of(file_end), protection,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, UINT64_MAX, 0)
               : result;
}

/* One reservation, of the agent's file to be found after a kill, keeps other mappings out. */
static int64_t map_parts(struct mapping *mapping, const char *library)
{
    const struct raw_file *file = mapping->file;
    const size_t size = strlen(library) + 1;
    if (!write_at(mapping, mapping->borrowed->room, library, size))
        return -EIO;
    const int64_t fd = call(mapping, SYS_openat, (uint64_t)(int64_t)AT_FDCWD,
                            mapping->borrowed->room, O_RDONLY | O_CLOEXEC | MARK, 0, 0, 0);
    if (is_error(fd))
        return fd;
    int64_t result =
        call(mapping, SYS_mmap, 0, file->bytes + PAGE, PROT_NONE, MAP_PRIVATE, (uint64_t)fd, 0);
    mapping->base = is_error(result) ? 0 : (uint64_t)result;
    for (size_t i = 0; i < file->part_count && !is_error(result); i++)
        result = map_part(mapping, &file->parts[i], (int)fd);
    call(mapping, SYS_close, (uint64_t)fd, 0, 0, 0, 0, 0);
    return is_error(result)
               ? result
               : call(mapping, SYS_mmap, mapping->base + file->bytes, PAGE, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, UINT64_MAX, 0);
}

/* == Relocations == */

/* Address of _r_debug, or 0. */
static uint64_t find_debug(pid_t pid)
{
    char path[64];
    struct image *image;
    uint64_t vaddr = 0, debug = 0;
    const uint64_t entry_at = target_entry(pid);
    sprof_proc_shared_path(path, sizeof path, pid, "exe");
    const struct image_request request = {.file = {.path = path}};
    if (!entry_at || image_open(&image, &request, NULL))
        return 0;
    const uint64_t bias = entry_at - image_entry(image);
    const struct sprof_bytes dynamic = image_section(image, ".dynamic", &vaddr);
    for (size_t at = 0; at + sizeof(Elf64_Dyn) <= dynamic.size && !debug; at += sizeof(Elf64_Dyn)) {
        Elf64_Dyn entry;
        memcpy(&entry, dynamic.data + at, sizeof entry);
        if (entry.d_tag == DT_DEBUG &&
            target_read_memory(pid, bias + vaddr + at, &entry, sizeof entry) == sizeof entry)
            debug = entry.d_un.d_ptr;
    }
    image_free(image);
    return debug;
}

struct dynamic {
    uint64_t relocations, relocation_bytes, symbols, names;
};

static bool read_dynamic(const struct raw_file *file, struct dynamic *dynamic)
{
    Elf64_Dyn entry;
    *dynamic = (struct dynamic){0};
    for (uint64_t at = 0; at < file->dynamic_bytes; at += sizeof entry) {
        if (!read_vaddr(file, &entry, sizeof entry, file->dynamic + at))
            return false;
        if (entry.d_tag == DT_RELA)
            dynamic->relocations = entry.d_un.d_ptr;
        else if (entry.d_tag == DT_RELASZ)
            dynamic->relocation_bytes = entry.d_un.d_val;
        else if (entry.d_tag == DT_SYMTAB)
            dynamic->symbols = entry.d_un.d_ptr;
        else if (entry.d_tag == DT_STRTAB)
            dynamic->names = entry.d_un.d_ptr;
        else if (entry.d_tag == DT_JMPREL)
            return false; /* the agent has none */
    }
    return dynamic->relocation_bytes / sizeof(Elf64_Rela) <= RELOCATIONS_MAX;
}

/* The agent's, or _r_debug; others are weak. */
static bool value_of(const struct mapping *mapping, const struct dynamic *dynamic, uint64_t index,
                     uint64_t *value)
{
    static const char debug[] = "_r_debug";
    char name[sizeof debug];
    Elf64_Sym symbol;
    if (!read_vaddr(mapping->file, &symbol, sizeof symbol,
                    dynamic->symbols + index * sizeof symbol))
        return false;
    *value = symbol.st_shndx ? mapping->base + symbol.st_value : 0;
    if (!*value && read_vaddr(mapping->file, name, sizeof name, dynamic->names + symbol.st_name) &&
        !memcmp(name, debug, sizeof debug))
        *value = find_debug(mapping->raw->pid);
    return true;
}

static bool relocate(const struct mapping *mapping)
{
    const struct raw_file *file = mapping->file;
    struct dynamic dynamic;
    if (!read_dynamic(file, &dynamic))
        return false;
    for (uint64_t at = 0; at < dynamic.relocation_bytes; at += sizeof(Elf64_Rela)) {
        Elf64_Rela relocation;
        uint64_t value = 0;
        if (!read_vaddr(file, &relocation, sizeof relocation, dynamic.relocations + at))
            return false;
        const uint64_t kind = ELF64_R_TYPE(relocation.r_info);
        const bool is_known = kind == ARCH_RELOCATION_RELATIVE ||
                              (kind == ARCH_RELOCATION_GLOB_DAT &&
                               value_of(mapping, &dynamic, ELF64_R_SYM(relocation.r_info), &value));
        if (kind == ARCH_RELOCATION_RELATIVE)
            value = mapping->base + (uint64_t)relocation.r_addend;
        if (!is_known ||
            !write_at(mapping, mapping->base + relocation.r_offset, &value, sizeof value))
            return false;
    }
    return true;
}

/* == The unwinder == */

/* The agent itself writes the note, which so stays right if sprof dies. */
static int ask_about_tables(struct inject_borrowed *borrowed, uint64_t asked_at,
                            const struct probe_request *request, struct sprof_error *error)
{
    struct probe_asked *asked = calloc(1, sizeof *asked);
    if (!asked)
        return sprof_error_memory(error);
    asked->request = *request;
    const int result = inject_borrowed_call(borrowed, asked_at, asked, sizeof *asked, 0, error);
    free(asked);
    return result;
}

static bool read_note(pid_t pid, const struct inject_raw_agent *agent, struct probe_note *note)
{
    return agent->bytes > PAGE &&
           target_read_memory(pid, agent->base + agent->bytes - PAGE, note, sizeof *note) ==
               sizeof *note &&
           note->magic == PROBE_NOTE_MAGIC && note->bytes == agent->bytes;
}

int inject_raw_register(const struct inject_raw *raw, struct inject_borrowed *borrowed,
                        const struct inject_raw_agent *agent, uint64_t asked_at,
                        struct sprof_error *error)
{
    const struct probe_request request = {.kind = PROBE_REGISTER_TABLES,
                                          .address = raw->register_tables,
                                          .size = agent->base + agent->bytes - PAGE};
    struct probe_note note;
    if (!raw->register_tables)
        return 0;
    if (!read_note(raw->pid, agent, &note))
        return sprof_error_set(error, SPROF_ESTATE, 0,
                               "process %d has something else where the tracing agent was mapped",
                               (int)raw->pid);
    if (!note.tables)
        return 0;
    return ask_about_tables(borrowed, asked_at, &request, error) ? SPROF_ESTATE : 0;
}

/* == In and out == */

static int explain(const struct mapping *mapping, const char *library, int64_t result)
{
    const pid_t pid = mapping->raw->pid;
    if (mapping->error && mapping->error->code)
        return mapping->error->code;
    const int closed = result == -EACCES ? inject_explain_closed(pid, library, mapping->error) : 0;
    if (closed)
        return closed;
    return sprof_error_set(mapping->error, SPROF_ELIMIT, is_error(result) ? (int)-result : 0,
                           "the tracing agent could not be mapped into process %d: %s\nsee its "
                           "`ulimit -v` and `ulimit -n`, and after mlockall `ulimit -l`",
                           (int)pid, is_error(result) ? strerror((int)-result) : "no memory");
}

int inject_raw_load(struct inject_raw *raw, struct inject_borrowed *borrowed, const char *library,
                    struct inject_raw_agent *agent, struct sprof_error *error)
{
    struct raw_file file;
    struct sprof_error why = {0};
    *agent = (struct inject_raw_agent){0};
    if (!open_file(&file, library))
        return sprof_error_set(error, SPROF_ENOTFOUND, errno,
                               "%s cannot be read, or is not the tracing agent of this sprof\n"
                               "install it again with `cmake --install`",
                               library);
    struct mapping mapping = {raw, borrowed, &file, 0, &why};
    const int64_t mapped = map_parts(&mapping, library);
    const uint64_t note_at = mapping.base + file.bytes;
    const struct probe_note note = {.magic = PROBE_NOTE_MAGIC,
                                    .bytes = file.bytes + PAGE,
                                    .state = PROBE_NOTE_WHOLE,
                                    .tables = file.tables ? mapping.base + file.tables : 0};
    const int result =
        !is_error(mapped) && relocate(&mapping) && write_at(&mapping, note_at, &note, sizeof note)
            ? 0
            : explain(&mapping, library, mapped);
    if (result && mapping.base && borrowed->thread.tid)
        call(&mapping, SYS_munmap, mapping.base, file.bytes + PAGE, 0, 0, 0, 0);
    close(file.fd);
    if (result)
        *error = why;
    else
        *agent = (struct inject_raw_agent){mapping.base, file.bytes + PAGE};
    return result;
}

static bool is_marked(pid_t pid, const char *number)
{
    char path[64], name[32], line[256];
    unsigned flags = 0;
    bool found = false;
    snprintf(name, sizeof name, "fdinfo/%.10s", number);
    sprof_proc_shared_path(path, sizeof path, pid, name);
    FILE *info = fopen(path, "re");
    while (info && !found && fgets(line, sizeof line, info))
        found = sscanf(line, "flags: %o", &flags) == 1;
    if (info)
        fclose(info);
    return found && (flags & (O_ACCMODE | MARK)) == (O_RDONLY | MARK);
}

int inject_raw_left_open(pid_t pid, const char *library)
{
    char path[64], name[32];
    struct stat ours, theirs;
    int found = -1;
    sprof_proc_shared_path(path, sizeof path, pid, "fd");
    DIR *directory = stat(library, &ours) ? NULL : opendir(path);
    for (struct dirent *entry; directory && found < 0 && (entry = readdir(directory));) {
        snprintf(name, sizeof name, "fd/%.10s", entry->d_name);
        sprof_proc_shared_path(path, sizeof path, pid, name);
        if (*entry->d_name != '.' && !stat(path, &theirs) && ours.st_dev == theirs.st_dev &&
            ours.st_ino == theirs.st_ino && is_marked(pid, entry->d_name))
            found = (int)strtol(entry->d_name, NULL, 10);
    }
    if (directory)
        closedir(directory);
    return found;
}

int inject_raw_close(struct inject_raw *raw, struct inject_borrowed *borrowed, int fd,
                     struct sprof_error *error)
{
    struct mapping mapping = {raw, borrowed, NULL, 0, error};
    return call(&mapping, SYS_close, (uint64_t)fd, 0, 0, 0, 0, 0) ? SPROF_ESTATE : 0;
}

bool inject_raw_find(pid_t pid, const char *library, uint64_t base, struct inject_raw_agent *agent)
{
    struct raw_file file;
    struct probe_note note;
    if (!open_file(&file, library))
        return false;
    close(file.fd);
    *agent = (struct inject_raw_agent){base, file.bytes + PAGE};
    return read_note(pid, agent, &note) && note.state != PROBE_NOTE_PARTS;
}

int inject_raw_unload(struct inject_raw *raw, struct inject_borrowed *borrowed,
                      const struct inject_raw_agent *agent, uint64_t asked_at,
                      struct sprof_error *error)
{
    struct mapping mapping = {raw, borrowed, NULL, agent->base, error};
    const struct probe_request forget = {.kind = PROBE_FORGET_TABLES,
                                         .address = raw->forget_tables,
                                         .size = agent->base + agent->bytes - PAGE};
    struct probe_note note;
    const bool is_whole = read_note(raw->pid, agent, &note);
    if (is_whole && (note.state == PROBE_NOTE_REGISTERING || note.state == PROBE_NOTE_FORGETTING))
        return sprof_error_set(error, SPROF_ESTATE, 0,
                               "what unwinds exceptions in process %d may know it", (int)raw->pid);
    if (is_whole && note.state == PROBE_NOTE_REGISTERED &&
        (!raw->forget_tables || !asked_at || ask_about_tables(borrowed, asked_at, &forget, error)))
        return SPROF_ESTATE;
    const int64_t result = call(&mapping, SYS_munmap, agent->base, agent->bytes, 0, 0, 0, 0);
    return result ? SPROF_ESTATE : 0;
}
