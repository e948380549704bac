/* Makes the plan of an image: gathers its functions, names them, reads their code, decides for
 * each. */
#include "agent/agent.h"
#include "plan/embedded.h"
#include "plan/planner.h"

#include "symbolize/symbolize.h"

#include <elf.h>
#include <stdlib.h>

/* == Functions == */

static bool in_section(struct planner *planner, const char *name, uint64_t vaddr)
{
    uint64_t start;
    const struct sprof_bytes bytes = image_section(planner->image, name, &start);
    return vaddr >= start && vaddr - start < bytes.size;
}

/* Entries of the PLT are no functions, though tables cover them; nor is what was moved out of some.
 */
static bool is_code_of_linker(struct planner *planner, uint64_t vaddr)
{
    static const char *const sections[] = {".plt", ".plt.sec", ".plt.got", PLAN_EMBEDDED_CODE};
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++)
        if (in_section(planner, sections[i], vaddr))
            return true;
    return false;
}

static void gather_functions(struct planner *planner)
{
    struct unwind_function_info info;
    struct sprof_bytes code;
    for (uint64_t vaddr = 0; unwind_table_next_function(planner->table, vaddr, &info);
         vaddr = info.range.start + 1) {
        const struct plan_function function = {
            .start = info.range.start, .end = info.range.end, .from_go = info.from_go};
        if (plan_text_at(planner, function.start, &code) &&
            !is_code_of_linker(planner, function.start))
            planner->failed |= sprof_vec_push(&planner->functions, function) != 0;
    }
}

static int compare_functions(const void *left, const void *right)
{
    const struct plan_function *a = left, *b = right;
    return (a->start > b->start) - (a->start < b->start);
}

/* A function that only a symbol shows. */
static void add_unknown(struct planner *planner, const Elf64_Sym *symbol, size_t known)
{
    struct sprof_bytes code;
    const struct plan_function function = {.start = symbol->st_value,
                                           .end = symbol->st_value + symbol->st_size,
                                           .why = PLAN_NO_FRAME_TABLE};
    if (symbol->st_size && function.end > function.start &&
        plan_function_index(planner->functions.items, known, function.start) < 0 &&
        plan_text_at(planner, function.start, &code) && !is_code_of_linker(planner, function.start))
        planner->failed |= sprof_vec_push(&planner->functions, function) != 0;
}

static void note_symbol(struct planner *planner, const Elf64_Sym *symbol, size_t known)
{
    const ptrdiff_t index = plan_function_index(planner->functions.items, known, symbol->st_value);
    const bool begins = index >= 0 && planner->functions.items[index].start == symbol->st_value;
    if (ELF64_ST_TYPE(symbol->st_info) == STT_GNU_IFUNC && begins)
        planner->functions.items[index].why = PLAN_RESOLVER;
    else if (ELF64_ST_TYPE(symbol->st_info) == STT_FUNC)
        add_unknown(planner, symbol, known);
}

/* Symbols add what tables do not cover, and mark resolvers. */
static void gather_symbols(struct planner *planner)
{
    static const char *const sections[] = {".symtab", ".dynsym"};
    const size_t known = planner->functions.count;
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++) {
        const struct sprof_bytes bytes = image_section(planner->image, sections[i], NULL);
        for (size_t at = 0; at + sizeof(Elf64_Sym) <= bytes.size; at += sizeof(Elf64_Sym)) {
            Elf64_Sym symbol;
            memcpy(&symbol, bytes.data + at, sizeof symbol);
            if (symbol.st_shndx != SHN_UNDEF && symbol.st_value)
                note_symbol(planner, &symbol, known);
        }
    }
    if (!planner->functions.count)
        return;
    struct plan_function *functions = planner->functions.items;
    size_t kept = 0;
    qsort(functions, planner->functions.count, sizeof *functions, compare_functions);
    for (size_t i = 0; i < planner->functions.count; i++)
        if (!kept || functions[kept - 1].end <= functions[i].start)
            functions[kept++] = functions[i];
    planner->functions.count = kept;
}

/* == Names == */

static bool find_bounds(void *context, uint64_t vaddr, uint64_t *start, uint64_t *end)
{
    struct unwind_range range;
    if (!unwind_table_function(context, vaddr, &range))
        return false;
    *start = range.start;
    *end = range.end;
    return true;
}

static void take_name(struct planner *planner, const struct symbolize_result *result, size_t i)
{
    struct plan_function *function = &planner->functions.items[i];
    struct sprof_arena *texts = &planner->plan->texts;
    if (result->first[i + 1] == result->first[i]) {
        struct sprof_str name = {0};
        sprof_str_appendf(&name, "%s+%#llx", planner->plan->module,
                          (unsigned long long)function->start);
        function->name = function->linkage_name = sprof_arena_text(texts, name.text);
        sprof_str_release(&name);
    } else {
        const struct symbolize_function *named =
            &result->functions[result->frames[result->first[i + 1] - 1].function];
        function->name = sprof_arena_text(texts, named->name);
        function->linkage_name = strcmp(named->name, named->linkage_name) != 0
                                     ? sprof_arena_text(texts, named->linkage_name)
                                     : function->name;
    }
    planner->failed |= !function->name || !function->linkage_name;
}

static int name_functions(struct planner *planner, struct sprof_error *error)
{
    const size_t count = planner->functions.count;
    const struct symbolize_bounds bounds = {find_bounds, (void *)planner->table};
    const struct symbolize_options options = {.symbols_only = true, .no_debuginfod = true};
    struct symbolize_result result = {0};
    uint64_t *addresses = malloc((count + 1) * sizeof *addresses);
    if (!addresses)
        return sprof_error_memory(error);
    for (size_t i = 0; i < count; i++)
        addresses[i] = planner->functions.items[i].start;
    const int code =
        symbolize_image(&result, planner->image, addresses, count, &bounds, &options, error);
    for (size_t i = 0; i < count && !code; i++)
        take_name(planner, &result, i);
    symbolize_result_release(&result);
    free(addresses);
    return code;
}

static void name_slots(struct planner *planner)
{
    const struct sprof_bytes symbols = image_section(planner->image, ".dynsym", NULL);
    const struct sprof_bytes names = image_section(planner->image, ".dynstr", NULL);
    for (size_t i = 0; i < planner->callees.count; i++) {
        struct plan_callee *callee = &planner->callees.items[i];
        const uint64_t *index =
            callee->is_slot ? sprof_map_get(&planner->slot_symbols, callee->address) : NULL;
        Elf64_Sym symbol;
        if (!index || *index >= symbols.size / sizeof symbol)
            continue;
        memcpy(&symbol, symbols.data + *index * sizeof symbol, sizeof symbol);
        if (symbol.st_name >= names.size ||
            !memchr(names.data + symbol.st_name, '\0', names.size - symbol.st_name))
            continue;
        callee->imported =
            sprof_arena_text(&planner->plan->texts, (const char *)names.data + symbol.st_name);
        planner->failed |= !callee->imported;
    }
}

/* == The whole == */

static bool has_prefix(const char *text, const char *prefix)
{
    return text && !strncmp(text, prefix, strlen(prefix));
}

/* Libraries that unwind for exceptions; in static programs the same functions by name. */
static bool is_unwinder(const struct planner *planner, const struct plan_function *function)
{
    static const char *const prefixes[] = {"_Unwind_",           "__unw_",
                                           "uw_frame_",          "uw_init_context",
                                           "uw_install_context", "uw_update_context",
                                           "execute_cfa_program"};
    const char *soname = image_soname(planner->image);
    if (has_prefix(soname, "libgcc_s.so") || has_prefix(soname, "libunwind"))
        return true;
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (has_prefix(function->linkage_name, prefixes[i]))
            return true;
    return false;
}

/* Runtimes that walk stacks by themselves, by a function that each has. */
static const struct {
    const char *function, *runtime;
} runtimes[] = {
    {"JNI_CreateJavaVM", "Java"},   {"_ZN2v82V810GetVersionEv", "V8"}, {"mono_jit_init", "Mono"},
    {"coreclr_initialize", ".NET"}, {"luaJIT_setmode", "LuaJIT"},      {"PyPy_Initialize", "PyPy"},
    {"caml_call_gc", "OCaml"},
};
enum { RUNTIMES = sizeof runtimes / sizeof *runtimes };

static const char *find_runtime(struct image *image)
{
    const char *names[RUNTIMES + 1] = {0};
    struct image_symbol symbols[RUNTIMES + 1] = {0};
    for (size_t i = 0; i < RUNTIMES; i++)
        names[i] = runtimes[i].function;
    image_find_symbols(image, names, symbols);
    for (size_t i = 0; i < RUNTIMES; i++)
        if (symbols[i].vaddr)
            return runtimes[i].runtime;
    return NULL;
}

/* Sanitizers are linked in, or needed from a library: either way a symbol says so. */
static bool is_sanitized(struct image *image)
{
    const struct sprof_bytes strings = image_section(image, ".dynstr", NULL);
    for (const char *const *name = agent_sanitizers; *name; name++)
        if (strings.size && memmem(strings.data, strings.size, *name, strlen(*name) + 1))
            return true;
    return false;
}

static void describe(struct planner *planner)
{
    struct plan *plan = planner->plan;
    const char *path = image_path(planner->image), *slash = strrchr(path, '/');
    plan->module = sprof_arena_text(&plan->texts, slash ? slash + 1 : path);
    plan->runtime = find_runtime(planner->image);
    plan->sanitized = is_sanitized(planner->image);
    plan->is_loader = has_prefix(image_soname(planner->image), "ld-");
    planner->failed |= !plan->module;
}

static void note_inline(void *context, uint64_t start)
{
    struct planner *planner = context;
    const ptrdiff_t index =
        plan_function_index(planner->functions.items, planner->functions.count, start);
    if (index >= 0 && planner->functions.items[index].start == start)
        planner->functions.items[index].inline_wanted = true;
}

static void find_inlines(struct planner *planner)
{
    const struct symbolize_options options = {.no_debuginfod = true};
    symbolize_each_inline_wanted(planner->image, &options, note_inline, planner);
}

static void decide_all(struct planner *planner)
{
    struct plan_function *functions = planner->functions.items;
    for (size_t i = 0; i < planner->functions.count; i++) {
        const uint64_t limit =
            i + 1 < planner->functions.count ? functions[i + 1].start : functions[i].end;
        if (functions[i].why == PLAN_NO_FRAME_TABLE) {
            if (planner->plan->runtime)
                functions[i].why = PLAN_RUNTIME_CODE;
            continue;
        }
        if (functions[i].mechanism == PLAN_EMBEDDED)
            continue; /* it was decided when the probe was put into the file */
        if (functions[i].why != PLAN_RESOLVER && is_unwinder(planner, &functions[i]))
            functions[i].why = PLAN_UNWINDER;
        plan_decide(planner, &functions[i], limit);
    }
}

/* Keeps the bytes that a probe changes, and counts how many functions begin with a landing mark. */
static void keep_bytes(struct planner *planner)
{
    size_t landing = 0;
    for (size_t i = 0; i < planner->functions.count; i++) {
        struct plan_function *function = &planner->functions.items[i];
        struct sprof_bytes code;
        if (function->site && plan_text_at(planner, function->site, &code))
            memcpy(function->original, code.data, function->displaced);
        landing += function->site > function->start && function->mechanism != PLAN_EMBEDDED;
    }
    planner->plan->lands = landing > planner->functions.count / 2;
}

static int make(struct planner *planner, struct sprof_error *error)
{
    int code = plan_texts_read(planner, error);
    if (code)
        return code;
    describe(planner);
    gather_functions(planner);
    gather_symbols(planner);
    plan_read_relocations(planner);
    code = planner->failed ? 0 : name_functions(planner, error);
    if (code)
        return code;
    plan_targets_of_data(planner);
    plan_scan_code(planner);
    name_slots(planner);
    plan_find_embedded(planner);
    plan_spread_needs(planner);
    plan_scan_exception_tables(planner);
    plan_find_sleds(planner);
    if (planner->failed)
        return sprof_error_memory(error);
    find_inlines(planner);
    decide_all(planner);
    keep_bytes(planner);
    return 0;
}

int plan_make(struct plan *plan, struct image *image, const struct unwind_table *table,
              struct sprof_error *error)
{
    *plan = (struct plan){0};
    struct planner planner = {.image = image, .table = table, .plan = plan};
    const int code = make(&planner, error);
    plan_texts_release(&planner);
    sprof_map_release(&planner.slot_symbols);
    sprof_map_release(&planner.relocated);
    sprof_map_release(&planner.loops);
    sprof_map_release(&planner.framed_jumps);
    sprof_map_release(&planner.needs_return);
    plan->functions = planner.functions.items;
    plan->function_count = planner.functions.count;
    plan->callees = planner.callees.items;
    plan->callee_count = planner.callees.count;
    if (code)
        plan_release(plan);
    else
        plan_count(plan);
    return code;
}
