//! Loaded modules and their kernels.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use thiserror::Error;

use crate::ir::{Place, Program};
use crate::launch::Dim3;
use crate::lower;
use crate::memory::{Memory, MemoryError};
use crate::ptx::ast::Frame;
use crate::ptx::{self, ast};

/// Why a PTX text was refused.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum LoadError {
    /// It is not PTX, or not PTX that the parser knows.
    #[error(transparent)]
    Syntax(#[from] ptx::Diagnostic),
    /// It is PTX that cannot be simulated.
    #[error("{module}:{line}:{column}: {reason}: `{instruction}`")]
    Unsupported {
        /// The module's name, usually its file.
        module: String,
        /// The line, from 1.
        line: u32,
        /// The column in characters, from 1.
        column: u32,
        /// The instruction or declaration as written.
        instruction: String,
        /// What about it is not known.
        reason: String,
    },
}

/// What the kernels of a module share.
#[derive(Debug)]
pub(crate) struct Shared {
    /// Tells modules apart in [`Memory`].
    id: u64,
    name: String,
    source: Arc<str>,
    variables: Vec<ast::Variable>,
    files: Vec<ast::SourceFile>,
    locations: Vec<ast::Location>,
}

/// A PTX module, ready to run.
#[derive(Debug, Clone)]
pub struct Module {
    shared: Arc<Shared>,
    kernels: Vec<Kernel>,
}

impl Module {
    /// Parses, validates and lowers PTX. `name` is what messages call it, usually the file's name.
    ///
    /// # Errors
    /// [`LoadError`], with the line and the instruction, for everything that is not known.
    pub fn from_ptx(name: &str, text: &str) -> Result<Module, LoadError> {
        Module::from_ast(&ptx::parse(name, text)?)
    }

    /// [`Module::from_ptx`] of a file's bytes.
    ///
    /// ```
    /// let error = simt::Module::from_bytes("elf.ptx", b"\x7fELF\x02\x01\x01\xff").unwrap_err();
    /// assert!(error.to_string().starts_with("byte 0xff is not UTF-8\n --> elf.ptx:1:8"));
    /// ```
    ///
    /// # Errors
    /// [`LoadError`]; [`LoadError::Syntax`] for bytes that are not UTF-8.
    pub fn from_bytes(name: &str, bytes: &[u8]) -> Result<Module, LoadError> {
        Module::from_ptx(name, ptx::decode(name, bytes)?)
    }

    /// Lowers a parsed module.
    ///
    /// # Errors
    /// [`LoadError::Unsupported`]
    pub fn from_ast(module: &ast::Module) -> Result<Module, LoadError> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let shared = Arc::new(Shared {
            id: NEXT.fetch_add(1, Relaxed),
            name: module.name.clone(),
            source: Arc::clone(&module.source),
            variables: module.variables.clone(),
            files: module.files.clone(),
            locations: module.locations.clone(),
        });
        let kernels = module
            .functions
            .iter()
            .filter(|function| function.is_entry() && function.defined)
            .map(|function| {
                let (program, uses_dynamic_shared) = lower::lower(module, function)?;
                Ok(Kernel(Arc::new(KernelData {
                    module: Arc::clone(&shared),
                    name: function.name.clone(),
                    params: lay_out(&function.params).0,
                    limits: function.limits,
                    uses_dynamic_shared,
                    program,
                })))
            })
            .collect::<Result<_, LoadError>>()?;
        Ok(Module { shared, kernels })
    }

    /// The name it was loaded under.
    pub fn name(&self) -> &str {
        &self.shared.name
    }

    /// Its kernels, in the text's order.
    pub fn kernels(&self) -> &[Kernel] {
        &self.kernels
    }

    /// The kernel of this name.
    pub fn kernel(&self, name: &str) -> Option<&Kernel> {
        self.kernels.iter().find(|kernel| kernel.name() == name)
    }
}

/// A parameter of a kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Param {
    /// Its name in the PTX.
    pub name: String,
    /// Its type in the PTX; for a structure that of its elements, usually `b8`.
    pub ty: ast::Type,
    /// In bytes.
    pub size: u64,
    /// In bytes.
    pub align: u32,
    /// Where it begins in the parameter space, in bytes.
    pub offset: u64,
}

/// Lays out parameters one after another, each aligned, and says how many bytes they take.
pub(crate) fn lay_out(params: &[ast::Param]) -> (Vec<Param>, u64) {
    let mut end = 0;
    let laid_out = params
        .iter()
        .map(|param| {
            let offset = u64::next_multiple_of(end, u64::from(param.align.max(1)));
            end = offset + param.size();
            Param { name: param.name.clone(), ty: param.ty, size: param.size(), align: param.align, offset }
        })
        .collect();
    (laid_out, end)
}

#[derive(Debug)]
struct KernelData {
    module: Arc<Shared>,
    name: String,
    params: Vec<Param>,
    limits: ast::Limits,
    uses_dynamic_shared: bool,
    program: Program,
}

/// A kernel of a [`Module`]. Cloning is cheap.
#[derive(Debug, Clone)]
pub struct Kernel(Arc<KernelData>);

impl Kernel {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// The name of the module it is from.
    pub fn module_name(&self) -> &str {
        &self.0.module.name
    }

    /// Its parameters, in order.
    pub fn params(&self) -> &[Param] {
        &self.0.params
    }

    /// Bytes of shared memory that its own `.shared` variables take in each block.
    pub fn static_shared_bytes(&self) -> u32 {
        self.0.program.static_shared
    }

    /// Whether it names dynamic shared memory, whose size comes with the launch.
    pub fn uses_dynamic_shared(&self) -> bool {
        self.0.uses_dynamic_shared
    }

    /// Most threads a block may have by its `.maxntid` or `.reqntid`, if it has one.
    pub fn max_threads_per_block(&self) -> Option<u32> {
        let limits = &self.0.limits;
        limits.required_threads.or(limits.max_threads).map(|n| n.iter().product())
    }

    pub(crate) fn limits(&self) -> &ast::Limits {
        &self.0.limits
    }

    /// Whether its directives say that it is launched in clusters.
    pub(crate) fn wants_cluster(&self) -> bool {
        self.0.limits.explicit_cluster || self.0.limits.required_cluster.is_some()
    }

    pub(crate) fn program(&self) -> &Program {
        &self.0.program
    }

    /// The rule of the kernel's directives that `block` breaks.
    pub(crate) fn refuses_block(&self, block: Dim3) -> Option<String> {
        let limits = &self.0.limits;
        if let Some([x, y, z]) = limits.required_threads {
            let required = Dim3 { x, y, z };
            return (block != required).then(|| format!("blocks of exactly {required} threads"));
        }
        let [x, y, z] = limits.max_threads?;
        let most = Dim3 { x, y, z }.count();
        (block.count() > most).then(|| format!("blocks of at most {most} threads"))
    }

    /// The text and line of a place in this kernel's module.
    pub(crate) fn text(&self, place: Place) -> String {
        let text = self.0.module.source.get(place.start as usize..place.end as usize).unwrap_or_default();
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// The source that a place was compiled from.
    pub(crate) fn frames(&self, place: Place) -> Vec<Frame> {
        let Shared { files, locations, .. } = &*self.0.module;
        place.location.map_or_else(Vec::new, |location| ast::frames(files, locations, location))
    }

    /// The device addresses of the module's variables, which are placed when the module first runs on `memory`.
    pub(crate) fn variables(&self, memory: &Memory) -> Result<Arc<[u64]>, MemoryError> {
        let module = &self.0.module;
        memory.module_variables(module.id, || {
            let in_memory = |variable: &ast::Variable| {
                matches!(variable.space, ast::Space::Global | ast::Space::Const) && variable.size() > 0
            };
            let mut addresses = Vec::with_capacity(module.variables.len());
            for variable in &module.variables {
                let placed = if in_memory(variable) { memory.alloc(variable.size()) } else { Ok(0) };
                match placed {
                    Ok(address) => addresses.push(address),
                    Err(error) => {
                        // Nothing is kept of a module that does not fit.
                        for address in addresses.into_iter().filter(|address| *address != 0) {
                            memory.free(address)?;
                        }
                        return Err(error);
                    }
                }
            }
            for (variable, &address) in module.variables.iter().zip(&addresses) {
                // Without an initialiser they are zero (PTX ISA, "Initializers").
                memory.assume_written_at(address);
                let Some(init) = variable.init.as_ref().filter(|_| in_memory(variable)) else {
                    continue;
                };
                let mut bytes = init.bytes.clone();
                for relocation in &init.relocations {
                    let value = addresses[relocation.variable as usize].wrapping_add_signed(relocation.addend);
                    let at = relocation.offset as usize;
                    bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
                }
                memory.write(address, &bytes)?;
            }
            Ok(addresses)
        })
    }
}
