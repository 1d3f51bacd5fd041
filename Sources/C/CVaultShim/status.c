/* stat(2) for Swift. If one compiler process reads both a file that uses the system's structure and Foundation, it mistakes the structure's members
   for CoreFoundation's and rejects them. */
#define _GNU_SOURCE
#include "vault_shim.h"
#include <sys/stat.h>

static int copied(int result, const struct stat *from, struct vault_status *to) {
    if (result != 0) return result;
    *to = (struct vault_status){
        .mode = from->st_mode,
        .owner = from->st_uid,
        .device = from->st_dev,
        .number = from->st_ino,
        .size = from->st_size,
        .modified_seconds = from->st_mtim.tv_sec,
        .modified_nanoseconds = from->st_mtim.tv_nsec,
        .changed_seconds = from->st_ctim.tv_sec,
        .changed_nanoseconds = from->st_ctim.tv_nsec,
    };
    return 0;
}

int vault_status_of(const char *path, bool follows, struct vault_status *status) {
    struct stat found;
    return copied(follows ? stat(path, &found) : lstat(path, &found), &found, status);
}

int vault_status_of_open(int descriptor, struct vault_status *status) {
    struct stat found;
    return copied(fstat(descriptor, &found), &found, status);
}
