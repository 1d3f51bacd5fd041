/* What the Glibc module lacks: constants hidden by _GNU_SOURCE and variadic calls. Each returns 0 or more,
   or the negated errno. */
#ifndef VAULT_SHIM_H
#define VAULT_SHIM_H
#include <dirent.h>
#include <stddef.h>
#include <stdint.h>

/* Open-file-description lock on the whole file. */
int vault_lock_exclusive(int fd);
int vault_unlock(int fd);
/* 1 if another description holds the lock, 0 if none does. */
int vault_lock_is_held(int fd);

/* The name of the next entry of a directory, NULL after the last. Reading it as Swift sees it, as an array of 256 bytes, would read past it. */
const char *vault_next_name(DIR *directory);

/* rename(2) that fails if the target exists. */
int vault_rename_noreplace(const char *from, const char *to);

/* Copies at the descriptors' own offsets; returns the bytes copied, 0 at the end of the source. */
int64_t vault_copy_file_range(int from, int64_t from_offset, int to, int64_t to_offset, size_t count);

/* open(2) with O_CLOEXEC; the mode is used with O_CREAT only. */
int vault_open(const char *path, int flags, uint32_t mode);

/* Which file it is, how many names it has, and its size. */
struct vault_file {
    uint64_t device;
    uint64_t inode;
    uint64_t links;
    uint64_t size;
};
/* Of an open file, or of a path where `path` is not NULL; follows symbolic links. Times are not asked for: since Linux 6.13, a file whose times were
   looked at gets new ones with the next write, which the sync after it must bring to the disk. */
int vault_look_at(int fd, const char *path, struct vault_file *file);

/* 1 if the file system of an open file is kept in memory (tmpfs, ramfs), else 0. */
int vault_is_in_memory(int fd);

/* Extended attributes: sizes or bytes read; with a size of 0, what a buffer needs. */
int64_t vault_list_attributes(int fd, char *names, size_t size);
int64_t vault_get_attribute(int fd, const char *name, void *value, size_t size);
int vault_set_attribute(int fd, const char *name, const void *value, size_t size);

/* Forbids core dumps and reading this process's memory by others of the same user. */
int vault_harden_process(void);

/* Lets a program take this one's place, found in PATH, with this environment; returns only where it fails. */
int vault_execute(char *const arguments[], char *const environment[]);

/* The user's keyring in the kernel. A key has a description, and is wiped after its timeout; one of the same description is replaced.
   -ENOKEY, -EKEYEXPIRED and -EKEYREVOKED: there is none. -ENOSYS, -EPERM, -EACCES: the system has, or lends, no keyring. */
int64_t vault_key_keep(const char *description, const void *payload, size_t size, uint32_t seconds);
/* Copies a payload of at most `size` bytes; returns its length, also where that is more. */
int64_t vault_key_find(const char *description, void *payload, size_t size);
int64_t vault_key_drop(const char *description);
/* Drops all keys whose descriptions begin so; returns how many. */
int64_t vault_key_drop_all(const char *prefix);
#endif
