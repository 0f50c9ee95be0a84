// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

// What a program built with a newer glibc asks for and glibc 2.34 does not have. Linked into the released program only.

#include <stdlib.h>
#include <sys/random.h>

// The static libstdc++ of GCC 12 asks for it; glibc has it since 2.36.
unsigned int arc4random(void) {
    unsigned int number;
    // The system gives up to 256 bytes at once and whole, once it has any at all; without random numbers nothing of this program is safe.
    if (getrandom(&number, sizeof number, 0) != sizeof number) abort();
    return number;
}

// glibc 2.35 gave them a new version, which sets no errno. The old one is as exact.
#if defined(__x86_64__)
#define FIRST "GLIBC_2.2.5"
#else
#define FIRST "GLIBC_2.17"
#endif
__asm__(".symver first_hypot, hypot@" FIRST);
__asm__(".symver first_hypotf, hypotf@" FIRST);
double first_hypot(double x, double y);
float first_hypotf(float x, float y);
double hypot(double x, double y) { return first_hypot(x, y); }
float hypotf(float x, float y) { return first_hypotf(x, y); }
