/* What may make two walks of one stack differ, each reason with its name. */
#include "arch/arch.h"
#include "tests/hard/oracle/oracle.h"

#include <string.h>

struct difference {
    const struct oracle_stack *sprof, *other;
    const char *other_name;
    const struct oracle_target *target;
    bool go;       /* a program of Go's */
    size_t common; /* so many frames are the same */
};

/* Beyond a frame that it has no call frame information for, the other one guesses or stops: then
 * sprof's step from that frame is what makes the difference. */
static bool stepped_alone(const struct difference *d, enum model_found_by by)
{
    const size_t from = d->other->guessing;
    return from < d->common && from + 1 < d->sprof->count && d->sprof->found_by[from + 1] == by;
}
static bool ended_alone(const struct difference *d, enum model_end end)
{
    const size_t from = d->other->guessing;
    return from < d->common && from + 1 == d->sprof->count && d->sprof->end == end;
}

static bool is_code(const struct difference *d, uint64_t pc)
{
    const struct oracle_map *map = target_map(d->target, pc);
    return map && map->executable;
}

/* The other's frames are among sprof's, in the same order, up to the one where it strayed from code
 * if it did: sprof has found more. */
static bool found_more(const struct difference *d)
{
    size_t found = d->common;
    for (size_t i = d->common; i < d->sprof->count && found < d->other->count; i++)
        found += d->sprof->pc[i] == d->other->pc[found];
    return found == d->other->count ||
           (d->sprof->end == MODEL_END_ROOT && !is_code(d, d->other->pc[found]));
}

static bool by_plt(const struct difference *d)
{
    return stepped_alone(d, MODEL_BY_PLT);
}
static bool by_code(const struct difference *d)
{
    return stepped_alone(d, MODEL_BY_LEAF) && found_more(d);
}
static bool by_frame_pointer(const struct difference *d)
{
    return stepped_alone(d, MODEL_BY_FP);
}
static bool by_scan(const struct difference *d)
{
    return stepped_alone(d, MODEL_BY_SCAN);
}
/* libunwind is shown search tables only: Go has none. */
static bool no_search_table(const struct difference *d)
{
    return stepped_alone(d, MODEL_BY_CFI) && strcmp(d->other_name, "libunwind") == 0;
}
static bool nobody_knows(const struct difference *d)
{
    return ended_alone(d, MODEL_END_NO_CFI);
}
static bool known_start(const struct difference *d)
{
    return ended_alone(d, MODEL_END_ROOT);
}

/* What the other one adds behind sprof's last frame is no code. */
static bool past_the_end(const struct difference *d)
{
    return d->common == d->sprof->count && d->other->count > d->common &&
           !is_code(d, d->other->pc[d->common]);
}

/* More frames behind a function that Go's own table calls the top of its stack, or that leaves its
 * stack for another one, now or a few instructions later: what its .debug_frame does not say. */
static bool past_go_top(const struct difference *d)
{
    return d->go && d->sprof->end == MODEL_END_ROOT && d->common == d->sprof->count &&
           d->other->count > d->common;
}

/* Go's tables for others neither mark its signal trampoline nor tell where it leaves a stack. */
static bool beyond_go_signal(const struct difference *d)
{
    return d->go && d->sprof->end == MODEL_END_ROOT && d->common < d->sprof->count &&
           d->sprof->found_by[d->common] == MODEL_BY_SIGNAL;
}
static bool beyond_go_switch(const struct difference *d)
{
    return d->go && d->sprof->end == MODEL_END_ROOT && d->sprof->switched;
}

static bool follows_call(const struct difference *d, uint64_t pc)
{
    uint8_t code[ARCH_CALL_BYTES];
    return is_code(d, pc) && target_read(d->target, pc - sizeof code, code, sizeof code) == 0 &&
           arch_code_ends_with_call(code);
}

/* Where they part, the other one stops or has what no call returns to, while each of sprof's frames
 * up to the root does follow a call. The root itself may have been put there without one. */
static bool only_sprof_follows_calls(const struct difference *d)
{
    const struct oracle_stack *sprof = d->sprof, *other = d->other;
    if (sprof->end != MODEL_END_ROOT || d->common >= sprof->count ||
        (d->common < other->count && follows_call(d, other->pc[d->common])))
        return false;
    for (size_t i = d->common; i + 1 < sprof->count; i++)
        if (sprof->found_by[i] != MODEL_BY_SIGNAL && !follows_call(d, sprof->pc[i]))
            return false;
    return true;
}

const char oracle_go_top[] = "goes on from where Go's stack begins or is left";

static const struct {
    const char *name;
    bool (*holds)(const struct difference *);
} reasons[] = {
    {"no table for the PLT, sprof knows it", by_plt},
    {"no table, sprof read the code and found more", by_code},
    {"no table, sprof followed the frame pointer", by_frame_pointer},
    {"no table, sprof searched and says so", by_scan},
    {"no search table, sprof has .debug_frame or Go's table", no_search_table},
    {"no table, sprof stopped and says so", nobody_knows},
    {"no table, sprof knows a start", known_start},
    {"goes on from sprof's last frame to what is no code", past_the_end},
    {oracle_go_top, past_go_top},
    {"does not know Go's signal trampoline", beyond_go_signal},
    {"does not know that Go switched stacks", beyond_go_switch},
    {"leaves the calls that sprof follows to a root", only_sprof_follows_calls},
};

const char *oracle_explain(const struct oracle_stack *sprof, const struct oracle_stack *other,
                           const char *other_name, const struct oracle_target *target, bool go)
{
    struct difference d = {sprof, other, other_name, target, go, 0};
    while (d.common < sprof->count && d.common < other->count &&
           sprof->pc[d.common] == other->pc[d.common])
        d.common++;
    if (d.common == sprof->count && d.common == other->count)
        return NULL;
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        if (reasons[i].holds(&d))
            return reasons[i].name;
    return "";
}
