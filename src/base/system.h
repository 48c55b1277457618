/* Internal to src/base: what the file functions share. */
#ifndef LS_BASE_SYSTEM_H
#define LS_BASE_SYSTEM_H

#include <lockstep/base.h>

/* Turns errno into a status and a sentence that says what to do. `doing` reads on from "could not". */
ls_status ls_base__system_error(ls_error *err, const char *doing, const char *path);
/* Writes everything, going on after interruptions and partial writes. */
ls_status ls_base__write_all(int fd, const uint8_t *data, size_t len, const char *path, ls_error *err);

#endif
