/* Makes requests of the calls of functions that --request names. Requests of <sprof.h> have numbers
 * of the program's own, so there are none of them beside these: see remarks.c. */
#include "calls/keep_requests.h"
#include "calls/keep_late.h"
#include "calls/program.h"
#include "calls/remarks.h"
#include "plan/expressions.h"
#include "probing/probing.h"

static int make_expressions(const struct trace_options *options,
                            struct plan_expressions **expressions, struct sprof_error *error)
{
    *expressions = NULL;
    const struct rules_capture *request = options->kept.requests_of;
    return request && request->function
               ? plan_expressions_make(expressions, (const char *const *)&request->function, 1,
                                       error)
               : 0;
}

int calls_requests_check(const struct trace_options *options, struct sprof_error *error)
{
    struct plan_expressions *expressions;
    const int result = make_expressions(options, &expressions, error);
    plan_expressions_free(expressions);
    return result;
}

int calls_requests_begin(struct calls_program *program, size_t first, struct sprof_error *error)
{
    struct plan_expressions *expressions;
    int result = make_expressions(&program->options, &expressions, error);
    for (size_t i = program->kept.requests.count;
         expressions && i < program->probes.count && !result; i++) {
        const struct plan_function *function = program->probes.items[i].function;
        const int is = function ? plan_expressions_match(expressions, function, error) : 0;
        if (is < 0)
            result = is;
        else if (sprof_vec_push(&program->kept.requests, is > 0))
            result = sprof_error_memory(error);
    }
    if (!result && expressions && !first && !program->options.children &&
        !probing_has_others(&program->probing))
        result = probing_report_unfound(&program->probing, "request",
                                        program->options.kept.requests_of->function, expressions,
                                        true, error);
    plan_expressions_free(expressions);
    return result;
}

void calls_requests_release(struct calls_program *program)
{
    sprof_vec_release(&program->kept.requests);
}

/* Whether calls of the function are requests. By value, those are that have it. */
static bool is_request(const struct calls_program *program, uint32_t function)
{
    const struct calls_noted *noted =
        calls_requests_is(program, function) && calls_requests_by_value(&program->options)
            ? calls_values_noted(&program->values, function, 0)
            : NULL;
    return calls_requests_is(program, function) &&
           (!calls_requests_by_value(&program->options) || (noted && noted->request));
}

/* False: its value was not read. */
static bool read_name(const struct calls_program *program, uint32_t function,
                      const struct calls_taken_values *values, uint64_t *number,
                      struct sprof_str *label)
{
    const struct calls_noted *noted =
        values ? calls_values_noted(&program->values, function, values->place) : NULL;
    struct calls_call_values call = {.noted = noted, .kept = values ? &values->kept : NULL};
    if (!noted || !noted->request)
        return false;
    calls_values_cut(&call, values->pieces, values->bytes);
    return calls_late_number(&call, noted->request - 1u, number, label);
}

void calls_requests_name(struct calls_program *program, struct calls_open_caller *call,
                         uint32_t function, const struct calls_taken_values *values)
{
    struct sprof_str label = {0};
    if (call->is_named || !calls_requests_by_value(&program->options) ||
        !is_request(program, function))
        return;
    call->is_named = true;
    call->has_request = true;
    call->request = 0;
    if (!read_name(program, function, values, &call->request, &label)) {
        program->all->kept.requests_unread++;
        call->request = 0;
    }
    sprof_str_release(&label);
}

struct calls_open_caller *calls_requests_open(struct calls_thread *thread, size_t near,
                                              uint32_t row)
{
    const size_t count = thread->callers.count;
    struct calls_open_caller *items = thread->callers.items;
    for (size_t steps = 0; row && steps <= count; steps++) {
        if (steps <= near && near - steps < count && items[near - steps].row == row)
            return &items[near - steps];
        if (near + steps < count && items[near + steps].row == row)
            return &items[near + steps];
    }
    return NULL;
}

static struct calls_open_caller *caller_of(struct calls_thread *thread,
                                           const struct calls_open_caller *call)
{
    return calls_requests_open(thread, (size_t)(call - thread->callers.items), call->caller_row);
}

/* The callers note what was found: the next call in one of them needs one step. */
uint64_t calls_requests_of(const struct calls_program *program, struct calls_thread *thread,
                           const struct calls_open_caller *call, uint32_t function, uint32_t caller)
{
    const bool is_one = is_request(program, function);
    struct calls_open_caller *first =
        program->kept.requests.count && !is_one
            ? calls_requests_open(thread, thread->callers.count, caller)
            : NULL;
    struct calls_open_caller *open = first;
    uint64_t request = !is_one ? 0 : call->is_named ? call->request : call->row;
    for (size_t i = 0; open && i < thread->callers.count; i++) {
        if (!open->is_known)
            return 0;
        if (open->has_request || is_request(program, open->function)) {
            request = open->has_request ? open->request : open->row;
            break;
        }
        open = caller_of(thread, open);
    }
    for (open = first; open && !open->has_request; open = caller_of(thread, open)) {
        open->has_request = true;
        open->request = request;
        if (is_request(program, open->function))
            break;
    }
    return request;
}

/* Of a request that a text names, the text. */
static const char *label_of(const struct calls_program *program, uint32_t function,
                            const struct store_kept_call *call,
                            const struct calls_taken_values *values, struct sprof_str *text)
{
    uint64_t number;
    return calls_requests_by_value(&program->options) &&
                   read_name(program, function, values, &number, text) && number == call->request &&
                   text->length && !text->failed
               ? text->text
               : program->probes.items[function].function->name;
}

int calls_requests_put(struct calls_program *program, const struct calls_thread *thread,
                       uint32_t function, const struct store_kept_call *call,
                       const struct calls_taken_values *values)
{
    const bool by_value = calls_requests_by_value(&program->options);
    struct sprof_str text = {0};
    if (!is_request(program, function) || !call->request ||
        (!by_value && call->request != call->number))
        return 0;
    const struct store_request_part row = {
        .number = ++program->all->kept.request_parts,
        .request = call->request,
        .start_ns = call->start_ns,
        .duration_ns = call->duration_ns,
        .is_end = call->duration_ns > 0,
    };
    const int result = calls_remarks_put_part(program, thread, &row,
                                              label_of(program, function, call, values, &text));
    sprof_str_release(&text);
    return result;
}
