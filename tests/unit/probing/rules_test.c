/* What may be done with a probe, without a process. */
#include "probing/probing.h"

#include <CUnit/CUnit.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static const struct probing_way can_rest = {.has_agent = true, .can_rest = true};
static const struct probing_way stays = {.has_agent = true};

/* A program of one function that begins with a given instruction. */
struct fixture {
    struct probing_group trace;
    struct probing_program session;
    struct plan_function function;
    struct probing_probe *probe;
};

static void make(struct fixture *fixture, const uint8_t code[PLAN_JUMP_BYTES], uint64_t site)
{
    struct probing_program *session = &fixture->session;
    const struct probing_file file = {.path = ""};
    *fixture = (struct fixture){.function = {.site = site, .displaced = PLAN_JUMP_BYTES}};
    memcpy(fixture->function.original, code, PLAN_JUMP_BYTES);
    session->group = &fixture->trace;
    session->way = &can_rest;
    session->process.code_fd = 3;
    session->process.shared = mmap(NULL, sizeof *session->process.shared, PROT_READ | PROT_WRITE,
                                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    CU_ASSERT_NOT_EQUAL_FATAL(session->process.shared, MAP_FAILED);
    const struct probing_probe probe = {.function = &fixture->function,
                                        .tier = PROBE_FULL,
                                        .is_chosen = true,
                                        .is_placed = true,
                                        .jump = {0xe9}};
    CU_ASSERT_EQUAL_FATAL(sprof_vec_push(&session->files, file), 0);
    CU_ASSERT_EQUAL_FATAL(sprof_vec_push(&session->probes, probe), 0);
    fixture->probe = session->probes.items;
}

static void release(struct fixture *fixture)
{
    sprof_vec_release(&fixture->session.files);
    sprof_vec_release(&fixture->session.probes);
    munmap(fixture->session.process.shared, sizeof *fixture->session.process.shared);
}

static const uint8_t nops[PLAN_JUMP_BYTES] = {0x90, 0x90, 0x90, 0x90, 0x90};

static void test_places(void)
{
    static const uint8_t call_inside[PLAN_JUMP_BYTES] = {0xff, 0xd0, 0x90, 0x90, 0x90};
    static const uint8_t call_to_the_end[PLAN_JUMP_BYTES] = {0xe8, 0, 0, 0, 0};
    const struct {
        const uint8_t *code;
        uint64_t site;
        bool can;
    } cases[] = {
        {nops, 0x1000, true},
        {nops, 0x1ffb, true},
        {nops, 0x1ffc, false},        /* in two pages */
        {call_inside, 0x1000, false}, /* a thread may return into the jump */
        {call_to_the_end, 0x1000, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fixture fixture;
        make(&fixture, cases[i].code, cases[i].site);
        CU_ASSERT_EQUAL(probing_can_place_live(&fixture.session, fixture.probe), cases[i].can);
        fixture.probe->jump[0] = 0;
        CU_ASSERT_FALSE(probing_can_place_live(&fixture.session, fixture.probe));
        release(&fixture);
    }
}

static void test_rest(void)
{
    struct fixture fixture;
    make(&fixture, nops, 0x1000);
    struct probing_program *session = &fixture.session;
    CU_ASSERT_TRUE(probing_may_rest(session, fixture.probe, probing_is_quiet(session)));
    session->way = &stays;
    CU_ASSERT_FALSE(probing_may_rest(session, fixture.probe, probing_is_quiet(session)));
    session->way = &can_rest;
    session->options.rest_ns = TRACE_NEVER;
    CU_ASSERT_FALSE(probing_may_rest(session, fixture.probe, probing_is_quiet(session)));
    session->options.rest_ns = 1;
    session->process.code_fd = -1;
    CU_ASSERT_FALSE(probing_may_rest(session, fixture.probe, probing_is_quiet(session)));
    session->process.code_fd = 3;
    session->executable.is_replaced = true;
    CU_ASSERT_FALSE(probing_may_rest(session, fixture.probe, probing_is_quiet(session)));
    session->executable.is_replaced = false;
    fixture.probe->is_restored = true;
    CU_ASSERT_FALSE(probing_may_rest(session, fixture.probe, probing_is_quiet(session)));
    fixture.probe->is_restored = false;
    CU_ASSERT_FALSE(probing_rests_at_once(session, fixture.probe, probing_is_quiet(session)));
    session->resting.at_once = true;
    CU_ASSERT_TRUE(probing_rests_at_once(session, fixture.probe, probing_is_quiet(session)));
    release(&fixture);
}

/* A probe that sees how frames are left rests only where no call can be open. */
static void test_rest_of_leaving(void)
{
    struct fixture fixture;
    make(&fixture, nops, 0x1000);
    struct probing_program *session = &fixture.session;
    fixture.probe->tier = PROBE_LEAVE;
    CU_ASSERT_TRUE(probing_stays_on(fixture.probe));
    CU_ASSERT_FALSE(probing_may_rest(session, fixture.probe, probing_is_quiet(session)));
    CU_ASSERT_TRUE(probing_is_wanted(session, 0));
    session->paused = true;
    CU_ASSERT_FALSE(probing_is_wanted(session, 0));
    CU_ASSERT_TRUE(probing_may_rest(session, fixture.probe, probing_is_quiet(session)));
    fixture.probe->sums.in_flight = 1;
    CU_ASSERT_FALSE(probing_may_rest(session, fixture.probe, probing_is_quiet(session)));
    fixture.probe->sums.in_flight = 0;
    session->times.cleared.ns = 1; /* calls from before may be open */
    CU_ASSERT_FALSE(probing_may_rest(session, fixture.probe, probing_is_quiet(session)));
    release(&fixture);
}

static void test_wanted(void)
{
    struct fixture fixture;
    make(&fixture, nops, 0x1000);
    CU_ASSERT_FALSE(probing_stays_on(fixture.probe));
    CU_ASSERT_FALSE(probing_is_wanted(&fixture.session, 0));
    atomic_store(&fixture.session.process.shared->tiers[0], PROBE_FULL);
    CU_ASSERT_TRUE(probing_is_wanted(&fixture.session, 0));
    release(&fixture);
}

static void test_governed(void)
{
    const struct {
        uint8_t governed, tier, left;
    } cases[] = {
        {PROBING_GOVERNED_NOT, PROBE_FULL, PROBE_FULL},
        {PROBING_GOVERNED_COUNT, PROBE_FULL, PROBE_COUNT},
        {PROBING_GOVERNED_COUNT, PROBE_COUNT, PROBE_COUNT},
        {PROBING_GOVERNED_OFF, PROBE_FULL, PROBE_OFF},
        {PROBING_GOVERNED_OFF, PROBE_COUNT, PROBE_OFF},
        {PROBING_GOVERNED_OFF, PROBE_LEAVE, PROBE_LEAVE}, /* it is needed, whatever it costs */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct probing_probe probe = {.governed = cases[i].governed};
        CU_ASSERT_EQUAL(probing_governed_tier(&probe, cases[i].tier), cases[i].left);
    }
}

void sprof_suite_probing_rules(void);

void sprof_suite_probing_rules(void)
{
    CU_pSuite suite = CU_add_suite("probing/rules", NULL, NULL);
    CU_add_test(suite, "places of jumps", test_places);
    CU_add_test(suite, "rest", test_rest);
    CU_add_test(suite, "rest of probes that see frames left", test_rest_of_leaving);
    CU_add_test(suite, "wanted", test_wanted);
    CU_add_test(suite, "governed", test_governed);
}
