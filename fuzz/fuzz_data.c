/* Data sets of every format. The first byte chooses the format and whether the file has a second half: a byte tells then where
 * it begins, in 256ths. What opens can be read to its last byte. */
#include "fuzz.h"

#include <sys/stat.h>
#include <unistd.h>

static const struct {
	const char *format, *first, *second;
} formats[] = {
	{"idx", "train-images-idx3-ubyte", "train-labels-idx1-ubyte"},
	{"idx", "train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz"},
	{"npy", "images.npy", "labels.npy"},
	{"csv", "train.csv", NULL},
	{"csv", "train.csv.gz", NULL},
	{"cifar10", "data_batch_1.bin", NULL},
};

static void read_all(const ls_dataset *set)
{
	int64_t shape[3], bytes;
	uint32_t sum = 0;
	ls_hash root;
	ls_dataset_shape(set, shape);
	bytes = shape[0] * shape[1] * shape[2];
	FUZZ_CHECK(bytes > 0 && ls_dataset_count(set) > 0);
	for (int64_t i = 0; i < ls_dataset_count(set); i++) {
		for (int64_t b = 0; b < bytes; b++)
			sum += ls_dataset_sample(set, i)[b];
		FUZZ_CHECK(ls_dataset_label(set, i) >= 0 && ls_dataset_label(set, i) < ls_dataset_classes(set));
	}
	FUZZ_CHECK(ls_dataset_root(set, &root) == LS_OK && sum < UINT32_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	ls_dataset_options options = LS_DATASET_OPTIONS_INIT;
	ls_dataset *set = NULL;
	char first[96], second[96];
	size_t half, kind;
	if (size < 2)
		return 0;
	kind = data[0] % (sizeof formats / sizeof *formats);
	half = formats[kind].second ? (size - 2) * data[1] / 256 : size - 2;
	mkdir(fuzz_path("set"), 0755);
	snprintf(first, sizeof first, "set/%s", formats[kind].first);
	fuzz_write(first, data + 2, half);
	if (formats[kind].second) {
		snprintf(second, sizeof second, "set/%s", formats[kind].second);
		fuzz_write(second, data + 2 + half, size - 2 - half);
	}
	options.format = formats[kind].format;
	options.path = fuzz_path("set");
	if (strcmp(formats[kind].format, "csv") == 0)
		memcpy(options.shape, (const int64_t[]){1, 2, 2}, sizeof options.shape);
	if (ls_dataset_open(&set, &options, NULL) == LS_OK)
		read_all(set);
	ls_dataset_free(set);
	unlink(fuzz_path(first));
	if (formats[kind].second)
		unlink(fuzz_path(second));
	return 0;
}
