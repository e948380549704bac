/* Which functions of a module get probes, and what these do. */
#include "probing/probing.h"
#include "tests/unit/probing/made.h"

static const struct probing_way can_rest = {.has_agent = true, .can_rest = true};
static const struct probing_way agent_alone = {.has_agent = true};
static const struct probing_way by_kernel = {0};

enum { CAPACITY = 64 };

struct choosing {
    struct made made;
    struct plan_function functions[8];
    struct sprof_error error;
};

static void make(struct choosing *choosing, const struct probing_way *backend)
{
    made_begin(&choosing->made, backend, CAPACITY);
    choosing->error = (struct sprof_error){0};
}

/* Chooses of a module of functions of these names. */
static int choose(struct choosing *choosing, const char *path, const char *const *names,
                  size_t count)
{
    struct plan_module module = {
        .path = path, .plan = {.functions = choosing->functions, .function_count = count}};
    for (size_t i = 0; i < count; i++) {
        struct plan_function *function = &choosing->functions[i];
        function->start = function->site = 0x100 * (i + 1);
        function->end = function->start + 0x100;
        function->name = function->linkage_name = names[i];
        if (!function->why && !function->mechanism)
            function->mechanism = PLAN_PROLOGUE;
    }
    return probing_choose_module(&choosing->made.session, &module, &choosing->error);
}

static void end(struct choosing *choosing)
{
    made_end(&choosing->made);
    memset(choosing->functions, 0, sizeof choosing->functions);
}

static const struct probing_probe *probe_of(const struct choosing *choosing, const char *name)
{
    const struct probing_program *session = &choosing->made.session;
    for (size_t i = 0; i < session->probes.count; i++)
        if (!strcmp(session->probes.items[i].function->name, name))
            return &session->probes.items[i];
    return NULL;
}

static bool is_chosen(const struct choosing *choosing, const char *name)
{
    const struct probing_probe *probe = probe_of(choosing, name);
    return probe && probe->is_chosen;
}

static const char *const some[] = {"parse", "parse_number", "print"};

static void test_names(void)
{
    static struct choosing choosing;
    const char *const wanted[] = {"^parse", "!number"};
    make(&choosing, &agent_alone);
    choosing.made.session.options.functions = wanted;
    choosing.made.session.options.function_count = 2;
    CU_ASSERT_EQUAL(choose(&choosing, "/app/program", some, 3), 0);
    CU_ASSERT_TRUE(is_chosen(&choosing, "parse"));
    CU_ASSERT_PTR_NULL(probe_of(&choosing, "parse_number"));
    CU_ASSERT_PTR_NULL(probe_of(&choosing, "print"));
    CU_ASSERT_EQUAL(choosing.made.session.files.items[0].count, 1);
    end(&choosing);
}

/* Where probes can rest the others get spare ones. */
static void test_spares(void)
{
    static struct choosing choosing;
    const char *const wanted = "^parse$";
    make(&choosing, &can_rest);
    struct trace_options *options = &choosing.made.session.options;
    options->functions = &wanted;
    options->function_count = 1;
    CU_ASSERT_EQUAL(choose(&choosing, "/app/program", some, 3), 0);
    CU_ASSERT_TRUE(is_chosen(&choosing, "parse"));
    CU_ASSERT_FALSE(probe_of(&choosing, "parse")->is_spare);
    CU_ASSERT_PTR_NOT_NULL_FATAL(probe_of(&choosing, "print"));
    CU_ASSERT_TRUE(probe_of(&choosing, "print")->is_spare);
    options->rest_ns = TRACE_NEVER;
    CU_ASSERT_EQUAL(choose(&choosing, "/app/other", some, 3), 0);
    CU_ASSERT_EQUAL(choosing.made.session.files.items[1].count, 1);
    end(&choosing);
}

/* Spare probes give way where there is no room for all, and those that stay are numbered anew. */
static void test_too_many_spares(void)
{
    static struct choosing choosing;
    static const char *const names[] = {"a", "b", "wanted", "c"};
    const char *const wanted = "^wanted$";
    make(&choosing, &can_rest);
    struct probing_program *session = &choosing.made.session;
    session->options.functions = &wanted;
    session->options.function_count = 1;
    session->has_all_spares = true;
    session->capacity = 3;
    CU_ASSERT_EQUAL(choose(&choosing, "/app/program", names, 4), 0);
    CU_ASSERT_EQUAL_FATAL(session->probes.count, 1);
    CU_ASSERT_TRUE(is_chosen(&choosing, "wanted"));
    CU_ASSERT_EQUAL(session->probes.items[0].thunk, 0);
    CU_ASSERT_EQUAL(session->files.items[0].count, 1);
    CU_ASSERT_FALSE(session->has_all_spares);
    end(&choosing);
}

static void test_no_room(void)
{
    static struct choosing choosing;
    make(&choosing, &agent_alone);
    struct probing_program *session = &choosing.made.session;
    session->capacity = 4;
    CU_ASSERT_EQUAL(choose(&choosing, "/app/program", some, 3), 0);
    CU_ASSERT_EQUAL(choose(&choosing, "/app/plugin.so", some, 2), SPROF_ELIMIT);
    CU_ASSERT_PTR_NOT_NULL(
        strstr(choosing.error.message, "/app/plugin.so has 2 functions, and there is room for 1"));
    CU_ASSERT_EQUAL(session->probes.count, 3); /* the module has none at all */
    CU_ASSERT_EQUAL(session->files.items[1].count, 0);
    end(&choosing);
}

/* The last rule of a module decides, then --module, then what is application. */
static void test_modules(void)
{
    static const char *const ours[] = {"*ours.so"};
    static const struct trace_module_rule rules[] = {{"*", TRACE_MODULE_START},
                                                     {"*late*", TRACE_MODULE_DEMAND},
                                                     {"*late_never*", TRACE_MODULE_NEVER}};
    static const struct {
        const char *path;
        bool has_rules, has_modules, is_chosen, on_demand;
    } cases[] = {
        {"/home/me/program", false, false, true, false},
        {"/usr/lib/libsystem.so.1", false, false, false, false},
        {"/home/me/ours.so", false, true, true, false},
        {"/home/me/program", false, true, false, false},
        {"/usr/lib/libsystem.so.1", true, false, true, false},
        {"/home/me/late.so", true, false, true, true},
        {"/home/me/late_never.so", true, false, false, false},
        {"/home/me/late_never.so", true, true, false, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        static struct choosing choosing;
        make(&choosing, &agent_alone);
        struct trace_options *options = &choosing.made.session.options;
        options->modules = ours;
        options->module_count = cases[i].has_modules;
        options->module_rules = rules;
        options->module_rule_count = cases[i].has_rules ? 3 : 0;
        CU_ASSERT_EQUAL(choose(&choosing, cases[i].path, some, 3), 0);
        const struct probing_file *file = &choosing.made.session.files.items[0];
        CU_ASSERT_EQUAL(file->is_chosen, cases[i].is_chosen);
        CU_ASSERT_EQUAL(file->on_demand, cases[i].on_demand);
        CU_ASSERT_EQUAL(file->count, cases[i].is_chosen && !cases[i].on_demand ? 3 : 0);
        end(&choosing);
    }
}

/* Probes that see how frames are left, and which threads begin, are there whatever was chosen. */
static void test_tiers(void)
{
    static const struct {
        const char *path, *name;
        uint8_t mechanism, tier;
        bool is_entry_only;
    } cases[] = {
        {"/app/program", "f", PLAN_PROLOGUE, PROBE_FULL, false},
        {"/app/program", "f", PLAN_PROLOGUE, PROBE_COUNT, true},
        {"/usr/lib/libc.so.6", "longjmp", PLAN_LEAVE, PROBE_JUMP, false},
        {"/usr/lib/libstdc++.so.6", "__cxa_begin_catch", PLAN_LEAVE, PROBE_LEAVE, false},
        {"/usr/lib/libstdc++.so.6", "__cxa_throw", PLAN_LEAVE, PROBE_THROW, false},
        {"/usr/lib/libgnat-12.so", "__gnat_begin_handler_v1", PLAN_LEAVE, PROBE_LEAVE, false},
        {"/usr/lib/libstd-8fef7bc9ebbb7d4d.so", "rust_begin_unwind", PLAN_LEAVE, PROBE_THROW,
         false},
        {"/usr/lib/libgcc_s.so.1", "_Unwind_Resume", PLAN_LEAVE, PROBE_RESUME, false},
        {"/usr/lib/libunwind.so.8", "_Unwind_Resume", PLAN_LEAVE, PROBE_UNWIND, false},
        {"/usr/lib/libc.so.6", "prctl", PLAN_PROLOGUE, PROBE_CLOCK, false},
        {"/usr/lib/libc.so.6", "clone", PLAN_PROLOGUE, PROBE_CLONE, false},
        {"/usr/lib/libc.so.6", "syscall", PLAN_PROLOGUE, PROBE_SYSCALL, false},
        {"/usr/lib/libc.so.6", "vfork", PLAN_PROLOGUE, PROBE_VFORK, true},
        {"/usr/lib/libc.so.6", "execve", PLAN_PROLOGUE, PROBE_EXECUTE, false},
        {"/usr/lib/libc.so.6", "fexecve", PLAN_PROLOGUE, PROBE_EXECUTE, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        static struct choosing choosing;
        make(&choosing, &agent_alone);
        choosing.functions[0].mechanism = cases[i].mechanism;
        choosing.functions[0].entry_only = cases[i].is_entry_only;
        CU_ASSERT_EQUAL(choose(&choosing, cases[i].path, &cases[i].name, 1), 0);
        CU_ASSERT_EQUAL_FATAL(choosing.made.session.probes.count, 1);
        CU_ASSERT_EQUAL(choosing.made.session.probes.items[0].tier, cases[i].tier);
        CU_ASSERT_EQUAL(choosing.made.session.probes.items[0].is_chosen, cases[i].path[1] == 'a');
        end(&choosing);
    }
}

/* The kernel's probes change no return addresses, so they need none of those. */
static void test_needed_by_the_agent_alone(void)
{
    static const char *const names[] = {"prctl", "clone", "syscall", "vfork", "execve", "read"};
    static struct choosing choosing;
    make(&choosing, &by_kernel);
    CU_ASSERT_EQUAL(choose(&choosing, "/usr/lib/libc.so.6", names, 6), 0);
    CU_ASSERT_EQUAL(choosing.made.session.probes.count, 0);
    end(&choosing);
}

/* Split-off parts of clone have its name. */
static void test_first_part_of_clone(void)
{
    static const char *const names[] = {"clone", "clone"};
    static struct choosing choosing;
    make(&choosing, &agent_alone);
    CU_ASSERT_EQUAL(choose(&choosing, "/usr/lib/libc.so.6", names, 2), 0);
    CU_ASSERT_EQUAL_FATAL(choosing.made.session.probes.count, 1);
    CU_ASSERT_PTR_EQUAL(choosing.made.session.probes.items[0].function, &choosing.functions[0]);
    end(&choosing);
}

static void test_refused(void)
{
    static struct choosing choosing;
    make(&choosing, &agent_alone);
    choosing.functions[1].why = PLAN_TOO_SHORT;
    choosing.functions[2].why = PLAN_PART; /* no function of its own */
    CU_ASSERT_EQUAL(choose(&choosing, "/app/program", some, 3), 0);
    CU_ASSERT_EQUAL(choosing.made.session.counts.refused, 1);
    CU_ASSERT_EQUAL(choosing.made.session.probes.count, 1);
    end(&choosing);
}

/* Where a runtime walks stacks, or a library copies them, return addresses stay as they are. */
static void test_stacks_that_are_walked(void)
{
    static struct choosing choosing;
    make(&choosing, &agent_alone);
    choosing.made.session.untimed.copier = "libcopies.so";
    CU_ASSERT_EQUAL(choose(&choosing, "/app/program", some, 1), 0);
    CU_ASSERT_EQUAL(choosing.made.session.probes.items[0].tier, PROBE_COUNT);
    end(&choosing);
}

static void test_modules_without_probes(void)
{
    static struct choosing choosing;
    struct plan_module loader = {.path = "/lib/ld.so", .plan.is_loader = true};
    struct plan_module unread = {.path = "/app/gone",
                                 .error = {.code = SPROF_EFORMAT, .message = "no ELF file"}};
    make(&choosing, &agent_alone);
    CU_ASSERT_EQUAL(probing_choose_module(&choosing.made.session, &loader, &choosing.error), 0);
    CU_ASSERT_EQUAL(choosing.made.session.files.count, 0);
    CU_ASSERT_EQUAL(probing_choose_module(&choosing.made.session, &unread, &choosing.error), 0);
    CU_ASSERT_EQUAL(choosing.made.session.files.count, 0);
    CU_ASSERT_TRUE(made_said(&choosing.made, "no ELF file"));
    end(&choosing);
}

void sprof_suite_probing_choose(void);

void sprof_suite_probing_choose(void)
{
    CU_pSuite suite = CU_add_suite("probing/choose", NULL, NULL);
    CU_add_test(suite, "names", test_names);
    CU_add_test(suite, "spare probes", test_spares);
    CU_add_test(suite, "too many spare probes", test_too_many_spares);
    CU_add_test(suite, "no room", test_no_room);
    CU_add_test(suite, "modules", test_modules);
    CU_add_test(suite, "tiers", test_tiers);
    CU_add_test(suite, "needed by the agent alone", test_needed_by_the_agent_alone);
    CU_add_test(suite, "the first part of clone", test_first_part_of_clone);
    CU_add_test(suite, "functions without a place", test_refused);
    CU_add_test(suite, "stacks that are walked", test_stacks_that_are_walked);
    CU_add_test(suite, "modules without probes", test_modules_without_probes);
}
