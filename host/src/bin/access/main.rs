//! The command-line tool `access`: the lecture's slides on memory access, live.

mod args;

use std::{
    io::{self, Write},
    process::ExitCode,
};

use anyhow::anyhow;
use clap::CommandFactory;
use warpfold_lab::{
    access::{AccessError, Drawn, Lab, Pattern, explain},
    cli::{
        Failure, PictureArgs, Progress, PtxArgs, exit, failed, interruptible, note, open_device,
        parse, refused, written,
    },
    device::{Device, DeviceKind, Instrument},
    output::{self, Document, Format},
    ptx::PtxLibrary,
    requests::player,
};

use crate::args::{Args, Command, Job};

fn main() -> ExitCode {
    exit(parse().and_then(|args: Args| args.resolve().map_err(refused)).and_then(run))
}

fn run(command: Command) -> Result<(), Failure> {
    match command {
        Command::List => written(write_list(&mut io::stdout().lock())),
        Command::Generate(args) => args.run(Args::command()),
        Command::Explain(drawn, ptx, picture) => draw(&drawn, &ptx, &picture),
        Command::Show(job) => show(job),
    }
}

/// Writes the patterns, what they do and their slides.
fn write_list(out: &mut impl Write) -> io::Result<()> {
    for pattern in Pattern::ALL {
        writeln!(out, "{:13}  {}", pattern.name(), pattern.about())?;
        writeln!(out, "{:13}  slide: {}", "", pattern.slide())?;
    }
    writeln!(out, "{:13}  run all patterns and write one document", "all")
}

/// Draws the request of a pattern.
fn draw(drawn: &Drawn, ptx: &PtxArgs, picture: &PictureArgs) -> Result<(), Failure> {
    let explained = explain(&ptx.open()?, drawn).map_err(|error| match error {
        AccessError::Ptx(error) => ptx.no_ptx(error),
        error => failed(error),
    })?;
    picture.write(&explained)
}

/// The picture of a pattern as part of a page: a request for each of a few values. A pattern
/// without a picture has none.
fn on_page(library: &PtxLibrary, pattern: Pattern, seed: u32) -> Option<output::Picture> {
    let drawn = Drawn::on_page(pattern, seed);
    let pictures: Vec<_> = drawn.iter().filter_map(|drawn| explain(library, drawn).ok()).collect();
    let title = format!("access {pattern}: one request of a warp");
    (!pictures.is_empty()).then(|| player(&format!("access-{pattern}"), title, &pictures))
}

fn show(job: Job) -> Result<(), Failure> {
    let Job { patterns, request, device, ptx, output } = job;
    for &pattern in &patterns {
        Lab::check(pattern, &request).map_err(refused)?;
    }
    let library = ptx.open()?;
    let device = open_device(device.device)?;
    let counter = interruptible(Device::simulator_with(Instrument::Count))?;
    let gpu = (device.info().kind == DeviceKind::Cuda).then_some(&device);

    let title = match *patterns {
        [pattern] => format!("access {pattern}"),
        _ => "access all".into(),
    };
    let mut document = Document {
        title,
        environment: environment(&device, gpu.is_some(), request.seed),
        ..Document::default()
    };
    let progress = Progress::new();
    let mut lab = Lab::new(&library, &counter, gpu, request).on_row(|what| progress.say(what));
    let in_all = patterns.len() > 1;
    let mut shown = Vec::new();
    for pattern in patterns {
        match lab.run(pattern) {
            Ok(section) => {
                shown.push(pattern);
                document.tables.extend(section.tables);
                document.charts.extend(section.charts);
            }
            Err(error @ AccessError::NeedsGpu { .. }) if in_all => {
                note(format_args!("left out: {error}"));
            }
            Err(AccessError::Ptx(error)) => return Err(ptx.no_ptx(error)),
            Err(error) if error.is_refusal() => return Err(refused(error)),
            Err(error) => return Err(failed(error)),
        }
        if lab.is_interrupted() {
            break;
        }
    }
    let interrupted = lab.is_interrupted();
    document.interrupted = interrupted;
    if output.format() == Format::Html {
        let pictures = shown.iter().filter_map(|&pattern| on_page(&library, pattern, request.seed));
        document.pictures = pictures.collect();
    }
    drop(lab);
    drop(progress);
    output.write(document)?;
    if interrupted {
        return Err(Failure::Interrupted(anyhow!("only the rows that were finished are written")));
    }
    Ok(())
}

fn environment(device: &Device, is_gpu: bool, seed: u32) -> Vec<(String, String)> {
    let mut environment = vec![("device".to_owned(), device.info().name.clone())];
    if is_gpu {
        let (major, minor) = device.info().compute_capability;
        environment.push(("compute capability".into(), format!("{major}.{minor}")));
        environment.push(("times".into(), "measured on the GPU".into()));
        environment
            .push(("requests, sectors, conflicts".into(), "counted on the simulator".into()));
    } else {
        environment.push((
            "times".into(),
            "none, because the simulator's times say nothing about a GPU".into(),
        ));
    }
    environment.push(("seed".into(), seed.to_string()));
    environment
}
