//! Shell completions and manual pages, made from the definition of the arguments.

use std::io::{self, Write as _};

use anyhow::anyhow;
use clap::{Args, Command, ValueEnum};
use clap_complete::Shell;
use clap_mangen::Man;

use super::failure::{Failure, refused, written};

/// The arguments of a tool's subcommand `generate`.
#[derive(Args, Debug)]
pub struct GenerateArgs {
    /// The completion script or the page to write to stdout
    #[arg(value_enum, value_name = "KIND")]
    kind: Kind,

    /// Only for man: the subcommand that the page describes [default: the tool itself]
    #[arg(value_name = "SUBCOMMAND")]
    subcommand: Option<String>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Kind {
    /// Completions for bash
    CompleteBash,
    /// Completions for elvish
    CompleteElvish,
    /// Completions for fish
    CompleteFish,
    /// Completions for PowerShell
    CompletePowershell,
    /// Completions for zsh
    CompleteZsh,
    /// A manual page
    Man,
}

impl Kind {
    fn shell(self) -> Option<Shell> {
        match self {
            Self::CompleteBash => Some(Shell::Bash),
            Self::CompleteElvish => Some(Shell::Elvish),
            Self::CompleteFish => Some(Shell::Fish),
            Self::CompletePowershell => Some(Shell::PowerShell),
            Self::CompleteZsh => Some(Shell::Zsh),
            Self::Man => None,
        }
    }
}

impl GenerateArgs {
    /// Writes the completion or the manual page of a tool to stdout. `tool` is the definition of
    /// its arguments.
    ///
    /// # Errors
    ///
    /// [`Failure::Refused`] for a subcommand that the tool does not have, or for one beside a
    /// completion, which is for all of the tool. [`Failure::Failed`] for the errors of stdout.
    pub fn run(&self, mut tool: Command) -> Result<(), Failure> {
        let mut bytes = Vec::new();
        match (self.kind.shell(), &self.subcommand) {
            (Some(_), Some(subcommand)) => {
                return Err(refused(anyhow!(
                    "subcommand '{subcommand}': a completion script always covers the whole of {}",
                    tool.get_name()
                )));
            }
            (Some(shell), None) => {
                let name = tool.get_name().to_owned();
                clap_complete::generate(shell, &mut tool, name, &mut bytes);
            }
            (None, subcommand) => written(page(tool, subcommand.as_deref())?.render(&mut bytes))?,
        }
        written(io::stdout().lock().write_all(&bytes))
    }
}

fn page(tool: Command, subcommand: Option<&str>) -> Result<Man, Failure> {
    let mut tool = tool.disable_help_subcommand(true);
    // `build` gives subcommands their full names.
    tool.build();
    let source = format!("{} {}", tool.get_name(), tool.get_version().unwrap_or_default());
    let man = |command| Man::new(command).source(source).manual("warpfold");
    let Some(name) = subcommand else {
        return Ok(man(tool));
    };
    let Some(found) = tool.find_subcommand(name) else {
        let known: Vec<_> = tool.get_subcommands().map(Command::get_name).collect();
        return Err(refused(anyhow!(
            "unknown subcommand '{name}': it is one of {}",
            known.join(", ")
        )));
    };
    Ok(man(found.clone()))
}
