/* What the thunks of functions outside of the traced modules call: the code of functions, which
 * measures only what a function with a probe calls, and adds the time to that one's, too. */
#define OUTSIDE
#define probe_enter probe_outside_enter
#define probe_entered probe_outside_entered
#define probe_leave probe_outside_leave
#include "arch/x86_64/probe/calls.S"
