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
