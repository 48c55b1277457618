/* Internal to src/optim: the rows of the table. */
#ifndef LS_OPTIM_OPTIM_H
#define LS_OPTIM_OPTIM_H

#include <lockstep/optim.h>

extern const ls_optim_def ls_optim__adam, ls_optim__adamw, ls_optim__sgd;

#endif
