use hdrhistogram::serialization::Deserializer;
use inodetrace_common::bucket_of;
use proptest::prelude::*;

use super::*;

pub(crate) fn of_samples(samples: &[u64]) -> LogHist {
    let mut h = LogHist {
        count: samples.len() as u64,
        sum_ns: samples.iter().sum(),
        min_max_ns: samples
            .iter()
            .min()
            .zip(samples.iter().max())
            .map(|(a, b)| (*a, *b)),
        buckets: vec![0; BUCKETS],
    };
    for &s in samples {
        h.buckets[bucket_of(s)] += 1;
    }
    h
}

fn decode(text: &str) -> Histogram<u64> {
    let bytes = base64::engine::general_purpose::STANDARD
        .decode(text)
        .unwrap();
    Deserializer::new().deserialize(&mut &bytes[..]).unwrap()
}

fn near(got: u64, want: u64) -> bool {
    got.abs_diff(want) as f64 <= (want as f64 / 32.0).max(1.0)
}

proptest! {
    #[test]
    fn hdr_keeps_every_count(counts in proptest::collection::vec((0..BUCKETS, 1u64..1_000_000), 1..60)) {
        let mut h = LogHist { count: 0, sum_ns: 1, min_max_ns: None, buckets: vec![0; BUCKETS] };
        for (i, n) in counts {
            h.buckets[i] += n;
            h.count += n;
        }
        prop_assert_eq!(decode(&h.to_hdr_base64()).len(), h.count);
    }

    #[test]
    fn quantiles_are_within_a_32nd(
        samples in proptest::collection::vec((0u32..39, any::<u64>()).prop_map(|(bits, noise)| (1u64 << bits) | (noise & ((1 << bits) - 1))), 1..300),
        q in 0.0f64..=1.0,
    ) {
        let h = of_samples(&samples);
        let hdr = decode(&h.to_hdr_base64());
        let mut sorted = samples;
        sorted.sort_unstable();
        let rank = ((sorted.len() as f64 * q).ceil() as usize).clamp(1, sorted.len());
        let want = sorted[rank - 1];
        let got = h.quantile(q).unwrap();
        prop_assert!(near(got, want), "{got} for {want}");
        let got = hdr.value_at_quantile(q);
        prop_assert!(near(got, want), "hdr: {got} for {want}");
    }
}

#[test]
fn no_samples_have_no_quantile() {
    let h = LogHist::empty();
    assert_eq!(h.quantile(0.5), None);
    assert_eq!(h.extremes(), None);
    assert_eq!(decode(&h.to_hdr_base64()).len(), 0);
}

#[test]
fn the_maximum_lies_in_the_highest_filled_bucket() {
    let mut h = of_samples(&[100, 5000]);
    h.min_max_ns = Some((100, 300)); // the race lost the 5000
    let (low, _) = bucket_bounds(bucket_of(5000));
    assert_eq!(h.extremes(), Some((100, low)));
}

#[test]
fn what_is_beyond_the_range_keeps_its_maximum() {
    let long = 3u64 << 41;
    let h = of_samples(&[1000, long]);
    assert_eq!(h.extremes(), Some((1000, long)));
    assert_eq!(decode(&h.to_hdr_base64()).len(), 2);
    let h = of_samples(&[long]);
    assert_eq!(h.extremes(), Some((long, long)));
    assert_eq!(decode(&h.to_hdr_base64()).len(), 1);
}
