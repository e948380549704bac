/* Computes the interval of a share, and the effective number of samples. */
#include "model/paths.h"

#include <math.h>

struct model_interval model_share_interval(uint64_t part, uint64_t whole, double samples)
{
    const double z = 1.959963984540054; /* the normal distribution's 97.5 % quantile */
    if (!whole || !(samples > 0))
        return (struct model_interval){0, 1};
    const double share = part < whole ? (double)part / (double)whole : 1;
    const double spread = z * z / samples;
    const double center = (share + spread / 2) / (1 + spread);
    const double half =
        z / (1 + spread) * sqrt(share * (1 - share) / samples + spread / (4 * samples));
    return (struct model_interval){
        part ? center - half : 0,
        part < whole ? center + half : 1,
    };
}

double model_effective_samples(double sum_of_weights, double sum_of_squares)
{
    return sum_of_squares > 0 ? sum_of_weights * sum_of_weights / sum_of_squares : 0;
}
