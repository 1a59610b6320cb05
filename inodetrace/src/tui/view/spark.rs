//! Sparklines.

const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
const ASCII: [char; 8] = ['_', '.', ':', '-', '=', '+', '*', '#'];

/// `rates` as one character each, the newest at the right end of `width`. A rate of 0 is the lowest
/// sign, anything more at least the second; where nothing was counted yet there is a blank.
pub(super) fn line(rates: &[f32], width: usize, ascii: bool) -> String {
    let signs = if ascii { ASCII } else { BLOCKS };
    let rates = &rates[rates.len().saturating_sub(width)..];
    let most = rates.iter().copied().fold(0.0, f32::max);
    let mut text = " ".repeat(width - rates.len());
    text.extend(rates.iter().map(|&rate| {
        if rate <= 0.0 || most <= 0.0 {
            signs[0]
        } else {
            let steps = (signs.len() - 1) as f32;
            let step = (rate / most * steps).ceil().clamp(1.0, steps);
            signs[step as usize]
        }
    }));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zero_is_told_from_little_and_from_nothing() {
        assert_eq!(line(&[0.0, 0.001, 50.0, 100.0], 6, false), "  ▁▂▅█");
        assert_eq!(line(&[0.0, 0.001, 50.0, 100.0], 6, true), "  _.=#");
        assert_eq!(line(&[0.0, 0.0], 2, false), "▁▁");
        assert_eq!(line(&[1.0, 2.0, 3.0], 1, false), "█");
        assert_eq!(line(&[], 3, false), "   ");
        assert_eq!(line(&[1.0], 0, false), "");
    }
}
