/* Conditions of rules on values that were copied out of the program. */
#include "calls/calls.h"
#include "plan/expressions.h"

#include <CUnit/CUnit.h>
#include <string.h>
#include <sys/mman.h>

static const struct symbolize_type single = {.kind = SYMBOLIZE_FLOAT, .bytes = 4, .name = "float"};
static const struct symbolize_type view = {
    .kind = SYMBOLIZE_STRING, .bytes = 16, .name = "std::string_view", .text_at = 8};

/* A function with one parameter, in two registers; a rule for it that names one value; a call. */
struct scene {
    struct calls_program session;
    struct calls_trace trace;
    struct symbolize_located located;
    struct symbolize_signature signature;
    struct calls_noted noted;
    struct calls_taken_values taken;
    uint64_t unmet, unread;
};

static void begin(struct scene *scene, const char *rule, const struct symbolize_type *type,
                  uint32_t follows)
{
    static const struct plan_function function = {.name = "f"};
    struct calls_rule made = {0};
    memset(scene, 0, sizeof *scene);
    scene->session.all = &scene->trace;
    scene->session.process.shared =
        mmap(NULL, sizeof *scene->session.process.shared, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    CU_ASSERT_NOT_EQUAL_FATAL(scene->session.process.shared, MAP_FAILED);
    CU_ASSERT_EQUAL_FATAL(rules_keep_parse(&made.rule, rule, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(sprof_vec_push(&scene->trace.kept.rules, made), 0);
    scene->located = (struct symbolize_located){.type = type, .follows = follows};
    scene->signature = (struct symbolize_signature){
        .result.type = &single,
        .count = 1,
        .parameters = {{"x", type, .places = {SYMBOLIZE_INTEGER, SYMBOLIZE_INTEGER + 1}}},
        .located = &scene->located,
        .located_count = 1};
    scene->noted.is_known = true;
    scene->noted.signature = scene->signature;
    calls_values_plan_words(&scene->noted);
    CU_ASSERT_EQUAL_FATAL(calls_late_note(&scene->session, 1, 0, &function, &scene->signature,
                                          &scene->noted, &scene->unmet),
                          0);
    calls_values_plan(&scene->noted);
    const struct calls_noted *noted = &scene->noted;
    CU_ASSERT_EQUAL_FATAL(sprof_vec_push(&scene->session.values.noted, noted), 0);
    scene->taken.kept.has_words = 1;
}

static void put(struct scene *scene, const void *bytes, uint16_t length, uint16_t flags)
{
    uint8_t *to = scene->taken.pieces + scene->taken.bytes;
    to[0] = (uint8_t)length;
    to[1] = (uint8_t)((length | flags) >> 8);
    if (bytes)
        memcpy(to + 2, bytes, length);
    scene->taken.bytes += 2 + (bytes ? length : 0u);
}

/* Whether the call meets the rule; 2: that could not be read. */
static int meets_at(struct scene *scene, uint64_t begin)
{
    const struct probe_kept call = {.begin = begin};
    const uint64_t met = calls_late_meets(&scene->session, &call, &scene->taken, 1, &scene->unread);
    scene->taken.bytes = 0;
    return scene->unread ? 2 : (int)met;
}

static int meets(struct scene *scene)
{
    return meets_at(scene, 0);
}

static void end(struct scene *scene)
{
    rules_keep_release(&scene->trace.kept.rules.items[0].rule);
    sprof_vec_release(&scene->trace.kept.rules);
    sprof_vec_release(&scene->session.values.noted);
    munmap(scene->session.process.shared, sizeof *scene->session.process.shared);
    sprof_arena_release(&scene->session.arena);
}

static struct scene scene;

/* A text that is passed as its length and its address. */
static void test_passed_text(void)
{
    begin(&scene, "x = \"one\"", &view, 0);
    CU_ASSERT_EQUAL_FATAL(scene.unmet, 0);
    CU_ASSERT_EQUAL_FATAL(scene.noted.piece_count, 1);
    put(&scene, "one", 3, 0);
    CU_ASSERT_EQUAL(meets(&scene), 1);
    put(&scene, "two", 3, 0);
    CU_ASSERT_EQUAL(meets(&scene), 0);
    put(&scene, NULL, PROBE_PIECE_UNREADABLE, 0);
    CU_ASSERT_EQUAL(meets(&scene), 2);
    /* as it is shown */
    struct calls_call_values call = {.noted = &scene.noted, .kept = &scene.taken.kept};
    struct sprof_str text = {0};
    put(&scene, "one", 3, 0);
    calls_values_cut(&call, scene.taken.pieces, scene.taken.bytes);
    calls_values_captured(&call, 0, &text);
    CU_ASSERT_STRING_EQUAL(text.text, "\"one\"");
    sprof_str_release(&text);
    end(&scene);
}

/* Numbers that are printed alike are others, and parts of a structure of which nothing is shown. */
static void test_changed_bytes(void)
{
    static const struct symbolize_type structure = {
        .kind = SYMBOLIZE_STRUCTURE, .bytes = 16, .name = "q", .has_more = true};
    const float before = 16777216, after = 16777218;
    uint8_t object[16] = {0};
    begin(&scene, "changed *x", &single, 1);
    CU_ASSERT_EQUAL_FATAL(scene.noted.piece_count, 2);
    put(&scene, &before, sizeof before, 0);
    put(&scene, &after, sizeof after, 0);
    CU_ASSERT_EQUAL(meets(&scene), 1);
    put(&scene, &before, sizeof before, 0);
    put(&scene, &before, sizeof before, 0);
    CU_ASSERT_EQUAL(meets(&scene), 0);
    put(&scene, &before, sizeof before, 0);
    put(&scene, NULL, PROBE_PIECE_NOT_READ, 0);
    CU_ASSERT_EQUAL(meets(&scene), 2);
    end(&scene);
    begin(&scene, "changed *x", &structure, 1);
    put(&scene, object, sizeof object, 0);
    object[12] = 1;
    put(&scene, object, sizeof object, 0);
    CU_ASSERT_EQUAL(meets(&scene), 1);
    end(&scene);
}

/* Where one copy was cut, only what both have can differ. */
static void test_changed_text(void)
{
    static const struct symbolize_type text = {
        .kind = SYMBOLIZE_STRING, .bytes = 32, .name = "std::string", .length_at = 8};
    begin(&scene, "changed *x", &text, 1);
    put(&scene, "abcd", 4, 0);
    put(&scene, "abc", 3, 0);
    CU_ASSERT_EQUAL(meets(&scene), 1);
    put(&scene, "abcd", 4, 0);
    put(&scene, "abc", 3, PROBE_PIECE_CUT);
    CU_ASSERT_EQUAL(meets(&scene), 2);
    put(&scene, "abcd", 4, 0);
    put(&scene, "xbc", 3, PROBE_PIECE_CUT);
    CU_ASSERT_EQUAL(meets(&scene), 1);
    put(&scene, NULL, PROBE_PIECE_UNREADABLE, 0);
    put(&scene, NULL, PROBE_PIECE_UNREADABLE, 0);
    CU_ASSERT_EQUAL(meets(&scene), 2);
    end(&scene);
}

/* Numbers that cannot be compared are refused when the rule comes, not call by call. */
static void test_refused_numbers(void)
{
    static const struct {
        struct symbolize_type type;
        bool is_number;
    } cases[] = {{{.kind = SYMBOLIZE_FLOAT, .bytes = 2, .name = "_Float16"}, false},
                 {{.kind = SYMBOLIZE_FLOAT, .bytes = 8, .name = "double"}, true},
                 {{.kind = SYMBOLIZE_FLOAT, .bytes = 16, .name = "long double"}, false},
                 {{.kind = SYMBOLIZE_SIGNED, .bytes = 16, .name = "__int128"}, false},
                 {{.kind = SYMBOLIZE_UNSIGNED, .bytes = 8, .name = "unsigned long"}, true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        begin(&scene, "*x > 1", &cases[i].type, 1);
        CU_ASSERT_EQUAL(scene.unmet, !cases[i].is_number);
        struct sprof_error error = {0};
        CU_ASSERT_EQUAL(calls_late_explain(&scene.session, 0, &error),
                        cases[i].is_number ? 0 : SPROF_EUSAGE);
        CU_ASSERT_EQUAL(strstr(error.message, "float or double") != NULL, !cases[i].is_number);
        end(&scene);
    }
}

/* Without debug information a class is the scope of a function's name; an anonymous namespace is no
 * list of parameters. */
static void test_scopes(void)
{
    static const struct {
        const char *function, *class;
        bool is_of;
    } cases[] = {{"store::Query::run(int)", "^store::Query$", true},
                 {"(anonymous namespace)::Work::step(int)", "::Work$", true},
                 {"a::(anonymous namespace)::Work::step(b::C)", "Work$", true},
                 {"a::f<b::C>(d::E)", "^a$", true},
                 {"a::f((anonymous namespace)::E)", "E", false},
                 {"run(store::Query*)", "Query", false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct plan_expressions *class = NULL;
        const struct plan_function function = {.name = cases[i].function};
        begin(&scene, "every 1", &single, 0);
        CU_ASSERT_EQUAL_FATAL(plan_expressions_make(&class, &cases[i].class, 1, NULL), 0);
        scene.trace.kept.rules.items[0].by[RULES_KEEP_BY_CLASS] = class;
        CU_ASSERT_EQUAL(
            calls_late_note(&scene.session, 1, 0, &function, NULL, &scene.noted, &scene.unmet), 0);
        CU_ASSERT_EQUAL(scene.unmet, !cases[i].is_of);
        plan_expressions_free(class);
        end(&scene);
    }
}

/* A seventh word has no place. */
static void test_without_word(void)
{
    static const struct plan_function function = {.name = "f"};
    begin(&scene, "*x > 1", &single, 1);
    scene.noted.words[0][0] = CALLS_NO_WORD;
    scene.noted.captured_count = scene.noted.late_count = 0;
    CU_ASSERT_EQUAL(calls_late_note(&scene.session, 1, 0, &function, &scene.signature, &scene.noted,
                                    &scene.unmet),
                    0);
    CU_ASSERT_EQUAL(scene.unmet, 1);
    CU_ASSERT_PTR_NOT_NULL_FATAL(scene.session.values.unmet[0].what);
    CU_ASSERT_PTR_NOT_NULL(strstr(scene.session.values.unmet[0].what, "six words"));
    end(&scene);
}

static void start_at(struct probe_keep *keep, uint64_t ticks)
{
    probe_keep_start(keep, 0, ticks);
    atomic_store(&keep->resting, 0);
}

/* Calls are counted after the program has started the rule again, in any order of threads. */
static void test_next(void)
{
    static const struct {
        uint64_t begin;
        bool is_taken, rests;
    } calls[] = {{110, true, false}, {120, false, false}, {310, true, true}, {210, true, true},
                 {320, false, true}, {220, false, true},  {130, false, true}};
    begin(&scene, "next and x = \"one\"", &view, 0);
    struct probe_keep *keep = &scene.session.process.shared->keep;
    for (uint64_t start = 100; start <= 300; start += 100)
        start_at(keep, start);
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        put(&scene, "one", 3, 0);
        CU_ASSERT_EQUAL(meets_at(&scene, calls[i].begin), calls[i].is_taken);
        CU_ASSERT_EQUAL(atomic_load(&keep->resting), calls[i].rests);
    }
    for (uint64_t start = 400; start < 400 + 10 * (uint64_t)PROBE_KEEP_STARTS; start += 10) {
        start_at(keep, start);
        put(&scene, "one", 3, 0);
        CU_ASSERT_EQUAL(meets_at(&scene, start), 1);
        put(&scene, "one", 3, 0);
        CU_ASSERT_EQUAL(meets_at(&scene, start + 1), 0);
    }
    end(&scene);
}

/* More starts than are remembered: calls of lost ones are not counted. */
static void test_many_starts(void)
{
    static const struct {
        uint64_t begin;
        bool is_taken;
    } calls[] = {{50, false},  {310, false}, {320, false}, {510, true},  {520, false},
                 {330, false}, {550, false}, {2010, true}, {2020, false}};
    begin(&scene, "next and x = \"one\"", &view, 0);
    for (uint64_t start = 100; start <= 2000; start += 100)
        start_at(&scene.session.process.shared->keep, start);
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        put(&scene, "one", 3, 0);
        CU_ASSERT_EQUAL(meets_at(&scene, calls[i].begin), calls[i].is_taken);
    }
    end(&scene);
}

void sprof_suite_calls_keep_late(void);

void sprof_suite_calls_keep_late(void)
{
    CU_pSuite suite = CU_add_suite("calls/keep_late", NULL, NULL);
    CU_add_test(suite, "a text in registers", test_passed_text);
    CU_add_test(suite, "the next call", test_next);
    CU_add_test(suite, "the next call after many starts", test_many_starts);
    CU_add_test(suite, "what has changed, by its bytes", test_changed_bytes);
    CU_add_test(suite, "texts that have changed", test_changed_text);
    CU_add_test(suite, "numbers that are refused", test_refused_numbers);
    CU_add_test(suite, "scopes of functions", test_scopes);
    CU_add_test(suite, "a parameter without a word", test_without_word);
}
