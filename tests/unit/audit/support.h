/* Trainers and auditors over tiny data. */
#ifndef LS_TEST_AUDIT_SUPPORT_H
#define LS_TEST_AUDIT_SUPPORT_H

#include "run/tiny.h"

#include <lockstep/audit.h>

static inline ls_platform *platform_named(const char *name)
{
	ls_platform_options o = LS_PLATFORM_OPTIONS_INIT;
	ls_error err = LS_ERROR_INIT;
	ls_platform *p;
	ls_status status = ls_platform_open(&p, name, &o, &err);
	if (status == LS_ERR_UNSUPPORTED) {
		print_message("%s\n", err.text);
		return NULL;
	}
	assert_ok(status);
	return p;
}

static const uint8_t tiny_nonce[32] = {0xab, 0xcd};

/* Trains into t->dir/name; `o` says what is not the default. */
static inline ls_train_result trained(const tiny *t, const char *platform, const char *name, ls_train_options o)
{
	ls_error err = LS_ERROR_INIT;
	char dir[TEST_PATH];
	ls_train_result r;
	ls_platform *p = platform_named(platform);
	assert_non_null(p);
	path_in(dir, t->dir, name);
	o.version = LS_TRAIN_OPTIONS_VERSION;
	o.dir = dir;
	o.nonce = tiny_nonce;
	if (!o.snapshots.n)
		o.snapshots = (ls_snapshot_policy){LS_SNAPSHOTS_ALL, 1};
	assert_ok(ls_train(t->plan, p, &o, &r, &err));
	ls_platform_free(p);
	return r;
}

/* Audits t->dir/name, whose job and leaves must be readable. */
static inline ls_audit_result audited(const tiny *t, const char *platform, const char *name, ls_audit_options o)
{
	ls_error err = LS_ERROR_INIT;
	char dir[TEST_PATH];
	ls_audit_result r;
	ls_damage damage;
	ls_run *run;
	ls_platform *p = platform_named(platform);
	assert_non_null(p);
	path_in(dir, t->dir, name);
	assert_ok(ls_run_open(&run, dir, &damage, &err));
	assert_false(damage.found);
	o.version = LS_AUDIT_OPTIONS_VERSION;
	assert_ok(ls_audit(run, t->plan, p, &o, &r, NULL, &err));
	ls_run_free(run);
	ls_platform_free(p);
	return r;
}

/* What ls_verify_run says about t->dir/name. */
static inline ls_damage verified(const tiny *t, const char *name, ls_hash *root)
{
	ls_error err = LS_ERROR_INIT;
	char dir[TEST_PATH];
	ls_damage damage = {0};
	path_in(dir, t->dir, name);
	assert_ok(ls_verify_run(dir, &damage, root, &err));
	return damage;
}

static inline void assert_verifies(const tiny *t, const char *name)
{
	ls_hash root;
	ls_damage damage = verified(t, name, &root);
	if (damage.found)
		print_message("%s: %s\n", damage.file, damage.text);
	assert_false(damage.found);
}

#endif
