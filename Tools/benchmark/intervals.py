"""How sure a ratio is, from how much it differs between rounds."""
import random
import statistics

DRAWS = 2000
LEAST_ROUNDS = 3


def interval(ours, base):
    """The least and the greatest ratio of medians, but for the outermost 5 %, that the rounds give if as many of them are drawn with replacement (a
    bootstrap). What was measured in one round is drawn together, since what slows one down slows the other. None where rounds are too few."""
    pairs = list(zip(ours or (), base or ()))
    if len(pairs) < LEAST_ROUNDS:
        return None
    # The same draws each time: one run has one interval.
    numbers = random.Random(len(pairs))
    ratios = []
    for _ in range(DRAWS):
        drawn = numbers.choices(pairs, k=len(pairs))
        below = statistics.median(other for _, other in drawn)
        if below <= 0:
            return None
        ratios.append(statistics.median(own for own, _ in drawn) / below)
    ratios.sort()
    outside = DRAWS // 40
    return ratios[outside], ratios[-1 - outside]
