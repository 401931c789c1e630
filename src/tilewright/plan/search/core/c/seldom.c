#ifndef __clang__
#pragma GCC optimize("O0")
#endif
