/* What the thunks of call points call: the code of functions, with other records and another owner
 * of the time between. */
#define POINTS
#define probe_enter probe_point_enter
#define probe_entered probe_point_entered
#define probe_leave probe_point_leave
#include "arch/x86_64/probe/calls.S"
