/* trace, inside: the probes of a program: which functions get them, how they are written and
 * switched. */
#ifndef SPROF_TRACE_PROBES_PROBES_H
#define SPROF_TRACE_PROBES_PROBES_H

#include "trace/tracing.h"

struct plan_expressions;

/* == choose.c == */

/* Plans the files of the waiting command, and lists the functions to be probed. SPROF_ENOTFOUND,
 * with names that are near, where there are none. */
int trace_choose(struct trace_session *session, struct sprof_error *error);

/* Warns, with names near it, where an option's expression finds no chosen function with a probe, or
 * no `timed` one. Returns 0 or a negative code. */
int trace_report_unfound(const struct trace_session *session, const char *option,
                         const char *expression, const struct plan_expressions *expressions,
                         bool timed, struct sprof_error *error);

/* Whether code of a mapped file may get probes. */
bool trace_wants(struct trace_session *session, const struct image_request *file);

/* Lists the functions to be probed of one file, which becomes the last of session->files. Takes the
 * plan over. */
int trace_choose_module(struct trace_session *session, struct plan_module *module,
                        struct sprof_error *error);

/* == rules.c == */

/* Whether a jump at this address lies in one page. One in two pages could stay half written, if
 * sprof were killed between them. */
bool trace_is_in_one_page(uint64_t address);

/* Whether a jump can be written into a running process. */
bool trace_can_place_live(const struct trace_session *session, const struct trace_probe *probe);

/* What the governor leaves of a tier. */
uint8_t trace_governed_tier(const struct trace_probe *probe, uint8_t tier);

/* Whether a probe works also where nothing is measured: it sees how frames are left, which threads
 * must not be timed, or which begin. */
bool trace_stays_on(const struct trace_probe *probe);

/* Whether a probe has work now. */
bool trace_is_wanted(const struct trace_session *session, size_t number);

/* Whether a probe may rest while it is off. */
bool trace_may_rest(const struct trace_session *session, const struct trace_probe *probe);

/* Whether a probe that is placed now rests from the start. */
bool trace_rests_at_once(const struct trace_session *session, const struct trace_probe *probe);

/* Whether functions that are not chosen get probes that rest until a command adds them. */
bool trace_has_spares(const struct trace_session *session);

/* Whether a function may return to another place than its caller, as to a thunk that calls it. One
 * without a probe may, too, where only its entry lacks room. */
bool trace_may_be_called(const struct plan_function *function);

/* Whether calls by functions of a file are measured. */
bool trace_is_measured(const struct trace_file *file);

/* Gives up a spare probe that cannot rest, because its jump can never be written into code that
 * runs. */
void trace_check_spare(struct trace_probe *probe);

/* == islands.c == */

/* Room of an island for each function. */
enum { TRACE_ISLAND_EACH = PLAN_COPY_BYTES_MAX + ARCH_FAR_JUMP_BYTES + 16 };

/* Makes file->island of so many bytes, in reach of jumps from `low` to `high`. A library that is
 * loaded again has one. */
int trace_make_island(struct trace_session *session, struct trace_file *file, uint64_t bytes,
                      uint64_t low, uint64_t high, struct sprof_error *error);

/* The same for copies of the beginnings of a file's functions; and of all files of a running
 * process, while a thread of it is borrowed. */
int trace_make_island_of(struct trace_session *session, struct trace_file *file,
                         struct sprof_error *error);
int trace_make_islands(struct trace_session *session, struct sprof_error *error);

/* == place.c == */

/* Writes thunks, copies and, where no code runs yet, jumps of all files of the program. */
int trace_place_files(struct trace_session *session, struct sprof_error *error);

/* Writes the probes of a file whose code no thread runs yet. */
int trace_place_file(struct trace_session *session, struct trace_file *file,
                     struct sprof_error *error);

/* The same without the jumps, for a file that may run: trace_place_live_file writes those. */
int trace_place_copies(struct trace_session *session, struct trace_file *file,
                       struct sprof_error *error);

/* Writes session->loader.hook, a jump to the agent in the loader of that path. In a running process
 * trace_place_live writes it. */
int trace_place_hook(struct trace_session *session, const char *loader, uint64_t at,
                     struct sprof_error *error);

/* == sites.c == */

/* Note in session->process.shared that a jump will be written, for the process that cleans up after
 * a kill. Index 0 is the loader's function. */
void trace_note_site(struct trace_session *session, size_t index, uint64_t address,
                     const uint8_t original[PLAN_JUMP_BYTES]);
void trace_note_site_of(struct trace_session *session, size_t number);

/* Note that these jumps are gone, because other code may come there. */
void trace_forget_sites(struct trace_session *session, size_t first, size_t count);

/* Address of a probe's thunk. */
uint64_t trace_thunk_address(const struct trace_session *session, const struct trace_probe *probe);

/* == place_live.c == */

/* Lets thunks measure, and writes their jumps into a running process. */
int trace_place_live(struct trace_session *session, struct sprof_error *error);

/* Writes jumps of probes that have left into a process of the program again. SPROF_ESTATE: not all.
 * SPROF_ENOTFOUND: the process is gone. */
int trace_place_again(struct trace_session *session, pid_t pid, struct sprof_error *error);

/* Writes the jumps of resting probes that are to be on. After 0 some may still rest, because
 * threads stand in their places. SPROF_ESTATE also where other code is there. Else as
 * inject_stop_while. */
int trace_place_woken(struct trace_session *session, struct sprof_error *error);

/* Writes the probes of one more file, whose code may run already. */
int trace_place_live_file(struct trace_session *session, struct trace_file *file,
                          struct sprof_error *error);

/* == passed.c == */

/* From now on thunks of the program can be written to. Not with --children, where several processes
 * use them. */
void trace_passed_begin(struct trace_session *session);

/* Notes whether the file stays mapped as long as the program runs. */
void trace_passed_check_file(const struct trace_session *session, struct trace_file *file);

/* Notes the byte of the probe's jump that differs between its two targets. */
void trace_passed_note(struct trace_session *session, struct trace_probe *probe, uint64_t body);

/* Passes probes that have been off since the last look. */
void trace_passed_refresh(struct trace_session *session);

/* Ends that for a probe that is about to be on. */
void trace_passed_end(struct trace_session *session, size_t number);

#endif
