// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

// The static libstdc++ of GCC 12 asks for arc4random, which glibc has since 2.36. Linked into the released program only, so that it runs on 2.34.

#include <stdlib.h>
#include <sys/random.h>

unsigned int arc4random(void) {
    unsigned int number;
    // The system gives up to 256 bytes at once and whole, once it has any at all; without random numbers nothing of this program is safe.
    if (getrandom(&number, sizeof number, 0) != sizeof number) abort();
    return number;
}
