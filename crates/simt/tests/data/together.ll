; Clusters, mbarriers and bulk copies by LLVM's intrinsics:
; `llc -mcpu=sm_90 -mattr=+ptx80 together.ll -o together.sm_90.ptx`.
target datalayout = "e-p3:32:32-p4:32:32-p5:32:32-p6:32:32-p7:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

@tile = internal addrspace(3) global [256 x i32] undef, align 128
@cell = internal addrspace(3) global [256 x i32] undef, align 4
@full = internal addrspace(3) global i64 undef, align 8

declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.cluster.ctarank()
declare i32 @llvm.nvvm.read.ptx.sreg.cluster.nctarank()
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
declare void @llvm.nvvm.barrier.cluster.arrive.aligned()
declare void @llvm.nvvm.barrier.cluster.wait.aligned()
declare ptr addrspace(7) @llvm.nvvm.mapa.shared.cluster(ptr addrspace(3), i32)
declare ptr @llvm.nvvm.mapa(ptr, i32)
declare i32 @llvm.nvvm.getctarank(ptr)
declare i1 @llvm.nvvm.is_explicit_cluster()
declare void @llvm.nvvm.mbarrier.init.shared(ptr addrspace(3), i32)
declare i64 @llvm.nvvm.mbarrier.arrive.shared(ptr addrspace(3))
declare i64 @llvm.nvvm.mbarrier.arrive.expect.tx.scope.cta.space.cta(ptr addrspace(3), i32)
declare i1 @llvm.nvvm.mbarrier.test.wait.shared(ptr addrspace(3), i64)
declare i1 @llvm.nvvm.mbarrier.try.wait.parity.scope.cta.space.cta(ptr addrspace(3), i32)
declare void @llvm.nvvm.fence.mbarrier_init.release.cluster()
declare void @llvm.nvvm.cp.async.bulk.global.to.shared.cluster(ptr addrspace(7), ptr addrspace(3), ptr addrspace(1), i32, i16, i64, i1, i1)
declare void @llvm.nvvm.cp.async.bulk.shared.cta.to.global(ptr addrspace(1), ptr addrspace(3), i32, i64, i1)
declare void @llvm.nvvm.cp.async.bulk.commit.group()
declare void @llvm.nvvm.cp.async.bulk.wait.group(i32)
declare void @llvm.nvvm.cp.async.ca.shared.global.4(ptr addrspace(3), ptr addrspace(1))
declare void @llvm.nvvm.cp.async.commit.group()
declare void @llvm.nvvm.cp.async.wait.group(i32)

; Each thread leaves its number in its block, adds to that of the next block, and reads its own.
define ptx_kernel void @ring(ptr addrspace(1) %out) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %b = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %rank = call i32 @llvm.nvvm.read.ptx.sreg.cluster.ctarank()
  %ranks = call i32 @llvm.nvvm.read.ptx.sreg.cluster.nctarank()
  %up = add i32 %rank, 1
  %next = urem i32 %up, %ranks
  %own = getelementptr i32, ptr addrspace(3) @cell, i32 %t
  store i32 %t, ptr addrspace(3) %own
  call void @llvm.nvvm.barrier.cluster.arrive.aligned()
  call void @llvm.nvvm.barrier.cluster.wait.aligned()
  %there = call ptr addrspace(7) @llvm.nvvm.mapa.shared.cluster(ptr addrspace(3) %own, i32 %next)
  %old = atomicrmw add ptr addrspace(7) %there, i32 1000 monotonic
  %generic = addrspacecast ptr addrspace(3) %own to ptr
  %far = call ptr @llvm.nvvm.mapa(ptr %generic, i32 %next)
  %whose = call i32 @llvm.nvvm.getctarank(ptr %far)
  call void @llvm.nvvm.barrier.cluster.arrive.aligned()
  call void @llvm.nvvm.barrier.cluster.wait.aligned()
  %sum = load i32, ptr %far
  %explicit = call i1 @llvm.nvvm.is_explicit_cluster()
  %high = select i1 %explicit, i32 1000000, i32 0
  %scaled = mul i32 %whose, 10000
  %x = add i32 %sum, %scaled
  %y = add i32 %x, %high
  %first = mul i32 %b, 256
  %at = add i32 %first, %t
  %o = getelementptr i32, ptr addrspace(1) %out, i32 %at
  store i32 %y, ptr addrspace(1) %o
  call void @llvm.nvvm.barrier.cluster.arrive.aligned()
  call void @llvm.nvvm.barrier.cluster.wait.aligned()
  ret void
}

; A tile comes by a bulk copy, is turned round and goes by another one.
define ptx_kernel void @turn(ptr addrspace(1) %in, ptr addrspace(1) %out) {
entry:
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %b = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %offset = mul i32 %b, 1024
  %leads = icmp eq i32 %t, 0
  br i1 %leads, label %begin, label %ready
begin:
  call void @llvm.nvvm.mbarrier.init.shared(ptr addrspace(3) @full, i32 1)
  call void @llvm.nvvm.fence.mbarrier_init.release.cluster()
  br label %ready
ready:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  br i1 %leads, label %copy, label %wait
copy:
  %state = call i64 @llvm.nvvm.mbarrier.arrive.expect.tx.scope.cta.space.cta(ptr addrspace(3) @full, i32 1024)
  %from = getelementptr i8, ptr addrspace(1) %in, i32 %offset
  %to = addrspacecast ptr addrspace(3) @tile to ptr addrspace(7)
  call void @llvm.nvvm.cp.async.bulk.global.to.shared.cluster(ptr addrspace(7) %to, ptr addrspace(3) @full, ptr addrspace(1) %from, i32 1024, i16 0, i64 0, i1 0, i1 0)
  br label %wait
wait:
  %done = call i1 @llvm.nvvm.mbarrier.try.wait.parity.scope.cta.space.cta(ptr addrspace(3) @full, i32 0)
  br i1 %done, label %take, label %wait
take:
  %opposite = sub i32 255, %t
  %source = getelementptr i32, ptr addrspace(3) @tile, i32 %opposite
  %value = load i32, ptr addrspace(3) %source
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %own = getelementptr i32, ptr addrspace(3) @tile, i32 %t
  store i32 %value, ptr addrspace(3) %own
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  br i1 %leads, label %give, label %end
give:
  %target = getelementptr i8, ptr addrspace(1) %out, i32 %offset
  call void @llvm.nvvm.cp.async.bulk.shared.cta.to.global(ptr addrspace(1) %target, ptr addrspace(3) @tile, i32 1024, i64 0, i1 0)
  call void @llvm.nvvm.cp.async.bulk.commit.group()
  call void @llvm.nvvm.cp.async.bulk.wait.group(i32 0)
  br label %end
end:
  ret void
}

; A word a thread by cp.async; the block meets at an mbarrier.
define ptx_kernel void @words(ptr addrspace(1) %in, ptr addrspace(1) %out) {
entry:
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %leads = icmp eq i32 %t, 0
  br i1 %leads, label %begin, label %ready
begin:
  call void @llvm.nvvm.mbarrier.init.shared(ptr addrspace(3) @full, i32 256)
  br label %ready
ready:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %from = getelementptr i32, ptr addrspace(1) %in, i32 %t
  %own = getelementptr i32, ptr addrspace(3) @tile, i32 %t
  call void @llvm.nvvm.cp.async.ca.shared.global.4(ptr addrspace(3) %own, ptr addrspace(1) %from)
  call void @llvm.nvvm.cp.async.commit.group()
  call void @llvm.nvvm.cp.async.wait.group(i32 0)
  %state = call i64 @llvm.nvvm.mbarrier.arrive.shared(ptr addrspace(3) @full)
  br label %wait
wait:
  %done = call i1 @llvm.nvvm.mbarrier.test.wait.shared(ptr addrspace(3) @full, i64 %state)
  br i1 %done, label %take, label %wait
take:
  %opposite = sub i32 255, %t
  %source = getelementptr i32, ptr addrspace(3) @tile, i32 %opposite
  %value = load i32, ptr addrspace(3) %source
  %o = getelementptr i32, ptr addrspace(1) %out, i32 %t
  store i32 %value, ptr addrspace(1) %o
  ret void
}
