/* Lockstep: optimizers. An optimizer is one file src/optim/NAME.c and one row in src/optim/table.c; it says which tensors it
 * keeps beside each parameter and emits the update op (whose definition is in src/op).
 */
#ifndef LOCKSTEP_OPTIM_H
#define LOCKSTEP_OPTIM_H

#include <lockstep/op.h>

#define LS_OPTIM_SLOTS 2

typedef struct ls_optim_options {
	int version;
	const char *name; /* "sgd", "adam", "adamw" */
	double momentum, weight_decay;
	bool nesterov;
	double beta1, beta2, epsilon; /* adam, adamw */
	double clip; /* norm of all gradients together beyond which they are scaled down to it; 0: none */
	ls_schedule schedule; /* with the learning rate */
} ls_optim_options;
#define LS_OPTIM_OPTIONS_VERSION 1
#define LS_OPTIM_OPTIONS_INIT {.version = LS_OPTIM_OPTIONS_VERSION, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8}

typedef struct ls_optim_def {
	const char *name;
	/* Suffixes of the state tensors kept beside each parameter (zero at the start); returns their number. */
	int (*slots)(const ls_optim_options *options, const char *suffix[LS_OPTIM_SLOTS]);
	/* Appends the update of `parameter` by `gradient`; slot[i] are the state tensors. The outputs must be named after the
	 * state they replace, with ".next". */
	void (*update)(ls_program *program, const ls_optim_options *options, int parameter, int gradient,
	               const int slot[LS_OPTIM_SLOTS]);
} ls_optim_def;

/* LS_ERR_NOT_FOUND names the optimizers there are; LS_ERR_INPUT where an option does not fit. */
ls_status ls_optim_find(const ls_optim_def **out, const ls_optim_options *options, ls_error *err);

#endif
