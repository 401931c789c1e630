/* Calls tilewright_run on heap arrays of exactly the sizes given, in two ranges of blocks with a scratch each.
   argv: symbols, then per tensor its number of dimensions and its extents; tensors are dense. The last tensor is the output. */
#include <stdio.h>
#include <stdlib.h>

struct tw_context;
long tilewright_run_workspace_bytes(const long *sizes);
void tilewright_run(const struct tw_context *context, void *const *tensors, const long *sizes, char *workspace);

struct context {
  void *pool;
  void (*parallel_for)(void *pool, void (*task)(void *argument, long begin, long end, char *scratch), void *argument, long count,
                       long scratch_bytes);
};

static void in_two_ranges(void *pool, void (*task)(void *, long, long, char *), void *argument, long count, long scratch_bytes) {
  (void)pool;
  for (int half = 0; half < 2; half++) {
    char *scratch = aligned_alloc(64, (scratch_bytes + 63) / 64 * 64);
    task(argument, half ? count / 2 : 0, half ? count : count / 2, scratch);
    free(scratch);
  }
}

int main(int argc, char **argv) {
  int at = 1;
  long sizes[64], symbols = atol(argv[at++]), count = 0;
  void *tensors[8];
  for (long i = 0; i < symbols; i++)
    sizes[count++] = atol(argv[at++]);
  int tensor = 0;
  for (; at < argc; tensor++) {
    long dims = atol(argv[at++]), elements = 1;
    for (long d = dims - 1; d >= 0; d--) {
      sizes[count + d] = elements;
      elements *= atol(argv[at + d]);
    }
    at += dims, count += dims;
    float *data = tensors[tensor] = malloc(elements * sizeof(float));
    for (long i = 0; i < elements; i++)
      data[i] = (float)(i % 7 - 3) / 4;
  }
  struct context context = {0, in_two_ranges};
  long workspace_bytes = tilewright_run_workspace_bytes(sizes);
  char *workspace = aligned_alloc(64, (workspace_bytes + 127) / 64 * 64);
  tilewright_run((const struct tw_context *)&context, tensors, sizes, workspace);
  free(workspace);
  double sum = 0;
  long elements = sizes[count - 3] * atol(argv[argc - 3]);
  for (long i = 0; i < elements; i++)
    sum += ((float *)tensors[tensor - 1])[i];
  printf("%.9g\n", sum);
  while (tensor)
    free(tensors[--tensor]);
  return 0;
}
