/* Passes probes that are off: one byte of the jump then leads to the copied instructions and not to
 * the thunk. If they are too far apart, the thunk's first byte leads to the body. */
#include "inject/inject.h"
#include "probing/probes.h"
#include "probing/program.h"

#include "arch/arch.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Threads see the old or the new byte. After an execve, the descriptor still leads to the old
 * memory. */
static bool write_byte(const struct probing_program *program, uint64_t at, uint8_t byte)
{
    return program->process.code_fd > 0 &&
           pwrite(program->process.code_fd, &byte, 1, (off_t)at) == 1;
}

static bool turn_jump(const struct probing_program *program, struct probing_probe *probe)
{
    const uint64_t site = program->files.items[probe->file].bias + probe->function->site;
    uint8_t there[PLAN_JUMP_BYTES];
    if (program->process.code_fd <= 0 || probe->is_restored || probe->rests ||
        pread(program->process.code_fd, there, sizeof there, (off_t)site) !=
            (ssize_t)sizeof there ||
        memcmp(there, probe->jump, sizeof there) != 0 ||
        !write_byte(program, site + probe->pass_at, probe->pass_byte))
        return false;
    const uint8_t before = probe->jump[probe->pass_at];
    probe->jump[probe->pass_at] = probe->pass_byte;
    probe->pass_byte = before;
    return true;
}

static bool set_passed(const struct probing_program *program, struct probing_probe *probe,
                       bool is_passed)
{
    return probe->pass_at
               ? turn_jump(program, probe)
               : write_byte(program, probing_thunk_address(program, probe) + ARCH_THUNK_ENTRY,
                            is_passed ? ARCH_THUNK_OFF : ARCH_THUNK_ON);
}

static bool is_program(pid_t pid, const char *file)
{
    char program[PATH_MAX];
    inject_program_file(pid, program);
    program[sprof_file_path_length(program)] = 0;
    return !strcmp(file, program);
}

/* A file that may be unloaded is never passed: other code may replace it before the write. */
void probing_passed_check_file(const struct probing_program *program, struct probing_file *file)
{
    file->stays =
        program->way->borrows ? is_program(program->process.pid, file->path) : !file->is_loaded;
}

void probing_passed_note(struct probing_program *program, struct probing_probe *probe,
                         uint64_t body)
{
    const struct probing_file *file = &program->files.items[probe->file];
    uint8_t jump[PLAN_JUMP_BYTES];
    size_t others = 0, at = 0;
    probe->pass_at = 0;
    if (arch_jump_write(jump, file->bias + probe->function->site, body) != sizeof jump)
        return;
    for (size_t i = 0; i < sizeof jump; i++)
        if (jump[i] != probe->jump[i]) {
            others++;
            at = i;
        }
    if (others != 1 || !file->stays)
        return;
    probe->pass_at = (uint8_t)at;
    probe->pass_byte = jump[at];
}

void probing_passed_begin(struct probing_program *program)
{
    char path[64];
    sprof_proc_shared_path(path, sizeof path, program->process.pid, "mem");
    if (!program->options.children && !program->way->only_embedded)
        program->process.code_fd = program->process.attachment ? inject_open_code(&program->process)
                                                               : open(path, O_RDWR | O_CLOEXEC);
}

void probing_passed_end(struct probing_program *program, size_t number)
{
    struct probing_probe *probe = &program->probes.items[number];
    if (probe->is_passed && set_passed(program, probe, false))
        probe->is_passed = false;
    probe->was_off = false;
}

/* A fault handler may check the address or throw, and unwinders have no rules for copied
 * instructions. */
static bool handles_faults(const struct probing_program *program)
{
    const uint64_t faults = UINT64_C(1) << (SIGSEGV - 1) | UINT64_C(1) << (SIGBUS - 1);
    char path[64], line[256];
    unsigned long long caught = 0;
    snprintf(path, sizeof path, "/proc/%d/status", (int)program->process.pid);
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "SigCgt: %llx", &caught) == 1)
            break;
    if (file)
        fclose(file);
    return caught & faults;
}

static bool is_any_off(const struct probing_program *program)
{
    for (size_t i = 0; i < program->probes.count; i++)
        if (program->probes.items[i].was_off || program->probes.items[i].is_passed)
            return true;
    return false;
}

void probing_passed_refresh(struct probing_program *program)
{
    const bool handles = !program->way->only_embedded && program->process.code_fd > 0 &&
                         is_any_off(program) && handles_faults(program);
    for (size_t i = 0; i < program->probes.count && program->process.code_fd > 0; i++) {
        struct probing_probe *probe = &program->probes.items[i];
        const bool is_off = probe->is_placed && !probe->is_restored && !probe->rests &&
                            !atomic_load(&program->process.shared->tiers[i]);
        if (handles && probe->is_passed && set_passed(program, probe, false))
            probe->is_passed = false;
        if (!handles && is_off && probe->was_off && !probe->is_passed)
            probe->is_passed = set_passed(program, probe, true);
        probe->was_off = is_off;
    }
}
