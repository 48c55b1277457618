/* How fast the thread that asks can multiply and add, to compare kernels with: multiply-adds on registers alone, two
 * operations each, in 10⁹ a second; the best of several short runs by the thread's own time.
 */
#ifndef LS_TOOLS_RATES_H
#define LS_TOOLS_RATES_H

double rates_fp64(void);
double rates_fp32(void);
/* Seconds of processor time of this thread. */
double rates_now(void);

#endif
