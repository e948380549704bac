/* Facts and steps of each way of measuring calls agree. */
#include "tests/unit/plan/fixture.h"
#include "tests/unit/skip.h"
#include "tests/unit/trace/made.h"
#include "tests/unit/trace/self_counting.h"
#include "trace/obstacles.h"
#include "trace/set_up.h"
#include "trace/uprobe/uprobes.h"

#include <dlfcn.h>
#include <sys/auxv.h>
#include <sys/stat.h>

static const struct probe_backend *const all[] = {
    &probe_backend_preload,   &probe_backend_attach, &probe_backend_held,
    &probe_backend_listening, &probe_backend_uprobe, &probe_backend_self_counting};

static void test_steps(void)
{
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const struct probe_backend *backend = all[i];
        CU_ASSERT_PTR_NOT_NULL(backend->source);
        CU_ASSERT_PTR_NOT_NULL(backend->place);
        CU_ASSERT_PTR_NOT_NULL(backend->meet);
        if (backend->place == trace_place_by_agent) { /* which calls these */
            CU_ASSERT_PTR_NOT_NULL(backend->enter);
            CU_ASSERT_PTR_NOT_NULL(backend->begin);
            CU_ASSERT_PTR_NOT_NULL(backend->open_code);
        }
        if (!backend->has_agent) { /* nothing else does these */
            CU_ASSERT_PTR_NOT_NULL(backend->read);
            CU_ASSERT_PTR_NOT_NULL(backend->clear);
            CU_ASSERT_PTR_NOT_NULL(backend->cost);
            CU_ASSERT_PTR_NOT_NULL(backend->take_out);
            CU_ASSERT_FALSE(backend->needs_lease);
        }
        if (backend->only_embedded) { /* its thunks belong to functions, and its agent stays */
            CU_ASSERT_PTR_NOT_NULL(backend->number);
            CU_ASSERT_PTR_NOT_NULL(backend->take_out);
            CU_ASSERT_FALSE(backend->can_rest);
        }
    }
}

static void test_facts(void)
{
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const struct probe_backend *backend = all[i];
        if (backend->borrows)
            CU_ASSERT_TRUE(backend->is_live && backend->needs_keeper);
        if (backend->can_rest) /* code that changes must be taken out after a kill */
            CU_ASSERT_TRUE(backend->needs_keeper && backend->needs_lease);
        if (backend->in_nanoseconds)
            CU_ASSERT_FALSE(backend->has_agent);
    }
}

static void test_memberships(void)
{
    static const struct trace_membership *const cases[] = {&trace_of_one, &trace_of_children,
                                                           &trace_of_several};
    size_t ones = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CU_ASSERT_PTR_NOT_NULL(cases[i]->open);
        CU_ASSERT_PTR_NOT_NULL(cases[i]->set_up);
        CU_ASSERT_TRUE(cases[i]->is_one || cases[i]->serve); /* programs end */
        CU_ASSERT_TRUE(cases[i]->ends_with_target || cases[i]->are_over);
        ones += cases[i]->is_one;
    }
    CU_ASSERT_EQUAL(ones, 1);
}

/* == The choice == */

/* A command, and what is expected of it. */
struct entered {
    struct trace_options options;
    int result;
    const struct probe_backend *backend; /* where the result is 0 */
    const char *part;                    /* of the message, or of the reason; NULL: none */
};

static void check(const struct entered *expected, const char *program, const char *argument)
{
    char *command[] = {(char *)(uintptr_t)program, (char *)(uintptr_t)argument, NULL};
    struct made_log log = {.log = {.message = made_note}};
    struct trace_options options = expected->options;
    struct trace_entry entry;
    struct sprof_error error = {0};
    log.log.context = &log.said;
    options.log = &log.log;
    options.command = command;
    CU_ASSERT_EQUAL(trace_entry_open(&entry, &options, &error), expected->result);
    const char *text = error.code            ? error.message
                       : entry.choice.reason ? entry.choice.reason
                                             : log.said.text;
    if (!expected->result)
        CU_ASSERT_PTR_EQUAL(entry.choice.backend, expected->backend);
    CU_ASSERT_EQUAL(text != NULL, expected->part != NULL);
    if (text && expected->part) {
        if (!strstr(text, expected->part))
            printf("\n    %s", text);
        CU_ASSERT_PTR_NOT_NULL(strstr(text, expected->part));
    }
    CU_ASSERT_EQUAL(entry.agent_fd, -1);
    CU_ASSERT_EQUAL(entry.lock_fd, -1);
    trace_entry_close(&entry);
    sprof_str_release(&log.said);
}

/* Uprobes may be impossible here, as in a container. */
static bool has_uprobes(void)
{
    const struct trace_options options = {0};
    struct sprof_error error = {0};
    return !trace_uprobes_check(&options, &error);
}

static void test_plain_commands(void)
{
    static const struct entered preloaded = {{0}, 0, &probe_backend_preload, NULL},
                                by_kernel = {
                                    {.backend = TRACE_UPROBE}, 0, &probe_backend_uprobe, NULL};
    static const struct entered refused = {
        {.backend = TRACE_UPROBE, .paths = true}, SPROF_EUSAGE, NULL, "--paths needs the agent"};
    if (trace_obstacle_of_room(0)) {
        sprof_test_skip("%s", trace_obstacle_of_room(0));
        return;
    }
    check(&preloaded, "true", NULL);
    check(&preloaded, "/no/such/program", NULL); /* its execve will fail, with its own error */
    check(&refused, "true", NULL);
    if (has_uprobes())
        check(&by_kernel, "true", NULL);
}

static void test_foreign_files(void)
{
    static const struct entered other = {{0}, SPROF_EUNSUPPORTED, NULL, "another processor"},
                                damaged = {{0}, SPROF_EFORMAT, NULL, "damaged ELF file"},
                                others_children = {{.children = true},
                                                   0,
                                                   &probe_backend_preload,
                                                   "another processor"};
    static const uint8_t elf32[64] = {0x7f, 'E', 'L', 'F', 1}, cut[40] = {0x7f, 'E', 'L', 'F', 2};
    char path[] = "/tmp/sprof-backend-XXXXXX";
    const int fd = mkstemp(path);
    CU_ASSERT_FATAL(fd >= 0);
    CU_ASSERT_EQUAL(fchmod(fd, 0755), 0);
    CU_ASSERT_EQUAL(pwrite(fd, elf32, sizeof elf32, 0), sizeof elf32);
    check(&other, path, NULL);
    check(&others_children, path, NULL); /* it may start others */
    CU_ASSERT_EQUAL(ftruncate(fd, 0), 0);
    CU_ASSERT_EQUAL(pwrite(fd, cut, sizeof cut, 0), sizeof cut);
    check(&damaged, path, NULL);
    close(fd);
    unlink(path);
}

/* A static program is held at its main, which its start code has to show. */
static void test_static_command(void)
{
    static const char start[] = ".text\n" FUNCTION("_start", "mov $60,%eax\nsyscall\nret");
    static const struct entered all_points = {{.all_points = true},
                                              SPROF_EUNSUPPORTED,
                                              NULL,
                                              "without --all-points functions have probes"},
                                injected = {{.backend = TRACE_INJECT},
                                            SPROF_EUNSUPPORTED,
                                            NULL,
                                            "start code that does not show where its main is"},
                                with_paths = {{.paths = true},
                                              SPROF_EUNSUPPORTED,
                                              NULL,
                                              "without --paths the kernel counts"},
                                children = {{.children = true},
                                            0,
                                            &probe_backend_preload,
                                            "linked statically"},
                                by_kernel = {{0}, 0, &probe_backend_uprobe, "does not show where"};
    struct fixture fixture;
    fixture_make(&fixture, ".s", start, "gcc -static -nostdlib");
    check(&all_points, fixture.path, NULL);
    check(&injected, fixture.path, NULL);
    check(&with_paths, fixture.path, NULL);
    check(&children, fixture.path, NULL);
    if (has_uprobes())
        check(&by_kernel, fixture.path, NULL);
    fixture_release(&fixture);
}

/* The kernel would probe the file of the loader in place of the program that it loads. */
static void test_loader(void)
{
    static const struct entered
        alone = {{.backend = TRACE_INJECT}, SPROF_EUNSUPPORTED, NULL, "no program follows it"},
        loads = {{.backend = TRACE_UPROBE}, SPROF_EUNSUPPORTED, NULL, "a command's own file alone"},
        preloaded = {{0}, 0, &probe_backend_preload, NULL};
    Dl_info info;
    const uintptr_t base = getauxval(AT_BASE);
    if (!base || !dladdr((const void *)(base + 1), &info) || trace_obstacle_of_room(0)) {
        sprof_test_skip("this program has no loader");
        return;
    }
    check(&alone, info.dli_fname, NULL);
    check(&loads, info.dli_fname, "/bin/true");
    check(&preloaded, info.dli_fname, "/bin/true");
}

void sprof_suite_trace_backend(void);

void sprof_suite_trace_backend(void)
{
    CU_pSuite suite = CU_add_suite("trace/backend", NULL, NULL);
    CU_add_test(suite, "steps", test_steps);
    CU_add_test(suite, "facts", test_facts);
    CU_add_test(suite, "memberships", test_memberships);
    CU_add_test(suite, "plain commands", test_plain_commands);
    CU_add_test(suite, "files of others", test_foreign_files);
    CU_add_test(suite, "a static command", test_static_command);
    CU_add_test(suite, "the loader as a command", test_loader);
}
