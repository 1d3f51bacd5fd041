/* All files are opened here. If a program's standard descriptors are closed, the next files that it opens get their
   numbers, and anything printed is written to those files. Therefore, files opened by this library never have a
   descriptor below 3. */
#define _GNU_SOURCE
#include "vault_shim.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FIRST_FREE = STDERR_FILENO + 1 };

static int is_closed(int fd) { return fcntl(fd, F_GETFD) < 0 && errno == EBADF; }

/* Occupies the closed standard descriptors, so the next opened file cannot use them. A write to one of them by another
   thread still fails, because an O_PATH descriptor can be neither read nor written. Returns their number. */
static int hold_standard(int held[FIRST_FREE]) {
    int count = 0;
    if (!is_closed(0) && !is_closed(1) && !is_closed(2)) return 0;
    while (count < FIRST_FREE) {
        int fd = open("/", O_PATH | O_CLOEXEC);
        if (fd < 0) break;
        if (fd >= FIRST_FREE) {
            close(fd);
            break;
        }
        held[count++] = fd;
    }
    return count;
}

/* Moves a file that was opened on a standard descriptor because another thread has just closed that descriptor. */
static int raise_descriptor(int fd) {
    int raised = fcntl(fd, F_DUPFD_CLOEXEC, FIRST_FREE);
    int error = errno;
    close(fd);
    errno = error;
    return raised;
}

/* Restores the owner's permissions, which the umask may have removed from a file that the owner must be able to reopen. */
static int give_mode(int fd, mode_t mode) {
    struct stat status;
    if (fstat(fd, &status) != 0) return -1;
    return (status.st_mode & mode) == mode ? 0 : fchmod(fd, mode);
}

int vault_open(const char *path, int flags, uint32_t mode) {
    int held[FIRST_FREE];
    int count = hold_standard(held);
    int fd = open(path, flags | O_CLOEXEC, (mode_t)mode);
    if (fd >= 0 && fd < FIRST_FREE) fd = raise_descriptor(fd);
    int error = fd < 0 ? errno : 0;
    while (count > 0) close(held[--count]);
    if (fd >= 0 && (flags & O_CREAT) != 0 && (flags & O_EXCL) != 0 && give_mode(fd, (mode_t)mode) != 0) {
        error = errno;
        close(fd);
        unlink(path);
        return -error;
    }
    return fd >= 0 ? fd : -error;
}

DIR *vault_open_directory(const char *path) {
    int fd = vault_open(path, O_RDONLY | O_DIRECTORY | O_NONBLOCK, 0);
    if (fd < 0) {
        errno = -fd;
        return NULL;
    }
    DIR *directory = fdopendir(fd);
    if (directory == NULL) {
        int error = errno;
        close(fd);
        errno = error;
    }
    return directory;
}

int vault_fill_standard_descriptors(void) {
    for (int fd = 0; fd < FIRST_FREE; fd++) {
        if (!is_closed(fd)) continue;
        /* The access modes are reversed on purpose: reading from a closed input or writing to a closed output must
           fail, here and in every child. */
        int opened = open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
        if (opened < 0) opened = open("/", O_PATH);
        if (opened < 0) return -errno;
        if (opened != fd) {
            /* A lower descriptor was closed by another thread; that cannot happen while a program starts. */
            close(opened);
            return -EBADF;
        }
    }
    return 0;
}
