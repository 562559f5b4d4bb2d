//! Loaded modules and their kernels.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use crate::dim::Dim3;
use crate::exec::memory::{Memory, MemoryError};
use crate::exec::variables::{self, in_memory};
use crate::ir::param::{Param, lay_out};
use crate::ir::{Place, Program};
use crate::lower::{self, LoadError, Lowered, Refusal};
use crate::ptx::ast::Frame;
use crate::ptx::{self, ast};

/// The data that the kernels of a module share.
#[derive(Debug)]
pub(crate) struct Shared {
    /// The number by which [`Memory`](crate::Memory) distinguishes modules.
    pub(crate) id: u64,
    name: String,
    source: Arc<str>,
    pub(crate) variables: Vec<ast::Variable>,
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
    /// Parses, validates and lowers a PTX text. `name` is the module's name in messages, usually
    /// the file's name.
    ///
    /// A kernel that contains an instruction that the parser or the simulator does not know, or
    /// that calls a function with such an instruction, is loaded too. A launch of it is refused
    /// (see [`Kernel::refusals`]).
    ///
    /// # Errors
    /// [`LoadError`], with the place, for a text that is not PTX.
    pub fn from_ptx(name: &str, text: &str) -> Result<Module, LoadError> {
        Ok(Module::from_ast(&ptx::parse_with_unknown(name, text)?))
    }

    /// Parses, validates and lowers the bytes of a PTX file, as [`Module::from_ptx`] does.
    ///
    /// ```
    /// let error = simt::Module::from_bytes("elf.ptx", b"\x7fELF\x02\x01\x01\xff").unwrap_err();
    /// assert!(error.to_string().starts_with("byte 0xff is not UTF-8\n --> elf.ptx:1:8"));
    /// ```
    ///
    /// # Errors
    /// [`LoadError`]. Bytes that are not UTF-8 are a [`LoadError::Syntax`].
    pub fn from_bytes(name: &str, bytes: &[u8]) -> Result<Module, LoadError> {
        Module::from_ptx(name, ptx::decode(name, bytes)?)
    }

    /// Lowers a parsed module.
    pub fn from_ast(module: &ast::Module) -> Module {
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
                let Lowered { program, uses_dynamic_shared, refusals } =
                    lower::lower(module, function);
                Kernel(Arc::new(KernelData {
                    module: Arc::clone(&shared),
                    name: function.name.clone(),
                    params: lay_out(&function.params).0,
                    limits: function.limits,
                    uses_dynamic_shared,
                    refusals,
                    program,
                }))
            })
            .collect();
        Module { shared, kernels }
    }

    /// The name under which the module was loaded.
    pub fn name(&self) -> &str {
        &self.shared.name
    }

    /// The kernels of the module, in the order of the text.
    pub fn kernels(&self) -> &[Kernel] {
        &self.kernels
    }

    /// The `.global` or `.const` variable of this name on `memory`; `None` if the module has no
    /// such variable. This is what `cuModuleGetGlobal` does. A variable is at the same address in
    /// all launches on one memory, and keeps what launches and the host write. The variables of a
    /// module are placed, with their initial values, when one of its kernels first runs on the
    /// memory or when this function is first called.
    ///
    /// ```
    /// use simt::{LaunchConfig, Memory, Module, launch_named};
    ///
    /// let module = Module::from_ptx(
    ///     "counter.ptx",
    ///     ".version 7.0
    ///      .target sm_75
    ///      .address_size 64
    ///      .global .align 4 .u32 counter = 5;
    ///      .visible .entry increase() { red.global.add.u32 [counter], 1; ret; }",
    /// )?;
    /// let memory = Memory::new(1 << 20);
    /// let counter = module.variable("counter", &memory)?.ok_or("no such variable")?;
    /// memory.write(counter.address, &100u32.to_le_bytes())?;
    /// launch_named(&module, "increase", &LaunchConfig::new(1, 32), &[], &memory)?;
    /// let mut bytes = [0; 4];
    /// memory.read(counter.address, &mut bytes)?;
    /// assert_eq!((u32::from_le_bytes(bytes), counter.bytes), (132, 4));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`MemoryError`] if the memory has no room for the module's variables.
    pub fn variable(
        &self,
        name: &str,
        memory: &Memory,
    ) -> Result<Option<ModuleVariable>, MemoryError> {
        let named = |variable: &ast::Variable| variable.name == name && in_memory(variable);
        let Some(index) = self.shared.variables.iter().position(named) else { return Ok(None) };
        let addresses = variables::place(&self.shared, memory)?;
        let bytes = self.shared.variables[index].size();
        Ok(Some(ModuleVariable { address: addresses[index], bytes }))
    }

    /// The kernel of this name; `None` if the module has no such kernel.
    pub fn kernel(&self, name: &str) -> Option<&Kernel> {
        self.kernels.iter().find(|kernel| kernel.name() == name)
    }
}

/// A variable of a [`Module`] in device memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModuleVariable {
    /// The device address of its first byte.
    pub address: u64,
    /// Its size in bytes.
    pub bytes: u64,
}

#[derive(Debug)]
struct KernelData {
    module: Arc<Shared>,
    name: String,
    params: Vec<Param>,
    limits: ast::Limits,
    uses_dynamic_shared: bool,
    refusals: Vec<Refusal>,
    program: Program,
}

/// A kernel of a [`Module`]. Cloning is cheap.
#[derive(Debug, Clone)]
pub struct Kernel(Arc<KernelData>);

impl Kernel {
    /// The data that the kernel shares with the other kernels of its module.
    pub(crate) fn module(&self) -> &Shared {
        &self.0.module
    }

    /// The name of the kernel.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// The name of the kernel's module.
    pub fn module_name(&self) -> &str {
        &self.0.module.name
    }

    /// The parameters of the kernel, in order.
    pub fn params(&self) -> &[Param] {
        &self.0.params
    }

    /// How many bytes of shared memory the kernel's own `.shared` variables take in each block.
    pub fn static_shared_bytes(&self) -> u32 {
        self.0.program.static_shared
    }

    /// Whether the kernel uses dynamic shared memory, whose size comes with the launch.
    pub fn uses_dynamic_shared(&self) -> bool {
        self.0.uses_dynamic_shared
    }

    /// The reasons for which the kernel cannot be run: the instructions that are not simulated, in
    /// the kernel and in the functions that it calls. A launch of a kernel that has any is refused.
    ///
    /// ```
    /// use simt::{Arg, LaunchConfig, Memory, Module, launch};
    ///
    /// let module = Module::from_ptx(
    ///     "two.ptx",
    ///     ".version 9.9
    ///      .target sm_75
    ///      .address_size 64
    ///      .visible .entry good() { ret; }
    ///      .visible .entry bad() {
    ///          frobnicate.sync;
    ///          ret;
    ///      }",
    /// )?;
    /// let [good, bad] = module.kernels() else { panic!() };
    /// assert!(good.refusals().is_empty());
    /// assert_eq!(bad.refusals()[0].line, 6);
    /// let refused = launch(bad, &LaunchConfig::new(1, 1), &[], &Memory::new(0)).unwrap_err();
    /// assert_eq!(
    ///     refused.to_string(),
    ///     "kernel `bad` cannot be run: two.ptx:6:10: unknown instruction `frobnicate.sync`: \
    ///      `frobnicate.sync;`"
    /// );
    /// # Ok::<(), simt::LoadError>(())
    /// ```
    pub fn refusals(&self) -> &[Refusal] {
        &self.0.refusals
    }

    /// The greatest number of threads that the kernel's `.maxntid` or `.reqntid` allows in a block;
    /// `None` if the kernel has neither.
    pub fn max_threads_per_block(&self) -> Option<u32> {
        let limits = &self.0.limits;
        limits.required_threads.or(limits.max_threads).map(|n| n.iter().product())
    }

    pub(crate) fn limits(&self) -> &ast::Limits {
        &self.0.limits
    }

    /// Whether the kernel's directives require a launch in clusters.
    pub(crate) fn wants_cluster(&self) -> bool {
        self.0.limits.explicit_cluster || self.0.limits.required_cluster.is_some()
    }

    pub(crate) fn program(&self) -> &Program {
        &self.0.program
    }

    /// The rule of the kernel's directives that `block` breaks, in words; `None` if it breaks no
    /// rule.
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

    /// The text at a place of this kernel's module, in one line.
    pub(crate) fn text(&self, place: Place) -> String {
        let text =
            self.0.module.source.get(place.start as usize..place.end as usize).unwrap_or_default();
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// The source lines from which a place was compiled, innermost first.
    pub(crate) fn frames(&self, place: Place) -> Vec<Frame> {
        let Shared { files, locations, .. } = &*self.0.module;
        place.location.map_or_else(Vec::new, |location| ast::frames(files, locations, location))
    }
}
