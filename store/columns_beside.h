/* Columns of the tables that stand beside samples: for store/tables.c. */
#ifndef SPROF_STORE_COLUMNS_BESIDE_H
#define SPROF_STORE_COLUMNS_BESIDE_H

#include "store/columns.h"
#include "store/words.h"

static const struct store_column wake_columns[] = {
    NULLED(store_wake, id, NUMBER),
    OF(store_wake, run_id, "run"),
    OF(store_wake, thread_id, "thread"),
    COLUMN(store_wake, time_ns, NUMBER),
    COLUMN(store_wake, woken_ns, NUMBER),
    COLUMN(store_wake, waker_tid, SIGNED),
    NULLED_OF(store_wake, waker_thread_id, "thread"),
};

static const struct store_column event_field_columns[] = {
    OF(store_event_field, run_id, "run"),      OF(store_event_field, event_id, "event"),
    COLUMN(store_event_field, number, NUMBER), COLUMN(store_event_field, name, TEXT),
    COLUMN(store_event_field, offset, NUMBER), COLUMN(store_event_field, bytes, NUMBER),
    COLUMN(store_event_field, kind, NUMBER),
};

static const struct store_column lock_name_columns[] = {
    OF(store_lock_name, run_id, "run"),
    OF(store_lock_name, process_id, "process"),
    COLUMN(store_lock_name, address, BITS),
    COLUMN(store_lock_name, name, TEXT),
};

static const struct store_column sample_fields_columns[] = {
    NULLED(store_sample_fields, id, NUMBER),      OF(store_sample_fields, run_id, "run"),
    OF(store_sample_fields, event_id, "event"),   OF(store_sample_fields, thread_id, "thread"),
    COLUMN(store_sample_fields, time_ns, NUMBER), COLUMN(store_sample_fields, bytes, BLOB),
};

static const struct store_column warning_columns[] = {
    OF(store_warning, run_id, "run"),
    OF(store_warning, thread_id, "thread"),
    OF(store_warning, node_id, "stack_node"),
    COLUMN(store_warning, time_ns, NUMBER),
    NAME(store_warning, kind, store_warning_words),
    COLUMN(store_warning, value, NUMBER),
    COLUMN(store_warning, bound, NUMBER),
};

#endif
