/* How sprof shows a receiver what it is. Never part of a URL or of a message. */
#ifndef SPROF_FLEET_CREDENTIALS_H
#define SPROF_FLEET_CREDENTIALS_H

#include "base/base.h"

/* Zero is valid: none. All NULL or owned. */
struct fleet_credentials {
    char *user, *password; /* HTTP's basic authentication */
    char *token;           /* a bearer token */
    char *tenant;          /* X-Scope-OrgID, for Pyroscope */
    char *ca;              /* a file of certificates to trust instead of the system's */
};

/* From lines `NAME = VALUE` of a file (NULL: the one that SPROF_FLEET_CREDENTIALS names, if any),
 * then from the environment (SPROF_FLEET_USER, _PASSWORD, _TOKEN, _TENANT, _CA) what the file does
 * not have. SPROF_EPERMISSION where others
 * may read the file, SPROF_EUSAGE where it holds anything else. The caller releases, also on
 * failure. */
int fleet_credentials_read(struct fleet_credentials *credentials, const char *file,
                           struct sprof_error *error);
void fleet_credentials_release(struct fleet_credentials *credentials);

#endif
