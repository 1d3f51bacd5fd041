/* Starts programs that do not outlive this process, which posix_spawn cannot do. */
#define _GNU_SOURCE
#include "vault_shim.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { report = STDERR_FILENO + 1 };

/* Restores the default action of every signal that has a handler. exec() would do so as well, but until then, the
   handlers would run in the child. Ignored signals remain ignored. */
static void reset_signals(void) {
    sigset_t none;
    for (int number = 1; number < NSIG; number++) {
        struct sigaction action;
        if (sigaction(number, NULL, &action) != 0 || action.sa_handler == SIG_IGN) continue;
        action = (struct sigaction){.sa_handler = SIG_DFL};
        sigaction(number, &action, NULL);
    }
    /* Unblock all signals, so that a signal can end the program regardless of what the parent's thread blocks. */
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Turns this child process into the program; returns only on failure, with the error. It calls only functions that are
   safe in a child of a multithreaded process. The descriptor `reporting` is moved to `report`, and closed by exec().
   The signal `ending` is sent to the program when the parent's thread ends. */
static int become(const char *path, char *const arguments[], char *const environment[], const int standard[3],
                  int reporting, int ending, pid_t parent) {
    const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0) return errno;
    for (int number = 0; number < 3; number++) {
        if (dup2(standard[number] < 0 ? null : standard[number], number) < 0) return errno;
    }
    if (reporting != report && dup3(reporting, report, O_CLOEXEC) < 0) return errno;
    closefrom(report + 1);
    /* Without a controlling terminal, the program uses a terminal only if told to. */
    if (setsid() < 0 || prctl(PR_SET_PDEATHSIG, ending) != 0) return errno;
    /* The parent may have exited before the signal was set. */
    if (getppid() != parent) return ESRCH;
    reset_signals();
    execve(path, arguments, environment);
    return errno;
}

int vault_spawn_with_thread(const char *path, char *const arguments[], char *const environment[], int input, int output,
                            int error, int ending) {
    const int standard[3] = {input, output, error};
    int ends[2], failure = 0;
    sigset_t all, mask;
    if (pipe2(ends, O_CLOEXEC) != 0) return -errno;
    const pid_t parent = getpid();
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &mask);
    const pid_t child = fork();
    if (child == 0) {
        failure = become(path, arguments, environment, standard, ends[1], ending, parent);
        /* If an early step failed, the descriptor has not been moved to `report`. */
        const int end = fcntl(ends[1], F_GETFD) >= 0 ? ends[1] : report;
        if (write(end, &failure, sizeof failure) != sizeof failure) _exit(126);
        _exit(127);
    }
    if (child < 0) failure = errno;
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
    close(ends[1]);
    if (child > 0) {
        /* End of file means that the program is running; its process group exists by then. */
        ssize_t count;
        while ((count = read(ends[0], &failure, sizeof failure)) < 0 && errno == EINTR) {}
        if (count == 0) failure = 0;
        if (count != 0) {
            while (waitpid(child, NULL, 0) < 0 && errno == EINTR) {}
            if (count != sizeof failure || failure == 0) failure = EIO;
        }
    }
    close(ends[0]);
    return failure != 0 ? -failure : child;
}
