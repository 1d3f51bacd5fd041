/* What the Glibc module lacks: constants hidden by _GNU_SOURCE and variadic calls. Each returns 0 or more,
   or the negated errno. */
#ifndef VAULT_SHIM_H
#define VAULT_SHIM_H
#include <dirent.h>
#include <spawn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Open-file-description lock on the whole file. */
int vault_lock_exclusive(int fd);
int vault_unlock(int fd);
/* 1 if another description holds the lock, 0 if none does. */
int vault_lock_is_held(int fd);

/* The name of the next entry of a directory, NULL after the last. Reading it as Swift sees it, as an array of 256 bytes, would read past it. */
const char *vault_next_name(DIR *directory);

/* Makes a file, 0600, in a folder and without a name; where that is not possible, an error. */
int vault_open_unnamed(const char *folder);
/* Gives it a name; -EEXIST if there is one. */
int vault_link_open(int fd, const char *path);

/* Makes the names in a directory durable. */
int vault_sync_directory(const char *path);

/* pwrite(2) that fails with EFBIG at the limit for files (RLIMIT_FSIZE), without the signal. */
int64_t vault_write_at(int fd, const void *bytes, size_t size, int64_t offset);

/* rename(2) that fails if the target exists, on every file system: where it lacks RENAME_NOREPLACE, by link(2) and unlink(2), and where it lacks hard links too, over
   an empty file of its own. */
int vault_rename_noreplace(const char *from, const char *to);

/* Copies at the descriptors' own offsets; returns the bytes copied, 0 at the end of the source. */
int64_t vault_copy_file_range(int from, int64_t from_offset, int to, int64_t to_offset, size_t count);

/* What stat(2) says of a file. */
struct vault_status {
    uint32_t mode, owner;
    uint64_t device, number;
    int64_t size, changed_seconds, changed_nanoseconds;
};
/* stat(2), or lstat(2) where links are not followed; and fstat(2). -1 and errno where they fail. */
int vault_status_of(const char *path, bool follows, struct vault_status *status);
int vault_status_of_open(int descriptor, struct vault_status *status);

/* open(2) with O_CLOEXEC, never on a descriptor below 3. The mode is used with O_CREAT; with O_EXCL too, the file has at least this mode whatever the umask. */
int vault_open(const char *path, int flags, uint32_t mode);
/* opendir(3), never on a descriptor below 3; NULL and errno where it fails. */
DIR *vault_open_directory(const char *path);
/* For programs, before anything else: opens the null device on each closed one of the descriptors 0, 1 and 2. Reading from it or writing to it fails with EBADF,
   as it would on the closed descriptor. */
int vault_fill_standard_descriptors(void);

/* The arguments that the process was started with, from the loader. The Swift runtime looks for them next to the environment, and loses them where a
   preloaded library has replaced that. */
int vault_argument_count(void);
const char *vault_argument(int index);

/* Another descriptor of an open file, closed by exec, with the first free number from `least` on. */
int vault_duplicate(int fd, int least);

/* Which file it is, how many names it has, and its size. */
struct vault_file {
    uint64_t device;
    uint64_t inode;
    uint64_t links;
    uint64_t size;
};
/* Of an open file, or of a path where `path` is not NULL; follows symbolic links. Times are not asked for: since Linux 6.13, a file whose times were
   looked at gets new ones with the next write, which the sync after it must bring to the disk. */
int vault_stat(int fd, const char *path, struct vault_file *file);

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

/* Has what is spawned lead a session of its own, and start with the signal mask that the attributes hold. */
int vault_spawn_in_new_session(posix_spawnattr_t *attributes);

/* The user's keyring in the kernel. A key has a description, and is wiped after its timeout; one of the same description is replaced.
   -ENOKEY, -EKEYEXPIRED and -EKEYREVOKED: there is none. -ENOSYS, -EPERM, -EACCES: the system has, or lends, no keyring. */
int64_t vault_key_keep(const char *description, const void *payload, size_t size, uint32_t seconds);
/* Copies a payload of at most `size` bytes; returns its length, also where that is more. */
int64_t vault_key_find(const char *description, void *payload, size_t size);
int64_t vault_key_drop(const char *description);
/* The serial numbers of all keys whose descriptions begin so, at most `count` of them; returns how many there are, or were when it looked. Of those,
   some may be gone by now, or have had their time. */
int64_t vault_keys(const char *prefix, int32_t *keys, size_t count);
/* A key's payload, as vault_key_find. */
int64_t vault_key_read(int32_t key, void *payload, size_t size);
int64_t vault_key_drop_numbered(int32_t key);

/* A process's turn at its terminal, in terminal.c. There is one at a time; its calls are of one thread. */

/* Whether this process may read from the terminal now: 0 where another job of the session has it. */
int vault_terminal_is_foreground(int terminal);
/* Opens the device of a terminal that was opened as /dev/tty, whose own inode all terminals share. -ENOENT: it cannot be opened by a name. */
int vault_terminal_open_itself(int terminal);
/* Waits for the lock (flock) of an open file, interruptible by what ends the process; 1 if another process held it first. */
int vault_wait_for_lock(int fd);
/* 1 if another description holds that lock. */
int vault_is_locked_elsewhere(int fd);

enum vault_turn_state {
    VAULT_TURN_NONE,
    /* Echo is off. Signals that end or stop the process put the terminal back first. */
    VAULT_TURN_WORKING,
    /* A line is being read. Signals are written to the pipe, a byte each. */
    VAULT_TURN_ASKING,
    /* The process was stopped while it worked: terminal and lock were given up. */
    VAULT_TURN_LOST,
};
int vault_turn_state(void);
/* Notes how the terminal is and catches signals. `lock` may be -1; `note` is the writing end of a pipe that does not block. */
int vault_turn_begin(int terminal, int lock, int note);
/* Drops what was typed so far, and sets the echo for a question. */
int vault_turn_ask(int is_hidden);
/* Echo off, until the next question. */
int vault_turn_work(void);
/* Puts back the terminal and the signals. The lock is the caller's to give up. */
void vault_turn_end(void);

/* How a terminal was before a turn, and how it is while nothing typed is shown. */
struct vault_terminal_modes {
    unsigned char before[128];
    unsigned char hidden[128];
};
void vault_turn_modes(struct vault_terminal_modes *modes);
/* Puts a terminal back that still is as a turn has set it, if no other process has the lock. */
void vault_terminal_restore(int terminal, int lock, const struct vault_terminal_modes *modes);

/* realloc and free for libraries that hold secrets: what is released is overwritten first. */
void *vault_wiping_realloc(void *block, size_t size);
void vault_wiping_free(void *block);
/* Overwrites what functions that the caller has called just before have left on the stack. */
void vault_wipe_stack(void);

/* A number of this process that none of its ancestors and descendants has. Costs a read of memory. */
uint64_t vault_process(void);
/* A number of this thread that no other thread of the process has, or had. */
uint64_t vault_thread(void);

/* Between these calls, which may be nested, a thread is inside the library; a fork in another thread waits for it. */
void vault_enter(void);
void vault_leave(void);
/* Between these calls, the thread counts as outside: for long waits and the caller's functions. vault_step_in takes the
   value that vault_step_out returned. */
unsigned int vault_step_out(void);
void vault_step_in(unsigned int entered);

/* The lock of the memory for secrets, and of asking for large memory. A fork waits until it is free, so that a child can use it. */
void vault_memory_lock(void);
void vault_memory_unlock(void);
/* 1 if so much memory can be allocated now. */
int vault_memory_has(size_t size);
#endif
