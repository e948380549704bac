/* Places probes in a waiting command: writes copies and thunks, then the jumps to them. */
#include "probing/probes.h"
#include "probing/program.h"
#include "probing/switches.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    PAGE = 4096,
};

/* == Writing == */

struct writing {
    struct probing_program *program;
    int fd;          /* /proc/PID/mem */
    uint8_t *thunks; /* from number `first` on */
    uint8_t *copies; /* for the agent's area, from `first` on; zeros: none */
    size_t first;
    SPROF_VEC(uint8_t) island;
    bool has_shadow_stack;
    struct sprof_error *error;
};

static int write_code(const struct writing *writing, uint64_t address, const void *bytes,
                      size_t size)
{
    size_t done = 0;
    while (done < size) {
        const ssize_t wrote = pwrite(writing->fd, (const uint8_t *)bytes + done, size - done,
                                     (off_t)(address + done));
        if (wrote <= 0 && errno != EINTR)
            return sprof_error_set(writing->error, SPROF_EPERMISSION, errno,
                                   "cannot write probes into the command: %s", strerror(errno));
        done += wrote > 0 ? (size_t)wrote : 0;
    }
    return 0;
}

static size_t align_in_island(size_t size)
{
    return (size + 15) / 16 * 16;
}

static int put_in_island(struct writing *writing, const struct probing_file *file,
                         const void *bytes, size_t size)
{
    const size_t aligned = align_in_island(writing->island.count + size);
    if (aligned > file->island_bytes || sprof_vec_reserve(&writing->island, aligned))
        return SPROF_ENOMEM;
    memcpy(writing->island.items + writing->island.count, bytes, size);
    memset(writing->island.items + writing->island.count + size, ARCH_FILL,
           aligned - writing->island.count - size);
    writing->island.count = aligned;
    return 0;
}

/* A moved call would push an address that the shadow stack lacks. */
static bool moves_a_call(const struct plan_function *function)
{
    struct arch_instruction instruction;
    for (size_t at = 0; at < function->displaced; at += instruction.length) {
        if (!arch_instruction_decode(function->original + at, function->displaced - at,
                                     &instruction))
            return false;
        if (instruction.flow == ARCH_FLOW_CALL || instruction.flow == ARCH_FLOW_CALL_INDIRECT)
            return true;
    }
    return false;
}

static int skip_in_island(struct writing *writing, size_t size)
{
    if (sprof_vec_reserve(&writing->island, writing->island.count + size))
        return SPROF_ENOMEM;
    memset(writing->island.items + writing->island.count, ARCH_FILL, size);
    writing->island.count += size;
    return 0;
}

/* Returns free bytes before a copy. Then one byte of the jump can turn it between copy and thunk:
 * see passed.c. */
static size_t gap_before(uint64_t entry, uint64_t at, size_t size)
{
    enum { DISTANCES = 256 };
    const size_t last = (at - entry - PLAN_JUMP_BYTES) % DISTANCES;
    return last + align_in_island(size) < DISTANCES ? 0 : align_in_island(DISTANCES - last);
}

static uint64_t place_copy(struct writing *writing, const struct probing_file *file,
                           uint32_t number)
{
    const struct plan_function *function = writing->program->probes.items[number].function;
    const uint64_t site = file->bias + function->site;
    const size_t own = (size_t)(function->end - function->site);
    uint64_t at = file->island + writing->island.count;
    struct plan_copy copy;
    if (plan_copy_make(&copy, function->original, function->displaced, own, site, at))
        return 0;
    const size_t gap = gap_before(site, at, copy.size);
    if (gap && writing->island.count + gap <= (number - file->first) * PROBING_ISLAND_EACH) {
        at += gap;
        if (skip_in_island(writing, gap) ||
            plan_copy_make(&copy, function->original, function->displaced, own, site, at))
            return 0;
    }
    return put_in_island(writing, file, copy.code, copy.size) ? 0 : at;
}

/* Places near the function what cannot be moved far. */
static uint64_t place_rest(struct writing *writing, const struct probing_file *file,
                           uint32_t number, size_t from)
{
    const struct plan_function *function = writing->program->probes.items[number].function;
    const uint64_t site = file->bias + function->site;
    const uint64_t at = file->island + writing->island.count;
    struct plan_copy copy;
    if (plan_copy_make(&copy, function->original + from, function->displaced - from,
                       (size_t)(function->end - function->site) - from, site + from, at))
        return 0;
    return put_in_island(writing, file, copy.code, copy.size) ? 0 : at;
}

/* The copy may fault, so it lies where unwinders find its frame. */
static uint64_t place_far_copy(struct writing *writing, const struct probing_file *file,
                               uint32_t number)
{
    const struct probing_program *program = writing->program;
    const struct probing_probe *probe = &program->probes.items[number];
    const struct plan_function *function = probe->function;
    const uint64_t at = program->process.hello.copies + (uint64_t)probe->thunk * ARCH_COPY_BYTES;
    const size_t own = (size_t)(function->end - function->site);
    struct plan_far_copy copy;
    const int result = plan_far_copy_make(&copy, function->original, function->displaced, own,
                                          file->bias + function->site, at);
    if (result)
        return result == SPROF_ELIMIT ? place_copy(writing, file, number) : 0;
    const uint64_t rest = copy.rest ? place_rest(writing, file, number, copy.rest) : 0;
    if (copy.rest && !rest)
        return 0;
    if (copy.rest)
        memcpy(copy.bytes + ARCH_COPY_NEXT, &rest, sizeof rest);
    memcpy(writing->copies + (number - writing->first) * ARCH_COPY_BYTES, copy.bytes,
           sizeof copy.bytes);
    return at;
}

/* Returns where a thunk continues: after a sled, or in a copy. 0: impossible, or out of memory. */
static uint64_t place_body(struct writing *writing, const struct probing_file *file,
                           uint32_t number)
{
    const struct plan_function *function = writing->program->probes.items[number].function;
    if (function->mechanism == PLAN_SLED || function->mechanism == PLAN_FENTRY ||
        function->mechanism == PLAN_XRAY || function->mechanism == PLAN_EMBEDDED)
        return file->bias + function->site + function->displaced;
    if (writing->has_shadow_stack && moves_a_call(function))
        return 0;
    return plan_may_fault(function->original, function->displaced)
               ? place_far_copy(writing, file, number)
               : place_copy(writing, file, number);
}

static int place_probe(struct writing *writing, const struct probing_file *file, uint32_t number)
{
    struct probing_program *program = writing->program;
    struct probing_probe *probe = &program->probes.items[number];
    const struct plan_function *function = probe->function;
    const uint64_t site = file->bias + function->site;
    const uint64_t thunk = probing_thunk_address(program, probe);
    const uint64_t body = place_body(writing, file, number);
    if (!body)
        return 1;
    arch_thunk_write(writing->thunks + (number - writing->first) * ARCH_THUNK_BYTES, thunk, number,
                     program->process.hello.enter, program->process.hello.leave, site, body);
    if (program->way->only_embedded)
        return probing_switches_aim(program, site, function, thunk + ARCH_THUNK_ENTRY, probe->jump,
                                    writing->error);
    if (arch_jump_write(probe->jump, site, thunk + ARCH_THUNK_ENTRY))
        return 0;
    uint8_t far_jump[ARCH_FAR_JUMP_BYTES];
    const uint64_t at = file->island + writing->island.count;
    arch_far_jump_write(far_jump, thunk + ARCH_THUNK_ENTRY);
    if (put_in_island(writing, file, far_jump, sizeof far_jump) ||
        !arch_jump_write(probe->jump, site, at))
        return 1;
    probing_passed_note(program, probe, body);
    return 0;
}

/* Copies come first, because jumps lead to them. The caller writes thunks in between. */
static int place_copies(struct writing *writing, struct probing_file *file)
{
    struct probing_program *program = writing->program;
    struct probing_probe *probes = program->probes.items + file->first;
    int result =
        program->way->only_embedded ? 0 : probing_make_island_of(program, file, writing->error);
    writing->island.count = 0;
    probing_passed_check_file(program, file);
    for (size_t i = 0; i < file->count && !result; i++)
        if (place_probe(writing, file, (uint32_t)(file->first + i))) {
            memset(probes[i].jump, 0, PLAN_JUMP_BYTES);
            program->counts.refused += probes[i].is_chosen;
            probes[i].tier = PROBE_OFF;
            probes[i].is_chosen = probes[i].is_spare = false;
        }
    if (!result)
        result = write_code(writing, file->island, writing->island.items, writing->island.count);
    return result;
}

static int place_jumps(const struct writing *writing, const struct probing_file *file)
{
    struct probing_program *program = writing->program;
    const bool is_quiet = probing_is_quiet(program);
    int result = 0;
    for (size_t i = file->first; i < file->first + file->count && !result; i++) {
        struct probing_probe *probe = &program->probes.items[i];
        probe->is_placed = probe->jump[0] != 0;
        probe->is_restored = false;
        probe->rests = probe->is_placed && probing_rests_at_once(program, probe, is_quiet);
        probing_check_spare(program, probe);
        if (probe->is_placed)
            probing_note_site_of(program, i);
        if (probe->is_placed && !probe->rests)
            result = write_code(writing, file->bias + probe->function->site, probe->jump,
                                PLAN_JUMP_BYTES);
    }
    return result;
}

/* Thunks find thread-local data by these fields. */
static int place_fields(const struct writing *writing)
{
    int result = 0;
    for (size_t i = 0; i < PROBE_FIELDS && !result; i++) {
        const struct probe_field *field = &writing->program->process.hello.fields[i];
        if (field->at)
            result = write_code(writing, field->at, &field->value, sizeof field->value);
    }
    return result;
}

/* Calls of this thunk measure a probe's cost. */
static int place_calibration(struct writing *writing)
{
    const struct probe_hello *hello = &writing->program->process.hello;
    const uint32_t number = writing->program->capacity;
    const uint64_t at = hello->thunks + (uint64_t)number * ARCH_THUNK_BYTES;
    uint8_t thunk[ARCH_THUNK_BYTES];
    arch_thunk_write(thunk, at, number, hello->enter, hello->leave, 0, hello->nothing);
    return write_code(writing, at, thunk, sizeof thunk);
}

static bool has_far_copy(const struct writing *writing, size_t index)
{
    uint64_t site;
    memcpy(&site, writing->copies + index * ARCH_COPY_BYTES + ARCH_COPY_SITE, sizeof site);
    return site != 0;
}

static int write_far_copies(struct writing *writing, size_t count)
{
    const struct probing_program *program = writing->program;
    const struct probing_probe *probes = count ? program->probes.items + writing->first : NULL;
    int result = 0;
    for (size_t first = 0, end; first < count && !result; first = end) {
        for (end = first; end < count && has_far_copy(writing, end) &&
                          (end == first || probes[end].thunk == probes[end - 1].thunk + 1);)
            end++;
        if (end == first)
            end++;
        else
            result = write_code(
                writing,
                program->process.hello.copies + (uint64_t)probes[first].thunk * ARCH_COPY_BYTES,
                writing->copies + first * ARCH_COPY_BYTES, (end - first) * ARCH_COPY_BYTES);
    }
    return result;
}

static int write_thunks(struct writing *writing, size_t count)
{
    const struct probing_program *program = writing->program;
    const struct probing_probe *probes = count ? program->probes.items + writing->first : NULL;
    int result = 0;
    for (size_t first = 0, end; first < count && !result; first = end) {
        for (end = first + 1; end < count && probes[end].thunk == probes[end - 1].thunk + 1;)
            end++;
        result = write_code(writing, probing_thunk_address(program, &probes[first]),
                            writing->thunks + first * ARCH_THUNK_BYTES,
                            (end - first) * ARCH_THUNK_BYTES);
    }
    return result;
}

/* `is_live`: without jumps. */
static int place_files(struct writing *writing, struct probing_file *files, size_t count,
                       bool is_live)
{
    size_t probes = 0;
    int result = 0;
    for (size_t i = 0; i < count && !result; i++) {
        probes += files[i].count;
        result = files[i].count ? place_copies(writing, &files[i]) : 0;
    }
    if (!result)
        result = write_far_copies(writing, probes);
    if (!result)
        result = write_thunks(writing, probes);
    for (size_t i = 0; i < count && !result && !is_live; i++)
        result = place_jumps(writing, &files[i]);
    return result;
}

static bool has_shadow_stack(pid_t pid)
{
    char path[64], line[256];
    bool has = false;
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    FILE *status = fopen(path, "re");
    while (status && fgets(line, sizeof line, status))
        has |= !strncmp(line, "x86_Thread_features:", 20) && strstr(line, "shstk");
    if (status)
        fclose(status);
    return has;
}

static int begin_writing(struct writing *writing, struct probing_program *program, size_t first,
                         size_t count, struct sprof_error *error)
{
    *writing = (struct writing){.program = program,
                                .thunks = calloc(count + 1, ARCH_THUNK_BYTES),
                                .copies = calloc(count + 1, ARCH_COPY_BYTES),
                                .first = first,
                                .has_shadow_stack = has_shadow_stack(program->process.pid),
                                .error = error};
    const int fd = program->way->open_code(program, error);
    writing->fd = fd < 0 ? -1 : fd;
    if (fd < 0)
        return fd;
    return writing->thunks && writing->copies ? 0 : sprof_error_memory(error);
}

static void end_writing(struct writing *writing)
{
    if (writing->fd >= 0)
        close(writing->fd);
    sprof_vec_release(&writing->island);
    free(writing->thunks);
    free(writing->copies);
}

int probing_place_files(struct probing_program *program, struct sprof_error *error)
{
    struct writing writing;
    int result = begin_writing(&writing, program, 0, program->probes.count, error);
    if (!result)
        result = place_fields(&writing);
    if (!result)
        result = place_calibration(&writing);
    if (!result)
        result = place_files(&writing, program->files.items, program->files.count,
                             program->way->is_live);
    end_writing(&writing);
    return result;
}

static int place_file(struct probing_program *program, struct probing_file *file, bool is_live,
                      struct sprof_error *error)
{
    struct writing writing;
    int result = begin_writing(&writing, program, file->first, file->count, error);
    if (!result)
        result = place_files(&writing, file, 1, is_live);
    end_writing(&writing);
    return result;
}

int probing_place_file(struct probing_program *program, struct probing_file *file,
                       struct sprof_error *error)
{
    return place_file(program, file, false, error);
}

int probing_place_copies(struct probing_program *program, struct probing_file *file,
                         struct sprof_error *error)
{
    return place_file(program, file, true, error);
}

int probing_place_hook(struct probing_program *program, const char *loader_path, uint64_t at,
                       struct sprof_error *error)
{
    struct probing_hook *hook = &program->hook;
    struct probing_file loader = {.path = loader_path};
    uint8_t far_jump[ARCH_FAR_JUMP_BYTES];
    struct writing writing;
    int result = begin_writing(&writing, program, 0, 0, error);
    if (!result)
        result = probing_make_island(program, &loader, PAGE, at, at + PAGE, error);
    arch_far_jump_write(far_jump, program->process.hello.loaded);
    if (!result)
        result = write_code(&writing, loader.island, far_jump, sizeof far_jump);
    if (!result && sprof_vec_push(&program->files, loader))
        result = sprof_error_memory(error);
    if (!result && arch_jump_write(hook->jump, at, loader.island)) {
        probing_note_site(program, 0, at, hook->original);
        if (program->way->is_live)
            hook->wanted = at;
        else {
            result = write_code(&writing, at, hook->jump, sizeof hook->jump);
            hook->at = at;
        }
    }
    end_writing(&writing);
    return result;
}
