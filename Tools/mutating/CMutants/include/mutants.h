#include <stdbool.h>
#include <sys/types.h>

/* More than there are. */
enum { MUTANT_MOST = 8192 };

extern int mutant_chosen;
extern int mutant_value;
extern unsigned char mutant_marks[MUTANT_MOST];

/* An operand of a check: its value, or what the chosen mutant makes of it. */
static inline bool mutant_check(int number, bool value) {
    mutant_marks[number] |= value ? 2 : 1;
    if (number != mutant_chosen) return value;
    return mutant_value == 2 ? !value : mutant_value;
}

/* Whether a call is made; mutant_left follows if it did not throw. */
static inline bool mutant_entered(int number) {
    if (mutant_marks[number] < 252) mutant_marks[number] += 4;
    mutant_marks[number] |= 1;
    return number != mutant_chosen;
}

static inline void mutant_left(int number) { mutant_marks[number] -= 4; }

static inline void mutant_reached(int number) { mutant_marks[number] |= 1; }

/* Chooses a mutant: the operand is false (0), true (1), or what it is not (2). Number 0 is none. */
void mutant_choose(int number, int value);
/* Forgets what was met. */
void mutant_clear(void);
/* What was met since: 1 the operand was false, or the statement was met; 2 the operand was true;
   4 or more: the call threw. */
int mutant_met(int number);
/* fork(2), with limits on the child's memory and time. */
pid_t mutant_fork(void);
