/* Lockstep: commitments. SHA-256, Merkle trees after RFC 9162 section 2.1, and the canonical bytes of every leaf
 * (spec/encodings.md). All integers are little-endian; a string is a u32 length and its bytes.
 *
 *   leaf hash = SHA-256(0x00 ‖ leaf)     node hash = SHA-256(0x01 ‖ left ‖ right)     head of no leaves = SHA-256("")
 *
 * Every leaf starts with one of the tags below, so that bytes made for one tree never mean anything in another.
 * Sizes of trees come from a signed head, a program or a shape, never from the proof that is being checked.
 */
#ifndef LOCKSTEP_COMMIT_H
#define LOCKSTEP_COMMIT_H

#include <lockstep/base.h>

#define LS_TAG_JOB "ls1/job"
#define LS_TAG_RUN_ID "ls1/runid"
#define LS_TAG_RUN "ls1/run"
#define LS_TAG_STEP "ls1/step"
#define LS_TAG_STATE "ls1/state"
#define LS_TAG_CHUNK "ls1/chunk"
#define LS_TAG_LOG "ls1/log"
#define LS_TAG_OP "ls1/op"
#define LS_TAG_DATA "ls1/data"

/* ---- digests ---- */

#define LS_HASH_BYTES 32
#define LS_HASH_HEX_SIZE (2 * LS_HASH_BYTES + 1) /* hex text with its NUL */

typedef struct ls_hash {
	uint8_t byte[LS_HASH_BYTES];
} ls_hash;

bool ls_hash_equal(const ls_hash *a, const ls_hash *b);
/* Lower-case hex with NUL. */
void ls_hash_hex(char out[LS_HASH_HEX_SIZE], const ls_hash *h);
/* Exactly 64 hex digits, either case; false where the text is anything else. */
bool ls_hash_unhex(ls_hash *out, const char *text);

/* The leaf hash of tag ‖ data: a digest in its own right (job id, metrics, …). Opens a context for the one call.
 * LS_ERR_NOMEM or LS_ERR_UNSUPPORTED where libcrypto cannot. */
ls_status ls_hash_tagged(ls_hash *out, const char *tag, const void *data, size_t len);
/* H("ls1/runid", job id ‖ trainer key ‖ nonce). `trainer_key` is 32 zero bytes for an unsigned run. */
ls_status ls_run_id(ls_hash *out, const ls_hash *job, const uint8_t trainer_key[32], const uint8_t nonce[32]);

/* SHA-256 contexts, one per worker of a pool, opened once and used for every call after. One caller at a time, as for
 * ls_pool; calls that take no pool use the context of worker 0. */
typedef struct ls_hasher ls_hasher;

/* `workers` in 1…4096, at least the threads of any pool used with it. */
ls_status ls_hasher_open(ls_hasher **out, int workers, ls_error *err);
void ls_hasher_free(ls_hasher *h);
int ls_hasher_workers(const ls_hasher *h);

ls_status ls_hash_leaf(ls_hash *out, const void *leaf, size_t len, ls_hasher *h);
ls_status ls_hash_node(ls_hash *out, const ls_hash *left, const ls_hash *right, ls_hasher *h);

/* ---- Merkle tree heads, leaf by leaf ---- */

/* node[l] is the head of a complete subtree of 2^l leaves and is in use iff bit l of `size` is set. A plain value: it
 * may be copied (to take heads of prefixes) and needs no release. It borrows the hasher. */
typedef struct ls_tree {
	ls_hash node[64];
	uint64_t size;
	ls_hasher *hasher;
	int worker;
	ls_status status; /* first failure; later pushes do nothing, ls_tree_head returns it */
} ls_tree;

/* `worker` < ls_hasher_workers(h): whose context the tree uses; 0 outside pool tasks. */
void ls_tree_init(ls_tree *t, ls_hasher *h, int worker);
void ls_tree_push(ls_tree *t, const void *leaf, size_t len);
/* Pushes the leaf tag ‖ data without copying it. */
void ls_tree_push_tagged(ls_tree *t, const char *tag, const void *data, size_t len);
void ls_tree_push_hash(ls_tree *t, const ls_hash *leaf_hash);
/* The head over the leaves so far; pushing may go on. */
ls_status ls_tree_head(const ls_tree *t, ls_hash *out);

/* ---- proofs (RFC 9162 sections 2.1.3 and 2.1.4) ---- */

#define LS_PROOF_MAX 64 /* hashes in the longest inclusion proof; a consistency proof may hold one more */

/* The path of leaf `index` among `size` leaf hashes; index < size (else LS_ERR_USAGE). Hashes size−1 nodes. */
ls_status ls_inclusion_make(ls_hash proof[LS_PROOF_MAX], size_t *count, const ls_hash *leaf_hashes, uint64_t size,
                            uint64_t index, ls_hasher *h);
/* `*valid` answers whether the leaf hash is leaf `index` of the tree of `size` leaves with head `root`. Any `count` is
 * acceptable input; one of the wrong length is an invalid proof. */
ls_status ls_inclusion_verify(bool *valid, const ls_hash *root, uint64_t size, const ls_hash *leaf_hash, uint64_t index,
                              const ls_hash *proof, size_t count, ls_hasher *h);
/* That the tree over the first `old_size` leaves is a prefix of the tree over all `size`; 1 ≤ old_size ≤ size. */
ls_status ls_consistency_make(ls_hash proof[LS_PROOF_MAX + 1], size_t *count, const ls_hash *leaf_hashes, uint64_t size,
                              uint64_t old_size, ls_hasher *h);
/* `*valid` is false for old_size 0 and old_size > size. */
ls_status ls_consistency_verify(bool *valid, const ls_hash *old_root, uint64_t old_size, const ls_hash *root,
                                uint64_t size, const ls_hash *proof, size_t count, ls_hasher *h);

/* ---- multiproofs: several leaves of one tree (spec/encodings.md, section 1) ---- */

/* A leaf that is shown, by its place. */
typedef struct ls_shown_leaf {
	uint64_t index;
	ls_hash hash;
} ls_shown_leaf;

/* The proof of the leaves at `index`, strictly ascending and below `size`, 1 ≤ count (else LS_ERR_USAGE): heads of the
 * largest subtrees without any of them, depth-first, left before right. `proof` has room for `room` hashes; LS_ERR_LIMIT
 * where that does not do: at most LS_PROOF_MAX for each leaf are needed. */
ls_status ls_multiproof_make(ls_hash *proof, size_t room, size_t *count, const ls_hash *leaf_hashes, uint64_t size,
                             const uint64_t *index, size_t indexes, ls_hasher *h);
/* `*valid` answers whether all of the leaves are in the tree. Leaves that are none, not strictly ascending or beyond the
 * size make an invalid proof, as do hashes too many or too few. */
ls_status ls_multiproof_verify(bool *valid, const ls_hash *root, uint64_t size, const ls_shown_leaf *leaf, size_t leaves,
                               const ls_hash *proof, size_t count, ls_hasher *h);

/* ---- tensors ---- */

#define LS_CHUNK_WORDS 256 /* 1 KiB */

/* Head over the chunks of `count` 32-bit words (FP32 or int32, host order in memory, hashed little-endian):
 * leaf = "ls1/chunk" ‖ up to 256 words, the last with its true length; no words give the head of no leaves. Work is
 * spread over `pool` (may be NULL); nothing is allocated. LS_ERR_USAGE where the pool has more threads than `h`
 * has workers or count < 0. */
ls_status ls_tensor_root(ls_hash *out, const void *words, int64_t count, ls_pool *pool, ls_hasher *h);

typedef struct ls_tensor_words {
	const void *words; /* borrowed */
	int64_t count;
	ls_hash root;      /* out */
} ls_tensor_words;
/* The roots of many tensors, as ls_tensor_root gives them, in one job for all threads: a state has many small ones. */
ls_status ls_tensor_roots(ls_tensor_words *tensor, size_t tensors, ls_pool *pool, ls_hasher *h);
/* Leaf hash of one chunk of 1…256 words. */
ls_status ls_chunk_hash(ls_hash *out, const void *words, int count, ls_hasher *h);
int64_t ls_chunk_count(int64_t words); /* ⌈words/256⌉ */

#define LS_COMMIT_RANK_MAX 8
#define LS_COMMIT_NAME_MAX 255 /* bytes, without NUL */

/* What a state or step leaf says about one tensor. */
typedef struct ls_tensor_entry {
	const char *name; /* borrowed; 1…255 bytes */
	uint8_t dtype;    /* the codes of program.h */
	uint8_t rank;     /* 0…8 */
	int64_t dims[LS_COMMIT_RANK_MAX]; /* the first `rank` count, each ≥ 0 */
	ls_hash root;
} ls_tensor_entry;

/* Appends "ls1/state" ‖ name ‖ dtype u8 ‖ rank u8 ‖ dims u64 … ‖ tensor root. LS_ERR_USAGE where a field is outside its
 * bounds; otherwise the status of `out`. */
ls_status ls_state_leaf_encode(ls_buf *out, const ls_tensor_entry *entry);
/* Head over the state leaves of `entries`, which must be strictly ascending by the bytes of their names
 * (LS_ERR_INPUT otherwise: an imported state may well hold a name twice). */
ls_status ls_state_root(ls_hash *out, const ls_tensor_entry *entries, size_t count, ls_hasher *h, ls_error *err);
/* Brings entries into that order. */
void ls_state_sort(ls_tensor_entry *entries, size_t count);

/* Appends the leaf of one op in a step tree: "ls1/step" ‖ op u32 ‖ outputs u32 ‖ per output name, dtype, rank, dims,
 * root as in a state leaf. */
ls_status ls_step_leaf_encode(ls_buf *out, uint32_t op, const ls_tensor_entry *outputs, uint32_t count);

/* ---- data sets ---- */

typedef struct ls_data_part {
	const char *name; /* "images", "labels", …; 1…255 bytes */
	const void *bytes;
	uint64_t len;
} ls_data_part;

/* Leaf 0: "ls1/data" ‖ 0x00 ‖ format ‖ samples u64 ‖ rank u8 ‖ dims u64 … ‖ parts u32 ‖ per part name, bytes u64.
 * Then, part after part, leaves "ls1/data" ‖ 0x01 ‖ up to 1024 bytes; a chunk never crosses a part.
 * `dims` is the shape of one sample; at most 8 parts (LS_ERR_USAGE otherwise). */
ls_status ls_data_head_encode(ls_buf *out, const char *format, uint64_t samples, const int64_t *dims, int rank,
                              const ls_data_part *parts, uint32_t part_count); /* appends leaf 0 */
ls_status ls_data_root(ls_hash *out, const char *format, uint64_t samples, const int64_t *dims, int rank,
                       const ls_data_part *parts, uint32_t part_count, ls_hasher *h);

/* ---- rounding logs ---- */

/* Pushes the leaf "ls1/log" ‖ step u64 ‖ op u32 ‖ frame u32 ‖ coded frame. A frame without entries is pushed too, with
 * len 0, so that absence has a leaf to open. The head over the frames of steps (i−1)k+1…min(ik,N), ascending by step,
 * op, frame, is the log root of run leaf i. */
void ls_log_push(ls_tree *t, uint64_t step, uint32_t op, uint32_t frame, const void *bytes, size_t len);
/* The same leaf as bytes, for evidence. Returns the status of `out`. */
ls_status ls_log_leaf_encode(ls_buf *out, uint64_t step, uint32_t op, uint32_t frame, const void *bytes, size_t len);

/* ---- run leaves ---- */

typedef enum ls_leaf_kind {
	LS_LEAF_START = 0, /* leaf 0: "ls1/run" ‖ 0x00 ‖ job id ‖ run id ‖ initial state root */
	LS_LEAF_STEP = 1   /* leaf i: "ls1/run" ‖ 0x01 ‖ run id ‖ step u64 ‖ state root ‖ log root ‖ metrics digest */
} ls_leaf_kind;

typedef struct ls_leaf {
	ls_leaf_kind kind;
	uint64_t step;        /* LS_LEAF_STEP: the last step it covers, ≥ 1; 0 in LS_LEAF_START */
	ls_hash job;          /* LS_LEAF_START; zero otherwise */
	ls_hash run;
	ls_hash state;
	ls_hash log, metrics; /* LS_LEAF_STEP; zero otherwise */
} ls_leaf;

#define LS_LEAF_BYTES_START 104
#define LS_LEAF_BYTES_STEP 144
#define LS_LEAF_BYTES_MAX 144 /* of either kind */

/* Appends the leaf's bytes. LS_ERR_USAGE where kind or step are outside their bounds. */
ls_status ls_leaf_encode(ls_buf *out, const ls_leaf *leaf);
/* Accepts exactly the byte strings that ls_leaf_encode writes; LS_ERR_INPUT otherwise. */
ls_status ls_leaf_decode(ls_leaf *out, const void *data, size_t len, ls_error *err);

/* ---- heads ---- */

/* What a trainer signs: the body of a C2SP checkpoint (c2sp.org/tlog-checkpoint) without its signature lines,
 *   lockstep/<run id, 64 hex digits>\n<leaves, decimal>\n<root, base64>\n */
typedef struct ls_head {
	ls_hash run;
	uint64_t size; /* leaves, ≥ 1 */
	ls_hash root;
} ls_head;

#define LS_HEAD_TEXT_SIZE 160 /* room for any head text with its NUL */

/* Writes the text with NUL. */
void ls_head_encode(char out[LS_HEAD_TEXT_SIZE], const ls_head *head);
/* Accepts exactly the texts that ls_head_encode writes for size ≥ 1; LS_ERR_INPUT otherwise. */
ls_status ls_head_parse(ls_head *out, const char *text, size_t len, ls_error *err);

#endif
