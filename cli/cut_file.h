/* Files that become shorter while they are mapped. */
#ifndef SPROF_CLI_CUT_FILE_H
#define SPROF_CLI_CUT_FILE_H

/* From now on a mapped file that is cut short has zeroes where its bytes were, in whole pages, and
 * SIGBUS does not end the process: libraries map files of other users. It is for programs, not for
 * libraries, as it takes a signal; one that is ignored or handled already stays as it is. Threads
 * must not block SIGBUS: sprof_thread_create. */
void cli_outlive_cut_files(void);

#endif
