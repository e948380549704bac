/* inject: puts the agent into a process, reaches it there, and takes it out again, also after the
 * tracer was killed. It works on a process and the agent's protocol (agent/probe.h); it has no
 * session and no recording. */
#ifndef SPROF_INJECT_INJECT_H
#define SPROF_INJECT_INJECT_H

#include "inject/attach.h"
#include "inject/changes.h"
#include "inject/hold.h"
#include "inject/keeper.h"
#include "inject/listening.h"
#include "inject/lock.h"
#include "inject/owner.h"
#include "inject/process.h"
#include "inject/program_file.h"
#include "inject/stop.h"
#include "inject/thread_data.h"

#endif
