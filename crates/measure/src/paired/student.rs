//! Student's t distribution: how often chance alone gives such a value.

/// The probability of a |t| of at least this with `freedom` degrees of freedom, under the null hypothesis.
pub(super) fn two_sided(t: f64, freedom: f64) -> f64 {
    if t.is_infinite() { 0.0 } else { incomplete_beta(freedom / (freedom + t * t), freedom / 2.0, 0.5) }
}

/// The |t| that chance alone exceeds with probability `p`.
pub(super) fn critical(p: f64, freedom: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    while two_sided(high, freedom) > p && high < 1e12 {
        high *= 2.0;
    }
    for _ in 0..100 {
        let middle = (low + high) / 2.0;
        if two_sided(middle, freedom) > p { low = middle } else { high = middle }
    }
    high
}

/// The regularised incomplete beta function, by its continued fraction where that converges fast.
fn incomplete_beta(x: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return x.clamp(0.0, 1.0);
    }
    let gamma = libm::lgamma(a + b) - libm::lgamma(a) - libm::lgamma(b);
    let front = libm::exp(gamma + a * libm::log(x) + b * libm::log(1.0 - x));
    if x < (a + 1.0) / (a + b + 2.0) {
        front * fraction(x, a, b) / a
    } else {
        1.0 - front * fraction(1.0 - x, b, a) / b
    }
}

/// The continued fraction of the incomplete beta function, from its front (Lentz's method).
fn fraction(x: f64, a: f64, b: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let away = |value: f64| if value.abs() < TINY { TINY } else { value };
    let mut c = 1.0;
    let mut d = 1.0 / away(1.0 - (a + b) * x / (a + 1.0));
    let mut value = d;
    for step in 1..300 {
        let m = f64::from(step);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let before = value;
        for term in [even, odd] {
            d = 1.0 / away(1.0 + term * d);
            c = away(1.0 + term / c);
            value *= c * d;
        }
        if (value - before).abs() <= 1e-15 * value.abs() {
            break;
        }
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two-sided 5 % and 0.1 % points, as printed in tables.
    #[test]
    fn critical_values_are_those_of_the_tables() {
        for (freedom, five, tenth) in [
            (1.0, 12.706, 636.619),
            (2.0, 4.303, 31.599),
            (4.0, 2.776, 8.610),
            (9.0, 2.262, 4.781),
            (19.0, 2.093, 3.883),
        ] {
            assert!((critical(0.05, freedom) - five).abs() < 6e-4, "{freedom}: {}", critical(0.05, freedom));
            assert!((critical(0.001, freedom) - tenth).abs() < 6e-4, "{freedom}: {}", critical(0.001, freedom));
        }
    }

    #[test]
    fn nothing_is_certain_and_everything_is_possible() {
        assert_eq!(two_sided(f64::INFINITY, 3.0), 0.0);
        assert!((two_sided(0.0, 3.0) - 1.0).abs() < 1e-12);
    }
}
