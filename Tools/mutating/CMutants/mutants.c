#include "mutants.h"
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

int mutant_chosen;
int mutant_value;
unsigned char mutant_marks[MUTANT_MOST];

void mutant_choose(int number, int value) {
    mutant_value = value;
    mutant_chosen = number;
}

void mutant_clear(void) { memset(mutant_marks, 0, sizeof mutant_marks); }

int mutant_met(int number) { return mutant_marks[number]; }

pid_t mutant_fork(void) {
    pid_t child = fork();
    if (child != 0) return child;
    struct rlimit memory = {1ul << 30, 1ul << 30}, seconds = {10, 10}, no_core = {0, 0};
    setrlimit(RLIMIT_AS, &memory);
    setrlimit(RLIMIT_CPU, &seconds);
    setrlimit(RLIMIT_CORE, &no_core);
    alarm(120);
    return 0;
}
