/* Decides whether a probe is wanted, can rest, or can be written. */
#include "probing/probes.h"
#include "probing/program.h"

#include <string.h>

enum { PAGE = 4096 };

static bool returns_inside(const struct plan_function *function)
{
    struct arch_instruction instruction;
    for (size_t at = 0; at < PLAN_JUMP_BYTES; at += instruction.length) {
        if (!arch_instruction_decode(function->original + at, function->displaced - at,
                                     &instruction))
            return true;
        const bool is_call =
            instruction.flow == ARCH_FLOW_CALL || instruction.flow == ARCH_FLOW_CALL_INDIRECT;
        if (is_call && at + instruction.length < PLAN_JUMP_BYTES)
            return true;
    }
    return false;
}

bool probing_is_in_one_page(uint64_t address)
{
    return address / PAGE == (address + PLAN_JUMP_BYTES - 1) / PAGE;
}

bool probing_can_place_live(const struct probing_program *program,
                            const struct probing_probe *probe)
{
    const uint64_t address = program->files.items[probe->file].bias + probe->function->site;
    return probe->jump[0] && probing_is_in_one_page(address) && !returns_inside(probe->function);
}

uint8_t probing_governed_tier(const struct probing_probe *probe, uint8_t tier)
{
    if (tier == PROBE_FULL && probe->governed == PROBING_GOVERNED_COUNT)
        return PROBE_COUNT;
    if ((tier == PROBE_FULL || tier == PROBE_COUNT) && probe->governed == PROBING_GOVERNED_OFF)
        return PROBE_OFF;
    return tier;
}

bool probing_stays_on(const struct probing_probe *probe)
{
    return probe->tier == PROBE_LEAVE || probe->tier == PROBE_JUMP || probe->tier == PROBE_CLOCK ||
           probe->tier == PROBE_CLONE || probe->tier == PROBE_UNWIND ||
           probe->tier == PROBE_SYSCALL || probe->tier == PROBE_THROW ||
           probe->tier == PROBE_REMARK || probe->tier == PROBE_RESUME ||
           probe->tier == PROBE_VFORK || probe->tier == PROBE_EXECUTE || probe->tier == PROBE_CATCH;
}

/* Probes for left frames are needed while frames exist. Threads that begin during a rest are found
 * later. */
bool probing_is_wanted(const struct probing_program *program, size_t number)
{
    const struct probing_probe *probe = &program->probes.items[number];
    return probing_stays_on(probe)
               ? !program->paused
               : atomic_load(&program->process.shared->tiers[number]) != PROBE_OFF;
}

/* A clear hides open calls. */
bool probing_is_quiet(const struct probing_program *program)
{
    return program->paused && !program->times.cleared.ns && !probing_calls_sum(program).in_flight;
}

bool probing_may_rest(const struct probing_program *program, const struct probing_probe *probe,
                      bool is_quiet)
{
    return program->options.rest_ns != TRACE_NEVER && program->process.code_fd > 0 &&
           program->way->can_rest && !program->points && !program->executable.is_replaced &&
           !probe->is_restored && probing_can_place_live(program, probe) &&
           (is_quiet || !probing_stays_on(probe));
}

bool probing_has_spares(const struct probing_program *program)
{
    const struct trace_options *options = &program->options;
    return program->way->can_rest && (!options->children || options->drill.adaptive) &&
           !options->all_points && options->rest_ns != TRACE_NEVER;
}

void probing_check_spare(const struct probing_program *program, struct probing_probe *probe)
{
    if (!probe->is_spare || probe->rests || program->options.children)
        return;
    probe->is_spare = probe->is_placed = false;
    memset(probe->jump, 0, sizeof probe->jump);
}

bool probing_rests_at_once(const struct probing_program *program, const struct probing_probe *probe,
                           bool is_quiet)
{
    return (probe->is_spare || program->resting.at_once) &&
           probing_may_rest(program, probe, is_quiet);
}

bool probing_may_be_called(const struct plan_function *function)
{
    switch ((enum plan_reason)function->why) {
    case PLAN_REASON_NONE: return !function->entry_only && function->mechanism != PLAN_LEAVE;
    case PLAN_TOO_SHORT:
    case PLAN_TARGET_INSIDE:
    case PLAN_LOOP_AT_ENTRY:
    case PLAN_ENDS_INSIDE: return !function->entry_only;
    default: return false;
    }
}

bool probing_is_measured(const struct probing_file *file)
{
    return file->is_chosen && !file->plan.sanitized && !file->plan.runtime && !file->plan.is_loader;
}
