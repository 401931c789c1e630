// [multiply_add_doubles]
#if defined(__aarch64__)
  __asm__("fmla %0.2d, %1.2d, %2.2d" : "+w"(sum) : "w"(a), "w"(b));
  return sum;
