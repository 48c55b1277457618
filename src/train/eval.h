/* Internal to src/train: what runs an eval program. */
#ifndef LS_TRAIN_EVAL_H
#define LS_TRAIN_EVAL_H

#include <lockstep/train.h>

/* Parameters are found by name in the state of the training program; the optimizer's tensors stay behind. */
void ls_train__copy_state(ls_exec *to, ls_exec *from);
/* How products are settled where nothing is logged. */
ls_rounding ls_train__eval_rounding(const ls_job_plan *plan);

#endif
