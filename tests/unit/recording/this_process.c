#include "tests/unit/recording/this_process.h"
#include "target/target.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

static int add_mapping(void *context, const struct model_mmap *mapping)
{
    return model_process_table_map(context, getpid(), mapping->address, mapping->size,
                                   mapping->file_offset, &mapping->file, THIS_START_NS);
}

void this_process_fill(struct model_process_table *table)
{
    if (model_process_table_comm(table, getpid(), getpid(), "unit_recording", true,
                                 THIS_START_NS) ||
        target_each_mapping(getpid(), add_mapping, table))
        abort();
}

struct model_process *this_process_of(struct model_process_table *table)
{
    return model_process_table_process(table, getpid(), THIS_START_NS);
}

struct model_module *this_process_module(struct model_process_table *table, const char *name)
{
    for (size_t i = 0; i < table->modules.count; i++)
        if (strncmp(table->modules.items[i]->name, name, strlen(name)) == 0)
            return table->modules.items[i];
    return NULL;
}

const struct model_mapping *this_process_mapping(const struct model_process_table *table,
                                                 const struct model_module *module)
{
    for (size_t i = 0; i < table->mappings.rows.count; i++)
        if (table->mappings.rows.items[i]->module == module->id)
            return table->mappings.rows.items[i];
    return NULL;
}

/* Registers of <sys/ucontext.h> by DWARF number. */
static const int dwarf_order[17] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
                                    REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                    REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};

static size_t stack_left(uint64_t stack_pointer)
{
    pthread_attr_t attributes;
    void *start;
    size_t size;
    if (pthread_getattr_np(pthread_self(), &attributes) ||
        pthread_attr_getstack(&attributes, &start, &size))
        abort();
    pthread_attr_destroy(&attributes);
    return (size_t)((uint64_t)(uintptr_t)start + size - stack_pointer);
}

/* Copies byte by byte: the sanitizer fences parts of the stack off. */
__attribute__((no_sanitize("address", "thread"))) static void copy_stack(uint8_t *copy,
                                                                         uint64_t from, size_t size)
{
    const volatile uint8_t *stack = (const volatile uint8_t *)(uintptr_t)from;
    for (size_t i = 0; i < size; i++)
        copy[i] = stack[i];
}

struct this_sample this_process_sample(size_t stack_bytes)
{
    ucontext_t context;
    struct this_sample taken = {.sample = {.register_count = ARCH_REGISTERS, .weight = 1}};
    struct model_sample *sample = &taken.sample;
    if (getcontext(&context))
        abort();
    for (int i = 0; i < 17; i++)
        sample->registers[i] = (uint64_t)context.uc_mcontext.gregs[dwarf_order[i]];
    const uint64_t stack_pointer = (uint64_t)context.uc_mcontext.gregs[REG_RSP];
    const size_t left = stack_left(stack_pointer);
    sample->ip = (uint64_t)context.uc_mcontext.gregs[REG_RIP];
    sample->stack_full = left > stack_bytes;
    sample->stack_size = sample->stack_full ? stack_bytes : left;
    taken.memory = malloc(sample->stack_size);
    if (!taken.memory)
        abort();
    copy_stack(taken.memory, stack_pointer, sample->stack_size);
    sample->stack = taken.memory;
    return taken;
}

bool this_process_settle(struct recording_images *images, int rounds)
{
    for (int i = 0; i < rounds && images->waiting; i++) {
        recording_images_wait(images);
        recording_images_collect(images);
    }
    return !images->waiting;
}
