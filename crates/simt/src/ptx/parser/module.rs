//! Module scope: directives, variables, function headers, line tables, debug sections.

use super::super::ast::{
    FunctionId, FunctionKind, InlinedAt, Linkage, Location, LocationId, Module, Param, PointerInfo,
    SourceFile, Space, Span, VarRef,
};
use super::super::diagnostic::{Error, Result};
use super::super::lexer::TokenKind;
use super::body::empty_function;
use super::names::{Scope, Symbol};
use super::{Imm, Parser};

impl<'a> Parser<'a> {
    pub(super) fn module(mut self) -> Result<Module> {
        self.line_tables()?;
        self.header()?;
        while self.peek().kind != TokenKind::End {
            self.declaration()?;
        }
        Ok(self.module)
    }

    fn header(&mut self) -> Result<()> {
        if !self.eat_dot("version") {
            return Err(self.unexpected("`.version`, which begins every PTX file"));
        }
        let token = self.bump();
        let version = self.text(token.span).split_once('.');
        let Some((Ok(major), Ok(minor))) =
            version.map(|(major, minor)| (major.parse(), minor.parse()))
        else {
            return Err(Error::new(
                token.span,
                format!("`{}` is not a PTX version", self.text(token.span)),
            ));
        };
        self.module.version = (major, minor);
        if !self.eat_dot("target") {
            return Err(self.unexpected("`.target` after the version"));
        }
        loop {
            let (target, _) = self.ident("a target such as `sm_75`")?;
            self.module.targets.push(target.to_owned());
            if !self.eat(b',') {
                break;
            }
        }
        if self.eat_dot("address_size") {
            let span = self.peek().span;
            let size = self.unsigned32("an address size")?;
            if size != 64 {
                return Err(Error::new(
                    span,
                    format!("addresses of {size} bits are not supported, only of 64"),
                ));
            }
        }
        Ok(())
    }

    fn declaration(&mut self) -> Result<()> {
        let start = self.peek().span;
        let linkage = self.linkage();
        let Some(word) = self.peek_dot() else {
            return Err(self.unexpected("a directive"));
        };
        match word {
            "entry" | "func" => self.function(linkage, start),
            "global" | "const" | "shared" => {
                let variables = self.variables(linkage)?;
                for (name, variable) in variables {
                    let var = VarRef::Module(self.module.variables.len() as u32);
                    self.declare_global(name, Symbol::Var(var), variable.span)?;
                    self.module.variables.push(variable);
                }
                Ok(())
            }
            "file" => self.file().map(drop),
            "section" => self.section(),
            "pragma" => self.pragma(),
            "loc" => self.loc(),
            _ => Err(self.unknown_directive(word)),
        }
    }

    pub(super) fn unknown_directive(&self, word: &str) -> Error {
        Error::new(self.peek().span, format!("unknown directive `.{word}`"))
    }

    fn linkage(&mut self) -> Linkage {
        let linkage = match self.peek_dot() {
            Some("visible") => Linkage::Visible,
            Some("extern") => Linkage::Extern,
            Some("weak") => Linkage::Weak,
            Some("common") => Linkage::Common,
            _ => return Linkage::Internal,
        };
        self.at += 1;
        linkage
    }

    pub(super) fn pragma(&mut self) -> Result<()> {
        self.at += 1;
        loop {
            if self.bump().kind != TokenKind::String {
                self.at -= 1;
                return Err(self.unexpected("a string after `.pragma`"));
            }
            if !self.eat(b',') {
                break;
            }
        }
        self.expect(b';').map(drop)
    }

    /// Reads `.file number "path" [, time, size]`.
    fn file(&mut self) -> Result<SourceFile> {
        self.at += 1;
        let index = self.unsigned32("a file number")?;
        let token = self.peek();
        if token.kind != TokenKind::String {
            return Err(self.unexpected("the file's path"));
        }
        self.at += 1;
        let path = self.text(token.span).trim_matches('"').to_owned();
        while self.eat(b',') {
            self.unsigned("a number")?;
        }
        Ok(SourceFile { index, path })
    }

    /// Collects the tables to which `.loc` refers, because nvcc writes them after the functions.
    fn line_tables(&mut self) -> Result<()> {
        for at in 0..self.tokens.len() {
            let token = self.tokens[at];
            if token.kind != TokenKind::Dot {
                continue;
            }
            self.at = at;
            match self.text(token.span) {
                ".file" => {
                    let file = self.file()?;
                    self.module.files.push(file);
                }
                ".section" => self.debug_strings()?,
                _ => {}
            }
        }
        self.at = 0;
        Ok(())
    }

    /// Reads `.loc file line column [, function_name label [+n], inlined_at file line column]`.
    pub(super) fn loc(&mut self) -> Result<()> {
        self.at += 1;
        let place = self.place()?;
        let mut inlined_at = None;
        if self.eat(b',') {
            let (word, span) = self.ident("`function_name`")?;
            if word != "function_name" {
                return Err(Error::new(span, format!("expected `function_name`, found `{word}`")));
            }
            let label = self.bump();
            let offset = self.offset()?;
            let function = self.debug_string(self.text(label.span), offset);
            self.expect(b',')?;
            let (word, span) = self.ident("`inlined_at`")?;
            if word != "inlined_at" {
                return Err(Error::new(span, format!("expected `inlined_at`, found `{word}`")));
            }
            let call_site = self.place()?;
            let location = match self.call_sites.get(&call_site) {
                Some(&id) => id,
                None => self.intern(call_site, None),
            };
            inlined_at = Some(InlinedAt { function, location });
        }
        self.location = Some(self.intern(place, inlined_at));
        Ok(())
    }

    fn place(&mut self) -> Result<(u32, u32, u32)> {
        let span = self.peek().span;
        let index = self.unsigned32("a file number")?;
        let line = self.unsigned32("a line")?;
        let column = self.unsigned32("a column")?;
        let file = self.module.files.iter().position(|file| file.index == index);
        let file = file.ok_or_else(|| Error::new(span, format!("there is no `.file {index}`")))?;
        Ok((file as u32, line, column))
    }

    fn intern(
        &mut self,
        (file, line, column): (u32, u32, u32),
        inlined_at: Option<InlinedAt>,
    ) -> LocationId {
        let location = Location { file, line, column, inlined_at };
        let next = LocationId(self.module.locations.len() as u32);
        let id = *self.location_ids.entry(location.clone()).or_insert(next);
        if id == next {
            self.module.locations.push(location);
        }
        self.call_sites.insert((file, line, column), id);
        id
    }

    /// Skips a debug section.
    fn section(&mut self) -> Result<()> {
        self.at += 1;
        self.bump();
        let opening = self.expect(b'{')?;
        loop {
            match self.bump().kind {
                TokenKind::End => return Err(Error::new(opening, "this section is never closed")),
                TokenKind::Punct(b'}') => return Ok(()),
                _ => {}
            }
        }
    }

    /// Keeps the debug section of strings, because they name inlined functions, and skips every
    /// other debug section.
    fn debug_strings(&mut self) -> Result<()> {
        self.at += 1;
        if !self.eat_dot("debug_str") {
            return Ok(());
        }
        self.expect(b'{')?;
        loop {
            let token = self.bump();
            match token.kind {
                TokenKind::End | TokenKind::Punct(b'}') => return Ok(()),
                TokenKind::Ident if self.at_punct(b':') => {
                    self.debug_labels.insert(self.text(token.span), self.debug_bytes.len());
                }
                TokenKind::Number(Imm::Int(byte)) => self.debug_bytes.push(byte as u8),
                _ => {}
            }
        }
    }

    /// The string at `label + offset` in the debug strings, up to the next zero byte.
    fn debug_string(&self, label: &str, offset: i64) -> Option<String> {
        let start = self.debug_labels.get(label)?.checked_add_signed(offset as isize)?;
        let bytes = self.debug_bytes.get(start..)?.split(|&byte| byte == 0).next()?;
        Some(String::from_utf8_lossy(bytes).into_owned())
    }

    fn function(&mut self, linkage: Linkage, start: Span) -> Result<()> {
        let kind = if self.eat_dot("entry") {
            FunctionKind::Entry
        } else {
            self.at += 1;
            FunctionKind::Func
        };
        self.function = empty_function();
        self.function.kind = kind;
        self.function.linkage = linkage;
        self.scopes.clear();
        self.scopes.push(Scope::default());
        self.location = None;
        self.call_sites.clear();
        // `.noreturn` may stand on either side of the name.
        self.directives()?;
        if kind == FunctionKind::Func && self.at_punct(b'(') {
            self.function.returns = self.params(Some(VarRef::Return))?;
        }
        let (name, name_span) = self.ident("a function's name")?;
        name.clone_into(&mut self.function.name);
        if self.at_punct(b'(') {
            self.function.params = self.params(Some(VarRef::Param))?;
        }
        self.function.span = Span { end: self.tokens[self.at - 1].span.end, ..start };
        self.directives()?;

        let id = self.register_function(name, name_span)?;
        if !self.eat(b';') {
            self.function.defined = true;
            self.body()?;
        }
        let is_prototype = !self.function.defined;
        let function = std::mem::replace(&mut self.function, empty_function());
        let slot = &mut self.module.functions[id.index()];
        if !(is_prototype && slot.defined) {
            *slot = function;
        }
        Ok(())
    }

    /// The id of the function that is being read. A prototype and its definition share one id.
    fn register_function(&mut self, name: &'a str, span: Span) -> Result<FunctionId> {
        let function = &self.function;
        let Some(&symbol) = self.globals.get(name) else {
            let id = FunctionId(self.module.functions.len() as u32);
            self.module.functions.push(function.clone());
            self.globals.insert(name, Symbol::Function(id));
            return Ok(id);
        };
        let is_definition = !self.at_punct(b';');
        match symbol {
            Symbol::Function(id) => {
                let earlier = &self.module.functions[id.index()];
                if earlier.defined && is_definition {
                    return Err(Error::new(span, format!("`{name}` is defined twice")));
                }
                let sizes = |params: &[Param]| params.iter().map(Param::size).collect::<Vec<_>>();
                if earlier.kind != function.kind
                    || sizes(&earlier.params) != sizes(&function.params)
                    || sizes(&earlier.returns) != sizes(&function.returns)
                {
                    return Err(Error::new(
                        span,
                        format!("`{name}` does not match its earlier declaration"),
                    ));
                }
                Ok(id)
            }
            _ => Err(Error::new(span, format!("`{name}` is declared twice"))),
        }
    }

    fn directives(&mut self) -> Result<()> {
        while let Some(word) = self.peek_dot() {
            let is_entry = self.function.is_entry();
            match word {
                "noreturn" if !is_entry => {
                    self.at += 1;
                    self.function.noreturn = true;
                }
                "pragma" => self.pragma()?,
                "maxntid" if is_entry => self.function.limits.max_threads = Some(self.extents()?),
                "reqntid" if is_entry => {
                    self.function.limits.required_threads = Some(self.extents()?);
                }
                "minnctapersm" if is_entry => {
                    self.function.limits.min_blocks_per_sm = Some(self.limit()?);
                }
                "explicitcluster" if is_entry => {
                    self.at += 1;
                    self.function.limits.explicit_cluster = true;
                }
                "reqnctapercluster" if is_entry => {
                    self.function.limits.required_cluster = Some(self.extents()?);
                }
                "maxclusterrank" if is_entry => {
                    self.function.limits.max_cluster_rank = Some(self.limit()?);
                }
                "maxnreg" if is_entry => self.function.limits.max_registers = Some(self.limit()?),
                _ => return Err(self.unknown_directive(word)),
            }
        }
        Ok(())
    }

    fn limit(&mut self) -> Result<u32> {
        self.at += 1;
        self.unsigned32("a number")
    }

    fn extents(&mut self) -> Result<[u32; 3]> {
        let mut extents = [self.limit()?, 1, 1];
        for extent in &mut extents[1..] {
            if self.eat(b',') {
                *extent = self.unsigned32("a number")?;
            }
        }
        Ok(extents)
    }

    /// Reads `( .param .type name, .. )`. With `make`, declares the names.
    pub(super) fn params(&mut self, make: Option<fn(u32) -> VarRef>) -> Result<Vec<Param>> {
        self.expect(b'(')?;
        let mut params = Vec::new();
        if self.eat(b')') {
            return Ok(params);
        }
        loop {
            let start = self.peek().span;
            if !self.eat_dot("param") {
                return Err(self
                    .unexpected("`.param`")
                    .help("parameters in registers are not supported"));
            }
            let mut align = self.alignment()?;
            let ty = self.ty()?;
            let mut pointer = None;
            if self.eat_dot("ptr") {
                let space = match self.peek_dot() {
                    Some("global") => Space::Global,
                    Some("shared") => Space::Shared,
                    Some("local") => Space::Local,
                    Some("const") => Space::Const,
                    _ => Space::Generic,
                };
                if space != Space::Generic {
                    self.at += 1;
                }
                pointer = Some(PointerInfo { space, align: self.alignment()?.unwrap_or(4) });
            }
            align = align.or(self.alignment()?);
            let (name, span) = self.ident("a parameter's name")?;
            let count = self.array_length()?;
            if count == Some(0) {
                return Err(Error::new(span, format!("parameter `{name}` has no size")));
            }
            if let Some(make) = make {
                self.declare(name, Symbol::Var(make(params.len() as u32)), span)?;
            }
            params.push(Param {
                name: name.to_owned(),
                ty,
                count,
                align: align.unwrap_or(ty.size()),
                pointer,
                span: Span { end: self.tokens[self.at - 1].span.end, ..start },
            });
            if self.eat(b')') {
                return Ok(params);
            }
            if !self.eat(b',') {
                return Err(self.unexpected("`,` or `)`"));
            }
        }
    }
}
