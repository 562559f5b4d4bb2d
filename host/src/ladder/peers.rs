//! The bandwidth of other libraries, measured on the same model of GPU.

use std::sync::LazyLock;

use serde::Deserialize;

use super::work::Work;
use crate::device::DeviceInfo;

/// A measurement of another library. `data/peers.json` holds all of them.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Peer {
    /// The name of the GPU, as the driver spells it.
    pub device: String,
    /// The library and its version.
    pub library: String,
    /// The operation.
    pub op: String,
    /// The type of the elements.
    #[serde(rename = "type")]
    pub element: String,
    /// The number of elements.
    pub n: u64,
    /// The bandwidth: the bytes of the input over the time, in 10^9 bytes per second.
    pub gb_per_s: f64,
    /// The function that was measured, and how.
    pub source: String,
}

/// The measurements on the same device with the same operation and type, whatever their size.
pub fn peers(device: &DeviceInfo, work: &Work) -> impl Iterator<Item = &'static Peer> {
    static PEERS: LazyLock<Vec<Peer>> = LazyLock::new(|| {
        serde_json::from_str(include_str!("../../data/peers.json"))
            .expect("a test reads the committed file")
    });
    let (op, element, name) = (work.op.name(), work.element.name(), device.name.clone());
    PEERS.iter().filter(move |peer| peer.device == name && peer.op == op && peer.element == element)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{device::Device, element::ElementType, input::Fill, op::Op};

    #[test]
    fn peers_are_those_of_the_same_device_and_work() {
        let simulator = Device::simulator().info().clone();
        let work = Work {
            op: Op::Sum,
            element: ElementType::I32,
            n: 1 << 28,
            fill: Fill::Random,
            seed: 1,
        };
        assert_eq!(peers(&simulator, &work).count(), 0);
        let h100 = DeviceInfo { name: "NVIDIA H100 80GB HBM3".into(), ..simulator };
        assert!(
            peers(&h100, &work)
                .all(|peer| peer.library.starts_with("CUB") && peer.gb_per_s > 1000.0)
        );
        assert_eq!(peers(&h100, &work).count(), 1);
        assert_eq!(peers(&h100, &Work { element: ElementType::F64, ..work }).count(), 0);
    }
}
