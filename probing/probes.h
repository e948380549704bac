/* Chooses, writes and switches the probes of a program. */
#ifndef SPROF_PROBING_PROBES_H
#define SPROF_PROBING_PROBES_H

#include "probing/program.h"

struct plan_expressions;

/* == choose.c == */

/* Plans files of a waiting command and lists functions to probe. SPROF_ENOTFOUND, with similar
 * names: there are none. */
int probing_choose(struct probing_program *program, struct sprof_error *error);

/* A chosen function, or one that a drill-down may choose. */
bool probing_may_be_chosen(const struct probing_program *program,
                           const struct probing_probe *probe);

/* Warns, with similar names, if an expression matches no (`timed`) probe. */
int probing_report_unfound(const struct probing_program *program, const char *option,
                           const char *expression, const struct plan_expressions *expressions,
                           bool timed, struct sprof_error *error);

/* Whether functions of a file may get probes. */
bool probing_wants(struct probing_program *program, const struct image_request *file);

/* Lists a file's functions to probe. Takes over the plan. */
int probing_choose_module(struct probing_program *program, struct plan_module *module,
                          struct sprof_error *error);

/* == rules.c == */

/* A jump in two pages could stay half written if sprof were killed. */
bool probing_is_in_one_page(uint64_t address);

bool probing_can_place_live(const struct probing_program *program,
                            const struct probing_probe *probe);

/* Limits a tier to what the governor permits. */
uint8_t probing_governed_tier(const struct probing_probe *probe, uint8_t tier);

/* Whether the probe watches for left frames, untimed or new threads. */
bool probing_stays_on(const struct probing_probe *probe);

/* Whether the probe has work now. */
bool probing_is_wanted(const struct probing_program *program, size_t number);

/* Whether no call is open, and none begins, so that probes for left frames may rest. It adds up all
 * probes' calls: those who look at each probe ask once. */
bool probing_is_quiet(const struct probing_program *program);

bool probing_may_rest(const struct probing_program *program, const struct probing_probe *probe,
                      bool is_quiet);

bool probing_rests_at_once(const struct probing_program *program, const struct probing_probe *probe,
                           bool is_quiet);

/* Whether functions that are not chosen get spare probes. */
bool probing_has_spares(const struct probing_program *program);

/* Whether a thunk may call the function, which may be too short for a probe. */
bool probing_may_be_called(const struct plan_function *function);

bool probing_is_measured(const struct probing_file *file);

/* Drops a spare probe whose jump cannot be written into running code. In a program of a command's
 * children it is there from the start, but off: forked processes share the switch alone. */
void probing_check_spare(const struct probing_program *program, struct probing_probe *probe);

/* == sums.c == */

/* Adds `now` to the sums in the place of what was added before, and keeps it as that. */
void probing_calls_replace(struct probing_calls *sums, struct probing_calls *before,
                           const struct probing_calls *now);

/* Sums of all probes. */
struct probing_calls probing_calls_sum(const struct probing_program *program);

void probing_probe_forget_calls(struct probing_probe *probe);

/* == islands.c == */

/* Bytes per function. */
enum { PROBING_ISLAND_EACH = PLAN_COPY_BYTES_MAX + ARCH_FAR_JUMP_BYTES + 16 };

/* Makes an island in reach of jumps from `low` to `high`. A library that is loaded again keeps
 * it. */
int probing_make_island(struct probing_program *program, struct probing_file *file, uint64_t bytes,
                        uint64_t low, uint64_t high, struct sprof_error *error);

/* Make islands for copies; for all files while a thread is borrowed. */
int probing_make_island_of(struct probing_program *program, struct probing_file *file,
                           struct sprof_error *error);
int probing_make_islands(struct probing_program *program, struct sprof_error *error);

/* == place.c == */

/* Writes thunks and copies, and jumps into code that does not run yet. */
int probing_place_files(struct probing_program *program, struct sprof_error *error);

/* Places probes in code that does not run yet. */
int probing_place_file(struct probing_program *program, struct probing_file *file,
                       struct sprof_error *error);

/* Places no jumps, because code may run. */
int probing_place_copies(struct probing_program *program, struct probing_file *file,
                         struct sprof_error *error);

/* Writes a jump at `at` in the loader to the agent; in a running process probing_place_live does.
 */
int probing_place_hook(struct probing_program *program, const char *loader, uint64_t at,
                       struct sprof_error *error);

/* == sites.c == */

/* Record jumps in shared memory before they are written, for the keeper. Index 0 is the
 * loader's. */
void probing_note_site(struct probing_program *program, size_t index, uint64_t address,
                       const uint8_t original[PLAN_JUMP_BYTES]);
void probing_note_site_of(struct probing_program *program, size_t number);

/* Deletes these records, because other code may come there. */
void probing_forget_sites(struct probing_program *program, size_t first, size_t count);

uint64_t probing_thunk_address(const struct probing_program *program,
                               const struct probing_probe *probe);

/* == place_live.c == */

/* Starts measuring and writes jumps into a running process. */
int probing_place_live(struct probing_program *program, struct sprof_error *error);

/* Writes jumps of removed probes again. SPROF_ESTATE: some are missing. SPROF_ENOTFOUND: the
 * process is gone. */
int probing_place_again(struct probing_program *program, pid_t pid, struct sprof_error *error);

/* Writes jumps of probes to be woken. After 0, some may rest where threads stand. SPROF_ESTATE:
 * also unexpected code. Other errors as inject_stop_while. */
int probing_place_woken(struct probing_program *program, struct sprof_error *error);

/* Places probes in a new file whose code may run. */
int probing_place_live_file(struct probing_program *program, struct probing_file *file,
                            struct sprof_error *error);

/* == stack_copiers.c == */

/* Stops timing if a library copies stacks, or nongnu libunwind unwinds a listening process. */
int probing_stack_copiers_find(struct probing_program *program);

/* True for the first mapping of a library that copies stacks; then call probing_switch. */
bool probing_stack_copier_came(struct probing_program *program, const struct model_mmap *mapping);

/* == passed.c == */

/* Permits writes to thunks, unless --children share them. */
void probing_passed_begin(struct probing_program *program);

/* Sets file->stays: the file is not unloaded. */
void probing_passed_check_file(const struct probing_program *program, struct probing_file *file);

/* Finds the byte that turns the probe's jump. */
void probing_passed_note(struct probing_program *program, struct probing_probe *probe,
                         uint64_t body);

/* Passes probes that stayed off since the last call. */
void probing_passed_refresh(struct probing_program *program);

void probing_passed_end(struct probing_program *program, size_t number);

#endif
