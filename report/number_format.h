/* Numbers as people read them. Each writes at most `size` bytes with the NUL and returns `buffer`.
 */
#ifndef SPROF_REPORT_NUMBER_FORMAT_H
#define SPROF_REPORT_NUMBER_FORMAT_H

#include <stddef.h>
#include <stdint.h>

enum { NUMBER_BYTES = 48 };

/* "6.1 %": part of whole, rounded to the nearest unit shown, halves up. "0 %" of nothing. */
char *report_number_percent(char buffer[static NUMBER_BYTES], uint64_t part, uint64_t whole,
                            unsigned decimals);

/* As report_number_percent with two decimals, but "100 %" and "0 %" only where it is exactly that.
 */
char *report_number_quality(char buffer[static NUMBER_BYTES], uint64_t part, uint64_t whole);

/* "0.22 s", "12.3 ms" or "4.5 µs", as `unit_ns` has it; in a smaller unit where it would be 0. */
char *report_number_time(char buffer[static NUMBER_BYTES], uint64_t time_ns, uint64_t unit_ns);

/* The same with three digits in the unit that fits, "20 ns" to "1.34 s"; "–" for UINT64_MAX. */
char *report_number_length(char buffer[static NUMBER_BYTES], uint64_t time_ns);

/* Seconds with six decimals: "12.004310 s". */
char *report_number_moment(char buffer[static NUMBER_BYTES], uint64_t time_ns);

/* The unit for a table whose largest time is `time_ns`: seconds, milliseconds or microseconds, in
 * nanoseconds. */
uint64_t report_number_time_unit(uint64_t time_ns);

/* Nanoseconds as seconds, exactly: "1.500000000". */
char *report_number_seconds(char buffer[static NUMBER_BYTES], uint64_t time_ns);

/* "0.6 MB", "12 kB": powers of ten. */
char *report_number_size(char buffer[static NUMBER_BYTES], uint64_t bytes);

/* The share in percent, exact to the last digit of a double; 0 of nothing. */
double report_number_share(uint64_t part, uint64_t whole);

#endif
