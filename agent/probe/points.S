/* What the thunks of call points call: the same code as for functions, but for which record is
 * theirs, and whose the time is that they measure. */
#define POINTS
#define probe_enter probe_point_enter
#define probe_entered probe_point_entered
#define probe_leave probe_point_leave
#include "agent/probe/calls.S"
