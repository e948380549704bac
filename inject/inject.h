/* Puts the agent into a process, reaches it there (agent/probe.h), and takes it out, even after the
 * tracer was killed. */
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
