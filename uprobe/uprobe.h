/* Uprobes of the kernel: the BPF program that counts and times calls, its maps, its cost and the
 * limit of that. It works on files, offsets and pids, without a session. */
#ifndef SPROF_UPROBE_UPROBE_H
#define SPROF_UPROBE_UPROBE_H

#include "uprobe/bound.h"
#include "uprobe/calls.h"
#include "uprobe/kernel.h"
#include "uprobe/own_cost.h"

#endif
