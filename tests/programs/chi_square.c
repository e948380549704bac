/* Pearson's chi-square test: do counts have these shares?
 *     chi_square LEAST-P COUNT:SHARE COUNT:SHARE …
 * Shares are relative to one another. Prints the statistic and its p-value; the exit status is 1
 * when p is smaller than LEAST-P, 2 when the question makes no sense (a class expects fewer than
 * 5). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Q(a, x), the regularized upper incomplete gamma function (DLMF 8.2.4): by the series of its
 * complement (8.11.4) below a + 1, by its continued fraction (8.9.2, modified Lentz) above. */
static double upper_gamma_share(double a, double x)
{
    if (x <= 0)
        return 1;
    const double scale = exp(a * log(x) - x - lgamma(a));
    if (x < a + 1) {
        double term = 1 / a, sum = term;
        for (double n = a + 1; term > sum * 1e-15; n++)
            sum += term *= x / n;
        return 1 - sum * scale;
    }
    double b = x + 1 - a, c = 1e300, d = 1 / b, fraction = d;
    for (int i = 1; i < 1000; i++) {
        const double step = -i * (i - a);
        b += 2;
        d = 1 / (step * d + b);
        c = b + step / c;
        fraction *= d * c;
        if (fabs(d * c - 1) < 1e-14)
            break;
    }
    return fraction * scale;
}

int main(int argc, char **argv)
{
    const int classes = argc - 2;
    double counts = 0, shares = 0, statistic = 0, count, share;
    for (int i = 2; i < argc; i++) {
        if (sscanf(argv[i], "%lf:%lf", &count, &share) != 2 || count < 0 || share <= 0)
            return 2;
        counts += count;
        shares += share;
    }
    if (classes < 2 || counts <= 0)
        return 2;
    for (int i = 2; i < argc; i++) {
        sscanf(argv[i], "%lf:%lf", &count, &share);
        const double expected = counts * share / shares;
        if (expected < 5)
            return 2;
        statistic += (count - expected) * (count - expected) / expected;
    }
    const double p = upper_gamma_share((classes - 1) / 2.0, statistic / 2);
    printf("chi-square %.2f with %d degrees of freedom, p = %.3g\n", statistic, classes - 1, p);
    return p < strtod(argv[1], NULL);
}
