/* Opens the kernel's symbols in a thread of its own, beside what has to be written before they are
 * needed: it takes as long as naming a short recording, or tens of milliseconds without BPF. */
#ifndef SPROF_RECORDING_KERNEL_OPENING_H
#define SPROF_RECORDING_KERNEL_OPENING_H

#include "base/base.h"
#include "symbolize/symbolize.h"

#include <pthread.h>
#include <stdbool.h>

/* Zero is one that was not begun. */
struct recording_kernel_opening {
    pthread_t thread;
    bool running;
    struct symbolize_kernel *kernel;
    struct sprof_error error;
};

/* Where there is no thread to be had, nothing begins. */
void recording_kernel_opening_begin(struct recording_kernel_opening *opening);

/* Waits for the thread and hands over what it opened, or why it could not. Returns false where
 * nothing was begun, or it was taken before. The caller frees *kernel. */
bool recording_kernel_opening_take(struct recording_kernel_opening *opening,
                                   struct symbolize_kernel **kernel, struct sprof_error *error);

/* Frees what was not taken. */
void recording_kernel_opening_release(struct recording_kernel_opening *opening);

#endif
