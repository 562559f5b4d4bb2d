//! A picture as JSON.

use serde_json::{Value as Json, json};

use super::{Picture, Place, Request};

impl Picture {
    /// The picture as one JSON object: for each request, which lanes ask for which words, and what
    /// the request costs.
    pub fn to_json(&self) -> Json {
        json!({
            "kernel": self.kernel,
            "name": self.name,
            "run": self.run,
            "requests": self.requests.iter().map(request).collect::<Vec<_>>(),
        })
    }
}

fn request(request: &Request) -> Json {
    let (memory, cost, least) = match request.place {
        Place::Global => ("global", "sectors", "least_sectors"),
        Place::Shared => ("shared", "wavefronts", "least_wavefronts"),
    };
    let (unit, at) = match request.place {
        Place::Global => ("line", "word"),
        Place::Shared => ("row", "bank"),
    };
    let words = request.rows().into_iter().flat_map(|row| {
        let number = row.number;
        let asked = row.words.into_iter().enumerate().filter(|(_, lanes)| !lanes.is_empty());
        asked.map(move |(word, lanes)| json!({unit: number, at: word, "lanes": lanes}))
    });
    json!({
        "what": request.what,
        "memory": memory,
        "instruction": request.instruction,
        "bytes_per_lane": request.bytes,
        "lanes": request.lanes.iter().map(|&(lane, byte)| json!({"lane": lane, "byte": byte})).collect::<Vec<_>>(),
        "words": words.collect::<Vec<_>>(),
        "bytes_asked": request.asked_bytes(),
        cost: request.cost,
        least: request.least,
        "requests_in_launch": request.in_launch.map(|(requests, _)| requests),
        "text": request.summary(),
    })
}
