/* Functions missing from the Glibc module: those that need constants hidden by _GNU_SOURCE, and variadic calls. Unless noted otherwise, each returns
   a value of at least 0 or, on failure, the negated errno. */
#ifndef VAULT_SHIM_H
#define VAULT_SHIM_H
#include <dirent.h>
#include <spawn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Acquires an open-file-description lock on the whole file. */
int vault_lock_exclusive(int fd);
int vault_unlock(int fd);
/* Returns 1 if another open file description holds the lock, otherwise 0. */
int vault_lock_is_held(int fd);

/* Returns the name of the next entry of a directory, or NULL after the last. Swift sees the name as an array of 256 bytes; reading that would read
   past the entry. */
const char *vault_next_name(DIR *directory);

/* Creates an unnamed file with mode 0600 in a folder. */
int vault_open_unnamed(const char *folder);
/* Gives an unnamed file a name; returns -EEXIST if the name is in use. */
int vault_link_open(int fd, const char *path);

/* Makes changes to the names in a directory durable. */
int vault_sync_directory(const char *path);

/* Like pwrite(2), except that it fails with EFBIG at the file size limit (RLIMIT_FSIZE) without raising the signal. */
int64_t vault_write_at(int fd, const void *bytes, size_t size, int64_t offset);

/* Like rename(2), except that it fails if the target exists. It works on every file system: without RENAME_NOREPLACE, it uses link(2) and
   unlink(2); without hard links, it renames over an empty file that it has created. */
int vault_rename_noreplace(const char *from, const char *to);

/* Copies bytes between two files at the given offsets; returns the number of bytes copied, or 0 at the end of the
   source. */
int64_t vault_copy_file_range(int from, int64_t from_offset, int to, int64_t to_offset, size_t count);

/* The status of a file, as returned by stat(2). */
struct vault_status {
    uint32_t mode, owner;
    uint64_t device, number;
    int64_t size, modified_seconds, modified_nanoseconds, changed_seconds, changed_nanoseconds;
};
/* The first is like stat(2), or like lstat(2) if links are not followed; the second is like fstat(2). On failure, both
   return -1 and set errno. */
int vault_status_of(const char *path, bool follows, struct vault_status *status);
int vault_status_of_open(int descriptor, struct vault_status *status);

/* Like open(2) with O_CLOEXEC, but never returns a descriptor below 3. The mode is used with O_CREAT; with O_EXCL as well, the file has at
   least this mode regardless of the umask. */
int vault_open(const char *path, int flags, uint32_t mode);
/* Like opendir(3), but never uses a descriptor below 3. On failure, it returns NULL and sets errno. */
DIR *vault_open_directory(const char *path);
/* Opens the null device on each of the descriptors 0, 1 and 2 that is closed; programs call this before anything else. Reading from such a
   descriptor or writing to it fails with EBADF, as it would on the closed descriptor. */
int vault_fill_standard_descriptors(void);

/* The arguments with which the process was started, from the loader. The Swift runtime searches for them in memory next
   to the environment, which fails if a preloaded library has replaced the environment. */
int vault_argument_count(void);
const char *vault_argument(int index);

/* Returns another close-on-exec descriptor of an open file, with the first free number not below `least`. */
int vault_duplicate(int fd, int least);

/* Makes a pipe with close-on-exec ends: first the reading end, then the writing end. */
int vault_pipe(int ends[2]);

/* Makes the allocator return unused memory to the system for as long as this process runs. Otherwise, after a large
   block has been freed, the allocator keeps later ones. */
void vault_keep_little_memory(void);

/* Returns a timer (timerfd) on the clock that continues while the machine is suspended (CLOCK_BOOTTIME). The descriptor
   is readable once the timer has expired. */
int vault_boot_timer(void);
/* Sets the time, in milliseconds of that clock, at which the timer expires; 0 means never. Until then, the timer cannot
   be read. */
int vault_boot_timer_set(int timer, uint64_t milliseconds);

/* Sends a state, such as "READY=1", to the service manager's socket: a path, or '@' and an abstract name. Returns 0 or a
   negative error number. */
int vault_notify(const char *name, const char *state);

/* The identity of a file, the number of its names (hard links), and its size. */
struct vault_file {
    uint64_t device;
    uint64_t inode;
    uint64_t links;
    uint64_t size;
};
/* Describes an open file, or the file at a path if `path` is not NULL; symbolic links are followed. Times are not
   requested: since Linux 6.13, the next write to a file whose times have been queried updates them, and the following
   sync must write them to disk. */
int vault_stat(int fd, const char *path, struct vault_file *file);

/* Returns the times of the last change of an open file's contents and of its inode, in nanoseconds since 1970. Not for
 * vaults: see vault_stat. */
int vault_times(int fd, int64_t *modified, int64_t *changed);

/* Returns 1 if the file system of an open file is kept in memory (tmpfs, ramfs), otherwise 0. */
int vault_is_in_memory(int fd);

/* Extended attributes. The functions return the number of bytes read; with a size of 0, the required buffer size. */
int64_t vault_list_attributes(int fd, char *names, size_t size);
int64_t vault_get_attribute(int fd, const char *name, void *value, size_t size);
int vault_set_attribute(int fd, const char *name, const void *value, size_t size);

/* Disables core dumps, and prevents other processes running as the same user from reading this process's memory. */
int vault_harden_process(void);

/* Replaces this program with another one, found in PATH, with the given environment; returns only on failure. */
int vault_execute(char *const arguments[], char *const environment[]);

/* Makes spawned processes lead their own sessions and start with the signal mask in the attributes. */
int vault_spawn_in_new_session(posix_spawnattr_t *attributes);
/* Closes all descriptors in spawned processes, except the standard ones and `kept`, which becomes number 3 unless it is
   negative. Call it after all other actions. */
int vault_spawn_without_others(posix_spawn_file_actions_t *actions, int kept);
/* Starts a program that leads its own session, without a controlling terminal, and receives the signal `ending` when
   the calling thread ends for any reason. Its standard descriptors are `input`, `output` and `error`, each the null
   device if negative; it inherits no others, and no signal is blocked in it. The standard descriptors of this process
   must be open. Returns its process id, which is also the id of its process group, or a negative error number. */
int vault_spawn_with_thread(const char *path, char *const arguments[], char *const environment[], int input, int output,
                            int error, int ending);
/* Returns 1 if a child has ended, without reaping it: until it is reaped, no other process group can have its number.
   Also returns 1 if there is no such child; otherwise 0. */
int vault_child_has_ended(pid_t child);
/* Returns a new file in memory that has no path, with mode 0600. It disappears when the last process that has it open
 * ends. */
int vault_memory_file(const char *name);

/* The user's keyring in the kernel. A key has a description and is wiped after its timeout; an existing key with the same description is replaced.
   -ENOKEY, -EKEYEXPIRED and -EKEYREVOKED mean that there is no such key; -ENOSYS, -EPERM and -EACCES mean that the system has no keyring or denies
   access to it. */
int64_t vault_key_keep(const char *description, const void *payload, size_t size, uint32_t seconds);
/* Copies at most `size` bytes of a payload; returns its full length, even if that is more. */
int64_t vault_key_find(const char *description, void *payload, size_t size);
int64_t vault_key_drop(const char *description);
/* Stores the serial numbers of up to `count` keys whose descriptions begin with `prefix`, and returns the total number
   of such keys. Some of them may have been removed or have expired since. */
int64_t vault_keys(const char *prefix, int32_t *keys, size_t count);
/* Copies a key's payload, like vault_key_find. */
int64_t vault_key_read(int32_t key, void *payload, size_t size);
int64_t vault_key_drop_numbered(int32_t key);

/* Exclusive use of the terminal (a "turn"), implemented in terminal.c. A process has only one turn at a time, and all
   of its calls must come from one thread. */

/* Returns whether this process may read from the terminal now; returns 0 if another job of the session is using it. */
int vault_terminal_is_foreground(int terminal);
/* Opens the actual device of a terminal that was opened as /dev/tty, whose inode is the same for all terminals. -ENOENT means that the device cannot
   be opened by name. */
int vault_terminal_open_itself(int terminal);
/* Waits for the lock (flock) of an open file; signals that end the process interrupt this. Returns 1 if another process held the lock first. */
int vault_wait_for_lock(int fd);
/* Returns 1 if another open file description holds that lock. */
int vault_is_locked_elsewhere(int fd);

enum vault_turn_state {
    VAULT_TURN_NONE,
    /* Echo is off. Signals that end or stop the process restore the terminal first. */
    VAULT_TURN_WORKING,
    /* A line is being read. Each signal is written to the pipe as one byte. */
    VAULT_TURN_ASKING,
    /* The process was stopped while it was working; it has released the terminal and the lock. */
    VAULT_TURN_LOST,
};
int vault_turn_state(void);
/* Begins a turn: records the terminal's modes and installs signal handlers. `lock` may be -1; `note` is the writing end
 * of a non-blocking pipe. */
int vault_turn_begin(int terminal, int lock, int note);
/* Discards pending input, and sets the echo for a question. */
int vault_turn_ask(int is_hidden);
/* Turns echo off until the next question. */
int vault_turn_work(void);
/* Restores the terminal and the signals. The caller must release the lock. */
void vault_turn_end(void);

/* A terminal's modes before a turn, and its modes while input is hidden. */
struct vault_terminal_modes {
    unsigned char before[128];
    unsigned char hidden[128];
};
void vault_turn_modes(struct vault_terminal_modes *modes);
/* Restores a terminal that still has the modes set by a turn, unless another process holds the lock. */
void vault_terminal_restore(int terminal, int lock, const struct vault_terminal_modes *modes);

/* Versions of realloc and free for libraries that hold secrets: memory is overwritten before it is released. */
void *vault_wiping_realloc(void *block, size_t size);
void vault_wiping_free(void *block);
/* Overwrites stack memory used by functions that the caller has just called. */
void vault_wipe_stack(void);

/* Returns a number for this process that none of its ancestors or descendants has. This is a single memory read. */
uint64_t vault_process(void);
/* Returns a number for this thread that no other thread of the process has or has had. */
uint64_t vault_thread(void);

/* Returns `wanted`, at most 256, if that number of threads can be started now, otherwise 1. If libargon2 fails to start
   a thread, it does not wait for those already started, which then use freed memory. */
unsigned int vault_possible_threads(unsigned int wanted);

/* Returns the number of processors on which this process may run; 1 if unknown. */
int vault_processors(void);

/* Mark a thread as inside the library between these calls, which may be nested; a fork in another thread waits for
 * it. */
void vault_enter(void);
void vault_leave(void);
/* Mark a thread as outside the library between these calls, for long waits and the caller's functions. vault_step_in
   takes the value that vault_step_out returned, and never waits for a fork. A new thread that works on behalf of a
   thread inside the library calls it with 1. */
unsigned int vault_step_out(void);
void vault_step_in(unsigned int entered);

/* The lock for allocating secret memory and for testing whether large allocations are possible. A fork waits until the
   lock is free, because the child needs it too. */
void vault_memory_lock(void);
void vault_memory_unlock(void);
/* Returns 1 if this much memory, more than 0 bytes, can be mapped now. */
int vault_memory_has(size_t size);
#endif
