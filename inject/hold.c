/* Holds a command where its main begins: instead of main, start code passes on the address of code
 * that reads from a descriptor and jumps to main. There is no breakpoint and no signal, so sprof
 * may end at any moment. */
#include "inject/hold.h"
#include "image/image.h"
#include "inject/process.h"
#include "inject/stop.h"
#include "target/target.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "arch/probe.h"

enum {
    PAGE = 4096,
    HEADERS_MAX = 64,
    START_STEPS = 40,   /* instructions followed */
    START_BYTES = 1024, /* searched for main's address */
    COMMAND_FD = 1016,  /* above the command's own */
    FIRST_PAUSE_US = 100,
    LAST_PAUSE_US = 5000,
};

/* == The descriptor == */

int inject_hold_open(struct inject_hold *hold, struct sprof_error *error)
{
    struct rlimit limit;
    int ends[2];
    *hold = INJECT_HOLD_NONE;
    if (pipe2(ends, O_CLOEXEC))
        return sprof_error_set(error, SPROF_ELIMIT, errno,
                               "cannot make a pipe: %s\nsee `ulimit -n`", strerror(errno));
    const bool is_small =
        !getrlimit(RLIMIT_NOFILE, &limit) && limit.rlim_cur < COMMAND_FD + sizeof ends;
    hold->fd = ends[1];
    hold->command_fd = is_small ? dup(*ends) : fcntl(*ends, F_DUPFD, COMMAND_FD);
    hold->is_ours = hold->command_fd >= 0;
    close(*ends);
    return hold->is_ours ? 0
                         : sprof_error_set(error, SPROF_ELIMIT, errno,
                                           "cannot duplicate a descriptor: %s\nsee `ulimit -n`",
                                           strerror(errno));
}

void inject_hold_release(struct inject_hold *hold)
{
    if (hold->is_ours)
        inject_close(&hold->command_fd);
    hold->is_ours = false;
    inject_close(&hold->fd);
}

/* == Until it has executed the program == */

int inject_hold_seize(struct inject_hold *hold, pid_t pid, struct sprof_error *error)
{
    close(hold->command_fd);
    hold->is_ours = false;
    hold->pid = pid;
    return ptrace(PTRACE_SEIZE, pid, NULL, (void *)PTRACE_O_TRACEEXEC)
               ? sprof_error_set(error, SPROF_EPERMISSION, errno,
                                 "the command cannot be held where it begins: ptrace(2) says %s, "
                                 "see /proc/sys/kernel/yama/ptrace_scope\n`--backend uprobe`, as "
                                 "root, has the kernel count its calls",
                                 strerror(errno))
               : 0;
}

/* Passes on signals that stop it before. True: the command is executed. */
static bool has_executed(struct inject_hold *hold, long limit_ms, bool *is_gone)
{
    int status = 0;
    const enum inject_waited waited = inject_stop_wait(hold->pid, hold->pid, limit_ms, &status);
    const int event = status >> 8, number = status & 0x7f;
    *is_gone = waited == INJECT_WAITED_GONE;
    if (waited != INJECT_WAITED_STOPPED || event == PTRACE_EVENT_EXEC)
        return waited == INJECT_WAITED_STOPPED;
    if (event == PTRACE_EVENT_STOP && number != SIGTRAP) /* as by Ctrl-Z */
        ptrace(PTRACE_LISTEN, hold->pid, NULL, NULL);
    else
        ptrace(PTRACE_CONT, hold->pid, NULL, (void *)(intptr_t)(event ? 0 : number));
    return false;
}

void inject_hold_pass_signals(void *context)
{
    bool is_gone;
    has_executed(context, 1, &is_gone);
}

/* == Where main is == */

struct program {
    pid_t pid; /* 0: only the file */
    int fd;    /* or -1 */
    uint64_t bias, entry;
    Elf64_Phdr text; /* with the entry point */
    uint64_t main;   /* 0: no symbol */
};

static uint64_t symbol_of_main(const char *path)
{
    static const char *const names[] = {"main", NULL};
    const struct image_request request = {.file = {.path = path}};
    struct image_symbol symbol = {0};
    struct image *image;
    if (image_open(&image, &request, NULL))
        return 0;
    image_find_symbols(image, names, &symbol);
    image_free(image);
    return symbol.vaddr;
}

/* `pid` 0: only the file, which stays open. */
static bool read_program(struct program *program, pid_t pid, const char *path)
{
    Elf64_Ehdr elf;
    Elf64_Phdr headers[HEADERS_MAX];
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const bool is_read = fd >= 0 && pread(fd, &elf, sizeof elf, 0) == sizeof elf &&
                         !memcmp(elf.e_ident, ELFMAG, SELFMAG) && elf.e_phnum <= HEADERS_MAX &&
                         elf.e_phentsize == sizeof *headers &&
                         pread(fd, headers, elf.e_phnum * sizeof *headers, (off_t)elf.e_phoff) ==
                             (ssize_t)(elf.e_phnum * sizeof *headers);
    *program = (struct program){.pid = pid, .fd = fd};
    if (is_read)
        program->entry = pid ? target_entry(pid) : elf.e_entry;
    for (size_t i = 0; is_read && i < elf.e_phnum; i++)
        if (headers[i].p_type == PT_LOAD && headers[i].p_flags & PF_X &&
            elf.e_entry - headers[i].p_vaddr < headers[i].p_filesz)
            program->text = headers[i];
    if (pid || !program->entry || !program->text.p_filesz)
        inject_close(&program->fd);
    if (!program->entry || !program->text.p_filesz)
        return false;
    program->bias = program->entry - elf.e_entry;
    const uint64_t main = symbol_of_main(path);
    program->main = main ? program->bias + main : 0;
    return true;
}

static size_t read_code(const struct program *program, uint64_t at, uint8_t *code, size_t size)
{
    const uint64_t offset = at - program->text.p_vaddr;
    if (program->pid)
        return target_read_memory(program->pid, at, code, size);
    if (offset >= program->text.p_filesz)
        return 0;
    const uint64_t left = program->text.p_filesz - offset;
    const ssize_t got = pread(program->fd, code, left < size ? left : size,
                              (off_t)(program->text.p_offset + offset));
    return got > 0 ? (size_t)got : 0;
}

/* An instruction that passes a function's address. */
struct handing {
    uint64_t operand; /* of its last four bytes */
    bool is_relative; /* to their end */
    uint64_t function;
};

static bool read_handing(const struct program *program, const uint8_t *code, size_t size,
                         uint64_t at, struct handing *handing)
{
    struct arch_loading loading;
    if (!arch_code_loads_function(code, size, at, &loading))
        return false;
    *handing = (struct handing){at + loading.operand_at, loading.is_relative, loading.function};
    const uint64_t vaddr = handing->function - program->bias;
    return vaddr - program->text.p_vaddr < program->text.p_filesz;
}

/* Finds the function that start code passes. glibc's calls the library; musl's calls another
 * function first. */
static bool follow_start(const struct program *program, struct handing *handing)
{
    uint64_t at = program->entry;
    bool has = false;
    for (int steps = 0; steps < START_STEPS; steps++) {
        uint8_t code[ARCH_INSTRUCTION_BYTES];
        struct arch_instruction instruction;
        const size_t got = read_code(program, at, code, sizeof code);
        if (!arch_instruction_decode(code, got, &instruction))
            return false;
        has |= read_handing(program, code, got, at, handing);
        at += instruction.length;
        switch (instruction.flow) {
        case ARCH_FLOW_NEXT: break;
        case ARCH_FLOW_CALL:
        case ARCH_FLOW_JUMP:
            if (has)
                return true;
            at += (uint64_t)instruction.value;
            break;
        case ARCH_FLOW_CALL_INDIRECT: return has;
        default: return false;
        }
    }
    return false;
}

/* Start code that relocates the program has loops: searches for the instruction that passes main.
 */
static bool search_start(const struct program *program, struct handing *handing)
{
    uint8_t code[START_BYTES];
    unsigned found = 0;
    const size_t got = read_code(program, program->entry, code, sizeof code);
    for (size_t i = 0; i < got; i++) {
        struct handing other;
        if (!read_handing(program, code + i, got - i, program->entry + i, &other) ||
            other.function != program->main)
            continue;
        *handing = other;
        found++;
    }
    return found == 1;
}

static bool find_handing(const struct program *program, struct handing *handing)
{
    return (follow_start(program, handing) &&
            (!program->main || handing->function == program->main)) ||
           (program->main && search_start(program, handing));
}

/* == The wait == */

/* Finds room behind the code, in its last page, which a write makes private. 0: none. */
static uint64_t find_room(const struct program *program)
{
    const Elf64_Phdr *text = &program->text;
    const uint64_t end = program->bias + text->p_vaddr + text->p_filesz;
    return !(text->p_flags & PF_W) && text->p_memsz == text->p_filesz && end % PAGE &&
                   end % PAGE + ARCH_WAIT_BYTES <= PAGE
               ? end
               : 0;
}

/* The code comes first: start code stays valid if sprof dies. */
static bool write_wait(struct inject_hold *hold, const struct handing *handing, int memory_fd)
{
    uint8_t code[ARCH_WAIT_BYTES];
    arch_wait_write(code, hold->code, hold->command_fd, handing->function);
    const uint64_t after = handing->operand + sizeof(int32_t);
    const uint32_t operand = (uint32_t)(hold->code - (handing->is_relative ? after : 0));
    return pwrite(memory_fd, code, sizeof code, (off_t)hold->code) == sizeof code &&
           pwrite(memory_fd, &operand, sizeof operand, (off_t)handing->operand) == sizeof operand;
}

static int refuse(const char *name, const char *reason, struct sprof_error *error)
{
    return sprof_error_set(error, SPROF_EUNSUPPORTED, 0,
                           "cannot hold %s where its main begins, to put probes into it: %s\n"
                           "`--backend uprobe`, as root, has the kernel count its calls",
                           name, reason);
}

static bool is_in_one_page(uint64_t operand)
{
    return operand / PAGE == (operand + sizeof(int32_t) - 1) / PAGE;
}

static bool has_room(const struct program *program, const struct handing *handing)
{
    const uint64_t room = find_room(program);
    return room && is_in_one_page(handing->operand) && (handing->is_relative || room <= INT32_MAX);
}

const char *inject_hold_obstacle(const char *path)
{
    struct program program;
    struct handing handing;
    const char *obstacle = NULL;
    if (!read_program(&program, 0, path))
        return NULL;
    if (!find_handing(&program, &handing))
        obstacle = "has start code that does not show where its main is";
    else if (!has_room(&program, &handing))
        obstacle = "has no room for the instructions by which it would wait at its main";
    inject_close(&program.fd);
    return obstacle;
}

static int lead(struct inject_hold *hold, const struct program *program,
                const struct handing *handing, int memory_fd, const char *name,
                struct sprof_error *error)
{
    hold->code = find_room(program);
    if (!has_room(program, handing))
        return refuse(name, "there is no room for the instructions that would wait", error);
    return write_wait(hold, handing, memory_fd)
               ? 0
               : sprof_error_set(error, SPROF_EPERMISSION, errno,
                                 "the memory of the command may not be written: %s",
                                 strerror(errno));
}

static int end_early(const char *name, struct sprof_error *error)
{
    return sprof_error_set(error, SPROF_ESTATE, 0, "%s ended before it could have probes", name);
}

static int wait_for_exec(struct inject_hold *hold, const char *name, struct sprof_error *error)
{
    bool is_gone = false;
    while (!has_executed(hold, LAST_PAUSE_US / 1000, &is_gone))
        if (is_gone)
            return end_early(name, error);
    return 0;
}

/* == Until it waits == */

/* Compares system call, descriptor and instruction pointer. */
static bool waits(const struct inject_hold *hold)
{
    char path[64], line[256];
    long number;
    uint64_t fd, pc;
    snprintf(path, sizeof path, "/proc/%d/syscall", (int)hold->pid);
    FILE *file = fopen(path, "re");
    const bool is_read = file && fgets(line, sizeof line, file);
    if (file)
        fclose(file);
    const char *last = is_read ? strrchr(line, ' ') : NULL;
    return last && sscanf(line, "%ld %lx", &number, &fd) == 2 && sscanf(last, "%lx", &pc) == 1 &&
           number == SYS_read && (int)fd == hold->command_fd && pc - hold->code < ARCH_WAIT_BYTES;
}

/* False: the process is ending. */
static bool runs_something(pid_t pid)
{
    char path[64], any[1];
    snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
    return readlink(path, any, sizeof any) > 0;
}

/* NULL: it may still come. */
static const char *cannot_come(const struct inject_hold *hold, int memory_fd)
{
    struct pollfd end = {.fd = hold->fd};
    struct sprof_proc_stat stat;
    uint8_t there;
    if (!sprof_proc_stat_read(hold->pid, &stat) || stat.state == 'Z')
        return "ended before it could have probes";
    if (pread(memory_fd, &there, 1, (off_t)hold->code) != 1)
        return runs_something(hold->pid)
                   ? "executed another program in its place before its main began"
                   : "ended before it could have probes";
    return poll(&end, 1, 0) == 1 ? "has closed the descriptor by which it was to wait for probes, "
                                   "in a constructor"
                                 : NULL;
}

static int wait_for_main(struct inject_hold *hold, int memory_fd, const char *name,
                         struct sprof_error *error)
{
    long pause_us = FIRST_PAUSE_US;
    while (!waits(hold)) {
        const struct timespec pause = {.tv_nsec = pause_us * 1000};
        const char *reason = cannot_come(hold, memory_fd);
        hold->is_past = reason;
        if (reason)
            return sprof_error_set(error, SPROF_ESTATE, 0, "%s %s", name, reason);
        nanosleep(&pause, NULL);
        pause_us = pause_us * 2 < LAST_PAUSE_US ? pause_us * 2 : LAST_PAUSE_US;
    }
    return 0;
}

int inject_hold_at_main(struct inject_hold *hold, const char *name, struct sprof_error *error)
{
    struct program program;
    struct handing handing = {0};
    uint32_t original = 0;
    char path[64], executable[64];
    int result = wait_for_exec(hold, name, error);
    if (result)
        return result;
    snprintf(executable, sizeof executable, "/proc/%d/exe", (int)hold->pid);
    snprintf(path, sizeof path, "/proc/%d/mem", (int)hold->pid);
    const int memory_fd = open(path, O_RDWR | O_CLOEXEC);
    if (!read_program(&program, hold->pid, executable) || !find_handing(&program, &handing) ||
        pread(memory_fd, &original, sizeof original, (off_t)handing.operand) != sizeof original)
        result = refuse(name, "its first instructions do not show where that is", error);
    if (!result)
        result = lead(hold, &program, &handing, memory_fd, name, error);
    if (!result) {
        ptrace(PTRACE_DETACH, hold->pid, NULL, NULL);
        result = wait_for_main(hold, memory_fd, name, error);
    }
    if (!result && pwrite(memory_fd, &original, sizeof original, (off_t)handing.operand) < 0)
        result = end_early(name, error);
    if (memory_fd >= 0)
        close(memory_fd);
    return result;
}
