/* Complex rules: libunwind steps again from the last frame where all registers were known, through
 * the one with the rule. It is shown one function at a time, as a table of one entry with an FDE
 * that our own parser has accepted and that is written afresh: absolute addresses, no augmentation
 * but the pointers' form, the program as it was. So libunwind never sees a byte that was not
 * checked. */
#include "unwind/cfi.h"
#include "unwind/walk.h"

#include <libunwind.h>
#include <stdlib.h>

enum {
    SYNTHETIC_MAX = 32 << 10, /* bytes of one synthetic function */
    STEPS_MAX = 4096,         /* of libunwind in one walk, against hostile stacks */
};

/* Exported by libunwind for debuggers' sake, declared only in its internal headers. */
int UNW_OBJ(dwarf_search_unwind_table)(unw_addr_space_t space, unw_word_t ip, unw_dyn_info_t *di,
                                       unw_proc_info_t *info, int need_unwind_info, void *arg);

struct libunwind_fallback {
    unw_addr_space_t space;
    struct walk *walk;
    size_t frame; /* the frame being stepped from */
    bool failed;  /* no information: what libunwind then guesses is not wanted */
    /* The synthetic function, and where it is for libunwind: over the function's own code,
     * which is not read, so that it can hide nothing else. */
    uint64_t synthetic_address;
    size_t synthetic_size;
    uint8_t synthetic[SYNTHETIC_MAX];
};

/* == Writing the synthetic function == */

struct writer {
    uint8_t *bytes;
    size_t size;
    bool failed;
};

static void put(struct writer *writer, const void *data, size_t size)
{
    if (size > SYNTHETIC_MAX - writer->size) {
        writer->failed = true;
        return;
    }
    if (size)
        memcpy(writer->bytes + writer->size, data, size);
    writer->size += size;
}

static void put_u32(struct writer *writer, uint64_t value)
{
    const uint32_t low = (uint32_t)value;
    put(writer, &low, sizeof low);
}

static void put_sleb(struct writer *writer, int64_t value)
{
    for (bool more = true; more;) {
        const uint8_t bits = value & 0x7f;
        value >>= 7;
        more = !((value == 0 && !(bits & 0x40)) || (value == -1 && bits & 0x40));
        const uint8_t byte = (uint8_t)(bits | (more ? 0x80 : 0));
        put(writer, &byte, 1);
    }
}

/* Writes at `length_at` how many bytes follow it. */
static void put_length(struct writer *writer, size_t length_at)
{
    const uint32_t length = (uint32_t)(writer->size - length_at - 4);
    if (!writer->failed)
        memcpy(writer->bytes + length_at, &length, sizeof length);
}

static void put_cie(struct writer *writer, const struct cfi_cie *cie)
{
    static const uint8_t version_and_letters[] = {1, 'z', 'R', 0};
    static const uint8_t return_and_absolute[] = {ARCH_RETURN_COLUMN, 1, 0};
    const size_t length_at = writer->size;
    put_u32(writer, 0);
    put_u32(writer, 0);
    put(writer, version_and_letters, sizeof version_and_letters);
    put_sleb(writer, (int64_t)cie->code_align); /* one byte: the parser bounds it */
    put_sleb(writer, cie->data_align);
    put(writer, return_and_absolute, sizeof return_and_absolute);
    put(writer, cie->program.data, cie->program.size);
    put_length(writer, length_at);
}

static void put_fde(struct writer *writer, const struct cfi_fde *fde, uint64_t bias, size_t cie_at)
{
    const uint8_t no_augmentation = 0;
    const uint64_t start = fde->start + bias, length = fde->end - fde->start;
    const size_t length_at = writer->size;
    put_u32(writer, 0);
    put_u32(writer, writer->size - cie_at);
    put(writer, &start, sizeof start);
    put(writer, &length, sizeof length);
    put(writer, &no_augmentation, 1);
    put(writer, fde->program.data, fde->program.size);
    put_length(writer, length_at);
}

/* The table's one entry (start of the function, place of its FDE, both from the start), the CIE,
 * the FDE. */
static bool synthesize(struct libunwind_fallback *fallback, const struct cfi_cie *cie,
                       const struct cfi_fde *fde, uint64_t bias)
{
    struct writer writer = {.bytes = fallback->synthetic};
    if (cie->return_register != ARCH_RETURN_COLUMN)
        return false;
    fallback->synthetic_address = (fde->start + bias + 7) & ~UINT64_C(7);
    const uint64_t shift = fallback->synthetic_address - (fde->start + bias);
    put_u32(&writer, 0);
    put_u32(&writer, 0);
    const size_t cie_at = writer.size;
    put_cie(&writer, cie);
    const size_t fde_at = writer.size;
    put_fde(&writer, fde, bias, cie_at);
    const uint32_t fde_offset = (uint32_t)(fde_at + shift);
    memcpy(fallback->synthetic + 4, &fde_offset, sizeof fde_offset);
    fallback->synthetic_size = writer.size;
    put(&writer, "\0\0\0\0\0\0\0", 8); /* libunwind reads whole words */
    return !writer.failed;
}

/* == Finding the function == */

/* libunwind 1.6 takes the number of a holding register for an index, whatever it is. */
static void note_beyond(void *context, uint64_t start, uint64_t end, const struct cfi_state *state)
{
    (void)start, (void)end;
    *(bool *)context |= state->beyond;
}

/* Reads the function's FDE again from the kept section. */
static bool synthesize_function(struct libunwind_fallback *fallback,
                                const struct unwind_region *region,
                                const struct unwind_function *function)
{
    const struct unwind_kept_section *kept = unwind_table_kept(region->table, function);
    if (!kept)
        return false;
    struct cfi_section section;
    unwind_cfi_section_init(&section, (struct sprof_bytes){kept->data, kept->size}, kept->vaddr,
                            function->kept_in == UNWIND_KEPT_DEBUG_FRAME);
    section.bases.text = kept->text_vaddr;
    section.bases.data = kept->got_vaddr;
    struct cfi_fde fde;
    size_t offset = function->entry;
    bool beyond = false;
    const bool done =
        unwind_cfi_section_next(&section, &offset, &fde) == 0 && fde.program.size < SYNTHETIC_MAX &&
        unwind_cfi_program_run(&section, &fde, note_beyond, &beyond) == 0 && !beyond &&
        synthesize(fallback, &section.cies.items[fde.cie], &fde, region->bias);
    unwind_cfi_section_release(&section);
    return done;
}

static int find_proc_info(unw_addr_space_t space, unw_word_t ip, unw_proc_info_t *info,
                          int need_unwind_info, void *arg)
{
    struct libunwind_fallback *fallback = arg;
    const struct walk *walk = fallback->walk;
    const uint64_t pc = unwind_frame_lookup_address(&walk->walker->frames[fallback->frame]);
    const struct unwind_region *region = walk->space->find(walk->space->context, pc);
    const struct unwind_function *function =
        region && region->kind == UNWIND_REGION_TABLE
            ? unwind_table_function_at(region->table, pc - region->bias)
            : NULL;
    if (!function || !synthesize_function(fallback, region, function)) {
        fallback->failed = true;
        return -UNW_ENOINFO;
    }
    const uint64_t start = region->table->base + function->start + region->bias;
    unw_dyn_info_t table = {
        .start_ip = start,
        .end_ip = region->table->base + function->end + region->bias,
        .format = UNW_INFO_FORMAT_REMOTE_TABLE,
        .u.rti = {.segbase = start, .table_len = 1, .table_data = fallback->synthetic_address}};
    const int code =
        UNW_OBJ(dwarf_search_unwind_table)(space, ip, &table, info, need_unwind_info, arg);
    fallback->failed |= code != 0;
    return code;
}

/* == The other accessors == */

static void put_unwind_info(unw_addr_space_t space, unw_proc_info_t *info, void *arg)
{
    (void)space, (void)info, (void)arg;
}

static int no_dynamic_list(unw_addr_space_t space, unw_word_t *address, void *arg)
{
    (void)space, (void)address, (void)arg;
    return -UNW_ENOINFO;
}

static int access_memory(unw_addr_space_t space, unw_word_t address, unw_word_t *value, int write,
                         void *arg)
{
    (void)space;
    struct libunwind_fallback *fallback = arg;
    const uint64_t offset = address - fallback->synthetic_address;
    if (write)
        return -UNW_EINVAL;
    if (offset < fallback->synthetic_size) {
        memcpy(value, fallback->synthetic + offset, sizeof *value);
        return 0;
    }
    return unwind_walk_read_word(fallback->walk, address, value) == WALK_READ_OK ? 0 : -UNW_EINVAL;
}

static int access_register(unw_addr_space_t space, unw_regnum_t reg, unw_word_t *value, int write,
                           void *arg)
{
    (void)space;
    const struct libunwind_fallback *fallback = arg;
    if (write || reg < 0 || reg >= ARCH_REGISTERS)
        return -UNW_EBADREG;
    *value = fallback->walk->full.value[reg];
    return 0;
}

static int no_fp_register(unw_addr_space_t space, unw_regnum_t reg, unw_fpreg_t *value, int write,
                          void *arg)
{
    (void)space, (void)reg, (void)value, (void)write, (void)arg;
    return -UNW_EBADREG;
}

static int no_resume(unw_addr_space_t space, unw_cursor_t *cursor, void *arg)
{
    (void)space, (void)cursor, (void)arg;
    return -UNW_EINVAL;
}

static int no_name(unw_addr_space_t space, unw_word_t address, char *name, size_t size,
                   unw_word_t *offset, void *arg)
{
    (void)space, (void)address, (void)name, (void)size, (void)offset, (void)arg;
    return -UNW_ENOINFO;
}

/* == Stepping == */

/* Steps from the full registers through the current frame, comparing with the frames known. */
static bool follow(struct libunwind_fallback *fallback, unw_cursor_t *cursor)
{
    struct walk *walk = fallback->walk;
    walk->libunwind_steps += walk->count - walk->full_at;
    if (walk->libunwind_steps > STEPS_MAX || unw_init_remote(cursor, fallback->space, fallback))
        return false;
    for (fallback->frame = walk->full_at; fallback->frame < walk->count; fallback->frame++) {
        unw_word_t ip = 0;
        if (unw_get_reg(cursor, UNW_REG_IP, &ip) ||
            ip != walk->walker->frames[fallback->frame].address)
            return false;
        const int code = unw_step(cursor);
        if (code < 0 || fallback->failed)
            return false;
    }
    return true;
}

static bool go_on_from(struct walk *walk, unw_cursor_t *cursor)
{
    struct unwind_registers registers;
    for (int reg = 0; reg < ARCH_REGISTERS; reg++)
        if (unw_get_reg(cursor, reg, &registers.value[reg]))
            registers.value[reg] = 0;
    const struct walk_caller caller = {.address = registers.value[ARCH_PC],
                                       .sp = registers.value[ARCH_SP],
                                       .fp = registers.value[ARCH_FP],
                                       .found_by = MODEL_BY_CFI};
    if (caller.sp < walk->sp || caller.sp >= UNWIND_USER_END)
        return unwind_walk_end(walk, MODEL_END_BAD_MEMORY);
    if (!unwind_walk_go_on(walk, &caller))
        return false;
    walk->full = registers;
    walk->full_at = walk->count - 1;
    return true;
}

bool unwind_walk_complex(struct walk *walk, uint64_t rule)
{
    struct libunwind_fallback *fallback = walk->walker->fallback;
    unw_cursor_t cursor;
    fallback->walk = walk;
    fallback->failed = false;
    if (follow(fallback, &cursor)) {
        walk->walker->counters.complex_rows++;
        return go_on_from(walk, &cursor);
    }
    walk->walker->counters.complex_failed++;
    walk->from = WALK_FROM_SLICE;
    return unwind_walk_fallback_frame_pointer(walk, rule);
}

int unwind_libunwind_fallback_new(struct libunwind_fallback **made)
{
    unw_accessors_t accessors = {
        .find_proc_info = find_proc_info,
        .put_unwind_info = put_unwind_info,
        .get_dyn_info_list_addr = no_dynamic_list,
        .access_mem = access_memory,
        .access_reg = access_register,
        .access_fpreg = no_fp_register,
        .resume = no_resume,
        .get_proc_name = no_name,
    };
    struct libunwind_fallback *fallback = calloc(1, sizeof *fallback);
    if (fallback)
        fallback->space = unw_create_addr_space(&accessors, 0);
    if (!fallback || !fallback->space) {
        free(fallback);
        return SPROF_ENOMEM;
    }
    unw_set_caching_policy(fallback->space, UNW_CACHE_NONE);
    *made = fallback;
    return 0;
}

void unwind_libunwind_fallback_free(struct libunwind_fallback *fallback)
{
    if (!fallback)
        return;
    unw_destroy_addr_space(fallback->space);
    free(fallback);
}
