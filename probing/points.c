/* Finds and writes call points. */
#include "probing/points.h"
#include "inject/inject.h"
#include "plan/plan.h"
#include "probing/probes.h"
#include "probing/program.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CALL_BYTES = 5, CALL = 0xe8, NO_CALLER = -1 };

struct point {
    uint64_t at; /* of call or slot */
    uint64_t target;
    uint32_t file;
    int32_t caller; /* number of its function; NO_CALLER: several, or a part of one */
    bool is_slot;
};

struct probing_points {
    SPROF_VEC(struct point) list; /* those with a caller first */
    uint32_t with_caller, first;  /* count of these; number of the first point */
    uint64_t calls;
    struct sprof_map functions; /* address → number */
    struct sprof_map slots;     /* addresses of points */
    size_t left_out;
};

/* == Finding == */

static const struct plan_function *function_at(const struct probing_program *program,
                                               uint64_t address)
{
    for (size_t i = 0; i < program->files.count; i++) {
        const struct probing_file *file = &program->files.items[i];
        const struct plan_function *function = plan_find(&file->plan, address - file->bias);
        if (function && function->start == address - file->bias)
            return function;
    }
    return NULL;
}

static int add_point(struct probing_points *points, const struct point *point)
{
    if (points->list.count < PROBE_POINTS)
        return sprof_vec_push(&points->list, *point) ? SPROF_ENOMEM : 0;
    points->left_out++;
    return 0;
}

/* Ignores functions with undecodable bytes. */
static int find_calls(struct probing_program *program, uint32_t file_number,
                      const struct plan_function *function, int32_t caller)
{
    struct probing_points *points = program->points;
    const struct probing_file *file = &program->files.items[file_number];
    const size_t size = (size_t)(function->end - function->start), before = points->list.count;
    const uint64_t start = file->bias + function->start, site = file->bias + function->site;
    uint8_t *code = malloc(size + 1);
    int result = code ? 0 : SPROF_ENOMEM;
    if (!result && target_read_memory(program->process.pid, start, code, size) != size)
        goto done;
    for (size_t at = 0; at < size && !result;) {
        struct arch_instruction instruction;
        if (!arch_instruction_decode(code + at, size - at, &instruction)) {
            points->list.count = before;
            break;
        }
        const struct point point = {.at = start + at,
                                    .target = start + at + instruction.length +
                                              (uint64_t)instruction.value,
                                    .file = file_number,
                                    .caller = caller};
        const bool is_call = instruction.flow == ARCH_FLOW_CALL && code[at] == CALL &&
                             instruction.length == CALL_BYTES;
        const bool is_moved =
            function->site && point.at + CALL_BYTES > site && point.at < site + function->displaced;
        at += instruction.length;
        if (!is_call || is_moved)
            continue;
        const struct plan_function *callee = plan_find(&file->plan, point.target - file->bias);
        if (callee && callee->start == point.target - file->bias && probing_may_be_called(callee))
            result = add_point(points, &point);
    }
done:
    free(code);
    return result;
}

static int find_call_slots(const struct probing_program *program, const struct probing_file *file,
                           struct sprof_map *slots)
{
    struct image *image;
    struct image_request request;
    int result = plan_request_find(&request, program->process.pid, file->identity, file->path);
    if (result)
        return result;
    if (image_open(&image, &request, NULL))
        return 0;
    const struct sprof_bytes bytes = image_section(image, ".rela.plt", NULL);
    for (size_t at = 0; at + sizeof(Elf64_Rela) <= bytes.size && !result;
         at += sizeof(Elf64_Rela)) {
        Elf64_Rela relocation;
        memcpy(&relocation, bytes.data + at, sizeof relocation);
        if (ELF64_R_TYPE(relocation.r_info) == ARCH_RELOCATION_JUMP_SLOT)
            result = sprof_map_put(slots, file->bias + relocation.r_offset, 0);
    }
    image_free(image);
    return result;
}

static int find_slots(struct probing_program *program, uint32_t file_number,
                      const struct plan_function *function)
{
    struct probing_points *points = program->points;
    const struct probing_file *file = &program->files.items[file_number];
    int result = 0;
    for (uint32_t i = 0; i < function->callees && !result; i++) {
        const struct plan_callee *callee = &file->plan.callees[function->first_callee + i];
        struct point point = {.at = file->bias + callee->address,
                              .file = file_number,
                              .caller = NO_CALLER,
                              .is_slot = true};
        uint64_t *is_known = callee->is_slot ? sprof_map_get(&points->slots, point.at) : NULL;
        if (!is_known || *is_known)
            continue;
        *is_known = 1;
        if (target_read_memory(program->process.pid, point.at, &point.target,
                               sizeof point.target) != sizeof point.target)
            continue;
        const struct plan_function *target = function_at(program, point.target);
        if (target && probing_may_be_called(target))
            result = add_point(points, &point);
    }
    return result;
}

static int find_in_file(struct probing_program *program, uint32_t number, bool have_caller)
{
    const struct probing_file *file = &program->files.items[number];
    struct probing_points *points = program->points;
    int result = have_caller ? 0 : find_call_slots(program, file, &points->slots);
    for (size_t i = 0; i < file->plan.function_count && !result; i++) {
        const struct plan_function *function = &file->plan.functions[i];
        const uint64_t *caller = sprof_map_get(&points->functions, file->bias + function->start);
        if (have_caller && caller)
            result = find_calls(program, number, function, (int32_t)*caller);
        else if (!have_caller && function->why == PLAN_PART)
            result = find_calls(program, number, function, NO_CALLER);
        else if (!have_caller && caller)
            result = find_slots(program, number, function);
    }
    return result;
}

int probing_points_find(struct probing_program *program, struct sprof_error *error)
{
    if (!program->options.all_points)
        return 0;
    struct probing_points *points = program->points = calloc(1, sizeof *points);
    int result = points ? 0 : SPROF_ENOMEM;
    for (size_t i = 0; i < program->probes.count && !result; i++) {
        const struct probing_probe *probe = &program->probes.items[i];
        const struct probing_file *file = &program->files.items[probe->file];
        if (probe->is_chosen && probe->tier == PROBE_FULL && probing_is_measured(file))
            result = sprof_map_put(&points->functions, file->bias + probe->function->start, i);
    }
    for (uint32_t pass = 0; pass < 2 && !result; pass++) {
        for (uint32_t i = 0; i < program->files.count && !result; i++)
            if (probing_is_measured(&program->files.items[i]))
                result = find_in_file(program, i, !pass);
        if (!pass && !result)
            points->with_caller = (uint32_t)points->list.count;
    }
    if (result)
        return sprof_error_memory(error);
    if (points->left_out)
        sprof_log_message(
            program->options.log, SPROF_LOG_WARNING,
            "%zu place%s no probe: there is room for %d; choose fewer functions", points->left_out,
            points->left_out == 1 ? " that calls has" : "s that call have", PROBE_POINTS);
    return 0;
}

uint32_t probing_points_count(const struct probing_program *program)
{
    return program->points ? (uint32_t)program->points->list.count : 0;
}

void probing_points_number(struct probing_program *program, uint32_t first)
{
    if (!program->points)
        return;
    program->points->first = first;
    program->process.shared->first_open_point = first + program->points->with_caller;
    program->process.shared->owner.has_points = 1;
}

/* == Writing == */

static int write_at(int fd, uint64_t address, const void *bytes, size_t size,
                    struct sprof_error *error)
{
    ssize_t wrote;
    do
        wrote = pwrite(fd, bytes, size, (off_t)address);
    while (wrote < 0 && errno == EINTR);
    return wrote == (ssize_t)size
               ? 0
               : sprof_error_set(error, SPROF_EPERMISSION, errno,
                                 "cannot write call points into the command: %s", strerror(errno));
}

static bool reaches(uint64_t from, uint64_t to)
{
    return (uint64_t)INT32_MAX + to - from <= 2 * (uint64_t)INT32_MAX;
}

/* Reserves memory for far jumps, if calls do not reach their thunks. */
static int make_room(struct probing_program *program, uint32_t file_number,
                     struct probing_file *room, struct sprof_error *error)
{
    const struct probing_points *points = program->points;
    uint64_t low = UINT64_MAX, high = 0;
    size_t count = 0;
    for (size_t i = 0; i < points->list.count; i++) {
        const struct point *point = &points->list.items[i];
        if (point->file != file_number || point->is_slot)
            continue;
        low = point->at < low ? point->at : low;
        high = point->at > high ? point->at : high;
        count++;
    }
    *room = (struct probing_file){.path = program->files.items[file_number].path};
    return count ? probing_make_island(program, room, count * 16, low, high + CALL_BYTES, error)
                 : 0;
}

static int aim_call(int fd, const struct point *point, uint64_t thunk,
                    const struct probing_file *room, uint64_t *used, struct sprof_error *error)
{
    uint8_t far_jump[ARCH_FAR_JUMP_BYTES];
    uint64_t to = thunk;
    int result = 0;
    if (!reaches(point->at + CALL_BYTES, to)) {
        to = room->island + *used;
        *used += 16;
        arch_far_jump_write(far_jump, thunk);
        result = write_at(fd, to, far_jump, sizeof far_jump, error);
    }
    const uint32_t distance = (uint32_t)(to - (point->at + CALL_BYTES));
    return result ? result : write_at(fd, point->at + 1, &distance, sizeof distance, error);
}

static int aim(struct probing_program *program, int fd, struct sprof_error *error)
{
    const struct probing_points *points = program->points;
    int result = 0;
    for (uint32_t f = 0; f < program->files.count && !result; f++) {
        struct probing_file room;
        uint64_t used = 0;
        result = make_room(program, f, &room, error);
        for (size_t i = 0; i < points->list.count && !result; i++) {
            const struct point *point = &points->list.items[i];
            const uint64_t thunk =
                program->process.hello.points + i * ARCH_THUNK_BYTES + ARCH_THUNK_ENTRY;
            if (point->file == f)
                result = point->is_slot ? write_at(fd, point->at, &thunk, sizeof thunk, error)
                                        : aim_call(fd, point, thunk, &room, &used, error);
        }
    }
    return result;
}

int probing_points_place(struct probing_program *program, struct sprof_error *error)
{
    const uint32_t count = probing_points_count(program);
    int fd = -1;
    if (!count)
        return 0;
    uint8_t *thunks = malloc((size_t)count * ARCH_THUNK_BYTES);
    int result =
        thunks ? inject_memory_open(program->process.pid, &fd, error) : sprof_error_memory(error);
    for (uint32_t i = 0; i < count && !result; i++)
        arch_thunk_write(thunks + (size_t)i * ARCH_THUNK_BYTES,
                         program->process.hello.points + (uint64_t)i * ARCH_THUNK_BYTES,
                         program->points->first + i, program->process.hello.point_enter,
                         program->process.hello.point_leave, 0,
                         program->points->list.items[i].target);
    if (!result)
        result = write_at(fd, program->process.hello.points, thunks,
                          (size_t)count * ARCH_THUNK_BYTES, error);
    if (!result)
        result = aim(program, fd, error);
    free(thunks);
    inject_close(&(int){fd});
    return result;
}

void probing_points_switch(struct probing_program *program, bool are_on)
{
    for (uint32_t i = 0; i < probing_points_count(program); i++)
        atomic_store(&program->process.shared->tiers[program->points->first + i],
                     are_on ? PROBE_FULL : PROBE_OFF);
}

/* == Figures == */

uint32_t probing_points_caller(const struct probing_program *program, uint32_t number)
{
    const struct probing_points *points = program->points;
    return points && number - points->first < points->with_caller
               ? (uint32_t)points->list.items[number - points->first].caller
               : number;
}

void probing_points_collect(struct probing_program *program, const struct probe_stat *stats)
{
    for (uint32_t i = 0; i < probing_points_count(program); i++)
        program->points->calls += stats[program->points->first + i].calls;
}

uint64_t probing_points_calls(const struct probing_program *program)
{
    return program->points ? program->points->calls : 0;
}

void probing_points_free(struct probing_program *program)
{
    if (!program->points)
        return;
    sprof_vec_release(&program->points->list);
    sprof_map_release(&program->points->functions);
    sprof_map_release(&program->points->slots);
    free(program->points);
    program->points = NULL;
}
