/* Nothing to call: the check in start.c runs by itself before anything else of the program. */
#pragma once
