//! Tests of the pictures of a warp's requests: `access explain` and `transpose explain`. The facts
//! are computed by hand from the lecture's rules.

mod support;

use std::sync::LazyLock;

use roxmltree::{Document, Node};
use simt::Access;
use warpfold_lab::{
    access::{self, Drawn, Pattern},
    device::{Device, Instrument},
    experiment::{Runner, Runs, counters},
    output::Width,
    ptx::PtxLibrary,
    requests::{Picture, Place, Request, player},
    transpose::{self, ElementType, Matrix, Problem, Variant, plan},
};

static LIBRARY: LazyLock<PtxLibrary> = LazyLock::new(support::library);

/// The picture of a pattern at one value of its parameter.
fn pattern(pattern: Pattern, value: &str) -> Picture {
    let drawn = Drawn::parse(pattern, Some(value), 1).unwrap();
    access::explain(&LIBRARY, &drawn).unwrap_or_else(|error| panic!("{pattern} {value}: {error}"))
}

/// The only request of such a picture.
fn request(of: Pattern, value: u32) -> Request {
    let mut requests = pattern(of, &value.to_string()).requests;
    assert_eq!(requests.len(), 1, "{of} {value}");
    requests.remove(0)
}

fn variant(variant: Variant, element: ElementType, extent: u64, tile: Option<u64>) -> Picture {
    let problem = Problem { variant, element, rows: extent, cols: extent };
    transpose::explain(&LIBRARY, &problem, tile)
        .unwrap_or_else(|error| panic!("{variant} {element}: {error}"))
}

/// The request of a variant on 64 x 64 floats that does this with this memory.
fn of_variant(of: Variant, place: Place, access: Access) -> Request {
    let picture = variant(of, ElementType::F32, 64, None);
    let mut requests = picture.requests.into_iter();
    requests.find(|request| request.place == place && request.access == access).unwrap()
}

/// The row and the word of each lane, if each lane asks for one word.
fn places(request: &Request) -> Vec<(u64, usize)> {
    let mut places = vec![None; 32];
    for row in request.rows() {
        for (word, lanes) in row.words.iter().enumerate() {
            for &lane in lanes {
                assert_eq!(places[lane as usize].replace((row.number, word)), None);
            }
        }
    }
    places.into_iter().map(Option::unwrap).collect()
}

#[test]
fn an_offset_takes_a_fifth_sector_unless_it_is_a_whole_sector() {
    for offset in (0..=40).chain([1024]) {
        let request = request(Pattern::Offset, offset);
        let sectors = if offset % 8 == 0 { 4 } else { 5 };
        assert_eq!((request.cost, request.least), (sectors, 4), "offset {offset}");
        let expected = (0..32).map(|lane| lane + offset as usize);
        let expected: Vec<_> = expected.map(|word| ((word / 32) as u64, word % 32)).collect();
        assert_eq!(places(&request), expected, "offset {offset}");
    }
}

#[test]
fn a_stride_takes_sectors_in_proportion_up_to_one_for_each_lane() {
    for stride in [1, 2, 3, 4, 5, 7, 8, 9, 32, 64, 1024] {
        let request = request(Pattern::Stride, stride);
        // The last word is 31 strides behind the first, and a sector has eight words.
        let sectors = if stride >= 8 { 32 } else { u64::from(31 * stride / 8 + 1) };
        assert_eq!((request.cost, request.least), (sectors, 4), "stride {stride}");
        assert_eq!(
            places(&request)[31],
            (u64::from(31 * stride / 32), (31 * stride % 32) as usize)
        );
    }
    // Stride 2 takes twice the sectors of stride 1.
    let cost = |stride| request(Pattern::Stride, stride).cost;
    assert_eq!(cost(2), 2 * cost(1));
}

#[test]
fn the_order_of_the_lanes_costs_nothing() {
    let lane = |order, lane: usize| places(&pattern(Pattern::Permuted, order).requests[0])[lane];
    assert_eq!((lane("reversed", 0), lane("reversed", 31)), ((0, 31), (0, 0)));
    assert_eq!((lane("xor 1", 6), lane("xor 16", 6)), ((0, 7), (0, 22)));
    for order in ["identity", "reversed", "xor 1", "xor 16", "random"] {
        let request = &pattern(Pattern::Permuted, order).requests[0];
        let mut words: Vec<_> = places(request).into_iter().collect();
        words.sort_unstable();
        assert!(words.into_iter().eq((0..32).map(|word| (0, word))), "{order}");
        assert_eq!((request.cost, request.least), (4, 4), "{order}");
    }
}

#[test]
fn a_wide_access_takes_as_many_sectors_as_it_has_bytes() {
    for width in [4, 8, 16] {
        let request = request(Pattern::Width, width);
        assert_eq!((request.bytes, request.asked_bytes()), (width, u64::from(32 * width)));
        assert_eq!((request.cost, request.least), (u64::from(width), u64::from(width)));
        // Lane 1 takes the words after those of lane 0.
        let words: Vec<_> = request.rows()[0].words.iter().map(|lanes| lanes[0]).collect();
        assert!((0..32).all(|word| words[word] == word as u32 * 4 / width), "{words:?}");
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[test]
fn a_stride_in_shared_memory_meets_a_bank_as_often_as_the_divisor_says() {
    for stride in 1..=40 {
        let request = request(Pattern::SharedStride, stride);
        let turns = gcd(stride.into(), 32);
        assert_eq!((request.cost, request.least), (turns, 1), "stride {stride}");
        let banks = request.words_of_banks();
        let expected = (0..32).map(|bank| if bank % turns == 0 { turns } else { 0 });
        assert_eq!(banks.to_vec(), expected.collect::<Vec<_>>(), "stride {stride}");
    }
}

#[test]
fn offsets_and_broadcasts_in_shared_memory_have_no_conflicts() {
    for offset in [0, 1, 31, 32, 1024] {
        let request = request(Pattern::SharedOffset, offset);
        assert_eq!((request.cost, request.least), (1, 1), "offset {offset}");
        assert_eq!(request.words_of_banks(), [1; 32]);
    }
    for together in [1, 2, 3, 32, 256] {
        let request = request(Pattern::Broadcast, together);
        assert_eq!((request.cost, request.least), (1, 1), "{together} threads a word");
        let words: u64 = request.words_of_banks().iter().sum();
        assert_eq!(words, u64::from(32_u32.div_ceil(together)));
        assert_eq!(places(&request)[31], (0, 31 / together as usize));
    }
}

#[test]
fn naive_transposition_takes_a_sector_for_each_lane_on_one_side() {
    use Access::{Read, Write};
    let down = (32, 4, (0..32).map(|lane| (2 * lane, 0)).collect::<Vec<_>>());
    let along = (4, 4, (0..32).map(|lane| (0, lane)).collect::<Vec<_>>());
    for (variant, load, store) in [
        (Variant::Copy, &along, &along),
        (Variant::NaiveStore, &along, &down),
        (Variant::NaiveLoad, &down, &along),
        (Variant::StridedCopy, &down, &down),
    ] {
        for (access, expected) in [(Read, load), (Write, store)] {
            let request = of_variant(variant, Place::Global, access);
            let found = (request.cost, request.least, places(&request));
            assert_eq!(found, *expected, "{variant} {access:?}");
        }
    }
}

#[test]
fn a_column_of_a_tile_is_one_bank_unless_it_is_padded_or_swizzled() {
    let read = |variant| of_variant(variant, Place::Shared, Access::Read);
    let tiled = read(Variant::Tiled);
    assert_eq!((tiled.cost, tiled.least), (32, 1));
    assert!(places(&tiled).into_iter().eq((0..32).map(|lane| (lane, 0))));
    // In a padded tile, word 33 * r is in row r and bank r.
    for variant in [Variant::Padded, Variant::Diagonal] {
        let padded = read(variant);
        assert_eq!((padded.cost, padded.least), (1, 1), "{variant}");
        assert!(places(&padded).into_iter().eq((0..32).map(|lane| (lane, lane as usize))));
    }
    // Column 0 of row r is at 0 ^ r.
    let swizzled = read(Variant::Swizzled);
    assert_eq!((swizzled.cost, swizzled.least), (1, 1));
    assert!(places(&swizzled).into_iter().eq((0..32).map(|lane| (lane, lane as usize))));

    // In a tile of 16 x 16, a warp reads two columns. Each of them has 8 words in each of 2 banks.
    let picture = variant(Variant::Tiled, ElementType::F32, 64, Some(16));
    let read = &picture.requests[2];
    assert_eq!((read.place, read.access, read.cost), (Place::Shared, Access::Read, 8));
    let busy = [0, 1, 16, 17];
    let expected: Vec<u64> = (0..32).map(|bank| if busy.contains(&bank) { 8 } else { 0 }).collect();
    assert_eq!(read.words_of_banks().to_vec(), expected);
}

/// The requests of the whole launch are those of the simulator's counters, which count without a
/// trace.
#[test]
fn the_sums_over_the_launch_are_the_counters() {
    let device = Device::simulator_with(Instrument::Count);
    for variant in Variant::all() {
        for element in [ElementType::U8, ElementType::F32, ElementType::U128] {
            let (rows, cols) = (70, 70);
            let problem = Problem { variant, element, rows, cols };
            let picture = transpose::explain(&LIBRARY, &problem, None).unwrap();
            let plan = plan(&problem, None, 1 << 30).unwrap();
            let matrix = Matrix::generate(element, rows, cols, 1).unwrap();
            Runner::new(&device, &LIBRARY).transpose(&plan, &matrix, Runs::ONCE, |_| ()).unwrap();
            let counters = counters(&device).unwrap();
            for request in &picture.requests {
                let expected = match (request.place, request.access) {
                    (Place::Global, Access::Read) => {
                        (counters.global.load.requests, counters.global.load.sectors)
                    }
                    (Place::Global, _) => {
                        (counters.global.store.requests, counters.global.store.sectors)
                    }
                    (Place::Shared, Access::Read) => {
                        (counters.shared.load.requests, counters.shared.load.wavefronts)
                    }
                    (Place::Shared, _) => {
                        (counters.shared.store.requests, counters.shared.store.wavefronts)
                    }
                };
                assert_eq!(
                    request.in_launch,
                    Some(expected),
                    "{variant} {element} {}",
                    request.what
                );
            }
        }
    }
}

/// Every picture that the tests write: of each pattern, and of each variant and width of elements.
fn all() -> Vec<Picture> {
    let drawn = Pattern::ALL.into_iter().flat_map(|pattern| Drawn::on_page(pattern, 1));
    let mut pictures: Vec<Picture> =
        drawn.map(|drawn| access::explain(&LIBRARY, &drawn).unwrap()).collect();
    assert_eq!(pictures.len(), 27);
    for of in Variant::all() {
        for element in [
            ElementType::U8,
            ElementType::F16,
            ElementType::F32,
            ElementType::F64,
            ElementType::U128,
        ] {
            for extent in [1, 33, 256] {
                pictures.push(variant(of, element, extent, None));
            }
        }
    }
    pictures
}

fn text(picture: &Picture, width: Width) -> String {
    let mut text = Vec::new();
    picture.write_text(width, &mut text).unwrap();
    String::from_utf8(text).unwrap()
}

#[test]
fn no_line_is_longer_than_the_width() {
    for picture in all() {
        for (width, columns) in
            [(Width::File, 100), (Width::Terminal(60), 60), (Width::Terminal(200), 200)]
        {
            let text = text(&picture, width);
            for line in text.lines() {
                assert!(line.chars().count() <= columns, "{columns} columns: {line}\n{text}");
                assert_eq!(line, line.trim_end());
            }
        }
    }
}

#[test]
fn a_column_of_the_tile_is_drawn_below_its_bank() {
    let text = text(&variant(Variant::Tiled, ElementType::F32, 64, None), Width::File);
    let (_, drawn) =
        text.split_once("3. load from shared memory: 32 lanes, 4 bytes each\n").unwrap();
    let rows: Vec<&str> = drawn.lines().skip(3).take(32).collect();
    for (lane, row) in rows.iter().enumerate() {
        let dots = " ".repeat(2) + ".";
        assert_eq!(*row, format!("{lane:>3}  {lane:>2}{}", dots.repeat(31)));
    }
    assert!(drawn.contains("because bank 0 has 32 of the words"), "{drawn}");
}

fn with_class<'a>(svg: &'a Document<'_>, class: &str) -> Vec<Node<'a, 'a>> {
    let has = |node: &Node<'_, '_>| {
        node.attribute("class").is_some_and(|classes| classes.split(' ').any(|one| one == class))
    };
    svg.descendants().filter(has).collect()
}

#[test]
fn the_drawing_has_an_arrow_for_each_word_and_a_frame_for_each_sector() {
    let count = |picture: &Picture, class| {
        let svg = picture.to_svg();
        with_class(&Document::parse(&svg).unwrap_or_else(|error| panic!("{error}\n{svg}")), class)
            .len()
    };
    let stride = pattern(Pattern::Stride, "2");
    assert_eq!(
        (count(&stride, "from"), count(&stride, "sector"), count(&stride, "row")),
        (32, 8, 2)
    );
    // An arrow goes from the middle of lane 17 to that of its word, the third of the second row.
    let svg = stride.to_svg();
    let svg = Document::parse(&svg).unwrap();
    let middle = |node: &Node<'_, '_>| -> f64 { node.attribute("x").unwrap().parse().unwrap() };
    let names: Vec<Node<'_, '_>> =
        with_class(&svg, "thread").into_iter().filter(|node| node.text() == Some("17")).collect();
    let [lane, word] = &names[..] else { panic!("{names:?}") };
    let (from, to) = (format!("M{:.1} ", middle(lane)), format!(" {:.1} ", middle(word)));
    let arrow = |path: &&str| path.starts_with(&from) && path.contains(&to);
    assert_eq!(
        with_class(&svg, "from")
            .iter()
            .filter_map(|node| node.attribute("d"))
            .filter(arrow)
            .count(),
        1
    );

    let tiled = variant(Variant::Tiled, ElementType::F32, 64, None);
    assert_eq!(
        (count(&tiled, "request"), count(&tiled, "clash"), count(&tiled, "sector")),
        (4, 32, 8)
    );
    let padded = variant(Variant::Padded, ElementType::F32, 64, None);
    assert_eq!((count(&padded, "clash"), count(&padded, "new")), (0, 4 * 32));
    for picture in all() {
        let svg = picture.to_svg();
        assert!(Document::parse(&svg).is_ok(), "{svg}");
    }
}

#[test]
fn a_page_shows_a_step_for_each_request() {
    let pictures =
        [variant(Variant::Tiled, ElementType::F32, 64, None), pattern(Pattern::Stride, "1")];
    let shown = player("both", "Both".to_owned(), &pictures);
    let captions: Vec<&str> = shown.steps.iter().map(|step| step.caption.as_str()).collect();
    assert_eq!(captions.len(), 5);
    assert!(captions[2].starts_with("variant tiled, load from shared memory: 32 lanes, 4 bytes each. The request takes 32 wavefronts"));
    assert!(captions[4].starts_with("stride 1, load from the input"));
    // The ids are unique on the page, and all steps have the same height.
    let mut ids = std::collections::HashSet::new();
    let mut heights = std::collections::HashSet::new();
    for step in &shown.steps {
        let svg = Document::parse(&step.svg).unwrap();
        for node in svg.descendants() {
            assert!(node.attribute("id").is_none_or(|id| ids.insert(id.to_owned())));
        }
        heights.insert(svg.root_element().attribute("height").unwrap().to_owned());
    }
    assert_eq!(heights.len(), 1);
}
