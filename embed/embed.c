/* Chooses functions of a file, makes the code that their entries lead over, and has the file
 * written with it. */
#include "embed/embed.h"
#include "plan/plan.h"
#include "target/target.h"

#include "agent/agent.h"
#include "arch/arch.h"
#include "embed/elf_file.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum {
    ENTRY_ALIGN = 16,
    SLOT_ALIGN = 8,
    FAR_OPCODE = ARCH_FAR_JUMP_BYTES - 8, /* bytes before its target */
};

struct maker {
    const struct embed_request *embedding;
    struct embed_result *result;
    struct elf_file file;
    struct plan plan;
    struct sprof_str code; /* of the new section */
    SPROF_VEC(struct plan_embedded_function) functions;
    SPROF_VEC(struct unwind_moved) moved;
    struct sprof_map tables; /* starts of functions → vaddr of their exception tables */
    struct sprof_suggestions near;
    size_t found;    /* chosen functions */
    size_t imported; /* from there on `moved` is of entries of the PLT */
    struct sprof_error *error;
};

/* == What cannot have any == */

static int refuse(const struct maker *maker, const char *why)
{
    return sprof_error_set(maker->error, SPROF_EUNSUPPORTED, 0,
                           "cannot embed probes into %s: it %s", maker->embedding->path, why);
}

static int check_file(const struct maker *maker)
{
    const char *path = maker->embedding->path;
    const char *why = NULL;
    switch (agent_check_file(path)) {
    case AGENT_FILE_SETUID:
        why = "runs with other rights than its user's: the loader keeps the tracing agent out";
        break;
    case AGENT_FILE_GO: why = "is a Go program, which moves its stacks"; break;
    case AGENT_FILE_SANITIZER:
        why = "is built with a sanitizer, which keeps books of its own of calls";
        break;
    default: break; /* reading the file shows it */
    }
    if (why)
        return refuse(maker, why);
    return image_has_foreign_loader(path)
               ? refuse(maker, "is not loaded by glibc's loader, which the tracing agent needs")
               : 0;
}

static int check_output(const struct maker *maker)
{
    struct stat input, output;
    const struct embed_request *embedding = maker->embedding;
    if (stat(embedding->path, &input) || stat(embedding->output, &output))
        return 0; /* reading shows it, or there is none yet */
    if (input.st_dev == output.st_dev && input.st_ino == output.st_ino)
        return sprof_error_set(maker->error, SPROF_EUSAGE, 0,
                               "%s is the file that is read: give another name with -o",
                               embedding->output);
    if (!S_ISREG(output.st_mode))
        return sprof_error_set(maker->error, SPROF_EUSAGE, 0,
                               "%s is no regular file: give the name of a new one with -o",
                               embedding->output);
    return 0;
}

/* == Code == */

static uint64_t here(const struct maker *maker)
{
    return maker->file.code + maker->code.length;
}

static int pad(struct maker *maker, uint64_t align, uint64_t rest)
{
    while (here(maker) % align != rest)
        if (sprof_str_append_bytes(&maker->code, &(char){(char)ARCH_FILL}, 1))
            return SPROF_ENOMEM;
    return 0;
}

/* What a switch would jump to: from there on to wherever the tracer says, in eight bytes that are
 * written at once. Returns its vaddr, or 0 where memory is short. */
static uint64_t put_far_jump(struct maker *maker)
{
    uint8_t jump[ARCH_FAR_JUMP_BYTES];
    arch_far_jump_write(jump, 0);
    if (pad(maker, SLOT_ALIGN, SLOT_ALIGN - FAR_OPCODE))
        return 0;
    const uint64_t at = here(maker);
    return sprof_str_append_bytes(&maker->code, (const char *)jump, sizeof jump) ? 0 : at;
}

static bool write_switch(uint8_t *code, uint64_t at, uint64_t target)
{
    if (!arch_jump_write(code, at, target))
        return false;
    code[0] = PLAN_EMBEDDED_OFF;
    return true;
}

/* What a function began with, for the address `at`. */
struct beginning {
    uint8_t code[PLAN_COPY_BYTES_MAX + ARCH_MOVED_CALL_BYTES];
    size_t size;
    struct unwind_moved moved; /* its places alone */
    bool calls;
};

static void add_place(struct beginning *beginning, uint64_t moved, uint64_t original,
                      unsigned pushed)
{
    struct unwind_moved *places = &beginning->moved;
    if (places->count < UNWIND_MOVED_PLACES)
        places->places[places->count++] = (struct unwind_moved_place){moved, original, pushed};
}

/* Replaces a call's copy, which holds its return address as a number. */
static bool move_call(const struct plan_function *function, const struct plan_copy *copy,
                      uint64_t at, struct beginning *beginning)
{
    struct arch_instruction instruction;
    struct arch_pushed pushed[ARCH_PUSHED_STEPS];
    const size_t last = copy->count - 1u;
    const size_t from = copy->places[last].original, to = copy->places[last].copied;
    if (!arch_instruction_decode(function->original + from, function->displaced - from,
                                 &instruction) ||
        (instruction.flow != ARCH_FLOW_CALL && instruction.flow != ARCH_FLOW_CALL_INDIRECT))
        return true;
    const size_t length =
        arch_call_move(function->original + from, &instruction, function->site + from, at + to,
                       beginning->code + to, pushed);
    for (size_t i = 0; i < ARCH_PUSHED_STEPS && length; i++)
        add_place(beginning, at + to + pushed[i].at, function->site + from, pushed[i].bytes);
    beginning->size = to + length;
    beginning->calls = true;
    return length != 0;
}

static bool make_at(const struct plan_function *function, uint64_t site, uint64_t at,
                    struct beginning *beginning)
{
    struct plan_copy copy;
    const size_t own = (size_t)(function->end - function->site);
    *beginning = (struct beginning){0};
    if (plan_copy_make(&copy, function->original, function->displaced, own, site, at))
        return false;
    memcpy(beginning->code, copy.code, copy.size);
    beginning->size = copy.size;
    for (size_t i = 0; i < copy.count; i++)
        add_place(beginning, at + copy.places[i].copied, site + copy.places[i].original, 0);
    struct plan_function there = *function;
    there.site = site;
    if (!copy.count || !move_call(&there, &copy, at, beginning))
        return false;
    if (!beginning->calls && copy.back)
        add_place(beginning, at + copy.back, site + copy.goes_on, 0);
    return true;
}

/* It holds nothing that depends on where the file is loaded. */
static bool make_beginning(const struct plan_function *function, uint64_t at,
                           struct beginning *beginning)
{
    enum { ELSEWHERE = 1 << 20 };
    struct beginning other;
    return make_at(function, function->site, at, beginning) &&
           make_at(function, function->site + ELSEWHERE, at + ELSEWHERE, &other) &&
           beginning->size == other.size && !memcmp(beginning->code, other.code, beginning->size);
}

static bool keep_moved(struct maker *maker, struct unwind_moved moved)
{
    moved.end = here(maker);
    maker->code.failed |= sprof_vec_push(&maker->moved, moved) != 0;
    return !maker->code.failed;
}

/* The switch stands where the compiler left room for it. */
static uint64_t put_sled(struct maker *maker, const struct plan_function *function, uint8_t *entry)
{
    const uint64_t far_jump = put_far_jump(maker);
    if (!far_jump || !write_switch(entry, function->site, far_jump))
        return 0;
    memset(entry + PLAN_JUMP_BYTES, ARCH_NOP, function->displaced - PLAN_JUMP_BYTES);
    const struct unwind_moved moved = {
        .start = far_jump, .count = 1, .places = {{far_jump, function->site, 0}}};
    return keep_moved(maker, moved) ? function->site : 0;
}

/* The function begins with a jump to the switch, behind which is what it began with. */
static uint64_t put_prologue(struct maker *maker, const struct plan_function *function,
                             uint8_t *entry, const char **why)
{
    struct beginning beginning;
    uint8_t code[PLAN_JUMP_BYTES];
    const size_t before = maker->code.length;
    const uint64_t far_jump = put_far_jump(maker);
    if (!far_jump || pad(maker, ENTRY_ALIGN, 0))
        return 0;
    const uint64_t site = here(maker);
    *why = "its beginning works at its place only";
    bool made = make_beginning(function, site + PLAN_JUMP_BYTES, &beginning);
    if (made && beginning.calls && maker->file.has_shadow_stack) {
        *why = "it calls at once, which a shadow stack would notice (-fcf-protection)";
        made = false;
    }
    if (!made || !arch_jump_write(entry, function->site, site) ||
        !write_switch(code, site, far_jump)) {
        maker->code.length = before;
        return 0;
    }
    if (sprof_str_append_bytes(&maker->code, (const char *)code, sizeof code) ||
        sprof_str_append_bytes(&maker->code, (const char *)beginning.code, beginning.size))
        return 0;
    memset(entry + PLAN_JUMP_BYTES, ARCH_NOP, function->displaced - PLAN_JUMP_BYTES);
    beginning.moved.start = far_jump;
    return keep_moved(maker, beginning.moved) ? site : 0;
}

static void note_table(void *context, uint64_t function, uint64_t table)
{
    struct maker *maker = context;
    maker->code.failed |= sprof_map_put(&maker->tables, function, table) != 0;
}

static int find_tables(struct maker *maker)
{
    uint64_t vaddr;
    const struct sprof_bytes frames = embed_elf_section(&maker->file, ".eh_frame", &vaddr);
    if (frames.size && unwind_each_exception_table(frames, vaddr, note_table, maker))
        maker->code.failed = true;
    return maker->code.failed ? sprof_error_memory(maker->error) : 0;
}

/* Whether a handler of the function is meant for a fault of what would be moved: handlers are found
 * by the place of an instruction in its function. */
static bool catches_at_once(const struct maker *maker, const struct plan_function *function)
{
    const uint64_t *at = sprof_map_get(&maker->tables, function->start);
    const uint64_t from = function->site - function->start;
    uint64_t vaddr = 0;
    const struct sprof_bytes tables = embed_elf_section(&maker->file, ".gcc_except_table", &vaddr);
    if (!at || *at < vaddr || *at - vaddr >= tables.size ||
        !plan_may_fault(function->original, function->displaced))
        return false;
    const struct sprof_bytes table = {tables.data + (*at - vaddr), tables.size - (*at - vaddr)};
    return plan_lands(table, from, from + function->displaced);
}

static bool is_sled(const struct plan_function *function)
{
    return function->mechanism == PLAN_SLED || function->mechanism == PLAN_FENTRY ||
           function->mechanism == PLAN_XRAY;
}

/* == Functions == */

static void leave_out(struct maker *maker, const struct plan_function *function, const char *why)
{
    struct embed_result *result = maker->result;
    if (!result->refused++) {
        snprintf(result->refused_name, sizeof result->refused_name, "%s", function->name);
        result->refused_why = why;
    }
}

static int embed_function(struct maker *maker, const struct plan_function *function)
{
    struct plan_embedded_function embedded = {.start = function->start,
                                              .entry_only = function->entry_only,
                                              .why = function->why,
                                              .mechanism = function->mechanism,
                                              .kept_bytes = function->displaced};
    const char *why = "a jump does not reach so far";
    uint8_t *entry = embed_elf_at(&maker->file, function->site, function->displaced);
    if (!entry || memcmp(entry, function->original, function->displaced) != 0) {
        leave_out(maker, function, "the file has other bytes there");
        return 0;
    }
    if (!is_sled(function) && catches_at_once(maker, function)) {
        leave_out(maker, function, "it catches what its first instructions may throw");
        return 0;
    }
    memcpy(embedded.kept, function->original, function->displaced);
    if (is_sled(function)) {
        embedded.site = put_sled(maker, function, entry);
        embedded.displaced = function->displaced;
    } else {
        embedded.site = put_prologue(maker, function, entry, &why);
        embedded.displaced = PLAN_JUMP_BYTES;
    }
    if (maker->code.failed)
        return sprof_error_memory(maker->error);
    if (!embedded.site) {
        memcpy(entry, function->original, function->displaced);
        leave_out(maker, function, why);
        return 0;
    }
    maker->result->embedded++;
    maker->result->entry_only += function->entry_only;
    maker->result->by[function->mechanism]++;
    return sprof_vec_push(&maker->functions, embedded) ? sprof_error_memory(maker->error) : 0;
}

/* Leaves out functions that leave the frames of others: every trace must probe these, whatever is
 * chosen, but a probe in the file does not show what its function does. */
static int choose(struct maker *maker, const struct plan_expressions *expressions)
{
    int result = 0;
    for (size_t i = 0; i < maker->plan.function_count && result >= 0; i++) {
        const struct plan_function *function = &maker->plan.functions[i];
        if (!plan_is_true_start(function))
            continue;
        result = plan_expressions_match(expressions, function, maker->error);
        if (result <= 0) {
            if (!result && maker->embedding->function_count)
                sprof_suggest_offer(&maker->near, *maker->embedding->functions, function->name);
            continue;
        }
        maker->found++;
        if (function->mechanism == PLAN_NOT)
            leave_out(maker, function, plan_reason_text(function->why));
        else if (function->mechanism == PLAN_LEAVE)
            leave_out(maker, function, "it leaves the frames of others");
        else
            result = embed_function(maker, function);
    }
    return result < 0 ? result : 0;
}

/* Calls of functions in other files that leave the frames of others go through entries of the PLT:
 * in a process that is traced without ptrace no other probes see them. */
static int embed_imported(void *context, uint64_t start, struct sprof_bytes code)
{
    struct maker *maker = context;
    const char *why;
    struct arch_instruction instruction;
    struct plan_function function = {.start = start,
                                     .end = start + code.size,
                                     .site = start,
                                     .mechanism = PLAN_LEAVE,
                                     .why = PLAN_IMPORTED,
                                     .entry_only = true};
    if (!arch_instruction_decode(code.data, code.size, &instruction))
        return 0;
    if (instruction.bits & ARCH_IS_LANDING) {
        function.site += instruction.length;
        code = (struct sprof_bytes){code.data + instruction.length, code.size - instruction.length};
        if (!arch_instruction_decode(code.data, code.size, &instruction))
            return 0;
    }
    if (instruction.flow != ARCH_FLOW_JUMP_INDIRECT || instruction.length < PLAN_JUMP_BYTES)
        return 0;
    function.displaced = instruction.length;
    memcpy(function.original, code.data, instruction.length);
    struct plan_embedded_function embedded = {.start = start,
                                              .displaced = PLAN_JUMP_BYTES,
                                              .entry_only = true,
                                              .why = PLAN_IMPORTED,
                                              .mechanism = PLAN_LEAVE,
                                              .kept_bytes = (uint32_t)(function.site - start) +
                                                            function.displaced};
    uint8_t *entry = embed_elf_at(&maker->file, start, embedded.kept_bytes);
    if (!entry)
        return 0;
    memcpy(embedded.kept, entry, embedded.kept_bytes);
    embedded.site = put_prologue(maker, &function, entry + (function.site - start), &why);
    if (maker->code.failed)
        return SPROF_ENOMEM;
    if (!embedded.site) {
        memcpy(entry, embedded.kept, embedded.kept_bytes);
        return 0;
    }
    return sprof_vec_push(&maker->functions, embedded) ? SPROF_ENOMEM : 0;
}

static int nothing_embedded(struct maker *maker)
{
    const struct embed_request *embedding = maker->embedding;
    const char *first = embedding->function_count ? *embedding->functions : "";
    char chosen[64] = "the chosen function";
    if (maker->found > 1)
        snprintf(chosen, sizeof chosen, "none of the %zu chosen functions", maker->found);
    if (maker->found)
        return sprof_error_set(maker->error, SPROF_ENOTFOUND, 0,
                               "%s of %s can have %s: %s: %s; see `sprof probes --refused %s`",
                               chosen, embedding->path, maker->found == 1 ? "no probe" : "a probe",
                               maker->result->refused_name, maker->result->refused_why,
                               embedding->path);
    struct sprof_str near = {0};
    sprof_suggest_append(&near, &maker->near);
    const int code = sprof_error_set(maker->error, SPROF_ENOTFOUND, 0,
                                     "--function '%s' finds no function of %s%s", first,
                                     embedding->path, near.text ? near.text : "");
    sprof_str_release(&near);
    return code;
}

/* == The whole == */

/* Where instructions stood, for naming addresses. */
static int write_moved(struct maker *maker, struct sprof_str *list)
{
    for (size_t i = 0; i < maker->moved.count; i++) {
        const struct unwind_moved *moved = &maker->moved.items[i];
        struct image_moved entry = {moved->start, moved->places[0].original};
        sprof_str_append_bytes(list, (const char *)&entry, sizeof entry);
        for (size_t k = 1; k < moved->count; k++) {
            entry = (struct image_moved){moved->places[k].moved, moved->places[k].original};
            sprof_str_append_bytes(list, (const char *)&entry, sizeof entry);
        }
        entry = (struct image_moved){moved->end, 0};
        sprof_str_append_bytes(list, (const char *)&entry, sizeof entry);
    }
    return list->failed ? sprof_error_memory(maker->error) : 0;
}

static struct sprof_bytes bytes_of(const struct sprof_str *text)
{
    return (struct sprof_bytes){(const uint8_t *)text->text, text->length};
}

/* What is new, in this order. */
enum { CODE, LIST, MOVED, FRAMES_HEADER, FRAMES, SECTIONS };

/* Frames of the new code, with all that there were: they are found by one table. */
static int write_frames(struct maker *maker, struct elf_section *sections, struct sprof_str *header,
                        struct sprof_str *frames)
{
    struct unwind_frames known = {.is_fixed = maker->file.is_fixed,
                                  .moved = maker->moved.items,
                                  .moved_count = maker->moved.count};
    /* The PLT's rule counts from an entry's own address. A jump to it follows a call, as at
     * the start of any function. */
    for (size_t i = maker->imported; i < maker->moved.count; i++)
        maker->moved.items[i].places[0].original = maker->functions.items[0].start;
    known.eh_frame = embed_elf_section(&maker->file, ".eh_frame", &known.eh_frame_vaddr);
    known.eh_frame_hdr =
        embed_elf_section(&maker->file, ".eh_frame_hdr", &known.eh_frame_hdr_vaddr);
    embed_elf_place(&maker->file, sections, SECTIONS);
    const int code = unwind_frames_extend(header, frames, &known, sections[FRAMES_HEADER].vaddr);
    if (code == SPROF_ENOMEM)
        return sprof_error_memory(maker->error);
    if (code)
        maker->result->frameless = true;
    else {
        sections[FRAMES_HEADER].bytes = bytes_of(header);
        sections[FRAMES].bytes = bytes_of(frames);
        embed_elf_place(&maker->file, sections, SECTIONS);
    }
    return 0;
}

static int write_file(struct maker *maker)
{
    struct sprof_str list = {0}, moved = {0}, header = {0}, frames = {0};
    struct elf_section sections[SECTIONS] = {
        [CODE] = {.name = PLAN_EMBEDDED_CODE, .is_code = true},
        [LIST] = {.name = PLAN_EMBEDDED_LIST},
        [MOVED] = {.name = IMAGE_MOVED_SECTION},
        [FRAMES_HEADER] = {.name = ".eh_frame_hdr", .former = ".sprof.eh_frame_hdr"},
        [FRAMES] = {.name = ".eh_frame", .former = ".sprof.eh_frame"},
    };
    int result = plan_embedded_write(&list, maker->functions.items, maker->functions.count);
    result = result ? sprof_error_memory(maker->error) : write_moved(maker, &moved);
    sections[CODE].bytes = bytes_of(&maker->code);
    sections[LIST].bytes = bytes_of(&list);
    sections[MOVED].bytes = bytes_of(&moved);
    if (!result)
        result = write_frames(maker, sections, &header, &frames);
    if (!result)
        result = embed_elf_write(&maker->file, maker->embedding->output, sections, SECTIONS,
                                 maker->error);
    sprof_str_release(&list);
    sprof_str_release(&moved);
    sprof_str_release(&header);
    sprof_str_release(&frames);
    return result;
}

static bool has_embedded(const struct plan *plan)
{
    for (size_t i = 0; i < plan->function_count; i++)
        if (plan->functions[i].mechanism == PLAN_EMBEDDED)
            return true;
    return false;
}

static int make(struct maker *maker, const struct plan_expressions *expressions)
{
    int result = choose(maker, expressions);
    if (!result && !maker->result->embedded)
        result = nothing_embedded(maker);
    maker->imported = maker->moved.count;
    if (!result && embed_each_imported(&maker->file, plan_leaves_frames, embed_imported, maker))
        result = sprof_error_memory(maker->error);
    return result ? result : write_file(maker);
}

static int open_plan(struct maker *maker, struct cache *cache)
{
    const struct image_request request = {.file = {.path = maker->embedding->path}};
    const int result = plan_open(&maker->plan, &request, cache, maker->error);
    if (result)
        return result;
    if (has_embedded(&maker->plan))
        return refuse(maker, "has some already: embed into the file that it was made of");
    return maker->plan.is_loader ? refuse(maker, "is the dynamic loader") : 0;
}

int embed_write(const struct embed_request *embedding, struct cache *cache,
                struct embed_result *result, struct sprof_error *error)
{
    struct maker maker = {.embedding = embedding, .result = result, .error = error};
    struct plan_expressions *expressions = NULL;
    *result = (struct embed_result){0};
    int code =
        plan_expressions_make(&expressions, embedding->functions, embedding->function_count, error);
    if (!code)
        code = check_output(&maker);
    if (!code)
        code = check_file(&maker);
    if (!code)
        code = embed_elf_read(&maker.file, embedding->path, error);
    if (!code)
        code = open_plan(&maker, cache);
    if (!code)
        code = find_tables(&maker);
    if (!code)
        code = make(&maker, expressions);
    result->is_library = maker.file.is_library;
    char agent[TARGET_PATH_MAX];
    char *resolved =
        !code && !target_find_library(PROBE_LIBRARY, agent, NULL) ? realpath(agent, NULL) : NULL;
    if (resolved)
        snprintf(result->agent, sizeof result->agent, "%.*s", (int)sizeof result->agent - 1,
                 resolved);
    free(resolved);
    plan_expressions_free(expressions);
    plan_release(&maker.plan);
    embed_elf_release(&maker.file);
    sprof_str_release(&maker.code);
    sprof_vec_release(&maker.functions);
    sprof_vec_release(&maker.moved);
    sprof_map_release(&maker.tables);
    return code;
}
