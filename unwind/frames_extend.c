/* Writes the call frame information of a file anew, with that of code that was moved. */
#include "unwind/frames.h"

#include <stdlib.h>

enum {
    SECTION_ALIGN = 64,
    ENTRY_ALIGN = 8,
    HEADER_BYTES = 12,
    PE_HERE_4 = 0x1b,   /* DW_EH_PE_pcrel | DW_EH_PE_sdata4 */
    PE_HEADER_4 = 0x3b, /* DW_EH_PE_datarel | DW_EH_PE_sdata4 */
    PE_COUNT_4 = 0x03,  /* DW_EH_PE_udata4 */
    CFA_ADVANCE_1 = 0x40,
    CFA_ADVANCE_BYTE = 0x02,
    CFA_OFFSET = 0x0e,
};

struct extended_place {
    int32_t function, entry; /* from where .eh_frame_hdr begins */
};

struct extension {
    const struct unwind_frames *frames;
    struct sprof_str *header, *out;
    uint64_t header_vaddr, vaddr; /* of what is written */
    size_t header_size;
    size_t out_start;           /* where that begins in `out` */
    struct cfi_section section; /* what there was */
    SPROF_VEC(struct cfi_fde) functions;
    struct sprof_map cies; /* CIE of the old section → offset of its like in the new */
    SPROF_VEC(struct extended_place) places;
};

static uint64_t align_up(uint64_t value, uint64_t to)
{
    return (value + to - 1) / to * to;
}

/* == Writing == */

static void put(struct sprof_str *out, const void *bytes, size_t size)
{
    sprof_str_append_bytes(out, bytes, size);
}

static void put_u8(struct sprof_str *out, unsigned byte)
{
    const uint8_t value = (uint8_t)byte;
    put(out, &value, sizeof value);
}

static void put_u32(struct sprof_str *out, uint64_t value)
{
    const uint32_t low = (uint32_t)value;
    put(out, &low, sizeof low);
}

static void put_uleb(struct sprof_str *out, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        put_u8(out, 0x80U | (unsigned)(value & 0x7f));
    put_u8(out, (unsigned)value);
}

static void put_sleb(struct sprof_str *out, int64_t value)
{
    while (value < -0x40 || value >= 0x40) {
        put_u8(out, 0x80U | (unsigned)(value & 0x7f));
        value >>= 7;
    }
    put_u8(out, value & 0x7f);
}

static size_t at(const struct extension *extension)
{
    return extension->out->length - extension->out_start;
}

static size_t entry_begin(struct extension *extension)
{
    const size_t start = extension->out->length;
    put_u32(extension->out, 0);
    return start;
}

static void entry_end(struct extension *extension, size_t start)
{
    while (!extension->out->failed && (extension->out->length - start) % ENTRY_ALIGN)
        put_u8(extension->out, 0);
    if (extension->out->failed)
        return;
    const uint32_t length = (uint32_t)(extension->out->length - start - sizeof length);
    memcpy(extension->out->text + start, &length, sizeof length);
}

/* == Moved pieces == */

/* A CIE as that of the function, without what concerns exceptions: a piece catches none. */
static int put_cie(struct extension *extension, size_t index, size_t *offset)
{
    const uint64_t *known = sprof_map_get(&extension->cies, index);
    if (known) {
        *offset = (size_t)*known;
        return 0;
    }
    const struct cfi_cie *cie = &extension->section.cies.items[index];
    struct sprof_str *out = extension->out;
    *offset = at(extension);
    const size_t start = entry_begin(extension);
    put_u32(out, 0);
    put(out, "\1zR", sizeof "\1zR");
    put_uleb(out, cie->code_align);
    put_sleb(out, cie->data_align);
    put_u8(out, (unsigned)cie->return_register);
    put_u8(out, 1);
    put_u8(out, PE_HERE_4);
    put(out, cie->program.data, cie->program.size);
    entry_end(extension, start);
    return sprof_map_put(&extension->cies, index, *offset);
}

static int compare_functions(const void *left, const void *right)
{
    const struct cfi_fde *a = left, *b = right;
    return (a->start > b->start) - (a->start < b->start);
}

static const struct cfi_fde *function_at(const struct extension *extension, uint64_t vaddr)
{
    size_t low = 0, high = extension->functions.count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (extension->functions.items[middle].start <= vaddr)
            low = middle + 1;
        else
            high = middle;
    }
    const struct cfi_fde *found = low ? &extension->functions.items[low - 1] : NULL;
    return found && vaddr < found->end ? found : NULL;
}

/* The canonical frame address at a vaddr, as far as it counts from a register. */
struct wanted {
    uint64_t vaddr;
    struct cfi_state state;
};

static void look_for(void *context, uint64_t start, uint64_t end, const struct cfi_state *state)
{
    struct wanted *wanted = context;
    if (wanted->vaddr >= start && wanted->vaddr < end)
        wanted->state = *state;
}

static void advance(struct sprof_str *out, uint64_t distance, uint64_t code_align)
{
    const uint64_t units = distance / code_align;
    if (units && units < 0x40) {
        put_u8(out, CFA_ADVANCE_1 | (unsigned)units);
    } else if (units) {
        put_u8(out, CFA_ADVANCE_BYTE);
        put_u8(out, (unsigned)units);
    }
}

struct moving {
    struct extension *extension;
    const struct unwind_moved *moved;
    const struct cfi_fde *function;
    uint64_t code_align;
    size_t place;     /* that the stack is described up to */
    uint64_t reached; /* in the piece */
};

static void reach(struct moving *moving, size_t place)
{
    const uint64_t next = place ? moving->moved->places[place].moved : moving->moved->start;
    if (next > moving->reached)
        advance(moving->extension->out, next - moving->reached, moving->code_align);
    moving->reached = next > moving->reached ? next : moving->reached;
    moving->place = place;
}

/* What a call has pushed that is made of several instructions. */
static void put_pushed(struct moving *moving)
{
    for (size_t i = 0; i < moving->moved->count; i++) {
        const struct unwind_moved_place *place = &moving->moved->places[i];
        struct wanted wanted = {.vaddr = place->original};
        if (!place->pushed)
            continue;
        unwind_cfi_program_run(&moving->extension->section, moving->function, look_for, &wanted);
        if (wanted.state.cfa_how != CFI_CFA_REGISTER || wanted.state.cfa_register != ARCH_SP)
            continue;
        reach(moving, i);
        put_u8(moving->extension->out, CFA_OFFSET);
        put_uleb(moving->extension->out, (uint64_t)wanted.state.cfa_offset + place->pushed);
    }
}

/* The function's program up to the last place, each row where its instruction is now. */
static void put_program(struct moving *moving)
{
    struct sprof_reader program = sprof_reader_of(moving->function->program);
    const struct unwind_moved *moved = moving->moved;
    struct frames_operation operation;
    uint64_t location = moving->function->start;
    size_t place = 0;
    while (unwind_frames_next(&program, &operation)) {
        location += operation.advance * moving->code_align;
        while (place < moved->count && moved->places[place].original < location)
            place++;
        if (place == moved->count)
            break;
        if (operation.advance)
            continue;
        reach(moving, place);
        put(moving->extension->out, operation.bytes, operation.size);
    }
    put_pushed(moving);
}

/* A piece of a function that nothing is known of stays unknown, too. */
static int put_piece(struct extension *extension, const struct unwind_moved *moved)
{
    size_t cie;
    const struct cfi_fde *function = function_at(extension, moved->places[0].original);
    if (!function)
        return 0;
    const struct cfi_cie *known = &extension->section.cies.items[function->cie];
    if (!known->code_align || known->return_register > UINT8_MAX)
        return 0;
    if (put_cie(extension, function->cie, &cie))
        return SPROF_ENOMEM;
    struct moving moving = {.extension = extension,
                            .moved = moved,
                            .function = function,
                            .code_align = known->code_align,
                            .reached = moved->start};
    const size_t offset = at(extension), start = entry_begin(extension);
    put_u32(extension->out, at(extension) - cie);
    put_u32(extension->out, moved->start - (extension->vaddr + at(extension)));
    put_u32(extension->out, moved->end - moved->start);
    put_u8(extension->out, 0);
    put_program(&moving);
    entry_end(extension, start);
    const struct extended_place place = {
        (int32_t)(moved->start - extension->header_vaddr),
        (int32_t)(extension->vaddr + offset - extension->header_vaddr)};
    return sprof_vec_push(&extension->places, place) ? SPROF_ENOMEM : 0;
}

/* == .eh_frame_hdr == */

static bool header_is_usual(struct sprof_bytes header)
{
    static const uint8_t usual[] = {1, PE_HERE_4, PE_COUNT_4, PE_HEADER_4};
    uint32_t count;
    if (header.size < HEADER_BYTES || memcmp(header.data, usual, sizeof usual) != 0)
        return false;
    memcpy(&count, header.data + 8, sizeof count);
    return count <= (header.size - HEADER_BYTES) / sizeof(struct extended_place);
}

static uint32_t header_count(struct sprof_bytes header)
{
    uint32_t count;
    memcpy(&count, header.data + 8, sizeof count);
    return count;
}

static int take_places(struct extension *extension)
{
    const struct unwind_frames *frames = extension->frames;
    const uint64_t shift = frames->eh_frame_hdr_vaddr - extension->header_vaddr;
    const uint64_t entries = extension->vaddr - frames->eh_frame_vaddr;
    for (uint32_t i = 0; i < header_count(frames->eh_frame_hdr); i++) {
        struct extended_place place;
        memcpy(&place, frames->eh_frame_hdr.data + HEADER_BYTES + i * sizeof place, sizeof place);
        const int64_t function = place.function + (int64_t)shift;
        const int64_t entry = place.entry + (int64_t)(shift + entries);
        if (function != (int32_t)function || entry != (int32_t)entry)
            return SPROF_EUNSUPPORTED;
        place = (struct extended_place){(int32_t)function, (int32_t)entry};
        if (sprof_vec_push(&extension->places, place))
            return SPROF_ENOMEM;
    }
    return 0;
}

static int compare_places(const void *left, const void *right)
{
    const struct extended_place *a = left, *b = right;
    return (a->function > b->function) - (a->function < b->function);
}

/* Pieces that nothing is known of leave room unused. */
static void put_header(struct extension *extension, size_t size)
{
    static const uint8_t forms[] = {1, PE_HERE_4, PE_COUNT_4, PE_HEADER_4};
    struct sprof_str *out = extension->header;
    const size_t end = out->length + size;
    qsort(extension->places.items, extension->places.count, sizeof *extension->places.items,
          compare_places);
    put(out, forms, sizeof forms);
    put_u32(out, extension->vaddr - (extension->header_vaddr + sizeof forms));
    put_u32(out, extension->places.count);
    put(out, extension->places.items, extension->places.count * sizeof *extension->places.items);
    while (!out->failed && out->length < end)
        put_u8(out, 0);
}

/* == The whole == */

/* What is written says of each function what was said. */
static bool is_same(const struct extension *extension, size_t copied)
{
    const struct unwind_frames *frames = extension->frames;
    const struct sprof_bytes bytes = {(const uint8_t *)extension->out->text + extension->out_start,
                                      copied};
    struct cfi_section before, now;
    struct cfi_fde was, is;
    size_t before_at = 0, now_at = 0;
    int code;
    bool same = true;
    unwind_cfi_section_init(&before, frames->eh_frame, frames->eh_frame_vaddr, false);
    unwind_cfi_section_init(&now, bytes, extension->vaddr, false);
    while (same && now_at < copied) {
        code = unwind_cfi_section_next(&before, &before_at, &was);
        same = unwind_cfi_section_next(&now, &now_at, &is) == code && code != SPROF_ENOMEM &&
               (code ||
                (was.start == is.start && was.end == is.end &&
                 was.exception_table == is.exception_table && was.program.size == is.program.size));
    }
    unwind_cfi_section_release(&before);
    unwind_cfi_section_release(&now);
    return same;
}

static int read_functions(struct extension *extension)
{
    const struct unwind_frames *frames = extension->frames;
    struct cfi_fde function;
    size_t offset = 0;
    int code;
    unwind_cfi_section_init(&extension->section, frames->eh_frame, frames->eh_frame_vaddr, false);
    while ((code = unwind_cfi_section_next(&extension->section, &offset, &function)) != 1)
        if (code == SPROF_ENOMEM || (!code && sprof_vec_push(&extension->functions, function)))
            return SPROF_ENOMEM;
    if (extension->functions.count)
        qsort(extension->functions.items, extension->functions.count,
              sizeof *extension->functions.items, compare_functions);
    return 0;
}

static int extend(struct extension *extension)
{
    const struct unwind_frames *frames = extension->frames;
    int code = read_functions(extension);
    if (!code)
        code = unwind_frames_copy(extension->out, frames->eh_frame, frames->eh_frame_vaddr,
                                  extension->vaddr, frames->is_fixed);
    if (!code && !is_same(extension, at(extension)))
        code = SPROF_EUNSUPPORTED;
    if (!code)
        code = take_places(extension);
    for (size_t i = 0; i < frames->moved_count && !code; i++)
        code = put_piece(extension, &frames->moved[i]);
    if (code)
        return code;
    put_u32(extension->out, 0);
    put_header(extension, extension->header_size);
    return extension->out->failed || extension->header->failed ? SPROF_ENOMEM : 0;
}

int unwind_frames_extend(struct sprof_str *eh_frame_hdr, struct sprof_str *eh_frame,
                         const struct unwind_frames *frames, uint64_t vaddr)
{
    if (!header_is_usual(frames->eh_frame_hdr) || !frames->eh_frame.size)
        return SPROF_EUNSUPPORTED;
    const size_t places = header_count(frames->eh_frame_hdr) + frames->moved_count;
    struct extension extension = {.frames = frames,
                                  .header = eh_frame_hdr,
                                  .out = eh_frame,
                                  .out_start = eh_frame->length,
                                  .header_vaddr = vaddr};
    extension.header_size = HEADER_BYTES + places * sizeof(struct extended_place);
    extension.vaddr = align_up(vaddr + extension.header_size, SECTION_ALIGN);
    const int code = extend(&extension);
    unwind_cfi_section_release(&extension.section);
    sprof_vec_release(&extension.functions);
    sprof_map_release(&extension.cies);
    sprof_vec_release(&extension.places);
    return code;
}
