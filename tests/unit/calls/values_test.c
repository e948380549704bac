/* Values of kept calls are written from what the command has put into its memory, whatever that is.
 */
#include "calls/calls.h"

#include <CUnit/CUnit.h>
#include <stdlib.h>
#include <string.h>

static const struct symbolize_type number = {.kind = SYMBOLIZE_SIGNED, .bytes = 4, .name = "int"};
static const struct symbolize_type character = {
    .kind = SYMBOLIZE_CHARACTER, .bytes = 1, .name = "char"};
static const struct symbolize_type text = {
    .kind = SYMBOLIZE_POINTER, .bytes = 8, .name = "char *", .to = &character};
static const struct symbolize_enumerator colors[] = {{"RED", 1}, {"BLUE", 0xffffffffu}};
static const struct symbolize_type color = {.kind = SYMBOLIZE_ENUM,
                                            .bytes = 4,
                                            .name = "color",
                                            .enumerators = colors,
                                            .enumerator_count = 2,
                                            .is_signed = true};
static const struct symbolize_member members[] = {
    {"n", &number, 0}, {"name", &text, 8}, {"color", &color, 16}};
static const struct symbolize_type structure = {.kind = SYMBOLIZE_STRUCTURE,
                                                .bytes = 24,
                                                .name = "thing",
                                                .members = members,
                                                .member_count = 3};
static const struct symbolize_type pointer = {
    .kind = SYMBOLIZE_POINTER, .bytes = 8, .name = "thing *", .to = &structure};

/* int f(struct thing *t, char *s, int n) */
static struct calls_noted noted_of_three(void)
{
    struct calls_noted noted = {
        .is_known = true,
        .has_arguments = true,
        .signature = {.result = {.type = &number, .places = {SYMBOLIZE_INTEGER}},
                      .count = 3,
                      .parameters = {{"t", &pointer, .places = {SYMBOLIZE_INTEGER}},
                                     {"s", &text, .places = {SYMBOLIZE_INTEGER + 1}},
                                     {"n", &number, .places = {SYMBOLIZE_INTEGER + 2}}}}};
    calls_values_plan(&noted);
    return noted;
}

static char *value_of(const struct calls_call_values *call, uint32_t value)
{
    struct sprof_str out = {0};
    if (!calls_values_text(call, value, &out))
        sprof_str_append(&out, "none");
    return sprof_str_take(&out);
}

#define ASSERT_VALUE(call, value, wanted)                                                          \
    do {                                                                                           \
        char *found = value_of(call, value);                                                       \
        CU_ASSERT_STRING_EQUAL_FATAL(found, wanted);                                               \
        free(found);                                                                               \
    } while (0)

static size_t put_piece(uint8_t *to, const void *bytes, uint16_t length)
{
    to[0] = (uint8_t)length;
    to[1] = (uint8_t)(length >> 8);
    if (length < PROBE_PIECE_ABSENT)
        memcpy(to + 2, bytes, length);
    return 2u + (length < PROBE_PIECE_ABSENT ? length : 0u);
}

static size_t put_all(uint8_t *pieces)
{
    uint8_t thing[24] = {7, 0, 0, 0, 0, 0, 0, 0, 1};
    memset(thing + 16, 0xff, 4);
    size_t used = put_piece(pieces, thing, sizeof thing);
    used += put_piece(pieces + used, "a\"b\n", 4); /* t->name */
    return used + put_piece(pieces + used, "text", 4);
}

static void test_values(void)
{
    const struct calls_noted noted = noted_of_three();
    const struct probe_kept_values kept = {
        .words = {0x1000, 0x2000, 0xfffffffffffffffe, [PROBE_WORD_RAX] = 0xfffffff0ffffffff},
        .has_words = 1,
        .has_result = 1};
    struct calls_call_values call = {.noted = &noted, .kept = &kept};
    uint8_t pieces[PROBE_PIECES_BYTES];
    CU_ASSERT_EQUAL_FATAL(noted.piece_count, 3);
    calls_values_cut(&call, pieces, put_all(pieces));
    ASSERT_VALUE(&call, 0, "0x1000 {n = 7, name = \"a\\\"b\\n\", color = BLUE}");
    ASSERT_VALUE(&call, 1, "\"text\"");
    ASSERT_VALUE(&call, 2, "-2");
    ASSERT_VALUE(&call, CALLS_RESULT, "-1");
}

/* Cut off anywhere, and with lengths that cannot be. */
static void test_cut_off(void)
{
    const struct calls_noted noted = noted_of_three();
    const struct probe_kept_values kept = {.words = {0x1000, 0x2000}, .has_words = 1};
    struct calls_call_values call = {.noted = &noted, .kept = &kept};
    uint8_t pieces[PROBE_PIECES_BYTES] = {0};
    const size_t all = put_all(pieces);
    for (size_t bytes = 0; bytes <= all; bytes++) {
        uint8_t *cut = malloc(bytes + 1);
        CU_ASSERT_PTR_NOT_NULL_FATAL(cut);
        memcpy(cut, pieces, bytes);
        calls_values_cut(&call, cut, bytes);
        for (uint32_t i = 0; i < 3; i++)
            free(value_of(&call, i));
        free(cut);
    }
    ASSERT_VALUE(&call, CALLS_RESULT, "none");
    put_piece(pieces, NULL, PROBE_PIECE_UNREADABLE);
    put_piece(pieces + 2, NULL, PROBE_PIECE_NOT_READ);
    put_piece(pieces + 4, "", 0);
    pieces[4] = 0xff; /* a length beyond all */
    calls_values_cut(&call, pieces, 6);
    ASSERT_VALUE(&call, 0, "0x1000 unreadable");
    ASSERT_VALUE(&call, 1, "\"…\"");
}

static void test_words(void)
{
    struct calls_noted noted = noted_of_three();
    struct probe_kept_values kept = {.has_words = 0, .has_result = 1};
    struct calls_call_values call = {.noted = &noted, .kept = &kept};
    ASSERT_VALUE(&call, 2, "not saved");
    noted.words[2][0] = CALLS_NO_WORD;
    ASSERT_VALUE(&call, 2, "–");
    /* Seven words: the last one has no room. */
    struct calls_noted many = {.signature = {.count = 8}};
    for (uint8_t i = 0; i < 8; i++)
        many.signature.parameters[i] = (struct symbolize_value){
            .type = &number, .places = {(uint8_t)(SYMBOLIZE_INTEGER + i % 6 + (i > 5 ? 14 : 0))}};
    many.signature.result.type = &number;
    calls_values_plan(&many);
    CU_ASSERT_TRUE(many.is_chosen);
    CU_ASSERT_EQUAL(many.words[5][0], 5);
    CU_ASSERT_EQUAL(many.words[6][0], CALLS_NO_WORD);
}

/* A member and a text have changed; where a copy is missing nothing is said. */
static void test_changed(void)
{
    struct calls_noted noted = noted_of_three();
    const struct probe_kept_values kept = {.words = {0x1000, 0x2000, 3}, .has_words = 1};
    struct calls_call_values call = {.noted = &noted, .kept = &kept};
    struct sprof_str name = {0}, out = {0};
    uint8_t pieces[PROBE_PIECES_BYTES];
    noted.piece_count = 0;
    noted.has_both = true;
    calls_values_plan(&noted);
    CU_ASSERT_EQUAL_FATAL(noted.piece_count, 6);
    CU_ASSERT_EQUAL_FATAL(noted.early_count, 3);
    const size_t first = put_all(pieces), all = first + put_all(pieces + first);
    pieces[first + 2] = 8; /* t->n */
    pieces[all - 1] = '!';
    calls_values_cut(&call, pieces, all);
    CU_ASSERT_EQUAL(calls_values_parts(&call, 0), 3);
    CU_ASSERT_TRUE(calls_values_changed(&call, 0, 0, &name, &out));
    CU_ASSERT_STRING_EQUAL(name.text, "t->n");
    CU_ASSERT_STRING_EQUAL(out.text, "7 → 8");
    CU_ASSERT_FALSE(calls_values_changed(&call, 0, 1, &name, &out));
    sprof_str_release(&name);
    sprof_str_release(&out);
    CU_ASSERT_TRUE(calls_values_changed(&call, 1, 0, &name, &out));
    CU_ASSERT_STRING_EQUAL(out.text, "\"text\" → \"tex!\"");
    CU_ASSERT_FALSE(calls_values_changed(&call, 2, 0, &name, &out));
    for (size_t bytes = 0; bytes < all; bytes++) {
        calls_values_cut(&call, pieces, bytes);
        for (uint32_t part = 0; part < 3; part++)
            calls_values_changed(&call, 0, part, &name, &out);
    }
    sprof_str_release(&name);
    sprof_str_release(&out);
}

/* A piece is longer than what there was room for: it is shown as cut off, and compared with none.
 */
static void test_no_room(void)
{
    struct calls_noted noted = noted_of_three();
    const struct probe_kept_values kept = {.words = {0x1000, 0x2000, 3}, .has_words = 1};
    struct calls_call_values call = {.noted = &noted, .kept = &kept};
    struct sprof_str name = {0}, out = {0};
    uint8_t pieces[PROBE_PIECES_BYTES], thing[24] = {7, [8] = 1};
    noted.has_both = true;
    calls_values_plan(&noted);
    size_t all = put_piece(pieces, thing, sizeof thing);
    all += put_piece(pieces + all, "ab", 2);
    pieces[all - 3] |= PROBE_PIECE_CUT >> 8;
    all += put_piece(pieces + all, NULL, PROBE_PIECE_NOT_READ);
    all += put_all(pieces + all);
    calls_values_cut(&call, pieces, all);
    call.is_early = true;
    ASSERT_VALUE(&call, 0, "0x1000 {n = 7, name = \"ab…\", color = 0}");
    call.is_early = false;
    CU_ASSERT_FALSE(calls_values_changed(&call, 0, 1, &name, &out));
    CU_ASSERT_FALSE(calls_values_changed(&call, 1, 0, &name, &out));
    CU_ASSERT_TRUE(calls_values_changed(&call, 0, 2, &name, &out));
    CU_ASSERT_STRING_EQUAL(out.text, "0 → BLUE");
    pieces[10] = 0; /* the first t->name is null */
    sprof_str_release(&out);
    CU_ASSERT_TRUE(calls_values_changed(&call, 0, 1, &name, &out));
    CU_ASSERT_STRING_EQUAL(out.text, "null → \"a\\\"b\\n\"");
    sprof_str_release(&name);
    sprof_str_release(&out);
}

/* Arguments at the entry take the places that captures and arguments at the end leave. */
static void test_places(void)
{
    static const struct symbolize_member texts[] = {
        {"a", &text, 0},  {"b", &text, 8},  {"c", &text, 16}, {"d", &text, 24},
        {"e", &text, 32}, {"f", &text, 40}, {"g", &text, 48}};
    static const struct symbolize_type seven = {.kind = SYMBOLIZE_STRUCTURE,
                                                .bytes = 56,
                                                .name = "texts",
                                                .members = texts,
                                                .member_count = 7};
    static const struct symbolize_type to = {
        .kind = SYMBOLIZE_POINTER, .bytes = 8, .name = "texts *", .to = &seven};
    static const struct symbolize_located located = {
        .type = &text, .base = SYMBOLIZE_OF_PLACE, .place = 0x1000};
    struct calls_noted noted = {
        .has_arguments = true,
        .has_both = true,
        .signature = {.result = {.type = &number, .places = {SYMBOLIZE_INTEGER}}, .count = 6},
        .captured = {{"x", &located, true}, {"y", &located, false}},
        .captured_count = 2};
    uint32_t captured = 0, late = 0;
    for (uint8_t i = 0; i < 6; i++)
        noted.signature.parameters[i] =
            (struct symbolize_value){.type = &to, .places = {(uint8_t)(SYMBOLIZE_INTEGER + i)}};
    calls_values_plan(&noted);
    CU_ASSERT_EQUAL(noted.piece_count, PROBE_PIECES);
    for (uint32_t i = 0; i < noted.piece_count; i++) {
        captured += noted.pieces[i].value >= CALLS_CAPTURED &&
                    noted.pieces[i].value < CALLS_CAPTURED + 4 &&
                    noted.pieces[i].member == CALLS_WHOLE;
        late += noted.pieces[i].value < 6;
    }
    CU_ASSERT_EQUAL(captured, 4);
    CU_ASSERT_EQUAL(late, 6 * 8);
    CU_ASSERT_TRUE(noted.early_count > 4 && noted.early_count < 16);
}

/* Of a language, a name and a text that were read; "none": of no exception. */
static void test_thrown(void)
{
    static const struct {
        uint8_t language;
        const char *name, *said, *wanted;
    } cases[] = {
        {PROBE_CXX, "St11logic_error", "again", "std::logic_error \"again\""},
        {PROBE_CXX, "St11logic_error", NULL, "std::logic_error"},
        {PROBE_CXX, "(", NULL, "?"},
        {PROBE_CXX, "", NULL, "none"},
        {PROBE_RUST, "", "first", "Rust panic \"first\""},
        {PROBE_RUST, "", NULL, "Rust panic"},
        {PROBE_RUST, "", "caf\xc3\xa9\n", "Rust panic \"caf\xc3\xa9\\n\""},
        {PROBE_RUST, "", "cut off: \xe2\x82", "Rust panic \"cut off: \xe2\x82\""},
        {PROBE_RUST, "", "\x01no text", "Rust panic"},
        {PROBE_RUST, "", "no text\xff", "Rust panic"},
        {PROBE_RUST, "", "no\xc3text", "Rust panic"},
        {PROBE_ADA, "SUMS.BAD", "sums.adb:9", "Ada SUMS.BAD \"sums.adb:9\""},
        {PROBE_ADA, "A\x1b[31m", NULL, "Ada A?[31m"},
        {PROBE_ADA, "", NULL, "Ada exception"},
        {PROBE_ADA + 1, "SUMS.BAD", "sums.adb:9", "none"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        static struct calls_taken_values taken;
        struct sprof_str out = {0};
        const size_t name = strlen(cases[i].name), said = cases[i].said ? strlen(cases[i].said) : 0;
        taken = (struct calls_taken_values){
            .kept = {.language = cases[i].language,
                     .type_bytes = (uint16_t)name,
                     .text_bytes = (uint16_t)said,
                     .has_text = cases[i].said ? 1 : 0},
            .bytes = 7,
            .all = 7 + name + said,
        };
        memcpy(taken.pieces + taken.bytes, cases[i].name, name);
        if (said)
            memcpy(taken.pieces + taken.bytes + name, cases[i].said, said);
        if (!calls_values_thrown(&taken, &out))
            sprof_str_append(&out, "none");
        CU_ASSERT_STRING_EQUAL(out.text, cases[i].wanted);
        sprof_str_release(&out);
        if (name + said) {
            taken.all--; /* more than there is */
            CU_ASSERT_FALSE(calls_values_thrown(&taken, &out));
        }
        sprof_str_release(&out);
    }
}

void sprof_suite_calls_values(void);

void sprof_suite_calls_values(void)
{
    CU_pSuite suite = CU_add_suite("calls/values", NULL, NULL);
    CU_add_test(suite, "values", test_values);
    CU_add_test(suite, "cut off", test_cut_off);
    CU_add_test(suite, "words", test_words);
    CU_add_test(suite, "changed", test_changed);
    CU_add_test(suite, "no room", test_no_room);
    CU_add_test(suite, "places", test_places);
    CU_add_test(suite, "thrown", test_thrown);
}
