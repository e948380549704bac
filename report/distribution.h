/* Which distribution a machine runs, by its os-release(5). */
#ifndef SPROF_REPORT_DISTRIBUTION_H
#define SPROF_REPORT_DISTRIBUTION_H

/* Those whose packages of debug information are installed alike. */
enum report_distribution_family {
    REPORT_DISTRIBUTION_OTHER,
    REPORT_DISTRIBUTION_DEBIAN,
    REPORT_DISTRIBUTION_UBUNTU,
    REPORT_DISTRIBUTION_FEDORA, /* and Red Hat's, CentOS, Rocky, Alma */
    REPORT_DISTRIBUTION_ARCH,
};

struct report_distribution {
    enum report_distribution_family family;
    char name[96];       /* PRETTY_NAME; "" unknown */
    char codename[64];   /* VERSION_CODENAME; "" unknown */
    const char *servers; /* value of DEBUGINFOD_URLS for its files; static */
};

/* `root` is "" for this machine, else a directory that stands for /. A missing file is an unknown
 * distribution. */
void report_distribution_read(struct report_distribution *distribution, const char *root);

#endif
