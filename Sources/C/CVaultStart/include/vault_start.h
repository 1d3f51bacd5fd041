/* There is nothing to call: the check in start.c runs automatically before any other code of the program. */
#pragma once
