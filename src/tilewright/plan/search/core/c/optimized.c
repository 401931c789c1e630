#ifndef __clang__
#pragma GCC optimize("Og")
#endif
