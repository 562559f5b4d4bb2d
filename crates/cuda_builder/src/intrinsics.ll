; The functions that cuda_std declares and Rust cannot express. The builder appends this file to the
; linked module.

; Dynamic shared memory: PTX ISA, "Variables", "extern .shared" arrays of unknown size. 16 bytes is
; the widest access.
@__cuda_std_dynamic_shared_array = external addrspace(3) global [0 x i8], align 16

; Returns a generic pointer. After inlining, LLVM's InferAddressSpaces finds out that it points to
; shared memory.
define internal ptr @__cuda_std_dynamic_shared() alwaysinline nounwind {
  ret ptr addrspacecast (ptr addrspace(3) @__cuda_std_dynamic_shared_array to ptr)
}

; Warp shuffles that also tell whether the source lane was in range: PTX ISA, "shfl.sync". A Rust
; signature cannot express LLVM's pair { i32, i1 }, so the value is returned in the low word and the
; predicate in the high word. The functions are convergent, because LLVM must not move them into or
; out of a branch.

declare { i32, i1 } @llvm.nvvm.shfl.sync.up.i32p(i32, i32, i32, i32)

define internal i64 @__cuda_std_shfl_up(i32 %mask, i32 %word, i32 %operand, i32 %control) alwaysinline convergent nounwind {
  %pair = call { i32, i1 } @llvm.nvvm.shfl.sync.up.i32p(i32 %mask, i32 %word, i32 %operand, i32 %control)
  %value = extractvalue { i32, i1 } %pair, 0
  %inside = extractvalue { i32, i1 } %pair, 1
  %low = zext i32 %value to i64
  %bit = zext i1 %inside to i64
  %high = shl i64 %bit, 32
  %both = or i64 %high, %low
  ret i64 %both
}

declare { i32, i1 } @llvm.nvvm.shfl.sync.down.i32p(i32, i32, i32, i32)

define internal i64 @__cuda_std_shfl_down(i32 %mask, i32 %word, i32 %operand, i32 %control) alwaysinline convergent nounwind {
  %pair = call { i32, i1 } @llvm.nvvm.shfl.sync.down.i32p(i32 %mask, i32 %word, i32 %operand, i32 %control)
  %value = extractvalue { i32, i1 } %pair, 0
  %inside = extractvalue { i32, i1 } %pair, 1
  %low = zext i32 %value to i64
  %bit = zext i1 %inside to i64
  %high = shl i64 %bit, 32
  %both = or i64 %high, %low
  ret i64 %both
}

declare { i32, i1 } @llvm.nvvm.shfl.sync.bfly.i32p(i32, i32, i32, i32)

define internal i64 @__cuda_std_shfl_bfly(i32 %mask, i32 %word, i32 %operand, i32 %control) alwaysinline convergent nounwind {
  %pair = call { i32, i1 } @llvm.nvvm.shfl.sync.bfly.i32p(i32 %mask, i32 %word, i32 %operand, i32 %control)
  %value = extractvalue { i32, i1 } %pair, 0
  %inside = extractvalue { i32, i1 } %pair, 1
  %low = zext i32 %value to i64
  %bit = zext i1 %inside to i64
  %high = shl i64 %bit, 32
  %both = or i64 %high, %low
  ret i64 %both
}

declare { i32, i1 } @llvm.nvvm.shfl.sync.idx.i32p(i32, i32, i32, i32)

define internal i64 @__cuda_std_shfl_idx(i32 %mask, i32 %word, i32 %operand, i32 %control) alwaysinline convergent nounwind {
  %pair = call { i32, i1 } @llvm.nvvm.shfl.sync.idx.i32p(i32 %mask, i32 %word, i32 %operand, i32 %control)
  %value = extractvalue { i32, i1 } %pair, 0
  %inside = extractvalue { i32, i1 } %pair, 1
  %low = zext i32 %value to i64
  %bit = zext i1 %inside to i64
  %high = shl i64 %bit, 32
  %both = or i64 %high, %low
  ret i64 %both
}

; Atomics of the whole device, relaxed: PTX ISA, "atom". Rust's own atomics have the scope of the
; whole system. They also lack floats and the counter that wraps at a given number.

define internal i32 @__cuda_std_atomic_add_i32(ptr %target, i32 %value) alwaysinline nounwind {
  %old = atomicrmw add ptr %target, i32 %value syncscope("device") monotonic
  ret i32 %old
}

define internal i32 @__cuda_std_atomic_min_i32(ptr %target, i32 %value) alwaysinline nounwind {
  %old = atomicrmw min ptr %target, i32 %value syncscope("device") monotonic
  ret i32 %old
}

define internal i32 @__cuda_std_atomic_max_i32(ptr %target, i32 %value) alwaysinline nounwind {
  %old = atomicrmw max ptr %target, i32 %value syncscope("device") monotonic
  ret i32 %old
}

define internal i32 @__cuda_std_atomic_add_u32(ptr %target, i32 %value) alwaysinline nounwind {
  %old = atomicrmw add ptr %target, i32 %value syncscope("device") monotonic
  ret i32 %old
}

define internal i32 @__cuda_std_atomic_min_u32(ptr %target, i32 %value) alwaysinline nounwind {
  %old = atomicrmw umin ptr %target, i32 %value syncscope("device") monotonic
  ret i32 %old
}

define internal i32 @__cuda_std_atomic_max_u32(ptr %target, i32 %value) alwaysinline nounwind {
  %old = atomicrmw umax ptr %target, i32 %value syncscope("device") monotonic
  ret i32 %old
}

define internal i32 @__cuda_std_atomic_inc_u32(ptr %target, i32 %value) alwaysinline nounwind {
  %old = atomicrmw uinc_wrap ptr %target, i32 %value syncscope("device") monotonic
  ret i32 %old
}

define internal i64 @__cuda_std_atomic_add_i64(ptr %target, i64 %value) alwaysinline nounwind {
  %old = atomicrmw add ptr %target, i64 %value syncscope("device") monotonic
  ret i64 %old
}

define internal i64 @__cuda_std_atomic_min_i64(ptr %target, i64 %value) alwaysinline nounwind {
  %old = atomicrmw min ptr %target, i64 %value syncscope("device") monotonic
  ret i64 %old
}

define internal i64 @__cuda_std_atomic_max_i64(ptr %target, i64 %value) alwaysinline nounwind {
  %old = atomicrmw max ptr %target, i64 %value syncscope("device") monotonic
  ret i64 %old
}

define internal i64 @__cuda_std_atomic_add_u64(ptr %target, i64 %value) alwaysinline nounwind {
  %old = atomicrmw add ptr %target, i64 %value syncscope("device") monotonic
  ret i64 %old
}

define internal i64 @__cuda_std_atomic_min_u64(ptr %target, i64 %value) alwaysinline nounwind {
  %old = atomicrmw umin ptr %target, i64 %value syncscope("device") monotonic
  ret i64 %old
}

define internal i64 @__cuda_std_atomic_max_u64(ptr %target, i64 %value) alwaysinline nounwind {
  %old = atomicrmw umax ptr %target, i64 %value syncscope("device") monotonic
  ret i64 %old
}

define internal float @__cuda_std_atomic_add_f32(ptr %target, float %value) alwaysinline nounwind {
  %old = atomicrmw fadd ptr %target, float %value syncscope("device") monotonic
  ret float %old
}

define internal double @__cuda_std_atomic_add_f64(ptr %target, double %value) alwaysinline nounwind {
  %old = atomicrmw fadd ptr %target, double %value syncscope("device") monotonic
  ret double %old
}

; Another block's shared memory: PTX ISA, "mapa". Address space 7 is shared::cluster.

declare ptr addrspace(7) @llvm.nvvm.mapa.shared.cluster(ptr addrspace(3), i32)

define internal ptr @__cuda_std_mapa(ptr %pointer, i32 %rank) alwaysinline nounwind {
  %own = addrspacecast ptr %pointer to ptr addrspace(3)
  %other = call ptr addrspace(7) @llvm.nvvm.mapa.shared.cluster(ptr addrspace(3) %own, i32 %rank)
  %generic = addrspacecast ptr addrspace(7) %other to ptr
  ret ptr %generic
}

; Barriers in shared memory, and the copies that report to them: PTX ISA, "mbarrier",
; "cp.async.bulk".

declare void @llvm.nvvm.mbarrier.init.shared(ptr addrspace(3), i32)

define internal void @__cuda_std_mbarrier_init(ptr %barrier, i32 %arrivals) alwaysinline convergent nounwind {
  %shared = addrspacecast ptr %barrier to ptr addrspace(3)
  call void @llvm.nvvm.mbarrier.init.shared(ptr addrspace(3) %shared, i32 %arrivals)
  ret void
}

declare i64 @llvm.nvvm.mbarrier.arrive.expect.tx.scope.cta.space.cta(ptr addrspace(3), i32)

define internal void @__cuda_std_mbarrier_arrive_expect(ptr %barrier, i32 %bytes) alwaysinline convergent nounwind {
  %shared = addrspacecast ptr %barrier to ptr addrspace(3)
  %state = call i64 @llvm.nvvm.mbarrier.arrive.expect.tx.scope.cta.space.cta(ptr addrspace(3) %shared, i32 %bytes)
  ret void
}

declare i1 @llvm.nvvm.mbarrier.try.wait.parity.scope.cta.space.cta(ptr addrspace(3), i32)

define internal i1 @__cuda_std_mbarrier_try_wait(ptr %barrier, i32 %parity) alwaysinline convergent nounwind {
  %shared = addrspacecast ptr %barrier to ptr addrspace(3)
  %complete = call i1 @llvm.nvvm.mbarrier.try.wait.parity.scope.cta.space.cta(ptr addrspace(3) %shared, i32 %parity)
  ret i1 %complete
}

declare void @llvm.nvvm.cp.async.bulk.global.to.shared.cluster(ptr addrspace(7), ptr addrspace(3), ptr addrspace(1), i32, i16, i64, i1, i1)

; The last four arguments say that there is no multicast and no cache hint.
define internal void @__cuda_std_bulk_copy_to_shared(ptr %target, ptr %source, i32 %bytes, ptr %barrier) alwaysinline convergent nounwind {
  %shared = addrspacecast ptr %target to ptr addrspace(3)
  %cluster = addrspacecast ptr addrspace(3) %shared to ptr addrspace(7)
  %global = addrspacecast ptr %source to ptr addrspace(1)
  %reports = addrspacecast ptr %barrier to ptr addrspace(3)
  call void @llvm.nvvm.cp.async.bulk.global.to.shared.cluster(ptr addrspace(7) %cluster, ptr addrspace(3) %reports, ptr addrspace(1) %global, i32 %bytes, i16 0, i64 0, i1 false, i1 false)
  ret void
}

; Keeps the loop around it as it is. The directive tells ptxas, and LLVM does not copy a call that
; must not be duplicated.

define internal void @__cuda_std_keep_rolled() alwaysinline nounwind {
  call void asm sideeffect ".pragma \22nounroll\22;", ""() noduplicate
  ret void
}

; Copies of a word, or of four, from global to shared memory that the thread does not wait for: PTX
; ISA, "cp.async". Below sm_80 the thread loads and stores the words itself, and there is nothing to
; wait for.

define internal void @__cuda_std_copy_word_if(ptr %target, ptr %source, i1 %valid) alwaysinline nounwind {
  %shared = addrspacecast ptr %target to ptr addrspace(3)
  %global = addrspacecast ptr %source to ptr addrspace(1)
  %arch = call i32 @__nvvm_reflect(ptr @__cuda_std_arch_name)
  %known = icmp uge i32 %arch, 800
  br i1 %known, label %asynchronous, label %plain
asynchronous:
  call void asm sideeffect "@$2 cp.async.ca.shared.global [$0], [$1], 4;", "l,l,b,~{memory}"(ptr addrspace(3) %shared, ptr addrspace(1) %global, i1 %valid)
  br label %end
plain:
  call void asm sideeffect "{\0A\09.reg .b32 word;\0A\09@$2 ld.global.b32 word, [$1];\0A\09@$2 st.shared.b32 [$0], word;\0A\09}", "l,l,b,~{memory}"(ptr addrspace(3) %shared, ptr addrspace(1) %global, i1 %valid)
  br label %end
end:
  ret void
}

define internal void @__cuda_std_copy_pair_if(ptr %target, ptr %source, i1 %valid) alwaysinline nounwind {
  %shared = addrspacecast ptr %target to ptr addrspace(3)
  %global = addrspacecast ptr %source to ptr addrspace(1)
  %arch = call i32 @__nvvm_reflect(ptr @__cuda_std_arch_name)
  %known = icmp uge i32 %arch, 800
  br i1 %known, label %asynchronous, label %plain
asynchronous:
  call void asm sideeffect "@$2 cp.async.ca.shared.global [$0], [$1], 8;", "l,l,b,~{memory}"(ptr addrspace(3) %shared, ptr addrspace(1) %global, i1 %valid)
  br label %end
plain:
  call void asm sideeffect "{\0A\09.reg .b32 word<2>;\0A\09@$2 ld.global.v2.b32 {word0, word1}, [$1];\0A\09@$2 st.shared.v2.b32 [$0], {word0, word1};\0A\09}", "l,l,b,~{memory}"(ptr addrspace(3) %shared, ptr addrspace(1) %global, i1 %valid)
  br label %end
end:
  ret void
}

define internal void @__cuda_std_copy_pack_if(ptr %target, ptr %source, i1 %valid) alwaysinline nounwind {
  %shared = addrspacecast ptr %target to ptr addrspace(3)
  %global = addrspacecast ptr %source to ptr addrspace(1)
  %arch = call i32 @__nvvm_reflect(ptr @__cuda_std_arch_name)
  %known = icmp uge i32 %arch, 800
  br i1 %known, label %asynchronous, label %plain
asynchronous:
  call void asm sideeffect "@$2 cp.async.cg.shared.global.L2::128B [$0], [$1], 16;", "l,l,b,~{memory}"(ptr addrspace(3) %shared, ptr addrspace(1) %global, i1 %valid)
  br label %end
plain:
  call void asm sideeffect "{\0A\09.reg .b32 word<4>;\0A\09@$2 ld.global.v4.b32 {word0, word1, word2, word3}, [$1];\0A\09@$2 st.shared.v4.b32 [$0], {word0, word1, word2, word3};\0A\09}", "l,l,b,~{memory}"(ptr addrspace(3) %shared, ptr addrspace(1) %global, i1 %valid)
  br label %end
end:
  ret void
}

define internal void @__cuda_std_copy_cached_pack_if(ptr %target, ptr %source, i1 %valid) alwaysinline nounwind {
  %shared = addrspacecast ptr %target to ptr addrspace(3)
  %global = addrspacecast ptr %source to ptr addrspace(1)
  %arch = call i32 @__nvvm_reflect(ptr @__cuda_std_arch_name)
  %known = icmp uge i32 %arch, 800
  br i1 %known, label %asynchronous, label %plain
asynchronous:
  call void asm sideeffect "@$2 cp.async.ca.shared.global.L2::128B [$0], [$1], 16;", "l,l,b,~{memory}"(ptr addrspace(3) %shared, ptr addrspace(1) %global, i1 %valid)
  br label %end
plain:
  call void asm sideeffect "{\0A\09.reg .b32 word<4>;\0A\09@$2 ld.global.v4.b32 {word0, word1, word2, word3}, [$1];\0A\09@$2 st.shared.v4.b32 [$0], {word0, word1, word2, word3};\0A\09}", "l,l,b,~{memory}"(ptr addrspace(3) %shared, ptr addrspace(1) %global, i1 %valid)
  br label %end
end:
  ret void
}

define internal void @__cuda_std_load_shared_pack(ptr %out, ptr %source) alwaysinline nounwind {
  %shared = addrspacecast ptr %source to ptr addrspace(3)
  %pack = call { i32, i32, i32, i32 } asm sideeffect "ld.shared.v4.b32 {$0, $1, $2, $3}, [$4];", "=r,=r,=r,=r,l,~{memory}"(ptr addrspace(3) %shared)
  %word0 = extractvalue { i32, i32, i32, i32 } %pack, 0
  %word1 = extractvalue { i32, i32, i32, i32 } %pack, 1
  %word2 = extractvalue { i32, i32, i32, i32 } %pack, 2
  %word3 = extractvalue { i32, i32, i32, i32 } %pack, 3
  store i32 %word0, ptr %out
  %out1 = getelementptr i32, ptr %out, i64 1
  store i32 %word1, ptr %out1
  %out2 = getelementptr i32, ptr %out, i64 2
  store i32 %word2, ptr %out2
  %out3 = getelementptr i32, ptr %out, i64 3
  store i32 %word3, ptr %out3
  ret void
}

define internal void @__cuda_std_copy_wait() alwaysinline nounwind {
  %arch = call i32 @__nvvm_reflect(ptr @__cuda_std_arch_name)
  %known = icmp uge i32 %arch, 800
  br i1 %known, label %asynchronous, label %end
asynchronous:
  call void asm sideeffect "cp.async.wait_all;", "~{memory}"()
  br label %end
end:
  ret void
}

; The architecture that the module is compiled for, times ten: LLVM's NVVMReflect pass replaces the
; call by the number, and a branch on the number by the arm that is taken.

@__cuda_std_arch_name = private unnamed_addr constant [12 x i8] c"__CUDA_ARCH\00"

declare i32 @__nvvm_reflect(ptr)

define internal i32 @__cuda_std_arch() alwaysinline nounwind {
  %arch = call i32 @__nvvm_reflect(ptr @__cuda_std_arch_name)
  ret i32 %arch
}

; Programmatic dependent launch: PTX ISA, "griddepcontrol". Below sm_90, where grids do not overlap,
; these functions do nothing.

declare void @llvm.nvvm.griddepcontrol.wait()

define internal void @__cuda_std_grid_wait() alwaysinline nounwind {
  %arch = call i32 @__nvvm_reflect(ptr @__cuda_std_arch_name)
  %known = icmp uge i32 %arch, 900
  br i1 %known, label %overlap, label %end
overlap:
  call void @llvm.nvvm.griddepcontrol.wait()
  br label %end
end:
  ret void
}

declare void @llvm.nvvm.griddepcontrol.launch.dependents()

define internal void @__cuda_std_grid_launch_dependents() alwaysinline nounwind {
  %arch = call i32 @__nvvm_reflect(ptr @__cuda_std_arch_name)
  %known = icmp uge i32 %arch, 900
  br i1 %known, label %overlap, label %end
overlap:
  call void @llvm.nvvm.griddepcontrol.launch.dependents()
  br label %end
end:
  ret void
}

; Loads of memory that is read once, in the order of the source: PTX ISA, "ld", "createpolicy",
; "prefetch". The modifiers that keep the lines out of the first-level cache, and a part of them in
; the second-level cache, exist since PTX 7.4 and sm_80. They are used from sm_90 on, because
; modules with these loads are compiled for sm_75 and for sm_90.

define internal i64 @__cuda_std_create_policy(float %keep) alwaysinline nounwind {
  %arch = call i32 @__nvvm_reflect(ptr @__cuda_std_arch_name)
  %known = icmp uge i32 %arch, 900
  br i1 %known, label %create, label %end
create:
  %created = call i64 asm sideeffect "createpolicy.fractional.L2::evict_normal.L2::evict_first.b64 $0, $1;", "=l,f"(float %keep)
  br label %end
end:
  %policy = phi i64 [ %created, %create ], [ 0, %0 ]
  ret i64 %policy
}

define internal void @__cuda_std_prefetch_if(ptr %source, i1 %valid) alwaysinline nounwind {
  %global = addrspacecast ptr %source to ptr addrspace(1)
  call void asm sideeffect "@$1 prefetch.global.L2 [$0];", "l,b"(ptr addrspace(1) %global, i1 %valid)
  ret void
}

define internal void @__cuda_std_load_pack(ptr %out, ptr %source, i64 %policy) alwaysinline nounwind {
  %global = addrspacecast ptr %source to ptr addrspace(1)
  %arch = call i32 @__nvvm_reflect(ptr @__cuda_std_arch_name)
  %known = icmp uge i32 %arch, 900
  br i1 %known, label %streaming, label %plain
streaming:
  %s = call { i32, i32, i32, i32 } asm sideeffect "ld.global.L1::no_allocate.L2::cache_hint.v4.b32 {$0, $1, $2, $3}, [$4], $5;", "=r,=r,=r,=r,l,l"(ptr addrspace(1) %global, i64 %policy)
  br label %end
plain:
  %p = call { i32, i32, i32, i32 } asm sideeffect "ld.global.v4.b32 {$0, $1, $2, $3}, [$4];", "=r,=r,=r,=r,l"(ptr addrspace(1) %global)
  br label %end
end:
  %pack = phi { i32, i32, i32, i32 } [ %s, %streaming ], [ %p, %plain ]
  %word0 = extractvalue { i32, i32, i32, i32 } %pack, 0
  %word1 = extractvalue { i32, i32, i32, i32 } %pack, 1
  %word2 = extractvalue { i32, i32, i32, i32 } %pack, 2
  %word3 = extractvalue { i32, i32, i32, i32 } %pack, 3
  %out1 = getelementptr i8, ptr %out, i64 4
  %out2 = getelementptr i8, ptr %out, i64 8
  %out3 = getelementptr i8, ptr %out, i64 12
  store i32 %word0, ptr %out, align 4
  store i32 %word1, ptr %out1, align 4
  store i32 %word2, ptr %out2, align 4
  store i32 %word3, ptr %out3, align 4
  ret void
}

define internal void @__cuda_std_load_pack_if(ptr %out, ptr %source, i64 %policy, i1 %valid) alwaysinline nounwind {
  %global = addrspacecast ptr %source to ptr addrspace(1)
  %arch = call i32 @__nvvm_reflect(ptr @__cuda_std_arch_name)
  %known = icmp uge i32 %arch, 900
  br i1 %known, label %streaming, label %plain
streaming:
  %s = call { i32, i32, i32, i32 } asm sideeffect "@$6 ld.global.L1::no_allocate.L2::cache_hint.v4.b32 {$0, $1, $2, $3}, [$4], $5;", "=r,=r,=r,=r,l,l,b"(ptr addrspace(1) %global, i64 %policy, i1 %valid)
  br label %end
plain:
  %p = call { i32, i32, i32, i32 } asm sideeffect "@$5 ld.global.v4.b32 {$0, $1, $2, $3}, [$4];", "=r,=r,=r,=r,l,b"(ptr addrspace(1) %global, i1 %valid)
  br label %end
end:
  %pack = phi { i32, i32, i32, i32 } [ %s, %streaming ], [ %p, %plain ]
  %word0 = extractvalue { i32, i32, i32, i32 } %pack, 0
  %word1 = extractvalue { i32, i32, i32, i32 } %pack, 1
  %word2 = extractvalue { i32, i32, i32, i32 } %pack, 2
  %word3 = extractvalue { i32, i32, i32, i32 } %pack, 3
  %out1 = getelementptr i8, ptr %out, i64 4
  %out2 = getelementptr i8, ptr %out, i64 8
  %out3 = getelementptr i8, ptr %out, i64 12
  store i32 %word0, ptr %out, align 4
  store i32 %word1, ptr %out1, align 4
  store i32 %word2, ptr %out2, align 4
  store i32 %word3, ptr %out3, align 4
  ret void
}

define internal void @__cuda_std_load_unhinted_pack_if(ptr %out, ptr %source, i1 %valid) alwaysinline nounwind {
  %global = addrspacecast ptr %source to ptr addrspace(1)
  %arch = call i32 @__nvvm_reflect(ptr @__cuda_std_arch_name)
  %known = icmp uge i32 %arch, 900
  br i1 %known, label %streaming, label %plain
streaming:
  %s = call { i32, i32, i32, i32 } asm sideeffect "@$5 ld.global.L1::no_allocate.v4.b32 {$0, $1, $2, $3}, [$4];", "=r,=r,=r,=r,l,b"(ptr addrspace(1) %global, i1 %valid)
  br label %end
plain:
  %p = call { i32, i32, i32, i32 } asm sideeffect "@$5 ld.global.v4.b32 {$0, $1, $2, $3}, [$4];", "=r,=r,=r,=r,l,b"(ptr addrspace(1) %global, i1 %valid)
  br label %end
end:
  %pack = phi { i32, i32, i32, i32 } [ %s, %streaming ], [ %p, %plain ]
  %word0 = extractvalue { i32, i32, i32, i32 } %pack, 0
  %word1 = extractvalue { i32, i32, i32, i32 } %pack, 1
  %word2 = extractvalue { i32, i32, i32, i32 } %pack, 2
  %word3 = extractvalue { i32, i32, i32, i32 } %pack, 3
  %out1 = getelementptr i8, ptr %out, i64 4
  %out2 = getelementptr i8, ptr %out, i64 8
  %out3 = getelementptr i8, ptr %out, i64 12
  store i32 %word0, ptr %out, align 4
  store i32 %word1, ptr %out1, align 4
  store i32 %word2, ptr %out2, align 4
  store i32 %word3, ptr %out3, align 4
  ret void
}

define internal i8 @__cuda_std_load_u8_if(ptr %source, i1 %valid) alwaysinline nounwind {
  %global = addrspacecast ptr %source to ptr addrspace(1)
  %value = call i16 asm sideeffect "@$2 ld.global.u8 $0, [$1];", "=h,l,b"(ptr addrspace(1) %global, i1 %valid)
  %low = trunc i16 %value to i8
  ret i8 %low
}

define internal i16 @__cuda_std_load_u16_if(ptr %source, i1 %valid) alwaysinline nounwind {
  %global = addrspacecast ptr %source to ptr addrspace(1)
  %value = call i16 asm sideeffect "@$2 ld.global.u16 $0, [$1];", "=h,l,b"(ptr addrspace(1) %global, i1 %valid)
  ret i16 %value
}

define internal i32 @__cuda_std_load_u32_if(ptr %source, i1 %valid) alwaysinline nounwind {
  %global = addrspacecast ptr %source to ptr addrspace(1)
  %value = call i32 asm sideeffect "@$2 ld.global.u32 $0, [$1];", "=r,l,b"(ptr addrspace(1) %global, i1 %valid)
  ret i32 %value
}

define internal i64 @__cuda_std_load_u64_if(ptr %source, i1 %valid) alwaysinline nounwind {
  %global = addrspacecast ptr %source to ptr addrspace(1)
  %value = call i64 asm sideeffect "@$2 ld.global.u64 $0, [$1];", "=l,l,b"(ptr addrspace(1) %global, i1 %valid)
  ret i64 %value
}

; Loads whose neighbours will be needed soon: PTX ISA, "ld", "L2::128B".

define internal i32 @__cuda_std_load_near_u32(ptr %source) alwaysinline nounwind {
  %global = addrspacecast ptr %source to ptr addrspace(1)
  %arch = call i32 @__nvvm_reflect(ptr @__cuda_std_arch_name)
  %known = icmp uge i32 %arch, 800
  br i1 %known, label %near, label %plain
near:
  %n = call i32 asm sideeffect "ld.global.L1::no_allocate.L2::128B.u32 $0, [$1];", "=r,l"(ptr addrspace(1) %global)
  br label %end
plain:
  %p = call i32 asm sideeffect "ld.global.u32 $0, [$1];", "=r,l"(ptr addrspace(1) %global)
  br label %end
end:
  %value = phi i32 [ %n, %near ], [ %p, %plain ]
  ret i32 %value
}

define internal i64 @__cuda_std_load_near_u64(ptr %source) alwaysinline nounwind {
  %global = addrspacecast ptr %source to ptr addrspace(1)
  %arch = call i32 @__nvvm_reflect(ptr @__cuda_std_arch_name)
  %known = icmp uge i32 %arch, 800
  br i1 %known, label %near, label %plain
near:
  %n = call i64 asm sideeffect "ld.global.L1::no_allocate.L2::128B.u64 $0, [$1];", "=l,l"(ptr addrspace(1) %global)
  br label %end
plain:
  %p = call i64 asm sideeffect "ld.global.u64 $0, [$1];", "=l,l"(ptr addrspace(1) %global)
  br label %end
end:
  %value = phi i64 [ %n, %near ], [ %p, %plain ]
  ret i64 %value
}

; Relaxed loads and stores of the whole device: PTX ISA, "ld", "st", "Memory Consistency Model".
; Each 64-bit element of a vector is read or written at once.

define internal i64 @__cuda_std_load_relaxed(ptr %source) alwaysinline nounwind {
  %global = addrspacecast ptr %source to ptr addrspace(1)
  %value = call i64 asm sideeffect "ld.relaxed.gpu.global.u64 $0, [$1];", "=l,l"(ptr addrspace(1) %global)
  ret i64 %value
}

define internal void @__cuda_std_load_relaxed_pair(ptr %out, ptr %source) alwaysinline nounwind {
  %global = addrspacecast ptr %source to ptr addrspace(1)
  %pair = call { i64, i64 } asm sideeffect "ld.relaxed.gpu.global.v2.u64 {$0, $1}, [$2];", "=l,=l,l"(ptr addrspace(1) %global)
  %low = extractvalue { i64, i64 } %pair, 0
  %high = extractvalue { i64, i64 } %pair, 1
  %out1 = getelementptr i8, ptr %out, i64 8
  store i64 %low, ptr %out, align 8
  store i64 %high, ptr %out1, align 8
  ret void
}

define internal void @__cuda_std_store_relaxed(ptr %target, i64 %value) alwaysinline nounwind {
  %global = addrspacecast ptr %target to ptr addrspace(1)
  call void asm sideeffect "st.relaxed.gpu.global.u64 [$0], $1;", "l,l"(ptr addrspace(1) %global, i64 %value)
  ret void
}

define internal void @__cuda_std_store_relaxed_pair(ptr %target, i64 %low, i64 %high) alwaysinline nounwind {
  %global = addrspacecast ptr %target to ptr addrspace(1)
  call void asm sideeffect "st.relaxed.gpu.global.v2.u64 [$0], {$1, $2};", "l,l,l"(ptr addrspace(1) %global, i64 %low, i64 %high)
  ret void
}

; Relaxed loads and stores of all devices and the host: the same sections.

define internal i64 @__cuda_std_load_relaxed_system(ptr %source) alwaysinline nounwind {
  %global = addrspacecast ptr %source to ptr addrspace(1)
  %value = call i64 asm sideeffect "ld.relaxed.sys.global.u64 $0, [$1];", "=l,l"(ptr addrspace(1) %global)
  ret i64 %value
}

define internal void @__cuda_std_store_relaxed_system(ptr %target, i64 %value) alwaysinline nounwind {
  %global = addrspacecast ptr %target to ptr addrspace(1)
  call void asm sideeffect "st.relaxed.sys.global.u64 [$0], $1;", "l,l"(ptr addrspace(1) %global, i64 %value)
  ret void
}

; The time: PTX ISA, "%globaltimer".

define internal i64 @__cuda_std_global_time() alwaysinline nounwind {
  %value = call i64 asm sideeffect "mov.u64 $0, %globaltimer;", "=l"()
  ret i64 %value
}

; Sums of products of packed integers: PTX ISA, "dp4a", "dp2a". dp2a uses the low two bytes of its
; second operand; LLVM's flag would select the high two.

declare i32 @llvm.nvvm.idp4a.s.s(i32, i32, i32)

define internal i32 @__cuda_std_dp4a_signed(i32 %a, i32 %b, i32 %c) alwaysinline nounwind {
  %sum = call i32 @llvm.nvvm.idp4a.s.s(i32 %a, i32 %b, i32 %c)
  ret i32 %sum
}

declare i32 @llvm.nvvm.idp4a.u.u(i32, i32, i32)

define internal i32 @__cuda_std_dp4a_unsigned(i32 %a, i32 %b, i32 %c) alwaysinline nounwind {
  %sum = call i32 @llvm.nvvm.idp4a.u.u(i32 %a, i32 %b, i32 %c)
  ret i32 %sum
}

declare i32 @llvm.nvvm.idp2a.s.s(i32, i32, i1, i32)

define internal i32 @__cuda_std_dp2a_signed(i32 %a, i32 %b, i32 %c) alwaysinline nounwind {
  %sum = call i32 @llvm.nvvm.idp2a.s.s(i32 %a, i32 %b, i1 false, i32 %c)
  ret i32 %sum
}

declare i32 @llvm.nvvm.idp2a.u.u(i32, i32, i1, i32)

define internal i32 @__cuda_std_dp2a_unsigned(i32 %a, i32 %b, i32 %c) alwaysinline nounwind {
  %sum = call i32 @llvm.nvvm.idp2a.u.u(i32 %a, i32 %b, i1 false, i32 %c)
  ret i32 %sum
}
