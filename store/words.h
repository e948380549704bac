/* Words that are stored as numbers, by these: each list ends with NULL. Those of samples and stacks
 * are the model's. */
#ifndef SPROF_STORE_WORDS_H
#define SPROF_STORE_WORDS_H

extern const char *const store_state_words[];
extern const char *const store_frame_words[];
extern const char *const store_probe_event_words[], *const store_cause_words[];
extern const char *const store_mechanism_words[];
extern const char *const store_warning_words[];
extern const char *const store_interior_words[];
extern const char *const store_unit_words[];
extern const char *const store_exit_words[];

#endif
