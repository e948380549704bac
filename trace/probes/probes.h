/* trace, inside: which functions of a program get probes, how these are written, and which of them
 * do something. */
#ifndef SPROF_TRACE_PROBES_PROBES_H
#define SPROF_TRACE_PROBES_PROBES_H

#include "trace/tracing.h"

struct plan_expressions;

/* == choose.c == */

/* Plans the files of the command, which waits, and lists the functions to be probed.
 * SPROF_ENOTFOUND where there are none, with names that are near. */
int trace_choose(struct trace_session *session, struct sprof_error *error);

/* Warns, with names near it, where the expression of an option finds none of the chosen functions
 * that have probes, or `timed` ones. Returns 0 or a negative code. */
int trace_tell_unfound(const struct trace_session *session, const char *option,
                       const char *expression, const struct plan_expressions *expressions,
                       bool timed, struct sprof_error *error);

/* Whether code of a file that the process has mapped may get probes. */
bool trace_wants(struct trace_session *session, const struct image_request *file);

/* Lists the functions to be probed of one file, which comes to be the last of session->files; takes
 * the plan. */
int trace_choose_module(struct trace_session *session, struct plan_module *module,
                        struct sprof_error *error);

/* == place.c == */

/* Makes the shared memory, writes thunks, copies and jumps into the command, and lets it go. */
int trace_place(struct trace_session *session, struct sprof_error *error);

/* Writes the probes of a file that nobody runs code of yet. */
int trace_place_file(struct trace_session *session, struct trace_file *file,
                     struct sprof_error *error);

/* The same but for the jumps to them, of a file that may run: trace_place_live_file writes those.
 */
int trace_place_copies(struct trace_session *session, struct trace_file *file,
                       struct sprof_error *error);

/* Writes session->hook, a jump to the agent at an address of the loader, whose path is given. In a
 * process that runs trace_place_live writes it. */
int trace_place_hook(struct trace_session *session, const char *loader, uint64_t at,
                     struct sprof_error *error);

/* Makes file->island, of so many bytes, where jumps from all of `low` to `high` reach it. A library
 * that was loaded before has one. */
int trace_make_island(struct trace_session *session, struct trace_file *file, uint64_t bytes,
                      uint64_t low, uint64_t high, struct sprof_error *error);

/* == sites.c == */

/* Note for who takes probes out should this tracer be killed that there is going to be a jump, in
 * session->shared: of the loader's function with index 0; that of a probe. */
void trace_note_site(struct trace_session *session, size_t index, uint64_t address,
                     const uint8_t original[PLAN_JUMP_BYTES]);
void trace_note_site_of(struct trace_session *session, size_t number);

/* … and that there are none any more: other code may be there from now on. */
void trace_forget_sites(struct trace_session *session, size_t first, size_t count);

/* Where a probe's thunk stands. */
uint64_t trace_thunk_address(const struct trace_session *session, const struct trace_probe *probe);

/* == place_live.c == */

/* Lets thunks measure, and writes the jumps to them into a process that runs. */
int trace_place_live(struct trace_session *session, struct sprof_error *error);

/* Whether a jump can be written into a process that runs. */
bool trace_can_place_live(const struct trace_session *session, const struct trace_probe *probe);

/* Writes the jumps to probes that have left into a process of the program, so that they see calls
 * again. SPROF_ESTATE: not to all of them. SPROF_ENOTFOUND: there is no such process any more. */
int trace_place_again(struct trace_session *session, pid_t pid, struct sprof_error *error);

/* Writes the jumps to probes that rest and are to be on. Some may rest still where it returns 0:
 * threads stand in their places. SPROF_ESTATE also where other code is there. Else as
 * trace_stop_while. */
int trace_place_woken(struct trace_session *session, struct sprof_error *error);

/* Writes the probes of one more file, whose code may run already. */
int trace_place_live_file(struct trace_session *session, struct trace_file *file,
                          struct sprof_error *error);

/* == ranges.c == */

/* What was chosen at the start is range 1. Returns 0 or SPROF_ENOMEM. */
int trace_ranges_begin(struct trace_session *session, struct sprof_error *error);

/* Adds ranges and switches them: "+RE -RE +0xA-0xB +MODULE!0xA-0xB -#1,3-5 +#N". The text is cut
 * up. SPROF_EUSAGE: there is a mistake in it, and nothing has changed. */
int trace_change_ranges(struct trace_session *session, char *text, struct sprof_error *error);

/* Names in an answer the ranges that were said since then, of the run, and hold no function of any
 * program, as with --children they may be of programs that are executed later, and what is near
 * them. */
int trace_ranges_tell_empty(const struct trace_session *session, uint64_t since_ns,
                            struct sprof_str *answer, struct sprof_error *error);

/* Takes over the ranges of another session. Returns 0 or SPROF_ENOMEM. */
int trace_ranges_adopt(struct trace_session *session, const struct trace_session *from);

/* Ranges hold, or do not, the probes from `first` on, which are new. Returns 0 or SPROF_ENOMEM. */
int trace_ranges_extend(struct trace_session *session, size_t first);

/* Lets probes do what ranges and pauses say. */
void trace_switch(struct trace_session *session);

/* == bypass.c == */

/* The program's thunks can be written to. Not with --children, where they are those of several
 * processes. */
void trace_bypass_begin(struct trace_session *session);

/* Notes whether the file stays mapped for as long as the program runs. */
void trace_bypass_look_at_file(const struct trace_session *session, struct trace_file *file);

/* Notes which byte of the probe's jump, to its thunk, has to be another one to lead to the body of
 * its function: all others of the two jumps are the same. */
void trace_bypass_note(struct trace_session *session, struct trace_probe *probe, uint64_t body);

/* Probes that have been off since the last look cost their functions a jump or two from now on. */
void trace_bypass_look(struct trace_session *session);

/* The probe is about to be on. */
void trace_bypass_end(struct trace_session *session, size_t number);

/* == rest.c == */

/* Whether its probe does its work also where nothing is measured: it sees how frames are left,
 * that a thread must not be timed any more, or who begins. */
bool trace_stays_on(const struct trace_probe *probe);

/* Whether a probe has something to do now. */
bool trace_is_wanted(const struct trace_session *session, size_t number);

/* Whether a probe may rest while it is off. */
bool trace_may_rest(const struct trace_session *session, const struct trace_probe *probe);

/* Whether a probe that is placed now rests from the start. */
bool trace_rests_at_once(const struct trace_session *session, const struct trace_probe *probe);

/* Lets probes rest that have been off for as long as the options say, or that cost too much, and
 * wakes those that could not be woken when they were to be. */
void trace_rest_look(struct trace_session *session);

/* The same, but wakes none, and does not wait until threads have run for long since they stood
 * still. What cannot be stopped now is tried again by looks. */
void trace_rest_now(struct trace_session *session);

/* A probe's jump is not there any more; the next one leads to its thunk. */
void trace_note_rest(struct trace_probe *probe);

/* Once a second has probes put back whose jumps the program has given back with pages of its code;
 * not where none may rest. */
void trace_lost_look(struct trace_session *session);

/* Has probes in place that rest and are to be on; session->asleep says of how many that failed. */
void trace_wake(struct trace_session *session);

/* SPROF_ESTATE where probes of programs are to be on, and rest still. */
int trace_check_awake(const struct trace_session *session, struct sprof_error *error);

#endif
