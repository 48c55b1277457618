/* A run directory with one file exchanged: the first byte says which, the rest is what stands in it. Reading it gives a verdict,
 * and never "whole" with another root than the honest run's, nor, but for notes, with other bytes. */
#include "fuzz.h"

#include <lockstep/audit.h>

static const char *const files[] = {
	"job.yaml", "metrics.jsonl", "job.bin", "nonce", "leaves", "heads/4", "rounding-log/frames", "snapshots/0000000003",
};
enum { WITH_NOTES = 2 }; // so many at the front say more than is committed to: comments, seconds
enum { FILES = sizeof files / sizeof *files };

static struct honest {
	uint8_t *data[FILES];
	size_t size[FILES];
	ls_hash root;
	bool made;
} honest;

static const char *path_of(int file)
{
	static char name[96];
	snprintf(name, sizeof name, "run/%s", files[file]);
	return name;
}

static void make_honest(void)
{
	ls_damage damage;
	fuzz_train("run");
	for (int i = 0; i < FILES; i++)
		FUZZ_CHECK(ls_file_read(&honest.data[i], &honest.size[i], fuzz_path(path_of(i)), 1 << 20, NULL) == LS_OK);
	FUZZ_CHECK(ls_verify_run(fuzz_path("run"), &damage, &honest.root, NULL) == LS_OK && !damage.found);
	honest.made = true;
}

static void inspect(void)
{
	ls_damage damage;
	ls_run *run = NULL;
	ls_hash root;
	if (ls_run_open(&run, fuzz_path("run"), &damage, NULL) == LS_OK && run)
		FUZZ_CHECK(ls_run_root(run, ls_run_leaves(run), &root, NULL) == LS_OK);
	ls_run_free(run);
}

static bool is_honest(int file, const uint8_t *data, size_t size)
{
	return size == honest.size[file] && (!size || !memcmp(data, honest.data[file], size));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	ls_damage damage = {0};
	ls_hash root;
	int file;
	if (!honest.made)
		make_honest();
	if (size < 1)
		return 0;
	file = data[0] % FILES;
	fuzz_write(path_of(file), data + 1, size - 1);
	if (ls_verify_run(fuzz_path("run"), &damage, &root, NULL) == LS_OK && !damage.found)
		FUZZ_CHECK(ls_hash_equal(&root, &honest.root) && (file < WITH_NOTES || is_honest(file, data + 1, size - 1)));
	inspect();
	fuzz_write(path_of(file), honest.data[file], honest.size[file]);
	return 0;
}
