// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

// Tells the thread sanitizer about two hand-overs that the Swift 6.3 runtime on Linux makes where it cannot see them.
//
// 1. A contended `Synchronization.Mutex`: the uncontended lock is an atomic operation in our own code, which the sanitizer sees; the
//    contended one is a futex in libswiftSynchronization.so, which is not instrumented, so each contended Mutex looked like a race
//    between two closures that hold the same lock.
// 2. A continuation that is resumed before its task waits: what was written before the resumption looked unrelated to the task.
//
// Programs of ten lines show both. Preloaded, this puts an acquire and a release around the runtime's own functions. A race that is
// one is reported as before. Without the sanitizer nothing changes.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>

#define SWIFT __attribute__((swiftcall))
#define SELF __attribute__((swift_context))

extern void __tsan_acquire(void *) __attribute__((weak));
extern void __tsan_release(void *) __attribute__((weak));

#define LOCK "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define UNLOCK "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"
#define TRY "$s15Synchronization12_MutexHandleV12_tryLockSlowSbyF"

static void *following(const char *name) {
    void *symbol = dlsym(RTLD_NEXT, name);
    if (!symbol) abort();
    return symbol;
}

SWIFT void sealward_lock(uint32_t thread, SELF void *handle) __asm__(LOCK);
SWIFT void sealward_lock(uint32_t thread, SELF void *handle) {
    SWIFT void (*next)(uint32_t, SELF void *) = (SWIFT void (*)(uint32_t, SELF void *))following(LOCK);
    next(thread, handle);
    if (__tsan_acquire) __tsan_acquire(handle);
}

SWIFT void sealward_unlock(SELF void *handle) __asm__(UNLOCK);
SWIFT void sealward_unlock(SELF void *handle) {
    SWIFT void (*next)(SELF void *) = (SWIFT void (*)(SELF void *))following(UNLOCK);
    if (__tsan_release) __tsan_release(handle);
    next(handle);
}

SWIFT _Bool sealward_try(SELF void *handle) __asm__(TRY);
SWIFT _Bool sealward_try(SELF void *handle) {
    SWIFT _Bool (*next)(SELF void *) = (SWIFT _Bool (*)(SELF void *))following(TRY);
    _Bool taken = next(handle);
    if (taken && __tsan_acquire) __tsan_acquire(handle);
    return taken;
}

#define ASYNC __attribute__((swiftasynccall))
extern SWIFT void *swift_task_getCurrent(void) __attribute__((weak));
typedef SWIFT void (*resume_t)(void *);
typedef SWIFT void (*resume_error_t)(void *, void *);
typedef ASYNC void (*await_t)(void *);

SWIFT void swift_continuation_resume(void *task) {
    if (__tsan_release) __tsan_release(task);
    ((resume_t)following("swift_continuation_resume"))(task);
}

SWIFT void swift_continuation_throwingResume(void *task) {
    if (__tsan_release) __tsan_release(task);
    ((resume_t)following("swift_continuation_throwingResume"))(task);
}

SWIFT void swift_continuation_throwingResumeWithError(void *task, void *error) {
    if (__tsan_release) __tsan_release(task);
    ((resume_error_t)following("swift_continuation_throwingResumeWithError"))(task, error);
}

ASYNC void swift_continuation_await(void *context) {
    await_t next = (await_t)following("swift_continuation_await");
    if (__tsan_acquire) __tsan_acquire(swift_task_getCurrent());
    __attribute__((musttail)) return next(context);
}
