/* Runs a fuzz target over the files of its corpus, and over each file cut short and with single bytes changed: what CTest does
 * where there is no libFuzzer. Usage: fuzz_NAME FOLDER. An empty or missing corpus is a failure. */
#include "fuzz.h"

#include <dirent.h>

enum { INPUT_MAX = 1 << 20, MUTATED_MAX = 1024 };

static long runs;

// In memory of its very size, so that a sanitizer sees a read beyond the end.
static void run_one(const uint8_t *data, size_t size)
{
	uint8_t *copy = malloc(size ? size : 1);
	FUZZ_CHECK(copy);
	memcpy(copy, data, size);
	LLVMFuzzerTestOneInput(copy, size);
	free(copy);
	runs++;
}

static void run_mutated(uint8_t *data, size_t size)
{
	size_t stride = 1 + size / MUTATED_MAX * 8;
	for (size_t at = 0; at < size; at += stride) {
		uint8_t kept = data[at];
		run_one(data, at);
		data[at] = (uint8_t)(kept ^ 1u << at % 8);
		run_one(data, size);
		data[at] = (uint8_t)~kept;
		run_one(data, size);
		data[at] = kept;
	}
}

static int run_file(const char *path, uint8_t *data)
{
	FILE *f = fopen(path, "rb");
	size_t size;
	if (!f)
		return 0;
	size = fread(data, 1, INPUT_MAX, f);
	fclose(f);
	run_one(data, size);
	run_mutated(data, size);
	return 1;
}

int main(int argc, char **argv)
{
	uint8_t *data = malloc(INPUT_MAX);
	DIR *corpus = argc == 2 ? opendir(argv[1]) : NULL;
	int files = 0;
	char path[4096];
	if (!corpus || !data) {
		fprintf(stderr, "found no corpus %s, expected a folder of inputs\n", argc > 1 ? argv[1] : "");
		return 1;
	}
	for (struct dirent *entry; (entry = readdir(corpus));) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof path, "%s/%s", argv[1], entry->d_name);
		files += run_file(path, data);
	}
	closedir(corpus);
	free(data);
	printf("%d inputs, %ld runs\n", files, runs);
	return files ? 0 : 1;
}
