/* Switches embedded probes of a listening process. */
#include "probing/switches.h"
#include "probing/program.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    FAR_OPCODE = ARCH_FAR_JUMP_BYTES - 8, /* offset of the target */
};

/* == Thunks == */

/* A thread may leave a thunk as late as in another trace. So the thunk belongs to one function as
 * long as the process lives. */
struct thunks {
    struct sprof_map bodies; /* address → index + 1 */
    uint8_t *is_taken;       /* by index */
    uint32_t end;
};

/* Earlier traces' thunks are adjacent, except for calibration. */
static int read_thunks(const struct probing_program *program, struct thunks *thunks)
{
    enum { PIECE = 1024 };
    const size_t size = PIECE * ARCH_THUNK_BYTES;
    uint8_t *piece = malloc(size);
    int result = piece ? 0 : SPROF_ENOMEM;
    bool is_over = false;
    for (uint32_t first = 0; first < PROBE_THUNKS && !is_over && !result; first += PIECE) {
        const uint64_t at = program->process.hello.thunks + (uint64_t)first * ARCH_THUNK_BYTES;
        is_over = pread(program->process.code_fd, piece, size, (off_t)at) != (ssize_t)size;
        for (uint32_t i = 0; i < PIECE && !is_over && !result; i++) {
            const uint8_t *thunk = piece + (size_t)i * ARCH_THUNK_BYTES;
            uint64_t body;
            memcpy(&body, thunk + ARCH_THUNK_BODY, sizeof body);
            is_over = *thunk == ARCH_FILL;
            if (is_over || !body || body == program->process.hello.nothing)
                continue;
            thunks->end = first + i + 1;
            thunks->is_taken[first + i] = 1;
            result = sprof_map_put(&thunks->bodies, body, first + i + 1);
        }
    }
    free(piece);
    return result;
}

int probing_switches_number(struct probing_program *program, struct sprof_error *error)
{
    struct thunks thunks = {.is_taken = calloc(PROBE_THUNKS, 1)};
    int result = !thunks.is_taken || read_thunks(program, &thunks) ? sprof_error_memory(error) : 0;
    uint32_t next = 0;
    for (size_t i = 0; i < program->probes.count && !result; i++) {
        struct probing_probe *probe = &program->probes.items[i];
        const uint64_t body = program->files.items[probe->file].bias + probe->function->site +
                              probe->function->displaced;
        const uint64_t *place = sprof_map_get(&thunks.bodies, body);
        if (place) {
            probe->thunk = (uint32_t)*place - 1;
            continue;
        }
        while (next < PROBE_THUNKS && thunks.is_taken[next])
            next++;
        probe->thunk = next++;
        thunks.end = next > thunks.end ? next : thunks.end;
    }
    program->capacity = thunks.end;
    if (!result && thunks.end >= PROBE_THUNKS)
        result = sprof_error_set(error, SPROF_ELIMIT, 0,
                                 "process %d has had %d functions probed in its life, and no more "
                                 "can be: choose those of traces before, or start it again",
                                 (int)program->process.pid, PROBE_THUNKS - 1);
    sprof_map_release(&thunks.bodies);
    free(thunks.is_taken);
    return result;
}

/* == Switches == */

static bool write_there(const struct probing_program *program, uint64_t address, const void *bytes,
                        size_t size)
{
    return pwrite(program->process.code_fd, bytes, size, (off_t)address) == (ssize_t)size;
}

/* The switch is off, so the target can be written in parts. */
int probing_switches_aim(struct probing_program *program, uint64_t site,
                         const struct plan_function *function, uint64_t thunk,
                         uint8_t jump[PLAN_JUMP_BYTES], struct sprof_error *error)
{
    int32_t distance;
    memcpy(&distance, function->original + 1, sizeof distance);
    const uint64_t target = site + PLAN_JUMP_BYTES + (uint64_t)(int64_t)distance + FAR_OPCODE;
    memcpy(jump, function->original, PLAN_JUMP_BYTES);
    jump[0] = ARCH_JUMP;
    return write_there(program, target, &thunk, sizeof thunk)
               ? 0
               : sprof_error_set(error, SPROF_EPERMISSION, errno,
                                 "the memory of process %d may not be written: %s",
                                 (int)program->process.pid, strerror(errno));
}

static bool turn(struct probing_program *program, struct probing_probe *probe, uint8_t from,
                 uint8_t to)
{
    const uint64_t site = program->files.items[probe->file].bias + probe->function->site;
    uint8_t there;
    return pread(program->process.code_fd, &there, 1, (off_t)site) == 1 && there == from &&
           write_there(program, site, &to, 1);
}

int probing_switches_begin(struct probing_program *program, struct sprof_error *error)
{
    const int result = inject_listening_go(&program->process, error);
    if (result)
        return result;
    counters_read_clocks(&program->times.start.ns, &program->times.start.ticks);
    for (size_t i = 0; i < program->probes.count; i++) {
        struct probing_probe *probe = &program->probes.items[i];
        program->process.shared->switches[i] =
            program->files.items[probe->file].bias + probe->function->site;
        if (probe->jump[0])
            probe->is_placed = turn(program, probe, PLAN_EMBEDDED_OFF, ARCH_JUMP);
        program->counts.refused += probe->is_chosen && !probe->is_placed;
        probe->is_chosen &= probe->is_placed;
    }
    return 0;
}

void probing_switches_leave(struct probing_program *program)
{
    if (program->is_out)
        return;
    program->is_out = true;
    if (program->process.shared)
        memset(program->process.shared->tiers, PROBE_OFF, sizeof program->process.shared->tiers);
    for (size_t i = 0; i < program->probes.count; i++) {
        struct probing_probe *probe = &program->probes.items[i];
        if (probe->is_placed)
            turn(program, probe, ARCH_JUMP, PLAN_EMBEDDED_OFF);
        probe->is_placed = false;
    }
}
