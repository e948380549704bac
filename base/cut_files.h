/* Files that become shorter while they are mapped. */
#ifndef SPROF_BASE_CUT_FILES_H
#define SPROF_BASE_CUT_FILES_H

/* From now on a privately mapped file that is cut short has zeroes where its bytes were, in whole
 * pages, and SIGBUS does not end the process: libraries map files of other users. In a shared
 * mapping, which others read and write, the fault ends the process as before. A program calls it,
 * and not a library, as it takes a signal; one that is ignored or handled already stays as it is.
 * Threads must not block SIGBUS: sprof_thread_create. */
void sprof_outlive_cut_files(void);

/* How often that has happened: where it happens while a file is used, what was read of that may be
 * wrong, and must not be kept. */
unsigned sprof_cut_files(void);

#endif
