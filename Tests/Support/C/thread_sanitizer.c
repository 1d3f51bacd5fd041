/* The thread sanitizer sees the fast way into Swift's Mutex, which is compiled into its user, but not the slow one, which is in the runtime: after a
   wait it would take everything that the mutex protects for a race. Where it is on, and nowhere else, this stands in for the slow way; it waits
   by asking again. The word holds the owner's thread id, or 0 (stdlib/public/Synchronization/Mutex/LinuxImpl.swift). */
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#include <sched.h>
#include <stdint.h>

__attribute__((swiftcall)) void lock_slowly(uint32_t thread, __attribute__((swift_context)) uint32_t *word) __asm__(
    "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF");

__attribute__((swiftcall)) void lock_slowly(uint32_t thread, __attribute__((swift_context)) uint32_t *word) {
    uint32_t free = 0;
    while (!__atomic_compare_exchange_n(word, &free, thread, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
        free = 0;
        sched_yield();
    }
}
#endif
#endif
