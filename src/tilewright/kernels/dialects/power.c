// [multiply_add_doubles]
#if defined(__powerpc64__)
  __asm__("xvmaddadp %x0, %x1, %x2" : "+wa"(sum) : "wa"(a), "wa"(b));
  return sum;
