/* Orders of a test to the program that counts its calls by itself (programs/counts_itself.c). */
#ifndef SPROF_TESTS_UNIT_TRACE_ORDERS_H
#define SPROF_TESTS_UNIT_TRACE_ORDERS_H

#include <stdint.h>

enum order_function { WORK_ALPHA, WORK_BETA, WORK_GAMMA, WORK_FUNCTIONS };

/* Each is answered by one int32_t: 0, unless stated otherwise. */
enum order_kind {
    ORDER_CALLS,   /* `times` calls of `ticks` each */
    ORDER_OPEN,    /* … that do not end */
    ORDER_FORK,    /* a fork does ORDER_CALLS and waits to be killed; answer: its pid */
    ORDER_EXECUTE, /* executes itself again; the new program's answer: its pid */
    ORDER_REPLACE, /* executes sleep(1), without an answer */
    ORDER_LEASE,   /* the agent finds a lease that ended `ticks` ago */
    ORDER_QUIT,    /* ends with status `times`, without an answer */
};

struct order {
    uint32_t kind, function, times, ticks;
};

#endif
