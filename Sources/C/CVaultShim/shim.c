#define _GNU_SOURCE
#include "vault_shim.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <malloc.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/timerfd.h>
#include <sys/xattr.h>
#include <sys/vfs.h>
#include <unistd.h>

/* The lock covers one byte far beyond any content (section 7.4 of the specification), so it does not block readers on
   systems with mandatory locks. */
#define LOCK_OFFSET ((off_t)1 << 48)

static int set_lock(int fd, short type) {
    struct flock lock = {.l_type = type, .l_whence = SEEK_SET, .l_start = LOCK_OFFSET, .l_len = 1};
    return fcntl(fd, F_OFD_SETLK, &lock) == 0 ? 0 : -errno;
}

int vault_lock_exclusive(int fd) { return set_lock(fd, F_WRLCK); }
int vault_unlock(int fd) { return set_lock(fd, F_UNLCK); }

int vault_lock_is_held(int fd) {
    /* The query is for a read lock, which conflicts only with a writer's lock and needs no write access. */
    struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET, .l_start = LOCK_OFFSET, .l_len = 1};
    if (fcntl(fd, F_OFD_GETLK, &lock) != 0) return -errno;
    return lock.l_type == F_UNLCK ? 0 : 1;
}

const char *vault_next_name(DIR *directory) {
    const struct dirent *entry = readdir(directory);
    return entry == NULL ? NULL : entry->d_name;
}

/* For file systems with hard links: the second name is created only if it is not in use. */
static int rename_by_link(const char *from, const char *to) {
    if (link(from, to) != 0) return -errno;
    if (unlink(from) == 0) return 0;
    /* The file must not have two names, because a vault with two names is never replaced. */
    int error = errno;
    unlink(to);
    return -error;
}

/* For other file systems: an empty file is created under the name, if it is not in use, and is then replaced. */
static int rename_over_own(const char *from, const char *to) {
    int fd = vault_open(to, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
    if (fd < 0) return fd;
    close(fd);
    if (rename(from, to) == 0) return 0;
    int error = errno;
    unlink(to);
    return -error;
}

int vault_rename_noreplace(const char *from, const char *to) {
    if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0) return 0;
    /* The kernel or the file system does not support the flag, as with FUSE, NFS and 9p. */
    if (errno != EINVAL && errno != ENOSYS && errno != EOPNOTSUPP) return -errno;
    int result = rename_by_link(from, to);
    switch (-result) {
    case EPERM: case ENOSYS: case EOPNOTSUPP: case EINVAL: case EMLINK: return rename_over_own(from, to);
    default: return result;
    }
}

int vault_open_unnamed(const char *folder) {
    int fd = vault_open(folder, O_WRONLY | O_TMPFILE, 0600);
    /* Sets the mode regardless of the umask. */
    if (fd >= 0 && fchmod(fd, 0600) != 0) {
        int error = errno;
        close(fd);
        return -error;
    }
    return fd;
}

int vault_link_open(int fd, const char *path) {
    char self[64];
    snprintf(self, sizeof self, "/proc/self/fd/%d", fd);
    return linkat(AT_FDCWD, self, AT_FDCWD, path, AT_SYMLINK_FOLLOW) == 0 ? 0 : -errno;
}

int vault_sync_directory(const char *path) {
    int fd = vault_open(path, O_RDONLY | O_DIRECTORY, 0);
    if (fd < 0) return fd;
    /* Some file systems cannot sync directories and do not need to. */
    int result = fsync(fd) == 0 || errno == EINVAL || errno == EROFS ? 0 : -errno;
    close(fd);
    return result;
}

int64_t vault_write_at(int fd, const void *bytes, size_t size, int64_t offset) {
    struct rlimit limit;
    /* Beyond the limit, the kernel would end the process with SIGXFSZ, which a program may catch but a library should not. */
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && (rlim_t)offset >= limit.rlim_cur) return -EFBIG;
    ssize_t written = pwrite(fd, bytes, size, offset);
    return written >= 0 ? written : -errno;
}

int64_t vault_copy_file_range(int from, int64_t from_offset, int to, int64_t to_offset, size_t count) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && (rlim_t)to_offset >= limit.rlim_cur) return -EFBIG;
    off_t in = from_offset, out = to_offset;
    ssize_t copied = copy_file_range(from, &in, to, &out, count, 0);
    return copied >= 0 ? copied : -errno;
}


int vault_duplicate(int fd, int least) {
    int copy = fcntl(fd, F_DUPFD_CLOEXEC, least);
    return copy >= 0 ? copy : -errno;
}

int vault_pipe(int ends[2]) { return pipe2(ends, O_CLOEXEC) == 0 ? 0 : -errno; }

void vault_keep_little_memory(void) {
#ifdef __GLIBC__
    /* The allocator's own initial values. Setting them fixes them: otherwise, the allocator would raise both with each
       large block that it frees. */
    mallopt(M_MMAP_THRESHOLD, 128 << 10);
    mallopt(M_TRIM_THRESHOLD, 128 << 10);
    malloc_trim(0);
#endif
}

int vault_boot_timer(void) {
    const int fd = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
    return fd >= 0 ? fd : -errno;
}

int vault_boot_timer_set(int timer, uint64_t milliseconds) {
    /* The kernel rejects times beyond the range of its clock. */
    const uint64_t seconds = milliseconds / 1000, most = (uint64_t)1 << 32;
    struct itimerspec time = {.it_value = {.tv_sec = (time_t)(seconds < most ? seconds : most), .tv_nsec = (long)(milliseconds % 1000) * 1000000}};
    return timerfd_settime(timer, TFD_TIMER_ABSTIME, &time, NULL) == 0 ? 0 : -errno;
}

int vault_is_in_memory(int fd) {
    struct statfs info;
    if (fstatfs(fd, &info) != 0) return -errno;
    return info.f_type == TMPFS_MAGIC || info.f_type == RAMFS_MAGIC;
}

int64_t vault_list_attributes(int fd, char *names, size_t size) {
    ssize_t used = flistxattr(fd, names, size);
    return used >= 0 ? used : -errno;
}

int64_t vault_get_attribute(int fd, const char *name, void *value, size_t size) {
    ssize_t used = fgetxattr(fd, name, value, size);
    return used >= 0 ? used : -errno;
}

int vault_set_attribute(int fd, const char *name, const void *value, size_t size) {
    return fsetxattr(fd, name, value, size, 0) == 0 ? 0 : -errno;
}

int vault_harden_process(void) {
    /* The limit is 1, not 0: if core_pattern names a program, Linux starts it for any limit except 1. The limit is inherited, whereas the prctl
       setting ends with exec. A limit that was already set to 0 cannot be raised. */
    const struct rlimit one = {1, 1}, none = {0, 0};
    if (setrlimit(RLIMIT_CORE, &one) != 0 && setrlimit(RLIMIT_CORE, &none) != 0) return -errno;
    return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0 ? 0 : -errno;
}

int vault_execute(char *const arguments[], char *const environment[]) {
    execvpe(arguments[0], arguments, environment);
    return -errno;
}

int vault_spawn_in_new_session(posix_spawnattr_t *attributes) {
    return -posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK);
}

int vault_spawn_without_others(posix_spawn_file_actions_t *actions, int kept) {
    if (kept < 0) return -posix_spawn_file_actions_addclosefrom_np(actions, STDERR_FILENO + 1);
    const int error = posix_spawn_file_actions_adddup2(actions, kept, STDERR_FILENO + 1);
    return error ? -error : -posix_spawn_file_actions_addclosefrom_np(actions, STDERR_FILENO + 2);
}

int vault_memory_file(const char *name) {
    const int fd = memfd_create(name, MFD_CLOEXEC);
    if (fd < 0) return -errno;
    if (fchmod(fd, S_IRUSR | S_IWUSR) == 0) return fd;
    const int error = errno;
    close(fd);
    return -error;
}

int vault_stat(int fd, const char *path, struct vault_file *file) {
    struct statx status;
    const int flags = path ? 0 : AT_EMPTY_PATH;
    if (statx(path ? AT_FDCWD : fd, path ? path : "", flags, STATX_INO | STATX_NLINK | STATX_SIZE, &status) != 0) return -errno;
    file->device = makedev(status.stx_dev_major, status.stx_dev_minor);
    file->inode = status.stx_ino;
    file->links = status.stx_nlink;
    file->size = status.stx_size;
    return 0;
}

static int64_t nanoseconds(struct statx_timestamp time) { return (int64_t)((uint64_t)time.tv_sec * 1000000000u + time.tv_nsec); }

int vault_times(int fd, int64_t *modified, int64_t *changed) {
    struct statx status;
    if (statx(fd, "", AT_EMPTY_PATH, STATX_MTIME | STATX_CTIME, &status) != 0) return -errno;
    *modified = nanoseconds(status.stx_mtime);
    *changed = nanoseconds(status.stx_ctime);
    return 0;
}
