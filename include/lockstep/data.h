/* Lockstep: data sets. A loader reads one file format into memory; what follows (order, augmentation, batches) is the
 * business of ops and sees raw samples only. A format is one file src/data/NAME.c and one row in src/data/loader.c.
 */
#ifndef LOCKSTEP_DATA_H
#define LOCKSTEP_DATA_H

#include <lockstep/base.h>
#include <lockstep/commit.h>

#define LS_DATASET_BYTES_MAX (INT64_C(1) << 30) /* of samples, decompressed */
#define LS_DATASET_CLASSES_MAX 65536
#define LS_DATASET_SIDE_MAX 65536 /* channels, height or width of a sample */
#define LS_DATASET_LENGTH_MAX (INT64_C(1) << 20) /* tokens of one sequence */
#define LS_DATASET_HOLDOUT_MAX 0.5
#define LS_DATASET_BUILTIN "builtin:verses" /* path of the text that is part of the program */

typedef struct ls_dataset ls_dataset;

typedef struct ls_dataset_options {
	uint32_t version;   /* 1 */
	const char *format; /* "cifar10", "csv", "idx", "npy"; "text", "tokens" */
	const char *path;   /* folder, or the file of text and tokens; NULL is "" */
	const char *split;  /* "train" or "test" */
	int64_t limit;      /* the first n samples, n ≥ 1; 0 takes all */
	int64_t shape[3];   /* channels, height, width of a sample, or zeros; "csv" needs it, the others must agree with it */
	/* Formats "text" and "tokens", which need the first and at most one of the next two; others take none of them. */
	int64_t length;        /* tokens of one sequence, 1 … LS_DATASET_LENGTH_MAX; else 0 */
	const char *eval_path; /* the file of split "test"; NULL: none */
	double holdout;        /* share of the end of `path` that is split "test" instead of "train", ≤ LS_DATASET_HOLDOUT_MAX */
	const char *tokenizer, *vocab; /* format "text": as ls_tokenizer_open takes them; tokenizer.h */
} ls_dataset_options;

#define LS_DATASET_OPTIONS_INIT {.version = 1, .format = "idx", .split = "train", .tokenizer = "bytes"}

/* Reads and checks one split. Fewer samples than `limit` is an error; with a limit the bytes past the last sample taken
 * are not read, so nothing is said about them. Every file may also lie there compressed, with ".gz" after its name (one
 * gzip member); a plain file wins.
 *
 * Format "idx" (yann.lecun.com/exdb/mnist): train-images-idx3-ubyte and train-labels-idx1-ubyte, or t10k-… for "test".
 * Where `path` is "fashion-mnist" or "" and the images are not there, the folder of Debian's package
 * dataset-fashion-mnist is tried.
 *
 * Format "cifar10" (cs.toronto.edu/~kriz/cifar.html, binary version): those of data_batch_1.bin … data_batch_99.bin that
 * are there, at least one, in order of number; test_batch.bin for "test". Records of a label 0…9 and 3 × 32 × 32 bytes.
 *
 * Format "csv": train.csv or test.csv. The first line names the columns, exactly one of them `label`; the others, in their
 * order, are the bytes of a sample in CHW order. Every further line holds whole decimal numbers 0…255 without sign, space,
 * quote or leading zero. Lines end in LF or CR LF, the last one may end with the file.
 *
 * Format "npy" (numpy.lib.format): images.npy of bytes (N, H, W) or (N, C, H, W) and labels.npy (N) of any integer type
 * with values 0…255; test_images.npy and test_labels.npy for "test". C order only; nothing that would need pickle.
 *
 * Format "text" is a file of any bytes, of which a tokenizer makes a stream of tokens, or LS_DATASET_BUILTIN. Format "tokens"
 * is a stream that was made before: unsigned 16-bit little-endian numbers, or the same behind the header that llm.c writes
 * (github.com/karpathy/llm.c, dev/data): 256 little-endian 32-bit numbers, which are 20240520, 1 and the number of tokens. A
 * sample is a sequence of `length` tokens: sample i begins at token i·length, and the label of a token is the one after it.
 * So the split's first count·length + 1 tokens are taken, with their text, and no others. The last ⌊holdout·n⌋ of the n bytes
 * of a text, or tokens of a stream, are held out; in a text that cut moves back to the beginning of a character.
 *
 * LS_ERR_USAGE (options), LS_ERR_NOT_FOUND (a file), LS_ERR_INPUT (what a file says), LS_ERR_LIMIT (more than
 * LS_DATASET_BYTES_MAX), LS_ERR_IO, LS_ERR_NOMEM. */
ls_status ls_dataset_open(ls_dataset **out, const ls_dataset_options *options, ls_error *err);
void ls_dataset_free(ls_dataset *ds);

int64_t ls_dataset_count(const ls_dataset *ds); /* samples, ≥ 1 */
void ls_dataset_shape(const ls_dataset *ds, int64_t shape[3]); /* channels, height, width of one sample */
const char *ls_dataset_format(const ls_dataset *ds);
/* Channels × height × width bytes in CHW order, borrowed until ls_dataset_free; 0 ≤ i < count. Not for tokens, nor is
 * ls_dataset_label. */
const uint8_t *ls_dataset_sample(const ls_dataset *ds, int64_t i);
int32_t ls_dataset_label(const ls_dataset *ds, int64_t i);
/* The largest label or token taken, plus one: 1 … LS_DATASET_CLASSES_MAX. */
int32_t ls_dataset_classes(const ls_dataset *ds);

/* Is a data set of this format a stream of tokens? Its shape is then {1, 1, length}. */
bool ls_data_format_is_tokens(const char *format);
bool ls_dataset_is_tokens(const ls_dataset *ds);
int64_t ls_dataset_tokens(const ls_dataset *ds); /* count·length + 1 of them; 0 where there are none */
int32_t ls_dataset_token(const ls_dataset *ds, int64_t i); /* 0 ≤ i < ls_dataset_tokens */

/* The parts of the data tree, as below, borrowed until ls_dataset_free; returns how many there are. */
#define LS_DATASET_PARTS_MAX 3
uint32_t ls_dataset_parts(const ls_dataset *ds, ls_data_part out[LS_DATASET_PARTS_MAX]);

/* The data root (commit.h, ls_data_root) of what was taken: format, count, shape, then the parts "images" and "labels"
 * as decompressed bytes without file headers. Of tokens the parts are "tokens" (u16 each) and, before it, where they were made
 * of a text, "tokenizer" (ls_tokenizer_describe) and "text". Plain and compressed copies of the same data have one root. */
ls_status ls_dataset_root(const ls_dataset *ds, ls_hash *out);

#endif
