/* Sessions of the symbolizer that outlive a recording: a file with samples in one segment of
 * continuous recording has samples in the next. Then it is open already, and only functions that
 * had no sample before are read. See docs/design/decisions/names-between-segments.md. */
#ifndef SPROF_RECORDING_NAMER_H
#define SPROF_RECORDING_NAMER_H

#include "recording/recording.h"
#include "recording/sessions.h"

/* A session about this very file, which is on the disk: one that was kept, else a new one. It is to
 * be given back. Returns 0 or a negative code. */
int recording_namer_take(struct recording_namer *namer, const struct image *image,
                         struct recording_session *open);

/* Takes a session over. It is kept for some minutes, unless debug information was missing, a
 * process of its own answers, or there is no room: then it is closed, or the oldest ones are. */
void recording_namer_give(struct recording_namer *namer, struct recording_session *open);

#endif
