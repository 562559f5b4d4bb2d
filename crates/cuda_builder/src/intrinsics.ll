; What cuda_std declares and Rust cannot spell. The builder appends this to the linked module.

; Dynamic shared memory: PTX ISA, "Variables", "extern .shared" arrays of unknown size. 16 bytes is the widest access.
@__cuda_std_dynamic_shared_array = external addrspace(3) global [0 x i8], align 16

; A generic pointer that, once inlined, LLVM's InferAddressSpaces traces back to shared memory.
define internal ptr @__cuda_std_dynamic_shared() alwaysinline nounwind {
  ret ptr addrspacecast (ptr addrspace(3) @__cuda_std_dynamic_shared_array to ptr)
}
