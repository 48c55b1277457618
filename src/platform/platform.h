/* Internal to src/platform: a platform and its row of the table. */
#ifndef LS_PLATFORM_PLATFORM_H
#define LS_PLATFORM_PLATFORM_H

#include <lockstep/platform.h>

#include "kernel/table.h"

typedef struct ls_platform_def {
	const char *name;
	bool row_kernels; /* ops that are no products: by src/kernel where it has them, else by their definition */
	/* Sets platform->state and platform->description; cleans up after itself where it fails. */
	ls_status (*open)(ls_platform *platform, ls_error *err);
	void (*close)(ls_platform *platform);
	ls_status (*product)(ls_platform *platform, const ls_product_call *call, ls_error *err);
	int64_t (*depth)(const ls_product *product); /* of its FP64 sums, in additions */
} ls_platform_def;

struct ls_platform {
	const ls_platform_def *def;
	ls_pool *pool;
	ls_kernel_table table;
	void *state;
	char description[96];
};

extern const ls_platform_def ls_platform__native, ls_platform__openblas, ls_platform__blis, ls_platform__naive;

#endif
