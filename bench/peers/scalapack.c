/* Times one routine of ScaLAPACK, or plain dgemm, on data that are distributed before and after.
 *
 *   scalapack_peer gemm|trsm|cholesky N BLOCK ROWS COLUMNS REPEATS      on ROWS x COLUMNS ranks
 *   scalapack_peer dgemm N 0 1 COLUMNS REPEATS     each of COLUMNS ranks makes its columns of C, by itself
 *
 * Rank 0 prints the wall and processor seconds of each repetition (of the slowest and the busiest rank), then
 * `residual R`, scaled by n eps. PBLAS_NB sets the logical block of PBLAS, which is 32 as shipped.
 * The numbers are double, or float where SINGLE is defined (and dgemm is sgemm). */
#include <cblas.h>
#include <float.h>
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef SINGLE
typedef float real;
#define EPSILON FLT_EPSILON
#define MPI_REAL_TYPE MPI_FLOAT
#define pgemm_ psgemm_
#define ptrsm_ pstrsm_
#define ppotrf_ pspotrf_
#define cblas_gemm cblas_sgemm
#else
typedef double real;
#define EPSILON DBL_EPSILON
#define MPI_REAL_TYPE MPI_DOUBLE
#define pgemm_ pdgemm_
#define ptrsm_ pdtrsm_
#define ppotrf_ pdpotrf_
#define cblas_gemm cblas_dgemm
#endif

extern void Cblacs_get(int, int, int *);
extern void Cblacs_gridinit(int *, const char *, int, int);
extern void Cblacs_gridinfo(int, int *, int *, int *, int *);
extern int numroc_(const int *, const int *, const int *, const int *, const int *);
extern void descinit_(int *, const int *, const int *, const int *, const int *, const int *, const int *,
                      const int *, const int *, int *);
extern void pgemm_(const char *, const char *, const int *, const int *, const int *, const real *,
                   const real *, const int *, const int *, const int *, const real *, const int *,
                   const int *, const int *, const real *, real *, const int *, const int *, const int *);
extern void ptrsm_(const char *, const char *, const char *, const char *, const int *, const int *,
                   const real *, const real *, const int *, const int *, const int *, real *, const int *,
                   const int *, const int *);
extern void ppotrf_(const char *, const int *, real *, const int *, const int *, const int *, int *);

/* Takes the place of PBLAS's own, which is the constant 32. */
int pilaenv_(const int *context, const char *precision) {
  (void)context;
  (void)precision;
  const char *given = getenv("PBLAS_NB");
  return given ? atoi(given) : 32;
}

/* The parts of the matrices that one rank holds, column-major, and their positions in the whole. */
struct Grid {
  int n, block, row, column, rows, columns, local_rows, local_columns, descriptor[9];
};

static int global(int local, int block, int rank, int ranks) {
  return (local / block * ranks + rank) * block + local % block;
}

static struct Grid make_grid(int n, int block, int rows, int columns) {
  struct Grid g = {.n = n, .block = block, .rows = rows, .columns = columns};
  int context, info;
  const int zero = 0;
  Cblacs_get(0, 0, &context);
  Cblacs_gridinit(&context, "Row", rows, columns);
  Cblacs_gridinfo(context, &g.rows, &g.columns, &g.row, &g.column);
  g.local_rows = numroc_(&n, &block, &g.row, &zero, &rows);
  g.local_columns = numroc_(&n, &block, &g.column, &zero, &columns);
  const int leading = g.local_rows > 0 ? g.local_rows : 1;
  descinit_(g.descriptor, &n, &n, &block, &block, &zero, &zero, &context, &leading, &info);
  return g;
}

/* Cheap numbers in [-0.5, 0.5) that depend on the position only; symmetric. */
static real entry(int i, int j) {
  const unsigned mixed = ((unsigned)i + (unsigned)j) * 2654435761u ^ (unsigned)(i * j) * 2246822519u;
  return (real)((double)(mixed >> 8) / (1 << 24) - 0.5);
}

/* `diagonal` is added there; `lower` leaves out the other triangle. */
static void fill(const struct Grid *g, real *a, real diagonal, int lower) {
  for (int j = 0; j < g->local_columns; ++j) {
    const int column = global(j, g->block, g->column, g->columns);
    for (int i = 0; i < g->local_rows; ++i) {
      const int row = global(i, g->block, g->row, g->rows);
      const real value = lower && row < column ? 0 : entry(row, column);
      a[(size_t)j * g->local_rows + i] = value + (row == column ? diagonal : 0);
    }
  }
}

static double processor_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static real largest(const struct Grid *g, const real *a) {
  real own = 0, all;
  const size_t count = (size_t)g->local_rows * g->local_columns;
  for (size_t i = 0; i < count; ++i) own = (real)fmax(own, fabs(a[i]));
  MPI_Allreduce(&own, &all, 1, MPI_REAL_TYPE, MPI_MAX, MPI_COMM_WORLD);
  return all;
}

/* The largest entry of `left` @ `right` (transposed where asked) - `expected`, relative to n eps |expected|. */
static double residual(const struct Grid *g, const char *transposed, const real *left, const real *right,
                       real *expected) {
  const real one = 1, minus = -1, scale = largest(g, expected);
  const int first = 1, n = g->n;
  pgemm_("N", transposed, &n, &n, &n, &one, left, &first, &first, g->descriptor, right, &first, &first,
          g->descriptor, &minus, expected, &first, &first, g->descriptor);
  return largest(g, expected) / ((double)n * EPSILON * scale);
}

int main(int argc, char **argv) {
  if (argc != 7) return 2;
  MPI_Init(&argc, &argv);
  const char *kernel = argv[1];
  const int n = atoi(argv[2]), repeats = atoi(argv[6]), alone = strcmp(kernel, "dgemm") == 0;
  const int rows = atoi(argv[4]), columns = atoi(argv[5]);
  const struct Grid g = make_grid(n, alone ? (n + columns - 1) / columns : atoi(argv[3]), rows, columns);
  const int gemm = strcmp(kernel, "gemm") == 0, trsm = strcmp(kernel, "trsm") == 0, first = 1;
  const real one = 1, zero = 0, diagonal = gemm || alone ? 0 : (real)n;
  const size_t bytes = sizeof(real) * g.local_rows * g.local_columns + 1;
  real *a = malloc(alone ? sizeof(real) * n * n + 1 : bytes), *b = malloc(bytes), *c = malloc(bytes);
  if (alone) {
    for (size_t at = 0; at < (size_t)n * n; ++at) a[at] = entry((int)(at % n), (int)(at / n));
  } else {
    fill(&g, a, diagonal, trsm);
  }
  fill(&g, b, 0, 0);
  int info = 0;
  for (int repeat = -1; repeat < repeats; ++repeat) { /* the first warms up */
    fill(&g, c, diagonal, 0);
    MPI_Barrier(MPI_COMM_WORLD);
    const double busy = processor_seconds(), started = MPI_Wtime();
    if (alone) {
      cblas_gemm(CblasColMajor, CblasNoTrans, CblasNoTrans, n, g.local_columns, n, 1, a, n, b, n, 0, c, n);
    } else if (gemm) {
      pgemm_("N", "N", &n, &n, &n, &one, a, &first, &first, g.descriptor, b, &first, &first, g.descriptor,
              &zero, c, &first, &first, g.descriptor);
    } else if (trsm) {
      ptrsm_("L", "L", "N", "N", &n, &n, &one, a, &first, &first, g.descriptor, c, &first, &first,
              g.descriptor);
    } else {
      ppotrf_("L", &n, c, &first, &first, g.descriptor, &info);
    }
    const double own[2] = {MPI_Wtime() - started, processor_seconds() - busy};
    double most[2];
    MPI_Reduce(own, most, 2, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (g.row + g.column == 0 && repeat >= 0) printf("%.9f %.9f\n", most[0], most[1]);
  }
  double error = 0;
  if (trsm) {
    fill(&g, b, diagonal, 0);
    error = residual(&g, "N", a, c, b);
  } else if (!gemm && !alone) {
    for (int j = 0; j < g.local_columns; ++j) { /* the upper triangle still holds A */
      for (int i = 0; i < g.local_rows; ++i) {
        if (global(i, g.block, g.row, g.rows) < global(j, g.block, g.column, g.columns))
          c[(size_t)j * g.local_rows + i] = 0;
      }
    }
    error = residual(&g, "T", c, c, a);
  }
  if (g.row + g.column == 0) printf("residual %.3g\n", error);
  MPI_Finalize();
  return info;
}
