/* Libraries that the test itself loads and unloads. Its loader is asked for them, and a file stands
 * for the memory into which probes are written. */
#include "tests/unit/plan/fixture.h"
#include "tests/unit/trace/made.h"
#include "trace/load.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <sys/eventfd.h>

enum { CAPACITY = 64 };
static const uint64_t thunks = UINT64_C(1) << 40;

static struct made made;
static struct fixture fixture;
static const char *modules[] = {"*/module"};

static int64_t map_island(struct probing_program *program, enum probe_request_kind kind,
                          uint64_t address, uint64_t size, int fd)
{
    (void)program;
    (void)size;
    (void)fd;
    return kind == PROBE_MAP_ISLAND ? (int64_t)address : -EINVAL;
}

static int open_code(struct probing_program *program, struct sprof_error *error)
{
    (void)error;
    return fcntl(program->process.code_fd, F_DUPFD_CLOEXEC, 0);
}

static const struct probe_backend in_memory = {.source = "in memory",
                                               .has_agent = true,
                                               .sees_loads = true,
                                               .open_code = open_code,
                                               .ask = map_island};

static const char library[] = ".text\n" FUNCTION("one", "mov %rdi,%rax\nlea 1(%rax),%rax\nret")
    FUNCTION("two", "mov %rdi,%rax\nlea 2(%rax),%rax\nret");
/* Its loader writes an address into the code. */
static const char relocated[] =
    ".text\n" FUNCTION("one", "movabs $two,%rax\nret") ".data\n.globl two\ntwo: .quad 0\n";

static void begin(const char *source, const char *command)
{
    fixture_make(&fixture, ".s", source, command);
    made_begin(&made, &in_memory, CAPACITY);
    struct inject_process *process = &made.session.process;
    made.session.options.modules = modules;
    made.session.options.module_count = 1;
    made.session.options.rest_ns = TRACE_NEVER;
    process->hello.thunks = thunks;
    process->hello.debug = (uint64_t)(uintptr_t)&_r_debug;
    process->code_fd = memfd_create("code", MFD_CLOEXEC);
    CU_ASSERT_FATAL(process->code_fd >= 0);
    made.session.loader.event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    made.session.loader.shared = &process->shared->loading;
    made.session.hook.at = 1;
    CU_ASSERT_EQUAL_FATAL(probing_ranges_begin(&made.session.probing, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(trace_loads_note(&made.session, NULL), 0);
}

static void end(void)
{
    trace_loads_free(&made.session);
    close(made.session.process.code_fd);
    for (size_t i = 0; i < made.session.files.count; i++)
        plan_release(&made.session.files.items[i].plan);
    made_end(&made);
    fixture_release(&fixture);
}

static void *load(void)
{
    void *handle = dlopen(fixture.path, RTLD_NOW | RTLD_LOCAL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(handle);
    return handle;
}

/* A thread of the loader waits for sprof. */
static void serve(void)
{
    struct probe_loading *loading = &made.session.process.shared->loading;
    struct sprof_error error = {0};
    atomic_store(&loading->state, PROBE_LOADING_ASKED);
    CU_ASSERT_EQUAL(trace_loads_serve(&made.session, &error), 0);
    CU_ASSERT_EQUAL(atomic_load(&loading->state), PROBE_LOADING_DONE); /* it goes on */
}

static size_t placed(void)
{
    size_t count = 0;
    for (size_t i = 0; i < made.session.probes.count; i++)
        count += made.session.probes.items[i].is_placed;
    return count;
}

/* A library gets its probes once, loses them when it goes, and has the same ones when it comes
 * again. */
static void test_comes_and_goes(void)
{
    uint8_t there[PLAN_JUMP_BYTES];
    begin(library, "gcc -shared -nostdlib");
    serve();
    CU_ASSERT_EQUAL(made.session.files.count, 0);
    void *handle = load();
    serve();
    CU_ASSERT_EQUAL_FATAL(made.session.files.count, 1);
    CU_ASSERT_EQUAL_FATAL(made.session.probes.count, 2);
    CU_ASSERT_EQUAL(placed(), 2);
    CU_ASSERT_TRUE(made_said(&made, "module was loaded after "));
    const struct probing_file *file = &made.session.files.items[0];
    const uint64_t one = (uint64_t)(uintptr_t)dlsym(handle, "one");
    CU_ASSERT_EQUAL(file->bias + made.session.probes.items[0].function->start, one);
    CU_ASSERT_NOT_EQUAL(file->module, 0);
    CU_ASSERT_EQUAL(made_tier(&made, 0), PROBE_FULL);
    CU_ASSERT_EQUAL(pread(made.session.process.code_fd, there, sizeof there,
                          (off_t)(file->bias + made.session.probes.items[0].function->site)),
                    sizeof there);
    CU_ASSERT_EQUAL(memcmp(there, made.session.probes.items[0].jump, sizeof there), 0);
    CU_ASSERT_EQUAL(made.session.process.shared->sites.list[1].address, one);
    serve(); /* nothing new */
    CU_ASSERT_EQUAL(made.session.probes.count, 2);
    CU_ASSERT_EQUAL(made.log.said.length, 0);
    dlclose(handle);
    serve(); /* its jumps are still there, as where a program has moved its code */
    CU_ASSERT_EQUAL(placed(), 2);
    CU_ASSERT_EQUAL(ftruncate(made.session.process.code_fd, 0), 0);
    serve();
    CU_ASSERT_EQUAL(placed(), 0);
    CU_ASSERT_FALSE(file->is_loaded);
    CU_ASSERT_EQUAL(made.session.process.shared->sites.list[1].address, 0);
    handle = load();
    serve();
    CU_ASSERT_EQUAL(made.session.files.count, 1);
    CU_ASSERT_EQUAL(made.session.probes.count, 2);
    CU_ASSERT_EQUAL(placed(), 2);
    CU_ASSERT_EQUAL(made.log.said.length, 0); /* once is enough */
    dlclose(handle);
    end();
}

/* No thread waits. */
static void test_nothing_asked(void)
{
    struct sprof_error error = {0};
    begin(library, "gcc -shared -nostdlib");
    void *handle = load();
    CU_ASSERT_EQUAL(trace_loads_serve(&made.session, &error), 0);
    CU_ASSERT_EQUAL(made.session.files.count, 0);
    dlclose(handle);
    end();
}

static void test_not_chosen(void)
{
    static const char *others[] = {"*/other"};
    begin(library, "gcc -shared -nostdlib");
    made.session.options.modules = others;
    void *handle = load();
    serve();
    CU_ASSERT_EQUAL(made.session.files.count, 0);
    CU_ASSERT_EQUAL(made.log.said.length, 0);
    dlclose(handle);
    end();
}

/* Mapped by the program itself, or by a loader that is not done: its list does not hold it yet. */
static void test_not_linked(void)
{
    begin(library, "gcc -shared -nostdlib");
    const int fd = open(fixture.path, O_RDONLY | O_CLOEXEC);
    void *mapped = mmap(NULL, 8192, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 4096);
    CU_ASSERT_NOT_EQUAL_FATAL(mapped, MAP_FAILED);
    serve();
    CU_ASSERT_EQUAL(made.session.files.count, 0);
    CU_ASSERT_EQUAL(made.log.said.length, 0);
    munmap(mapped, 8192);
    close(fd);
    end();
}

/* The loader would write over its probes. */
static void test_text_relocations(void)
{
    begin(relocated, "gcc -shared -nostdlib -Wl,-z,notext");
    void *handle = load();
    serve();
    CU_ASSERT_EQUAL(made.session.files.count, 0);
    CU_ASSERT_TRUE(made_said(&made, "changes its own code when it is loaded"));
    serve();
    CU_ASSERT_EQUAL(made.log.said.length, 0);
    dlclose(handle);
    end();
}

/* Without a hook nothing asks. Libraries that came while probes were placed are still found. */
static void test_catch_up(void)
{
    struct sprof_error error = {0};
    begin(relocated, "gcc -shared -nostdlib -Wl,-z,notext");
    void *handle = load();
    CU_ASSERT_EQUAL(trace_loads_catch_up(&made.session, &error), 0);
    CU_ASSERT_TRUE(made_said(&made, "changes its own code"));
    made.session.hook.at = 0;
    CU_ASSERT_EQUAL(trace_loads_catch_up(&made.session, &error), 0);
    CU_ASSERT_TRUE(made_said(&made, "nothing could be put into its loader"));
    trace_loads_free(&made.session);
    CU_ASSERT_EQUAL(trace_loads_catch_up(&made.session, &error), 0); /* none are followed */
    CU_ASSERT_EQUAL(made.log.said.length, 0);
    dlclose(handle);
    end();
}

/* The agent has not found what the loader calls, or that is no empty function. */
static void test_unknown_loader(void)
{
    struct sprof_error error = {0};
    const uint64_t places[] = {0, (uint64_t)(uintptr_t)&_r_debug};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        begin(library, "gcc -shared -nostdlib");
        made.session.process.hello.notify = places[i];
        made.session.process.hello.loaded = 1;
        CU_ASSERT_EQUAL(trace_loads_begin(&made.session, &error), 0);
        CU_ASSERT_PTR_NULL(made.session.loads);
        CU_ASSERT_EQUAL(made.session.hook.wanted, 0);
        CU_ASSERT_TRUE(made_said(&made, "the program's loader is not known"));
        end();
    }
}

void sprof_suite_trace_load(void);
void sprof_suite_trace_load(void)
{
    CU_pSuite suite = CU_add_suite("trace/load", NULL, NULL);
    CU_add_test(suite, "a library comes and goes", test_comes_and_goes);
    CU_add_test(suite, "no thread waits", test_nothing_asked);
    CU_add_test(suite, "a module that is not chosen", test_not_chosen);
    CU_add_test(suite, "not in the loader's list", test_not_linked);
    CU_add_test(suite, "text relocations", test_text_relocations);
    CU_add_test(suite, "catching up", test_catch_up);
    CU_add_test(suite, "an unknown loader", test_unknown_loader);
}
