/* lockstep-peak: what this processor can do at most, on one thread, to compare kernels with. Prints one JSON object:
 * fp64_gflops, fp32_gflops (multiply-adds on registers alone, two operations each) and sha256_mb (10⁶ bytes a second,
 * of one long message). Each is the best of several short runs, by the processor time of the thread.
 */
#include "rates.h"

#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>

enum { RUNS = 7, MESSAGE = 1 << 20, MESSAGES = 16 };

static double sha256_mb(void)
{
	static unsigned char message[MESSAGE];
	unsigned char digest[32];
	double best = 0;
	memset(message, 1, sizeof message);
	for (int i = 0; i < RUNS; i++) {
		double start = rates_now(), rate;
		for (int m = 0; m < MESSAGES; m++)
			if (EVP_Digest(message, sizeof message, digest, NULL, EVP_sha256(), NULL) != 1)
				return 0;
		rate = 1e-6 * MESSAGE * MESSAGES / (rates_now() - start);
		if (rate > best)
			best = rate;
	}
	return best;
}

int main(void)
{
	double fp64 = rates_fp64(), fp32 = rates_fp32();
	return printf("{\"fp64_gflops\": %.1f, \"fp32_gflops\": %.1f, \"sha256_mb\": %.0f}\n", fp64, fp32, sha256_mb()) < 0;
}
