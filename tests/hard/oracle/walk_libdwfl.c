/* libdwfl, shown the stopped process's registers and memory. */
#include "tests/hard/oracle/oracle.h"

#include <elfutils/libdwfl.h>
#include <stdio.h>
#include <stdlib.h>

struct oracle_libdwfl {
    Dwfl *dwfl;
    uint32_t generation;
    const struct oracle_target *target;
    struct oracle_stack *stack;
};

static int no_debuginfo(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base,
                        const char *file, const char *link, GElf_Word checksum, char **found)
{
    (void)module, (void)data, (void)name, (void)base, (void)file, (void)link, (void)checksum;
    *found = NULL;
    return -1;
}

static pid_t next_thread(Dwfl *dwfl, void *arg, void **thread)
{
    (void)dwfl;
    struct oracle_libdwfl *self = arg;
    if (*thread)
        return 0;
    *thread = self;
    return self->target->tid;
}

static bool read_word(Dwfl *dwfl, Dwarf_Addr address, Dwarf_Word *word, void *arg)
{
    (void)dwfl;
    const struct oracle_libdwfl *self = arg;
    return target_read(self->target, address, word, sizeof *word) == 0;
}

static bool set_registers(Dwfl_Thread *thread, void *arg)
{
    const struct oracle_libdwfl *self = arg;
    return dwfl_thread_state_registers(thread, 0, ARCH_REGISTERS,
                                       (const Dwarf_Word *)self->target->registers.value);
}

static const Dwfl_Thread_Callbacks thread_callbacks = {
    .next_thread = next_thread, .memory_read = read_word, .set_initial_registers = set_registers};
static const Dwfl_Callbacks callbacks = {.find_elf = dwfl_linux_proc_find_elf,
                                         .find_debuginfo = no_debuginfo};

struct oracle_libdwfl *oracle_libdwfl_new(void)
{
    return calloc(1, sizeof(struct oracle_libdwfl));
}

void oracle_libdwfl_free(struct oracle_libdwfl *self)
{
    dwfl_end(self->dwfl);
    free(self);
}

/* A session knows one state of the maps, and one thread. */
static bool new_session(struct oracle_libdwfl *self)
{
    dwfl_end(self->dwfl);
    self->generation = self->target->generation;
    self->dwfl = dwfl_begin(&callbacks);
    return self->dwfl && dwfl_linux_proc_report(self->dwfl, self->target->pid) == 0 &&
           dwfl_report_end(self->dwfl, NULL, NULL) == 0 &&
           dwfl_attach_state(self->dwfl, NULL, self->target->pid, &thread_callbacks, self);
}

static bool covers(Dwarf_CFI *table, Dwarf_Addr vaddr)
{
    Dwarf_Frame *frame = NULL;
    if (!table || dwarf_cfi_addrframe(table, vaddr, &frame))
        return false;
    free(frame);
    return true;
}

static bool has_call_frame_information(Dwfl *dwfl, Dwarf_Addr pc)
{
    Dwarf_Addr eh_bias = 0, debug_bias = 0;
    Dwfl_Module *module = dwfl_addrmodule(dwfl, pc);
    Dwarf_CFI *eh = module ? dwfl_module_eh_cfi(module, &eh_bias) : NULL;
    Dwarf_CFI *debug = module ? dwfl_module_dwarf_cfi(module, &debug_bias) : NULL;
    return covers(eh, pc - eh_bias) || covers(debug, pc - debug_bias);
}

static int take_frame(Dwfl_Frame *state, void *arg)
{
    struct oracle_libdwfl *self = arg;
    struct oracle_stack *stack = self->stack;
    Dwarf_Addr pc;
    bool activation;
    if (stack->count == ORACLE_FRAMES || !dwfl_frame_pc(state, &pc, &activation))
        return DWARF_CB_ABORT;
    if (!pc)
        return DWARF_CB_ABORT;
    stack->pc[stack->count++] = pc;
    if (stack->guessing == ORACLE_NOWHERE &&
        !has_call_frame_information(self->dwfl, pc - !activation))
        stack->guessing = stack->count - 1;
    return DWARF_CB_OK;
}

void oracle_libdwfl_walk(struct oracle_libdwfl *self, const struct oracle_target *target,
                         struct oracle_stack *stack)
{
    self->target = target;
    self->stack = stack;
    stack->count = 0;
    stack->guessing = ORACLE_NOWHERE;
    stack->error[0] = '\0';
    int result = -1;
    if ((self->dwfl && self->generation == target->generation) || new_session(self))
        result = dwfl_getthread_frames(self->dwfl, target->tid, take_frame, self);
    if (result == -1)
        snprintf(stack->error, sizeof stack->error, "%s", dwfl_errmsg(-1));
}
