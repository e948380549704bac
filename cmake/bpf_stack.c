/* Checks at build time that the BPF programs of an object fit the kernel's limit: the stacks of a
 * chain of calls, callbacks included, add up to at most 512 bytes (kernel/bpf/verifier.c,
 * check_max_stack_depth; each function's is rounded up to 32 bytes there, before Linux 6.9 always).
 *     sprof_bpf_stack OBJECT */
#include <elf.h>
#include <fcntl.h>
#include <gelf.h>
#include <linux/bpf.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    LIMIT_BYTES = 512, /* MAX_BPF_STACK */
    ROUNDED_TO = 32,
    FUNCTIONS_MAX = 256,
    DEPTH_MAX = 16, /* of calls; the kernel's limit is 8 */
    LOAD_IMMEDIATE = 0x18,
    RELOCATION_CALL = 10, /* R_BPF_64_32 */
    RELOCATION_NONE = 0,
};

struct function {
    const char *name;
    size_t section;
    uint64_t begin, end; /* bytes within the section */
    int stack_bytes;
};

struct object {
    Elf *elf;
    Elf_Data *symbols;
    size_t names;
    struct function functions[FUNCTIONS_MAX];
    size_t count;
};

struct chain {
    const struct object *object;
    const struct function *functions[DEPTH_MAX];
    size_t count;
};

static Elf_Data *section_of_type(const struct object *object, uint32_t type, size_t info,
                                 GElf_Shdr *header)
{
    for (Elf_Scn *section = NULL; (section = elf_nextscn(object->elf, section));)
        if (gelf_getshdr(section, header) && header->sh_type == type &&
            (!info || header->sh_info == info))
            return elf_getdata(section, NULL);
    return NULL;
}

static const struct function *find_function(const struct object *object, size_t section,
                                            uint64_t offset)
{
    for (size_t i = 0; i < object->count; i++)
        if (object->functions[i].section == section && object->functions[i].begin == offset)
            return &object->functions[i];
    return NULL;
}

/* The instructions of a function. */
static const struct bpf_insn *code_of(const struct object *object, const struct function *function,
                                      size_t *count)
{
    const Elf_Data *data = elf_getdata(elf_getscn(object->elf, function->section), NULL);
    if (!data || function->end > data->d_size || function->begin > function->end)
        return NULL;
    *count = (function->end - function->begin) / sizeof(struct bpf_insn);
    return (const struct bpf_insn *)((const char *)data->d_buf + function->begin);
}

/* How far below the frame pointer an instruction reaches; what follows `mov rN, r10` is its `add
 * rN, K`. */
static int reach_of(const struct bpf_insn *at, bool has_next)
{
    const unsigned class = at->code & 7;
    const bool is_load = class == BPF_LDX && at->src_reg == BPF_REG_10;
    const bool is_store = (class == BPF_ST || class == BPF_STX) && at->dst_reg == BPF_REG_10;
    if (is_load || is_store)
        return -at->off;
    if (has_next && at->code == (BPF_ALU64 | BPF_MOV | BPF_X) && at->src_reg == BPF_REG_10 &&
        at[1].code == (BPF_ALU64 | BPF_ADD | BPF_K) && at[1].dst_reg == at->dst_reg)
        return -at[1].imm;
    return 0;
}

static void measure(struct object *object, struct function *function)
{
    size_t count = 0;
    const struct bpf_insn *code = code_of(object, function, &count);
    for (size_t i = 0; code && i < count; i++) {
        const int reach = reach_of(code + i, i + 1 < count);
        if (reach > function->stack_bytes)
            function->stack_bytes = reach;
    }
}

static void read_functions(struct object *object)
{
    const size_t count = object->symbols->d_size / sizeof(Elf64_Sym);
    GElf_Sym symbol;
    for (size_t i = 0; i < count && object->count < FUNCTIONS_MAX; i++) {
        if (!gelf_getsym(object->symbols, (int)i, &symbol) ||
            GELF_ST_TYPE(symbol.st_info) != STT_FUNC)
            continue;
        struct function *function = &object->functions[object->count++];
        *function = (struct function){
            .name = elf_strptr(object->elf, object->names, symbol.st_name),
            .section = symbol.st_shndx,
            .begin = symbol.st_value,
            .end = symbol.st_value + symbol.st_size,
        };
        measure(object, function);
    }
}

/* The symbol and type of the relocation at a place of a section; RELOCATION_NONE where it has none.
 */
static unsigned relocation_at(const struct object *object, size_t section, uint64_t offset,
                              GElf_Sym *symbol)
{
    GElf_Shdr header;
    GElf_Rel relocation;
    Elf_Data *data = section_of_type(object, SHT_REL, section, &header);
    for (int i = 0; data && gelf_getrel(data, i, &relocation); i++)
        if (relocation.r_offset == offset &&
            gelf_getsym(object->symbols, (int)GELF_R_SYM(relocation.r_info), symbol))
            return (unsigned)GELF_R_TYPE(relocation.r_info);
    return RELOCATION_NONE;
}

/* The function that an instruction calls, or hands over to be called; NULL: none. */
static const struct function *callee_of(const struct object *object,
                                        const struct function *function, size_t index,
                                        const struct bpf_insn *at)
{
    const uint64_t offset = function->begin + index * sizeof *at;
    GElf_Sym symbol;
    if (at->code == (BPF_JMP | BPF_CALL) && at->src_reg == BPF_PSEUDO_CALL) {
        const int64_t next = (int64_t)(at->imm + 1) * (int64_t)sizeof *at;
        if (relocation_at(object, function->section, offset, &symbol) == RELOCATION_CALL)
            return find_function(object, symbol.st_shndx, symbol.st_value + (uint64_t)next);
        return find_function(object, function->section, offset + (uint64_t)next);
    }
    if (at->code == LOAD_IMMEDIATE &&
        relocation_at(object, function->section, offset, &symbol) != RELOCATION_NONE)
        return find_function(object, symbol.st_shndx, symbol.st_value + (uint32_t)at->imm);
    return NULL;
}

static int refuse(const struct chain *chain, int bytes)
{
    fprintf(stderr, "the stacks of these BPF functions add up to %d bytes, of %d:", bytes,
            LIMIT_BYTES);
    for (size_t i = 0; i < chain->count; i++)
        fprintf(stderr, " %s %d", chain->functions[i]->name, chain->functions[i]->stack_bytes);
    fprintf(stderr, "\n");
    return 1;
}

/* Follows all calls from the last function of the chain, whose callers have so many bytes. */
static int follow(struct chain *chain, int above)
{
    const struct function *function = chain->functions[chain->count - 1];
    const int own = function->stack_bytes > 1 ? function->stack_bytes : 1;
    const int bytes = above + (own + ROUNDED_TO - 1) / ROUNDED_TO * ROUNDED_TO;
    size_t count = 0;
    const struct bpf_insn *code = code_of(chain->object, function, &count);
    if (!code || bytes > LIMIT_BYTES || chain->count == DEPTH_MAX)
        return refuse(chain, bytes);
    for (size_t i = 0; i < count; i++) {
        const struct function *callee = callee_of(chain->object, function, i, code + i);
        if (callee) {
            chain->functions[chain->count++] = callee;
            if (follow(chain, bytes))
                return 1;
            chain->count--;
        }
        i += code[i].code == LOAD_IMMEDIATE; /* two instructions long */
    }
    return 0;
}

static int check(struct object *object, const char *path)
{
    GElf_Shdr header;
    object->symbols = section_of_type(object, SHT_SYMTAB, 0, &header);
    if (!object->symbols) {
        fprintf(stderr, "%s is no object with symbols\n", path);
        return 2;
    }
    object->names = header.sh_link;
    read_functions(object);
    for (size_t i = 0; i < object->count; i++) {
        struct chain chain = {.object = object, .functions = {&object->functions[i]}, .count = 1};
        if (follow(&chain, 0))
            return 1;
    }
    return object->count ? 0 : 2;
}

int main(int argc, char **argv)
{
    static struct object object;
    const int fd = argc == 2 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1;
    elf_version(EV_CURRENT);
    object.elf = fd >= 0 ? elf_begin(fd, ELF_C_READ, NULL) : NULL;
    if (!object.elf) {
        fprintf(stderr, "usage: sprof_bpf_stack OBJECT\n");
        return 2;
    }
    const int result = check(&object, argv[1]);
    elf_end(object.elf);
    close(fd);
    return result;
}
