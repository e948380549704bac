/* For back ends that borrow a thread. */
#ifndef SPROF_TRACE_BACKEND_BORROWED_H
#define SPROF_TRACE_BACKEND_BORROWED_H

#include "inject/inject.h"
#include "trace/load.h"
#include "trace/set_up.h"
#include "trace/tracing.h"

int trace_borrowed_enter(struct trace_session *session, struct sprof_error *error);
int trace_borrowed_begin(struct trace_session *session, struct sprof_error *error);
int trace_borrowed_open_code(struct probing_program *session, struct sprof_error *error);

#endif
