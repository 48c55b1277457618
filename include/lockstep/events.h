/* Lockstep: losses and rates as TensorBoard reads them: event files, a record per step. Notes for people: nothing of them is
 * committed to, and a run is whole without them.
 *
 * A record is u64 length ‖ u32 masked CRC-32C of the length ‖ the bytes ‖ u32 masked CRC-32C of the bytes; the bytes are an
 * `Event` in protocol buffers (TensorFlow's tfrecord and event.proto).
 */
#ifndef LOCKSTEP_EVENTS_H
#define LOCKSTEP_EVENTS_H

#include <lockstep/run.h>

typedef struct ls_events ls_events;

/* Starts an event file in `dir`, which is made (its parent must exist), with a name of its own: each start adds one. What earlier
 * files say from `step` on no longer counts, for those steps are done again. `time` is seconds since 1970. */
ls_status ls_events_open(ls_events **out, const char *dir, uint64_t step, double time, ls_error *err);
/* The step's loss and learning rate, and the seconds it took. */
ls_status ls_events_write(ls_events *e, const ls_metrics *metrics, double time, ls_error *err);
void ls_events_close(ls_events *e); /* NULL is allowed */

/* CRC-32C (Castagnoli), as RFC 3720 B.4 defines it. */
uint32_t ls_crc32c(const void *data, size_t len);

#endif
