#define _GNU_SOURCE
#include "vault_shim.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <termios.h>
#include <unistd.h>

/* SIGTTIN and SIGTTOU: another job took the foreground. */
static const int caught[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGTTIN, SIGTTOU};
enum { caught_count = sizeof caught / sizeof caught[0] };

static struct {
    volatile sig_atomic_t state;
    int terminal, lock, note;
    /* The terminal's modes before the turn, and the modes that were last
     * set. */
    struct termios before, set;
    struct sigaction actions[caught_count];
} turn = {.state = VAULT_TURN_NONE, .terminal = -1, .lock = -1, .note = -1};

int vault_terminal_is_foreground(int terminal) {
    pid_t group = tcgetpgrp(terminal);
    /* 0 means a group in another process namespace. */
    return group <= 0 || group == getpgrp();
}

/* The kernel's encoding of a device number differs from the C library's. */
static dev_t device_of(unsigned int number) {
    return makedev((number >> 8) & 0xFFF, (number & 0xFF) | ((number >> 12) & 0xFFF00));
}

int vault_terminal_open_itself(int terminal) {
    unsigned int number;
    if (ioctl(terminal, TIOCGDEV, &number) != 0) return -errno;
    const dev_t device = device_of(number);
    char paths[6][40];
    for (int i = 0; i < 3; i++) snprintf(paths[i], sizeof paths[i], "/proc/self/fd/%d", i);
    snprintf(paths[3], sizeof paths[3], "/dev/pts/%u", minor(device) + (major(device) > 136 ? (major(device) - 136) << 20 : 0));
    snprintf(paths[4], sizeof paths[4], "/dev/tty%u", minor(device));
    snprintf(paths[5], sizeof paths[5], "/dev/console");
    for (int i = 0; i < 6; i++) {
        struct stat status;
        if (stat(paths[i], &status) != 0 || !S_ISCHR(status.st_mode) || status.st_rdev != device) continue;
        int fd = open(paths[i], O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
        if (fd < 0) continue;
        if (fstat(fd, &status) == 0 && S_ISCHR(status.st_mode) && status.st_rdev == device) return fd;
        close(fd);
    }
    return -ENOENT;
}

int vault_wait_for_lock(int fd) {
    if (flock(fd, LOCK_EX | LOCK_NB) == 0) return 0;
    while (flock(fd, LOCK_EX) != 0)
        if (errno != EINTR) return -errno;
    return 1;
}

int vault_is_locked_elsewhere(int fd) {
    if (flock(fd, LOCK_SH | LOCK_NB) != 0) return errno == EWOULDBLOCK;
    flock(fd, LOCK_UN);
    return 0;
}

static int is_same(const struct termios *a, const struct termios *b) {
    return a->c_iflag == b->c_iflag && a->c_oflag == b->c_oflag && a->c_lflag == b->c_lflag;
}

/* Sets the terminal's modes, even from the background, discards pending input, and records the resulting modes, because
   a driver may ignore part of the request. */
static int set_modes(const struct termios *modes) {
    sigset_t output, before;
    sigemptyset(&output);
    sigaddset(&output, SIGTTOU);
    pthread_sigmask(SIG_BLOCK, &output, &before);
    /* TCSAFLUSH is not used because it waits until all output has been shown, which never happens while the terminal is stopped with Ctrl-S. */
    int result = tcsetattr(turn.terminal, TCSANOW, modes) == 0 && tcgetattr(turn.terminal, &turn.set) == 0 ? 0 : -errno;
    tcflush(turn.terminal, TCIFLUSH);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return result;
}

/* Restores the modes, unless another program has changed them in the meantime. */
static void restore(void) {
    struct termios now;
    if (tcgetattr(turn.terminal, &now) == 0 && is_same(&now, &turn.set)) set_modes(&turn.before);
}

/* Performs the default action of a signal from within its handler. */
static void act_on(int signal) {
    const struct sigaction by_default = {.sa_handler = SIG_DFL};
    struct sigaction mine;
    sigset_t set;
    sigaction(signal, &by_default, &mine);
    sigemptyset(&set);
    sigaddset(&set, signal);
    raise(signal);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    /* This is reached only after a stop. */
    sigaction(signal, &mine, NULL);
}

/* Signals that the parent ignored remain ignored, as nohup requires, except Ctrl-C at a question. */
static int is_ignored(int signal) {
    if (turn.state == VAULT_TURN_ASKING && (signal == SIGINT || signal == SIGQUIT)) return 0;
    for (int i = 0; i < caught_count; i++)
        if (caught[i] == signal) return turn.actions[i].sa_handler == SIG_IGN;
    return 0;
}

static void handle(int signal) {
    if (is_ignored(signal)) return;
    const int number = errno;
    if (turn.state == VAULT_TURN_ASKING) {
        const unsigned char byte = (unsigned char)signal;
        /* A full pipe contains enough signals to wake any waiter. */
        if (write(turn.note, &byte, 1) < 0) errno = 0;
    } else {
        if (turn.state == VAULT_TURN_WORKING) {
            turn.state = VAULT_TURN_LOST;
            restore();
            /* If a signal ends the process, the guardian must have the lock, because it restores the terminal only
             * then. */
            const int is_stop = signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU;
            if (turn.lock >= 0 && is_stop) flock(turn.lock, LOCK_UN);
        }
        act_on(signal);
    }
    errno = number;
}

int vault_turn_state(void) { return turn.state; }

int vault_turn_begin(int terminal, int lock, int note) {
    if (tcgetattr(terminal, &turn.before) != 0) return -errno;
    turn.set = turn.before;
    turn.terminal = terminal;
    turn.lock = lock;
    turn.note = note;
    turn.state = VAULT_TURN_WORKING;
    struct sigaction action = {.sa_handler = handle};
    sigemptyset(&action.sa_mask);
    for (int i = 0; i < caught_count; i++) sigaddset(&action.sa_mask, caught[i]);
    for (int i = 0; i < caught_count; i++) sigaction(caught[i], NULL, &turn.actions[i]);
    for (int i = 0; i < caught_count; i++) sigaction(caught[i], &action, NULL);
    return 0;
}

/* Returns the modes to set. Even if another program has left the terminal in raw mode, input is read by lines and the interrupt keys work. */
static struct termios modes_of(int is_hidden) {
    struct termios modes = turn.before;
    modes.c_lflag |= ICANON | ISIG;
    modes.c_iflag |= ICRNL;
    if (is_hidden) modes.c_lflag &= ~(tcflag_t)(ECHO | ECHONL);
    return modes;
}

void vault_turn_modes(struct vault_terminal_modes *modes) {
    struct termios hidden = modes_of(1);
    memset(modes, 0, sizeof *modes);
    memcpy(modes->before, &turn.before, sizeof turn.before);
    memcpy(modes->hidden, &hidden, sizeof hidden);
}

int vault_turn_ask(int is_hidden) {
    const struct termios modes = modes_of(is_hidden);
    turn.state = VAULT_TURN_ASKING;
    return set_modes(&modes);
}

int vault_turn_work(void) {
    const struct termios modes = modes_of(1);
    int result = set_modes(&modes);
    turn.state = VAULT_TURN_WORKING;
    return result;
}

void vault_turn_end(void) {
    if (turn.state == VAULT_TURN_NONE) return;
    if (turn.state != VAULT_TURN_LOST) restore();
    turn.state = VAULT_TURN_NONE;
    for (int i = 0; i < caught_count; i++) sigaction(caught[i], &turn.actions[i], NULL);
}

void vault_terminal_restore(int terminal, int lock, const struct vault_terminal_modes *modes) {
    struct termios before, hidden, now;
    /* The lock is already held, unless the process gave it up before it was killed; in that case, another process may
     * now be using the terminal. */
    if (flock(lock, LOCK_EX | LOCK_NB) != 0) return;
    memcpy(&before, modes->before, sizeof before);
    memcpy(&hidden, modes->hidden, sizeof hidden);
    /* Both sides of the comparison are values reported by the driver, except for unsupported flags. */
    if (tcgetattr(terminal, &now) != 0) return;
    const int asked = (now.c_lflag & (ECHO | ICANON)) == (hidden.c_lflag & (ECHO | ICANON));
    /* A menu that reads single keys also turns IEXTEN off, which shells at their prompts do not do. */
    const int chose = (now.c_lflag & (ECHO | ICANON | IEXTEN | ISIG)) == ISIG && (hidden.c_lflag & IEXTEN) != 0;
    if (!asked && !chose) return;
    if (tcsetattr(terminal, TCSANOW, &before) == 0) tcflush(terminal, TCIFLUSH);
}
