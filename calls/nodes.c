/* Finds the stack nodes of functions. */
#include "calls/program.h"
#include "probing/probing.h"

int calls_node_of(struct calls_program *program, uint32_t function, uint32_t caller, uint32_t *node)
{
    struct probing_probe *probe = &program->probes.items[function];
    *node = probe->node;
    if (!caller && probe->node)
        return 0;
    const struct probing_file *file = &program->files.items[probe->file];
    const int result =
        file->module
            ? recording_child_in(program->recording, caller, file->module,
                                 probe->function->start + file->offset + probe->further, node)
            : recording_child_at(program->recording, caller, program->process.pid,
                                 file->bias + probe->function->start, program->times.start.ns,
                                 node);
    if (!result && !caller)
        probe->node = *node;
    probe->is_unplaced |= result == SPROF_ENOTFOUND;
    return result;
}

void calls_program_note_modules(struct calls_program *program)
{
    const uint64_t now_ns = sprof_clock_monotonic_ns();
    for (size_t i = 0; i < program->files.count; i++) {
        struct probing_file *file = &program->files.items[i];
        if (!file->count)
            continue;
        const uint64_t start = program->probes.items[file->first].function->start;
        uint64_t offset = 0;
        file->module = recording_module_at(program->recording, program->process.pid,
                                           file->bias + start, now_ns, &offset);
        file->offset = offset - start;
        for (size_t k = 1; file->module && k < file->count; k++) {
            struct probing_probe *probe = &program->probes.items[file->first + k];
            const uint64_t next = probe->function->start;
            const uint32_t module = recording_module_at(program->recording, program->process.pid,
                                                        file->bias + next, now_ns, &offset);
            probe->further = module == file->module ? offset - next - file->offset : 0;
        }
    }
}

int calls_outside_note_modules(struct calls_program *program)
{
    const uint64_t now_ns = sprof_clock_monotonic_ns();
    const size_t count =
        program->outside && program->outside->is_new ? program->outside->targets.count : 0;
    for (size_t i = 0; i < count; i++) {
        struct probing_outside_target *target = &program->outside->targets.items[i];
        if (!target->module)
            target->module = recording_module_at(program->recording, program->process.pid,
                                                 target->address, now_ns, &target->offset);
    }
    if (program->outside)
        program->outside->is_new = false;
    return 0;
}
