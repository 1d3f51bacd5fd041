/* There are no functions to call: the checks in start.c run automatically before any other code of the program. */
#pragma once
