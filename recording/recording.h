/* recording: a recording while it grows, and what is derived from it. */
#ifndef SPROF_RECORDING_RECORDING_H
#define SPROF_RECORDING_RECORDING_H

#include "recording/build.h"
#include "recording/command.h"
#include "recording/derive.h"
#include "recording/images.h"
#include "recording/jit_owner.h"
#include "recording/pending.h"
#include "recording/walk.h"
#include "recording/writer.h"

/* Finishes a recording: symbolizes it and derives functions, paths and costs. For recordings made
 * with --no-symbolize and those whose recorder was killed; harmless on complete ones when `again`
 * is false, done anew when it is true. */
struct record_derive_options {
    bool again;    /* also without what was kept of other recordings */
    bool no_cache; /* neither read nor write that */
    struct model_kind_rules rules; /* replaces the kinds of modules when count > 0 */
    const struct sprof_log *log;
};
int record_derive(const char *path, const struct record_derive_options *options,
                  struct sprof_error *error);

#endif
