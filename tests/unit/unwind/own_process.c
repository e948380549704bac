#include "tests/unit/unwind/own_process.h"

#include "tests/unit/unwind/elf_source.h"

#include <CUnit/CUnit.h>
#include <errno.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <ucontext.h>
#include <unistd.h>

#define UNW_LOCAL_ONLY
#include <libunwind.h>

static int read_own(void *context, uint64_t address, void *buffer, size_t size)
{
    (void)context;
    const struct iovec local = {buffer, size}, remote = {(void *)(uintptr_t)address, size};
    return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == (ssize_t)size ? 0 : SPROF_EIO;
}

/* As much as can be read, by pages. */
static size_t read_most(uint64_t address, uint8_t *buffer, size_t size)
{
    enum { PAGE = 4096 };
    size_t done = 0;
    while (done < size) {
        const size_t page_left = PAGE - (size_t)((address + done) % PAGE);
        const size_t wanted = page_left < size - done ? page_left : size - done;
        if (read_own(NULL, address + done, buffer + done, wanted))
            break;
        done += wanted;
    }
    return done;
}

/* The bias of an executable mapping of a file at an offset. */
static uint64_t bias_of(const char *path, uint64_t start, uint64_t offset)
{
    struct elf_source file;
    uint64_t bias = 0;
    size_t count = 0;
    if (elf_source_open(&file, path))
        return 0;
    elf_getphdrnum(file.elf, &count);
    for (size_t i = 0; i < count; i++) {
        GElf_Phdr header;
        gelf_getphdr(file.elf, (int)i, &header);
        if (header.p_type == PT_LOAD && header.p_flags & PF_X &&
            header.p_offset / 4096 * 4096 == offset)
            bias = start - (header.p_vaddr - (header.p_offset - offset));
    }
    elf_source_close(&file);
    return bias;
}

static const struct unwind_region *find_region(void *context, uint64_t address)
{
    const struct own_process *own = context;
    for (size_t i = 0; i < own->count; i++)
        if (address >= own->regions[i].start && address < own->regions[i].end)
            return &own->regions[i];
    return NULL;
}

static void add_mapping(struct own_process *own, const char *line)
{
    unsigned long start, end, offset;
    char mode[8], path[512] = "";
    if (own->count == OWN_REGIONS ||
        sscanf(line, "%lx-%lx %7s %lx %*s %*s %511[^\n]", &start, &end, mode, &offset, path) < 4 ||
        mode[2] != 'x')
        return;
    struct unwind_region *region = &own->regions[own->count++];
    *region = (struct unwind_region){.start = start, .end = end, .kind = UNWIND_REGION_BARE};
    region->table = path[0] == '/' ? elf_source_table(path) : NULL;
    if (region->table) {
        region->kind = UNWIND_REGION_TABLE;
        region->bias = bias_of(path, start, offset);
    }
}

void own_process_init(struct own_process *own)
{
    *own = (struct own_process){.walker = unwind_walker_new(0)};
    own->space = (struct unwind_space){.find = find_region, .context = own, .generation = 1};
    FILE *maps = fopen("/proc/self/maps", "r");
    CU_ASSERT_PTR_NOT_NULL_FATAL(maps);
    for (char line[1024]; fgets(line, sizeof line, maps);)
        add_mapping(own, line);
    fclose(maps);
}

void own_process_release(struct own_process *own)
{
    for (size_t i = 0; i < own->count; i++)
        unwind_table_free((struct unwind_table *)own->regions[i].table);
    unwind_walker_free(own->walker);
}

void own_capture_init(struct own_capture *capture)
{
    *capture = (struct own_capture){.bytes = malloc(OWN_STACK)};
    if (!capture->bytes)
        abort();
}

void own_capture_release(struct own_capture *capture)
{
    free(capture->bytes);
}

static void take_registers(struct unwind_registers *registers, const ucontext_t *context)
{
    static const uint8_t places[UNWIND_REGISTERS] = {
        REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP, REG_R8,
        REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};
    for (size_t i = 0; i < UNWIND_REGISTERS; i++)
        registers->value[i] = (uint64_t)context->uc_mcontext.gregs[places[i]];
}

__attribute__((noinline)) void own_capture_take(struct own_capture *capture, size_t bytes)
{
    ucontext_t context;
    unw_context_t peer_context;
    unw_cursor_t cursor;
    getcontext(&context);
    take_registers(&capture->registers, &context);
    capture->size = read_most(capture->registers.value[UNWIND_RSP], capture->bytes, bytes);
    capture->peer_count = 0;
    unw_getcontext(&peer_context);
    unw_init_local(&cursor, &peer_context);
    while (capture->peer_count < OWN_PEER_FRAMES && unw_step(&cursor) > 0) {
        unw_word_t ip;
        unw_get_reg(&cursor, UNW_REG_IP, &ip);
        capture->peer[capture->peer_count++] = ip;
    }
}

struct unwind_stack own_process_walk(struct own_process *own, const struct own_capture *capture,
                                     bool live)
{
    const struct unwind_memory memory = {.slice = capture->bytes,
                                         .slice_address = capture->registers.value[UNWIND_RSP],
                                         .slice_size = capture->size,
                                         .read = live ? read_own : NULL};
    return unwind_walk(own->walker, &own->space, &memory, &capture->registers);
}

bool own_capture_agrees(const struct own_capture *capture, const struct unwind_stack *stack)
{
    bool agrees = stack->count - 1 == capture->peer_count ||
                  (capture->peer_count == OWN_PEER_FRAMES && stack->count > OWN_PEER_FRAMES);
    for (size_t i = 0; agrees && i < capture->peer_count; i++)
        agrees = stack->frames[i + 1].address == capture->peer[i];
    if (!agrees) {
        printf("\n    end %s", unwind_end_text(stack->end));
        for (size_t i = 0; i < stack->count - 1 || i < capture->peer_count; i++)
            printf("\n    %#llx %s, libunwind %#llx",
                   (unsigned long long)(i + 1 < stack->count ? stack->frames[i + 1].address : 0),
                   i + 1 < stack->count ? unwind_found_by_text(stack->frames[i + 1].found_by) : "",
                   (unsigned long long)(i < capture->peer_count ? capture->peer[i] : 0));
    }
    return agrees;
}
