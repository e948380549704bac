/* Reads dynamic symbols. Formats: ELF specification; LSB Core 5.0, 10.7 for versions. */
#include "probing/imports.h"
#include "probing/called_slots.h"
#include "probing/program.h"

#include <elf.h>
#include <string.h>

#define MANY UINT64_C(1)

struct import_symbols {
    struct image *image;
    struct sprof_bytes symbols, names, versions, needs, definitions;
};

static void open_symbols(struct import_symbols *symbols, struct image *image)
{
    *symbols = (struct import_symbols){.image = image,
                                       .symbols = image_section(image, ".dynsym", NULL),
                                       .names = image_section(image, ".dynstr", NULL),
                                       .versions = image_section(image, ".gnu.version", NULL),
                                       .needs = image_section(image, ".gnu.version_r", NULL),
                                       .definitions = image_section(image, ".gnu.version_d", NULL)};
}

static const char *name_at(const struct import_symbols *symbols, uint64_t at)
{
    return at < symbols->names.size &&
                   memchr(symbols->names.data + at, '\0', symbols->names.size - at)
               ? (const char *)symbols->names.data + at
               : NULL;
}

static const char *needed_version(const struct import_symbols *symbols, uint16_t version)
{
    const struct sprof_bytes *bytes = &symbols->needs;
    uint64_t at = 0;
    for (size_t files = 0; files < bytes->size && at + sizeof(Elf64_Verneed) <= bytes->size;
         files++) {
        Elf64_Verneed need;
        memcpy(&need, bytes->data + at, sizeof need);
        uint64_t entry = at + need.vn_aux;
        for (uint16_t i = 0; i < need.vn_cnt && entry + sizeof(Elf64_Vernaux) <= bytes->size; i++) {
            Elf64_Vernaux one;
            memcpy(&one, bytes->data + entry, sizeof one);
            if ((one.vna_other & 0x7fff) == version)
                return name_at(symbols, one.vna_name);
            entry += one.vna_next;
        }
        if (!need.vn_next)
            break;
        at += need.vn_next;
    }
    return NULL;
}

static const char *defined_version(const struct import_symbols *symbols, uint16_t version)
{
    const struct sprof_bytes *bytes = &symbols->definitions;
    uint64_t at = 0;
    for (size_t i = 0; i < bytes->size && at + sizeof(Elf64_Verdef) <= bytes->size; i++) {
        Elf64_Verdef definition;
        Elf64_Verdaux name;
        memcpy(&definition, bytes->data + at, sizeof definition);
        const uint64_t entry = at + definition.vd_aux;
        if ((definition.vd_ndx & 0x7fff) == version && entry + sizeof name <= bytes->size) {
            memcpy(&name, bytes->data + entry, sizeof name);
            return name_at(symbols, name.vda_name);
        }
        if (!definition.vd_next)
            break;
        at += definition.vd_next;
    }
    return NULL;
}

static uint16_t version_of(const struct import_symbols *symbols, uint64_t index)
{
    uint16_t version = VER_NDX_GLOBAL;
    if ((index + 1) * sizeof version <= symbols->versions.size)
        memcpy(&version, symbols->versions.data + index * sizeof version, sizeof version);
    return version;
}

static uint64_t import_of(const char *name, const char *version)
{
    return sprof_hash_pair(sprof_hash_text(name), version ? sprof_hash_text(version) : 0);
}

static bool symbol_at(const struct import_symbols *symbols, uint64_t index, Elf64_Sym *symbol)
{
    if (index >= symbols->symbols.size / sizeof *symbol)
        return false;
    memcpy(symbol, symbols->symbols.data + index * sizeof *symbol, sizeof *symbol);
    return true;
}

/* == Slots == */

/* A clock function takes no longer than a probe. A loop that waits by the clock would seem too
 * short without the probes' time. What ends a program does not return: in a child of vfork its call
 * would stay open in the parent, which has the same stack. */
static bool is_left_out(const char *name)
{
    static const char *const names[] = {
        "clock_gettime", "gettimeofday", "time",   "_ZNSt6chrono3_V212steady_clock3nowEv",
        "execl",         "execle",       "execlp", "_ZNSt6chrono3_V212system_clock3nowEv",
        "execv",         "execve",       "execvp", "execvpe",
        "fexecve",       "execveat",     "_exit",  "_Exit"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(name, names[i]))
            return true;
    return false;
}

static int add_slot(const struct probing_program *program, uint32_t file,
                    const struct import_symbols *symbols, const Elf64_Rela *relocation,
                    struct probing_outside_slots *slots)
{
    const struct probing_file *of = &program->files.items[file];
    const uint64_t index = ELF64_R_SYM(relocation->r_info);
    Elf64_Sym symbol;
    const char *name = symbol_at(symbols, index, &symbol) ? name_at(symbols, symbol.st_name) : NULL;
    const uint16_t version = version_of(symbols, index) & 0x7fff;
    if (!name || relocation->r_offset % sizeof(uint64_t) || is_left_out(name))
        return 0;
    const struct probing_outside_slot slot = {
        .address = of->bias + relocation->r_offset,
        .import =
            import_of(name, version > VER_NDX_GLOBAL ? needed_version(symbols, version) : NULL),
        .name = sprof_hash_text(name),
        .file = file,
        .was_loaded = of->is_loaded};
    return sprof_vec_push(slots, slot) ? SPROF_ENOMEM : 0;
}

/* Adds only slots in `called` for GLOB_DAT. */
static int add_slots(const struct probing_program *program, uint32_t file,
                     const struct import_symbols *symbols, const char *section,
                     const struct sprof_map *called, struct probing_outside_slots *slots)
{
    const struct sprof_bytes bytes = image_section(symbols->image, section, NULL);
    int result = 0;
    for (size_t at = 0; at + sizeof(Elf64_Rela) <= bytes.size && !result;
         at += sizeof(Elf64_Rela)) {
        Elf64_Rela relocation;
        memcpy(&relocation, bytes.data + at, sizeof relocation);
        const uint32_t type = ELF64_R_TYPE(relocation.r_info);
        if (type == ARCH_RELOCATION_JUMP_SLOT ||
            (type == ARCH_RELOCATION_GLOB_DAT && sprof_map_get(called, relocation.r_offset)))
            result = add_slot(program, file, symbols, &relocation, slots);
    }
    return result;
}

int probing_imports_slots(struct probing_program *program, uint32_t file,
                          struct probing_outside_slots *slots)
{
    const struct probing_file *of = &program->files.items[file];
    struct image *image;
    struct image_request request;
    struct import_symbols symbols;
    struct sprof_map called = {0};
    int result = plan_request_find(&request, program->process.pid, of->identity, of->path);
    if (result)
        return result;
    if (image_open(&image, &request, NULL))
        return 0;
    open_symbols(&symbols, image);
    result = probing_called_slots(image, &called);
    if (!result)
        result = add_slots(program, file, &symbols, ".rela.plt", &called, slots);
    if (!result)
        result = add_slots(program, file, &symbols, ".rela.dyn", &called, slots);
    sprof_map_release(&called);
    image_free(image);
    return result;
}

/* == Definitions == */

/* Several values are ambiguous: the loader's order decides. */
static int define(struct sprof_map *map, uint64_t key, uint64_t value)
{
    uint64_t *known = sprof_map_at(map, key);
    if (!known)
        return SPROF_ENOMEM;
    *known = *known && *known != value ? MANY : value;
    return 0;
}

static int read_symbol(struct probing_imports *imports, const struct import_symbols *symbols,
                       uint64_t index, uint64_t bias)
{
    Elf64_Sym symbol;
    if (!symbol_at(symbols, index, &symbol) || symbol.st_shndx == SHN_UNDEF || !symbol.st_value ||
        ELF64_ST_BIND(symbol.st_info) == STB_LOCAL)
        return 0;
    const char *name = name_at(symbols, symbol.st_name);
    const uint16_t version = version_of(symbols, index);
    const char *of =
        (version & 0x7fff) > VER_NDX_GLOBAL ? defined_version(symbols, version & 0x7fff) : NULL;
    /* functions only, and none that a resolver chooses */
    const uint64_t address =
        ELF64_ST_TYPE(symbol.st_info) == STT_FUNC ? bias + symbol.st_value : MANY;
    int result = name && of ? define(&imports->defined, import_of(name, of), address) : 0;
    /* imports without a version get the default */
    if (!result && name && !(version & 0x8000))
        result = define(&imports->defined, import_of(name, NULL), address);
    if (!result && name)
        result = define(&imports->owners, sprof_hash_text(name), bias + 2);
    return result;
}

static int read_file(struct probing_imports *imports, const struct probing_mapped *mapped)
{
    const struct model_mmap mapping = probing_mapped_as_model(mapped);
    const struct image_request request = plan_request_of(imports->program->process.pid, &mapping);
    struct image *image;
    struct import_symbols symbols;
    uint64_t vaddr;
    int result = 0;
    if (image_open(&image, &request, NULL))
        return 0;
    open_symbols(&symbols, image);
    const bool is_placed = image_vaddr_of_mapping(image, mapped->file_offset, &vaddr);
    const uint64_t count = symbols.symbols.size / sizeof(Elf64_Sym);
    for (uint64_t i = 1; i < count && is_placed && !result; i++)
        result = read_symbol(imports, &symbols, i, mapped->address - vaddr);
    image_free(image);
    return result;
}

int probing_imports_read(struct probing_imports *imports, const struct probing_mapped_files *look)
{
    int result = 0;
    imports->is_read = true;
    for (size_t i = 0; i < look->now.count && !result; i++)
        result = read_file(imports, &look->now.items[i]);
    return result;
}

uint64_t probing_imports_find(const struct probing_imports *imports,
                              const struct probing_outside_slot *slot)
{
    const uint64_t *address = sprof_map_get(&imports->defined, slot->import),
                   *owner = sprof_map_get(&imports->owners, slot->name);
    return address && *address != MANY && owner && *owner != MANY ? *address : 0;
}

void probing_imports_release(struct probing_imports *imports)
{
    sprof_map_release(&imports->defined);
    sprof_map_release(&imports->owners);
}
