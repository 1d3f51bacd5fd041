#define _GNU_SOURCE
#include "test_support.h"
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

int test_open_terminal(char *path, size_t size) {
    int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (master < 0) return -errno;
    if (grantpt(master) != 0 || unlockpt(master) != 0) return -errno;
    int failure = ptsname_r(master, path, size);
    return failure == 0 ? master : -failure;
}

int test_pipe(int ends[2]) { return pipe2(ends, O_CLOEXEC) == 0 ? 0 : -errno; }

int test_spawn(pid_t *pid, const char *program, char *const arguments[], char *const environment[], const char *directory,
               int input, const char *input_path, const char *output_path, const char *error_path) {
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_t actions;
    sigset_t all;
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_init(&actions);
    sigfillset(&all);
    posix_spawnattr_setsigdefault(&attributes, &all);
    sigemptyset(&all);
    posix_spawnattr_setsigmask(&attributes, &all);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
    posix_spawn_file_actions_addchdir_np(&actions, directory);
    if (input >= 0)
        posix_spawn_file_actions_adddup2(&actions, input, 0);
    else
        posix_spawn_file_actions_addopen(&actions, 0, input_path, O_RDWR, 0);
    posix_spawn_file_actions_addopen(&actions, 1, output_path, O_WRONLY | O_CREAT | O_APPEND, 0600);
    posix_spawn_file_actions_addopen(&actions, 2, error_path, O_WRONLY | O_CREAT | O_APPEND, 0600);
    int failure = posix_spawn(pid, program, &actions, &attributes, arguments, environment);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    return -failure;
}

int test_exit_status(int status) {
    if (WIFEXITED(status)) return WEXITSTATUS(status);
    if (WIFSIGNALED(status)) return 128 + WTERMSIG(status);
    return -1;
}

static long long milliseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

int test_wait(pid_t pid) { return test_wait_measured(pid, NULL); }

int test_wait_measured(pid_t pid, long *peak_kib) {
    int status = 0, failure = 0, process = (int)syscall(SYS_pidfd_open, pid, 0);
    if (process < 0) return -errno;
    const long long end = milliseconds() + test_patience * 1000LL;
    struct pollfd ready = {.fd = process, .events = POLLIN};
    while (!failure) {
        const long long left = end - milliseconds();
        int count = poll(&ready, 1, left > 0 ? (int)left : 0);
        if (count > 0) break;
        if (count == 0) failure = ETIMEDOUT;
        if (count < 0 && errno != EINTR) failure = errno;
    }
    close(process);
    if (failure) return -failure;
    struct rusage usage;
    while (wait4(pid, &status, 0, &usage) < 0)
        if (errno != EINTR) return -errno;
    if (peak_kib != NULL) *peak_kib = usage.ru_maxrss;
    return test_exit_status(status);
}

int test_lock(const char *path) { return test_lock_range(path, 0, 0); }

int test_unlock(int fd) { return close(fd) == 0 ? 0 : -errno; }

int test_lock_range(const char *path, off_t start, off_t length) {
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0) return -errno;
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = start, .l_len = length};
    if (fcntl(fd, F_OFD_SETLK, &lock) == 0) return fd;
    int failure = errno;
    close(fd);
    return -failure;
}

/* In the child: becomes another user if told so, and asks to be traced. */
static void become_program(const struct test_program *program) {
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (chdir(program->directory) != 0) _exit(126);
    if (dup2(program->input, 0) < 0 || dup2(program->output, 1) < 0 || dup2(program->error, 2) < 0) _exit(126);
    if (program->user != 0 && (setgroups(0, NULL) != 0 || setgid(program->user) != 0 || setuid(program->user) != 0)) _exit(126);
    if (program->is_traced && ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0) _exit(125);
    execve(program->path, program->arguments, program->environment);
    dprintf(2, "cannot execute %s: %s\n", program->path, strerror(errno));
    _exit(127);
}

int test_start(const struct test_program *program) {
    pid_t pid = fork();
    if (pid < 0) return -errno;
    if (pid == 0) become_program(program);
    return pid;
}

int test_run_to_exit(pid_t pid) {
    int status, is_started = 0;
    while (1) {
        if (waitpid(pid, &status, 0) < 0) {
            if (errno == EINTR) continue;
            return -errno;
        }
        if (!WIFSTOPPED(status)) return -ESRCH;
        if (status >> 8 == (SIGTRAP | PTRACE_EVENT_EXIT << 8)) return 0;
        int signal = WSTOPSIG(status);
        if (!is_started) {
            is_started = 1;
            signal = 0;
            if (ptrace(PTRACE_SETOPTIONS, pid, NULL, PTRACE_O_TRACEEXIT | PTRACE_O_EXITKILL) != 0) return -errno;
        }
        if (ptrace(PTRACE_CONT, pid, NULL, (void *)(long)signal) != 0) return -errno;
    }
}

int test_let_exit(pid_t pid) {
    int status;
    if (ptrace(PTRACE_CONT, pid, NULL, NULL) != 0) return -errno;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR) return -errno;
    return test_exit_status(status);
}

long test_find(const void *bytes, size_t size, const void *needle, size_t length) {
    const void *hit = memmem(bytes, size, needle, length);
    return hit == NULL ? -1 : (const char *)hit - (const char *)bytes;
}

int test_memory_file(void) {
    int fd = memfd_create("test", MFD_CLOEXEC);
    return fd >= 0 ? fd : -errno;
}
pid_t test_fork(void) { return fork(); }

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *place) {
    (void)status, (void)kind, (void)place;
    remove(path);
    return 0;
}

void test_remove_folder(const char *path) { nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS); }
