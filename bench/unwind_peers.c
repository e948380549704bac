/* The peers' walks of a made-up stack. */
#include "bench/unwind_stack.h"
#include "unwind/table.h"

#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <gelf.h>
#include <libunwind-x86_64.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static double now_ns(void)
{
    return (double)sprof_clock_own_cpu_ns();
}

static bool stack_word(const struct bench_stack *stack, uint64_t address, uint64_t *value)
{
    const uint64_t offset = address - BENCH_STACK;
    if (offset > stack->size || stack->size - offset < sizeof *value)
        return false;
    memcpy(value, stack->bytes + offset, sizeof *value);
    return true;
}

/* == libunwind, with the image's own search table, as perf uses it == */

int _Ux86_64_dwarf_search_unwind_table(unw_addr_space_t space, unw_word_t ip, unw_dyn_info_t *di,
                                       unw_proc_info_t *info, int need_unwind_info, void *arg);

struct remote {
    const struct bench_stack *stack;
    const char *image; /* segments laid out by vaddr */
    size_t image_size;
    uint64_t table_address;
    size_t table_entries;
    uint64_t segbase;
};

static int find_proc_info(unw_addr_space_t space, unw_word_t ip, unw_proc_info_t *info, int need,
                          void *arg)
{
    const struct remote *remote = arg;
    unw_dyn_info_t table = {.start_ip = remote->stack->bias,
                            .end_ip = remote->stack->bias + remote->image_size,
                            .format = UNW_INFO_FORMAT_REMOTE_TABLE,
                            .u.rti = {.segbase = remote->segbase,
                                      .table_len = remote->table_entries,
                                      .table_data = remote->table_address}};
    return _Ux86_64_dwarf_search_unwind_table(space, ip, &table, info, need, arg);
}

static int access_memory(unw_addr_space_t space, unw_word_t address, unw_word_t *value, int write,
                         void *arg)
{
    (void)space, (void)write;
    const struct remote *remote = arg;
    const uint64_t offset = address - remote->stack->bias;
    if (offset < remote->image_size - sizeof *value) {
        memcpy(value, remote->image + offset, sizeof *value);
        return 0;
    }
    return stack_word(remote->stack, address, value) ? 0 : -UNW_EINVAL;
}

static int access_register(unw_addr_space_t space, unw_regnum_t reg, unw_word_t *value, int write,
                           void *arg)
{
    (void)space, (void)write;
    const struct remote *remote = arg;
    if (reg < 0 || reg >= ARCH_REGISTERS)
        return -UNW_EBADREG;
    *value = remote->stack->registers.value[reg];
    return 0;
}

static int no_list(unw_addr_space_t space, unw_word_t *address, void *arg)
{
    (void)space, (void)address, (void)arg;
    return -UNW_ENOINFO;
}

static void put_info(unw_addr_space_t space, unw_proc_info_t *info, void *arg)
{
    (void)space, (void)info, (void)arg;
}

/* Lays out the image's segments and finds the search table in .eh_frame_hdr (its usual form). */
static bool remote_image(struct remote *remote, const char *path)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
    size_t count = 0, size = 0;
    const char *raw = elf ? elf_rawfile(elf, &size) : NULL;
    elf_getphdrnum(elf, &count);
    GElf_Phdr header;
    for (size_t i = 0; raw && i < count; i++)
        if (gelf_getphdr(elf, (int)i, &header) && header.p_type == PT_LOAD &&
            header.p_vaddr + header.p_memsz > remote->image_size)
            remote->image_size = header.p_vaddr + header.p_memsz;
    char *image = calloc(1, remote->image_size + 8);
    uint64_t table = 0;
    for (size_t i = 0; raw && image && i < count; i++) {
        gelf_getphdr(elf, (int)i, &header);
        if (header.p_type == PT_LOAD)
            memcpy(image + header.p_vaddr, raw + header.p_offset, header.p_filesz);
        if (header.p_type == PT_GNU_EH_FRAME)
            table = header.p_vaddr;
    }
    uint32_t entries = 0;
    if (image && table)
        memcpy(&entries, image + table + 8, sizeof entries);
    remote->image = image;
    remote->segbase = remote->stack->bias + table;
    remote->table_address = remote->stack->bias + table + 12;
    remote->table_entries = (size_t)entries * 8 / sizeof(unw_word_t);
    elf_end(elf);
    close(fd);
    return image && table;
}

static size_t libunwind_walk(unw_addr_space_t space, struct remote *remote)
{
    unw_cursor_t cursor;
    size_t agreeing = 0;
    if (unw_init_remote(&cursor, space, remote))
        return 0;
    do {
        unw_word_t ip;
        if (unw_get_reg(&cursor, UNW_X86_64_RIP, &ip) || ip != remote->stack->addresses[agreeing])
            break;
        agreeing++;
    } while (agreeing < remote->stack->frames && unw_step(&cursor) > 0);
    return agreeing;
}

struct bench_peer bench_libunwind(const struct bench_stack *stack, const char *path, int rounds)
{
    unw_accessors_t accessors = {.find_proc_info = find_proc_info,
                                 .put_unwind_info = put_info,
                                 .get_dyn_info_list_addr = no_list,
                                 .access_mem = access_memory,
                                 .access_reg = access_register};
    struct remote remote = {.stack = stack};
    struct bench_peer peer = {0};
    unw_addr_space_t space = unw_create_addr_space(&accessors, 0);
    unw_set_caching_policy(space, UNW_CACHE_GLOBAL);
    const bool ready = remote_image(&remote, path);
    for (int round = 0; ready && round < rounds; round++) {
        const double start = now_ns();
        peer.agreeing = libunwind_walk(space, &remote);
        const double took = (now_ns() - start) / (double)(peer.agreeing ? peer.agreeing : 1);
        peer.ns_per_frame = round && peer.ns_per_frame < took ? peer.ns_per_frame : took;
    }
    unw_destroy_addr_space(space);
    free((void *)remote.image);
    return peer;
}

/* == libdwfl == */

static pid_t next_thread(Dwfl *dwfl, void *context, void **thread)
{
    (void)dwfl;
    if (*thread)
        return 0;
    *thread = context;
    return 1;
}

static bool get_thread(Dwfl *dwfl, pid_t tid, void *context, void **thread)
{
    (void)dwfl, (void)tid;
    *thread = context;
    return true;
}

static bool memory_read(Dwfl *dwfl, Dwarf_Addr address, Dwarf_Word *value, void *context)
{
    (void)dwfl;
    return stack_word(context, address, value);
}

static bool initial_registers(Dwfl_Thread *thread, void *context)
{
    const struct bench_stack *stack = context;
    dwfl_thread_state_register_pc(thread, stack->registers.value[ARCH_PC]);
    return dwfl_thread_state_registers(thread, 0, ARCH_REGISTERS, stack->registers.value);
}

struct dwfl_walk {
    const struct bench_stack *stack;
    size_t agreeing;
};

static int dwfl_frame(Dwfl_Frame *frame, void *context)
{
    struct dwfl_walk *walk = context;
    Dwarf_Addr pc;
    if (!dwfl_frame_pc(frame, &pc, NULL) || pc != walk->stack->addresses[walk->agreeing])
        return DWARF_CB_ABORT;
    return ++walk->agreeing == walk->stack->frames ? DWARF_CB_ABORT : DWARF_CB_OK;
}

struct bench_peer bench_libdwfl(const struct bench_stack *stack, const char *path, int rounds)
{
    static const Dwfl_Callbacks callbacks = {.find_elf = dwfl_build_id_find_elf,
                                             .find_debuginfo = dwfl_standard_find_debuginfo,
                                             .section_address = dwfl_offline_section_address};
    static const Dwfl_Thread_Callbacks threads = {.next_thread = next_thread,
                                                  .get_thread = get_thread,
                                                  .memory_read = memory_read,
                                                  .set_initial_registers = initial_registers};
    struct bench_peer peer = {0};
    Dwfl *dwfl = dwfl_begin(&callbacks);
    dwfl_report_begin(dwfl);
    dwfl_report_elf(dwfl, "image", path, -1, stack->bias, true);
    dwfl_report_end(dwfl, NULL, NULL);
    struct bench_stack copy = *stack;
    const bool ready = dwfl_attach_state(dwfl, NULL, 1, &threads, &copy);
    for (int round = 0; ready && round < rounds; round++) {
        struct dwfl_walk walk = {.stack = stack};
        const double start = now_ns();
        dwfl_getthread_frames(dwfl, 1, dwfl_frame, &walk);
        const double took = (now_ns() - start) / (double)(walk.agreeing ? walk.agreeing : 1);
        peer.ns_per_frame = round && peer.ns_per_frame < took ? peer.ns_per_frame : took;
        peer.agreeing = walk.agreeing;
    }
    dwfl_end(dwfl);
    return peer;
}

/* == libdw == */

double bench_libdw_row_ns(const struct unwind_table *table, const char *path, size_t rows)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
    Dwarf_CFI *cfi = elf ? dwarf_getcfi_elf(elf) : NULL;
    uint64_t *starts = bench_row_starts(table);
    double best = 0;
    for (int round = 0; cfi && starts && round < 3; round++) {
        const double start = now_ns();
        for (size_t i = 0; i < rows; i++) {
            Dwarf_Frame *frame = NULL;
            if (!dwarf_cfi_addrframe(cfi, starts[i % table->facts.rows], &frame))
                free(frame);
        }
        const double took = (now_ns() - start) / (double)rows;
        best = round && best < took ? best : took;
    }
    free(starts);
    if (cfi)
        dwarf_cfi_end(cfi);
    elf_end(elf);
    close(fd);
    return best;
}
