/* Decides by the stack of a stopped thread whether it may call the loader. */
#include "inject/code.h"
#include "arch/arch.h"
#include "inject/program_file.h"
#include "inject/stacks.h"
#include "plan/plan.h"
#include "target/target.h"

#include <assert.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum module_kind {
    MODULE_OTHER,
    MODULE_LIBC,
    MODULE_LOADER,
    MODULE_UNWINDER,          /* takes the loader's lock */
    MODULE_ALLOCATOR,         /* a library with its own malloc, whose locks are unknown */
    MODULE_PROGRAM_ALLOCATOR, /* a program with one */
};

enum {
    LEAF_BYTES = 4 << 10, /* largest function that is read */
    NAMES = 100,          /* in a list below, at most */
};

enum named {
    WAITS,
    BRIEF,
    LOCKED,
    NAMED,
};

struct inject_code {
    pid_t pid;
    struct inject_stacks *stacks;
    SPROF_VEC(struct unwind_range) named[NAMED];
    uint64_t dlopen, dlclose;
    struct inject_ways ways;
    char executable[TARGET_PATH_MAX];
};

/* Threads wait here without a lock that the loader needs. */
static const char *const waits[] = {"read",
                                    "readv",
                                    "recv",
                                    "recvfrom",
                                    "recvmsg",
                                    "recvmmsg",
                                    "accept",
                                    "accept4",
                                    "poll",
                                    "ppoll",
                                    "select",
                                    "pselect",
                                    "epoll_wait",
                                    "epoll_pwait",
                                    "epoll_pwait2",
                                    "nanosleep",
                                    "clock_nanosleep",
                                    "usleep",
                                    "sleep",
                                    "pause",
                                    "wait",
                                    "wait3",
                                    "wait4",
                                    "waitpid",
                                    "waitid",
                                    "sigsuspend",
                                    "sigwait",
                                    "sigwaitinfo",
                                    "sigtimedwait",
                                    "write",
                                    "writev",
                                    "send",
                                    "sendto",
                                    "sendmsg",
                                    "connect",
                                    "msgrcv",
                                    "msgsnd",
                                    "semop",
                                    "semtimedop",
                                    "pthread_cond_wait",
                                    "pthread_cond_timedwait",
                                    "pthread_cond_clockwait",
                                    "pthread_join",
                                    "pthread_clockjoin_np",
                                    "pthread_timedjoin_np",
                                    "pthread_barrier_wait",
                                    "sem_wait",
                                    "sem_timedwait",
                                    "sem_clockwait",
                                    "flock",
                                    "fcntl",
                                    "ioctl",
                                    "tcdrain",
                                    "kill",
                                    "sigprocmask",
                                    "pthread_sigmask",
                                    NULL};

/* They do little but call the kernel, without such a lock. */
static const char *const brief[] = {
    "open",     "open64",   "openat",    "openat64",        "creat",
    "close",    "pread",    "pread64",   "preadv",          "pwrite",
    "pwrite64", "pwritev",  "fsync",     "fdatasync",       "msync",
    "sendmmsg", "sendfile", "splice",    "copy_file_range", "getrandom",
    "getcwd",   "readdir",  "readdir64", "clock_gettime",   "gettimeofday",
    "time",     NULL};

/* A thread in one of these must not enter one again. */
static const char *const locked[] = {
    "malloc",         "calloc",          "realloc", "free",        "memalign", "aligned_alloc",
    "posix_memalign", "valloc",          "pvalloc", "malloc_trim", "mallopt",  "malloc_info",
    "dlopen",         "dlclose",         "dlsym",   "dlvsym",      "dladdr",   "dlmopen",
    "dlinfo",         "dl_iterate_phdr", "fork",    "vfork",       "exit",     "pthread_create",
    "pthread_exit",   "abort",           "brk",     "sbrk",        NULL};

/* == Modules == */

static enum module_kind kind_of(const char *path, const char *executable, struct image *image)
{
    static const char *const allocators[] = {"malloc", "free", NULL};
    struct image_symbol symbols[2];
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    if (!strncmp(name, "libc.so", 7) || !strncmp(name, "libc-2", 6) ||
        !strncmp(name, "libpthread", 10) || !strncmp(name, "libdl", 5) || !strcmp(path, "[vdso]"))
        return MODULE_LIBC;
    if (!strncmp(name, "ld-linux", 8) || !strncmp(name, "ld-2", 4))
        return MODULE_LOADER;
    if (!strncmp(name, "libgcc_s", 8) || !strncmp(name, "libunwind", 9))
        return MODULE_UNWINDER;
    image_find_symbols(image, allocators, symbols);
    if (!symbols[0].vaddr || !symbols[1].vaddr)
        return MODULE_OTHER;
    return strcmp(path, executable) ? MODULE_ALLOCATOR : MODULE_PROGRAM_ALLOCATOR;
}

static int add_functions(struct inject_code *code, struct image *image, uint64_t bias,
                         enum named kind)
{
    static const char *const *const names[] = {[WAITS] = waits, [BRIEF] = brief, [LOCKED] = locked};
    static_assert(sizeof waits <= sizeof *waits * NAMES && sizeof brief <= sizeof *brief * NAMES &&
                      sizeof locked <= sizeof *locked * NAMES,
                  "names are looked for at once");
    struct image_symbol symbols[NAMES];
    size_t count = 0;
    while (names[kind][count])
        count++;
    image_find_symbols(image, names[kind], symbols);
    for (size_t i = 0; i < count; i++) {
        const struct unwind_range range = {bias + symbols[i].vaddr,
                                           bias + symbols[i].vaddr + symbols[i].size};
        if (symbols[i].vaddr && sprof_vec_push(&code->named[kind], range))
            return SPROF_ENOMEM;
    }
    return 0;
}

/* pthread_join jumps to where it waits, and is not on the stack. */
static int add_tails(struct inject_code *code, struct image *image,
                     const struct inject_stacks_module *module)
{
    uint64_t vaddr;
    const struct sprof_bytes text = image_section(image, ".text", &vaddr);
    for (size_t i = 0, count = code->named[WAITS].count; i < count && module->built.table; i++) {
        const struct unwind_range wait = code->named[WAITS].items[i];
        const uint64_t begin = wait.start - module->bias - vaddr, size = wait.end - wait.start;
        struct arch_instruction instruction;
        struct unwind_range tail;
        if (begin >= text.size || size > text.size - begin)
            continue;
        for (uint64_t at = 0; at < size; at += instruction.length) {
            if (!arch_instruction_decode(text.data + begin + at, size - at, &instruction))
                break;
            const uint64_t target = at + instruction.length + (uint64_t)instruction.value;
            if (instruction.flow != ARCH_FLOW_JUMP || target < size ||
                !unwind_table_function(module->built.table, vaddr + begin + target, &tail))
                continue;
            tail.start += module->bias;
            tail.end += module->bias;
            if (sprof_vec_push(&code->named[WAITS], tail))
                return SPROF_ENOMEM;
        }
    }
    return 0;
}

/* Before 2.34 libc has these only under names of its own. */
static void find_loading(struct inject_code *code, struct image *image, uint64_t bias)
{
    static const char *const names[] = {"dlopen", "dlclose", "__libc_dlopen_mode", "__libc_dlclose",
                                        NULL};
    struct image_symbol found[4];
    image_find_symbols(image, names, found);
    for (size_t i = 0; i < 2 && !code->dlopen; i++)
        if (found[2 * i].vaddr && found[2 * i + 1].vaddr) {
            code->dlopen = bias + found[2 * i].vaddr;
            code->dlclose = bias + found[2 * i + 1].vaddr;
        }
}

static void find_signal_return(struct inject_code *code, struct image *image, uint64_t bias)
{
    static const uint8_t shape[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
    uint64_t vaddr;
    const struct sprof_bytes text = image_section(image, ".text", &vaddr);
    const uint8_t *at = text.size ? memmem(text.data, text.size, shape, sizeof shape) : NULL;
    if (at && !code->ways.signal_return)
        code->ways.signal_return = bias + vaddr + (uint64_t)(at - (const uint8_t *)text.data);
}

static int note_libc(struct inject_code *code, struct image *image,
                     const struct inject_stacks_module *module)
{
    const uint64_t bias = module->bias;
    find_loading(code, image, bias);
    find_signal_return(code, image, bias);
    int result = add_functions(code, image, bias, WAITS);
    if (!result)
        result = add_tails(code, image, module);
    if (!result)
        result = add_functions(code, image, bias, BRIEF);
    if (!result)
        result = add_functions(code, image, bias, LOCKED);
    return result;
}

static int note_module(void *context, struct inject_stacks_module *module,
                       const struct model_mmap *mapping, struct image *image)
{
    struct inject_code *code = context;
    module->kind = (int)kind_of(module->path, code->executable, image);
    const bool runs = module->kind == MODULE_LIBC && !plan_is_idle_copy(code->pid, mapping);
    return runs ? note_libc(code, image, module) : 0;
}

int inject_code_open(struct inject_code **out, pid_t pid, struct cache *cache,
                     struct sprof_error *error)
{
    struct inject_code *code = *out = calloc(1, sizeof *code);
    if (!code)
        return sprof_error_memory(error);
    inject_program_file(pid, code->executable);
    code->pid = pid;
    int result = inject_stacks_open(&code->stacks, pid, cache, note_module, code)
                     ? sprof_error_memory(error)
                     : 0;
    if (!result && (!code->dlopen || !code->ways.signal_return))
        result = sprof_error_set(error, SPROF_EUNSUPPORTED, 0,
                                 "cannot trace process %d: it does not run with glibc, whose "
                                 "loader would put the tracing agent into it\n`sprof record -p %d` "
                                 "can sample it",
                                 (int)pid, (int)pid);
    if (result) {
        inject_code_free(code);
        *out = NULL;
    }
    return result;
}

void inject_code_free(struct inject_code *code)
{
    if (!code)
        return;
    for (int kind = 0; kind < NAMED; kind++)
        sprof_vec_release(&code->named[kind]);
    inject_stacks_free(code->stacks);
    free(code);
}

uint64_t inject_code_dlopen(const struct inject_code *code)
{
    return code->dlopen;
}

uint64_t inject_code_dlclose(const struct inject_code *code)
{
    return code->dlclose;
}

const struct inject_ways *inject_code_ways(const struct inject_code *code)
{
    return &code->ways;
}

/* == Stacks == */

static bool is_named(const struct inject_code *code, enum named kind, uint64_t address)
{
    for (size_t i = 0; i < code->named[kind].count; i++)
        if (address - code->named[kind].items[i].start <
            code->named[kind].items[i].end - code->named[kind].items[i].start)
            return true;
    return false;
}

static size_t count_startup(struct inject_code *code, const struct unwind_stack *stack)
{
    enum { LIBC_FRAMES = 2 };
    size_t count = 0, of_libc = 0;
    while (count < stack->count && of_libc < LIBC_FRAMES) {
        const struct unwind_frame *frame = &stack->frames[stack->count - 1 - count];
        const struct inject_stacks_module *module =
            inject_stacks_module(code->stacks, unwind_frame_lookup_address(frame));
        const bool is_libc = module && module->kind == MODULE_LIBC;
        if (!is_libc && count)
            break;
        of_libc += is_libc;
        count++;
    }
    return of_libc ? count : 0;
}

/* True: a libc function calls no other, so it holds no lock and waits for none, and it does not
 * switch stacks. */
static bool is_leaf(struct inject_code *code, uint64_t address)
{
    const struct inject_stacks_module *module = inject_stacks_module(code->stacks, address);
    uint8_t text[LEAF_BYTES];
    struct unwind_range function;
    if (!module->built.table ||
        !unwind_table_function(module->built.table, address - module->bias, &function))
        return false;
    const uint64_t size = function.end - function.start;
    if (size > sizeof text ||
        target_read_memory(code->pid, module->bias + function.start, text, size) != size)
        return false;
    struct arch_instruction instruction;
    for (uint64_t at = 0; at < size; at += instruction.length) {
        if (!arch_instruction_decode(text + at, size - at, &instruction) ||
            instruction.effect == ARCH_EFFECT_CHANGES_SP ||
            instruction.effect == ARCH_EFFECT_SP_FROM_REGISTER ||
            instruction.effect == ARCH_EFFECT_LOADS_SP)
            return false;
        const bool jumps =
            instruction.flow == ARCH_FLOW_JUMP || instruction.flow == ARCH_FLOW_BRANCH;
        if (jumps && at + instruction.length + (uint64_t)instruction.value >= size)
            return false;
        if (instruction.flow == ARCH_FLOW_CALL || instruction.flow == ARCH_FLOW_CALL_INDIRECT ||
            instruction.flow == ARCH_FLOW_JUMP_INDIRECT)
            return false;
    }
    return true;
}

/* Of libc's frames, the innermost must be a wait; others may be among the last `startup`. */
static const char *unfit_between(struct inject_code *code, const struct unwind_stack *stack,
                                 size_t from, size_t to, size_t startup)
{
    size_t leaves = from;
    bool is_waiting = false;
    for (size_t i = from; i < to; i++) {
        const uint64_t address = unwind_frame_lookup_address(&stack->frames[i]);
        const struct inject_stacks_module *module = inject_stacks_module(code->stacks, address);
        const enum module_kind kind = module ? (enum module_kind)module->kind : MODULE_OTHER;
        if (kind == MODULE_LOADER)
            return "is in the loader";
        if (kind == MODULE_UNWINDER)
            return "is handling an exception";
        if (kind == MODULE_ALLOCATOR)
            return "is in a library that has its own malloc";
        if (kind == MODULE_PROGRAM_ALLOCATOR && i == leaves && !is_waiting)
            return "works in a program that has its own malloc";
        if (kind != MODULE_LIBC)
            continue;
        if (is_named(code, LOCKED, address))
            return "is in malloc or the loader";
        if (i == leaves) {
            leaves++;
            is_waiting |= is_named(code, WAITS, address);
        } else if (i + startup < stack->count) {
            return "is called by libc";
        }
    }
    if (is_waiting || leaves == from)
        return NULL;
    const uint64_t called = unwind_frame_lookup_address(&stack->frames[leaves - 1]);
    return is_named(code, BRIEF, called) || (leaves == from + 1 && is_leaf(code, called))
               ? NULL
               : "works in libc";
}

/* True: the signal came on the stack that it interrupted, by the kernel's frame. *at: where the
 * search starts, then behind the return address. */
static bool is_same_stack(const struct unwind_memory *memory, const struct unwind_frame *trampoline,
                          size_t *at)
{
    for (; *at + sizeof(uint64_t) + ARCH_FRAME_BYTES <= memory->slice_size;
         *at += sizeof(uint64_t)) {
        uint64_t word, pc, stack, stack_bytes;
        memcpy(&word, memory->slice + *at, sizeof word);
        if (word != trampoline->address)
            continue;
        arch_frame_read(memory->slice + *at + sizeof word, &pc, &stack, &stack_bytes);
        if (pc != trampoline[1].address)
            continue;
        const uint64_t address = memory->slice_address + *at;
        *at += sizeof word;
        return address - stack >= stack_bytes;
    }
    return false;
}

const char *inject_code_unfit(struct inject_code *code, const struct arch_remote *registers)
{
    struct unwind_memory memory;
    const struct unwind_stack stack = inject_stacks_walk(code->stacks, registers, &memory);
    const size_t startup = count_startup(code, &stack);
    size_t from = 0, at = 0;
    const char *doubt = inject_stacks_doubt(&stack);
    if (doubt)
        return doubt;
    /* interrupted code must be as fit as the handler */
    for (size_t i = 1; i < stack.count; i++) {
        if (stack.frames[i].found_by != MODEL_BY_SIGNAL)
            continue;
        if (i - 1 == from)
            return "ends a signal handler";
        const char *unfit = unfit_between(code, &stack, from, i - 1, startup);
        if (unfit)
            return unfit;
        if (!is_same_stack(&memory, &stack.frames[i - 1], &at))
            return "is in a signal handler on another stack";
        from = i;
    }
    return unfit_between(code, &stack, from, stack.count, startup);
}
