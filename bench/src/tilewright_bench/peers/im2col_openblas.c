// Windows of a convolution as columns: out [channels][taps][outputs] of x [channels][rows][columns], zeros where taps stand out.

#include <string.h>

typedef struct {
    long channels, rows, columns, tap_rows, tap_columns, row_step, column_step, row_gap, column_gap, top, left, out_rows, out_columns;
} shape;

// One row of outputs of one tap: column x of the image under output o is o * step + begin.
static void copy_row(const float *row, float *out, long columns, long outputs, long step, long begin) {
    long first = begin < 0 ? (-begin + step - 1) / step : 0;
    long end = begin < columns ? (columns - begin + step - 1) / step : 0;
    first = first < outputs ? first : outputs;
    end = end > outputs ? outputs : end < first ? first : end;
    memset(out, 0, first * sizeof *out);
    if (step == 1)
        memcpy(out + first, row + first + begin, (end - first) * sizeof *out);
    else
        for (long o = first; o < end; o++)
            out[o] = row[o * step + begin];
    memset(out + end, 0, (outputs - end) * sizeof *out);
}

__attribute__((visibility("default"))) void im2col(const float *x, float *out, const shape *s) {
    for (long c = 0; c < s->channels; c++, x += s->rows * s->columns)
        for (long i = 0; i < s->tap_rows; i++)
            for (long j = 0; j < s->tap_columns; j++)
                for (long o = 0; o < s->out_rows; o++, out += s->out_columns) {
                    long row = o * s->row_step + i * s->row_gap - s->top;
                    if (row < 0 || row >= s->rows)
                        memset(out, 0, s->out_columns * sizeof *out);
                    else
                        copy_row(x + row * s->columns, out, s->columns, s->out_columns, s->column_step, j * s->column_gap - s->left);
                }
}
