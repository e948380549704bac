/* A drill-down in a program of hand-made functions, of which one calls others. */
#ifndef TESTS_UNIT_TRACE_DRILLED_H
#define TESTS_UNIT_TRACE_DRILLED_H

#include "tests/unit/trace/made.h"
#include "trace/drill/drilling.h"

static const struct probe_backend drilled_backend = {.source = "in memory", .has_agent = true};

/* root calls all but pointed, which may be called by a pointer; work calls through pointers, and
 * slow calls another module. hidden may not have a probe. */
enum {
    DRILLED_ROOT,
    DRILLED_TINY,
    DRILLED_BIG,
    DRILLED_SLOW,
    DRILLED_WORK,
    DRILLED_POINTED,
    DRILLED_HIDDEN,
    DRILLED_FUNCTIONS
};

struct drilled {
    struct made made;
    struct plan_function functions[DRILLED_FUNCTIONS];
    struct plan_callee callees[DRILLED_FUNCTIONS];
    struct trace_drilling *drilling;
};

static inline void drilled_file(struct drilled *drilled, struct trace_session *session)
{
    made_program_file(&session->probing, "/app/program", 0, drilled->functions, DRILLED_FUNCTIONS);
    session->files.items[0].plan.callees = drilled->callees;
    session->files.items[0].plan.callee_count = DRILLED_FUNCTIONS - 2;
    for (size_t i = 0; i < DRILLED_FUNCTIONS; i++)
        made_program_probe(&session->probing,
                           (struct probing_probe){.function = &drilled->functions[i],
                                                  .tier = PROBE_FULL,
                                                  .is_placed = true,
                                                  .is_chosen = i == DRILLED_ROOT,
                                                  .is_spare = i && i != DRILLED_HIDDEN});
}

static inline void drilled_functions(struct drilled *drilled)
{
    static const struct {
        const char *name;
        uint64_t bytes;
    } functions[] = {{"root", 0x40}, {"tiny", 0x10},    {"big", 0xf0},   {"slow", 0x20},
                     {"work", 0x80}, {"pointed", 0x30}, {"hidden", 0x50}};
    size_t callees = 0;
    for (size_t i = 0; i < DRILLED_FUNCTIONS; i++) {
        const uint64_t start = 0x100 * (i + 1);
        drilled->functions[i] = (struct plan_function){.name = functions[i].name,
                                                       .linkage_name = functions[i].name,
                                                       .start = start,
                                                       .site = start,
                                                       .end = start + functions[i].bytes,
                                                       .mechanism = PLAN_PROLOGUE};
        if (i != DRILLED_ROOT && i != DRILLED_POINTED)
            drilled->callees[callees++] = (struct plan_callee){.address = start};
    }
    drilled->functions[DRILLED_ROOT].callees = (uint32_t)callees;
    drilled->functions[DRILLED_WORK].open_calls = 1;
    drilled->functions[DRILLED_SLOW].foreign_calls = 1;
}

/* The drill-down has no root until trace_drilling_probes. */
static inline void drilled_begin(struct drilled *drilled)
{
    *drilled = (struct drilled){0};
    made_begin(&drilled->made, &drilled_backend, 2 * DRILLED_FUNCTIONS);
    drilled_functions(drilled);
    drilled_file(drilled, &drilled->made.session);
    drilled->made.session.options.drill.adaptive = true;
    drilled->made.session.options.rest_ns = TRACE_NEVER;
    CU_ASSERT_EQUAL_FATAL(trace_drilling_begin(&drilled->made.session, NULL), 0);
    drilled->drilling = drilled->made.trace.drilling;
    CU_ASSERT_PTR_NOT_NULL_FATAL(drilled->drilling);
}

static inline void drilled_end(struct drilled *drilled)
{
    trace_below_program_free(drilled->made.session.below);
    trace_drilling_free(drilled->drilling);
    made_end(&drilled->made);
}

#endif
