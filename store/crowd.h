/* Counters of a run by which a target that waits differs from one that is ready while other
 * programs have the CPUs. A run has none of them where a part of it was not recorded. */
#ifndef SPROF_STORE_CROWD_H
#define SPROF_STORE_CROWD_H

/* How long the target was ready without a CPU, at least. */
#define STORE_TARGET_READY "target.ready_ns"
/* The time of all CPUs of the machine meanwhile, and of it what they had work. */
#define STORE_MACHINE_CPU "machine.cpu_ns"
#define STORE_MACHINE_BUSY "machine.busy_ns"

#endif
