; What cuda_std declares and Rust cannot spell. The builder appends this to the linked module.

; Dynamic shared memory: PTX ISA, "Variables", "extern .shared" arrays of unknown size. 16 bytes is the widest access.
@__cuda_std_dynamic_shared_array = external addrspace(3) global [0 x i8], align 16

; A generic pointer that, once inlined, LLVM's InferAddressSpaces traces back to shared memory.
define internal ptr @__cuda_std_dynamic_shared() alwaysinline nounwind {
  ret ptr addrspacecast (ptr addrspace(3) @__cuda_std_dynamic_shared_array to ptr)
}

; Warp shuffles that also tell whether the source lane was in range: PTX ISA, "shfl.sync". A Rust signature cannot
; spell LLVM's pair { i32, i1 }, so the value comes in the low word and the predicate in the high one. Convergent: LLVM
; must not move them into or out of a branch.

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

; Atomics of the whole device, relaxed: PTX ISA, "atom". Rust's own atomics have the scope of the system, and neither
; floats nor the counter that goes around.

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

; Barriers in shared memory, and the copies that report to them: PTX ISA, "mbarrier", "cp.async.bulk".

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

; Without multicast and without a cache hint: the last four.
define internal void @__cuda_std_bulk_copy_to_shared(ptr %target, ptr %source, i32 %bytes, ptr %barrier) alwaysinline convergent nounwind {
  %shared = addrspacecast ptr %target to ptr addrspace(3)
  %cluster = addrspacecast ptr addrspace(3) %shared to ptr addrspace(7)
  %global = addrspacecast ptr %source to ptr addrspace(1)
  %reports = addrspacecast ptr %barrier to ptr addrspace(3)
  call void @llvm.nvvm.cp.async.bulk.global.to.shared.cluster(ptr addrspace(7) %cluster, ptr addrspace(3) %reports, ptr addrspace(1) %global, i32 %bytes, i16 0, i64 0, i1 false, i1 false)
  ret void
}
