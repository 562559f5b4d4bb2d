; Kernels for LLVM's NVPTX backend: `llc -mcpu=sm_75 llvm.ll -o llvm.sm_75.ptx`, and so for sm_90.
target datalayout = "e-p3:32:32-p4:32:32-p5:32:32-p6:32:32-p7:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

@dyn = external addrspace(3) global [0 x i32], align 16
@tile = internal addrspace(3) global [256 x i32] undef, align 4
@tab = internal addrspace(4) constant [4 x i32] [i32 1, i32 2, i32 3, i32 4], align 4
@counter = addrspace(1) global i32 7, align 4
@ptrs = addrspace(1) global [2 x ptr addrspace(1)] [ptr addrspace(1) @counter, ptr addrspace(1) null], align 8

declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.nctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.laneid()
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
declare void @llvm.nvvm.bar.warp.sync(i32)
declare { i32, i1 } @llvm.nvvm.shfl.sync.down.i32p(i32, i32, i32, i32)
declare i32 @llvm.nvvm.shfl.sync.bfly.i32(i32, i32, i32, i32)
declare float @llvm.nvvm.shfl.sync.idx.f32(i32, float, i32, i32)
declare i32 @llvm.nvvm.vote.ballot.sync(i32, i1)
declare i1 @llvm.nvvm.vote.any.sync(i32, i1)
declare i32 @llvm.nvvm.match.any.sync.i32(i32, i32)
declare { i32, i1 } @llvm.nvvm.match.all.sync.i32p(i32, i32)
declare i32 @llvm.nvvm.activemask()
declare void @llvm.nvvm.membar.gl()
declare float @llvm.minimumnum.f32(float, float)
declare float @llvm.maximumnum.f32(float, float)
declare double @llvm.minimumnum.f64(double, double)
declare float @llvm.fma.f32(float, float, float)
declare double @llvm.sqrt.f64(double)
declare i32 @llvm.umin.i32(i32, i32)
declare i64 @llvm.smax.i64(i64, i64)
declare i32 @llvm.ctpop.i32(i32)
declare i64 @llvm.ctlz.i64(i64, i1)
declare i32 @llvm.fshl.i32(i32, i32, i32)
declare i32 @llvm.bitreverse.i32(i32)
declare i32 @llvm.bswap.i32(i32)
declare void @llvm.trap()

define ptx_kernel void @reduce(ptr addrspace(1) noalias readonly align 16 %in, ptr addrspace(1) %out, i64 %n) {
entry:
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %ntid = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %cta = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %base = mul i32 %cta, %ntid
  %i32 = add i32 %base, %tid
  %i = zext i32 %i32 to i64
  %inside = icmp ult i64 %i, %n
  br i1 %inside, label %load, label %joined
load:
  %p = getelementptr inbounds i32, ptr addrspace(1) %in, i64 %i
  %x = load i32, ptr addrspace(1) %p, align 4
  br label %joined
joined:
  %v = phi i32 [ %x, %load ], [ 0, %entry ]
  %slot = getelementptr inbounds i32, ptr addrspace(3) @tile, i32 %tid
  store i32 %v, ptr addrspace(3) %slot, align 4
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  br label %loop
loop:
  %s = phi i32 [ 1, %joined ], [ %s2, %next ]
  %s2 = shl i32 %s, 1
  %rem = urem i32 %tid, %s2
  %mine = icmp eq i32 %rem, 0
  br i1 %mine, label %addend, label %next
addend:
  %other = add i32 %tid, %s
  %q = getelementptr inbounds i32, ptr addrspace(3) @tile, i32 %other
  %a = load i32, ptr addrspace(3) %slot, align 4
  %b = load i32, ptr addrspace(3) %q, align 4
  %c = add i32 %a, %b
  store i32 %c, ptr addrspace(3) %slot, align 4
  br label %next
next:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %more = icmp ult i32 %s2, %ntid
  br i1 %more, label %loop, label %done
done:
  %first = icmp eq i32 %tid, 0
  br i1 %first, label %write, label %exit
write:
  %r = load i32, ptr addrspace(3) @tile, align 4
  %o = getelementptr inbounds i32, ptr addrspace(1) %out, i32 %cta
  store i32 %r, ptr addrspace(1) %o, align 4
  br label %exit
exit:
  ret void
}

define ptx_kernel void @warp(ptr addrspace(1) %out, float %f) "nvvm.maxntid"="256" "nvvm.minctasm"="2" {
  %lane = call i32 @llvm.nvvm.read.ptx.sreg.laneid()
  %d = call { i32, i1 } @llvm.nvvm.shfl.sync.down.i32p(i32 -1, i32 %lane, i32 4, i32 31)
  %v = extractvalue { i32, i1 } %d, 0
  %in = extractvalue { i32, i1 } %d, 1
  %x = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %v, i32 16, i32 31)
  %g = call float @llvm.nvvm.shfl.sync.idx.f32(i32 -1, float %f, i32 0, i32 31)
  %ballot = call i32 @llvm.nvvm.vote.ballot.sync(i32 -1, i1 %in)
  %any = call i1 @llvm.nvvm.vote.any.sync(i32 -1, i1 %in)
  %m = call i32 @llvm.nvvm.match.any.sync.i32(i32 -1, i32 %v)
  %ma = call { i32, i1 } @llvm.nvvm.match.all.sync.i32p(i32 -1, i32 %v)
  %mv = extractvalue { i32, i1 } %ma, 0
  %act = call i32 @llvm.nvvm.activemask()
  call void @llvm.nvvm.bar.warp.sync(i32 -1)
  %sel = select i1 %any, i32 %m, i32 %act
  %t1 = add i32 %sel, %ballot
  %t2 = xor i32 %t1, %mv
  %t3 = add i32 %t2, %x
  %rot = call i32 @llvm.fshl.i32(i32 %t3, i32 %t3, i32 7)
  %pop = call i32 @llvm.ctpop.i32(i32 %rot)
  %rev = call i32 @llvm.bitreverse.i32(i32 %pop)
  %swap = call i32 @llvm.bswap.i32(i32 %rev)
  %min = call i32 @llvm.umin.i32(i32 %swap, i32 %lane)
  %gf = fptoui float %g to i32
  %t4 = add i32 %min, %gf
  store i32 %t4, ptr addrspace(1) %out, align 4
  ret void
}

define ptx_kernel void @floats(ptr addrspace(1) %out, double %a, double %b, float %f, ptr %generic) {
  %m = call double @llvm.minimumnum.f64(double %a, double %b)
  %s = call double @llvm.sqrt.f64(double %m)
  %q = fdiv double %s, %b
  %e = fpext float %f to double
  %sum = fadd double %q, %e
  store double %sum, ptr addrspace(1) %out, align 8
  %x = call float @llvm.minimumnum.f32(float %f, float 1.5)
  %y = call float @llvm.maximumnum.f32(float %x, float -2.5)
  %z = call float @llvm.fma.f32(float %x, float %y, float %f)
  %t = fptrunc double %sum to float
  %w = fdiv float %z, %t
  %neg = fneg float %w
  %i = fptosi float %neg to i64
  %j = sitofp i64 %i to float
  store float %j, ptr %generic, align 4
  %cmp = fcmp ult float %w, %j
  br i1 %cmp, label %bad, label %good
bad:
  call void @llvm.trap()
  unreachable
good:
  ret void
}

define ptx_kernel void @atomics(ptr addrspace(1) %g, ptr addrspace(1) %f, i32 %i) {
  %a = atomicrmw add ptr addrspace(1) %g, i32 %i syncscope("device") monotonic
  %b = atomicrmw umax ptr addrspace(1) %g, i32 %a monotonic
  %c = atomicrmw fadd ptr addrspace(1) %f, float 1.0 monotonic
  %d = cmpxchg ptr addrspace(1) %g, i32 %a, i32 %b acq_rel monotonic
  %e = atomicrmw xchg ptr addrspace(1) %g, i32 3 seq_cst
  %h = load atomic i32, ptr addrspace(1) %g acquire, align 4
  store atomic i32 %h, ptr addrspace(1) %g release, align 4
  %v = load volatile i32, ptr addrspace(1) %g, align 4
  fence acq_rel
  call void @llvm.nvvm.membar.gl()
  %s = atomicrmw add ptr addrspace(3) @dyn, i32 %v monotonic
  ret void
}

define ptx_kernel void @vectors(ptr addrspace(1) %in, ptr addrspace(1) %out, i8 %byte, i16 %short) {
  %v = load <4 x i32>, ptr addrspace(1) %in, align 16
  %w = add <4 x i32> %v, %v
  store <4 x i32> %w, ptr addrspace(1) %out, align 16
  %l = load <2 x i64>, ptr addrspace(1) %in, align 16
  %l0 = extractelement <2 x i64> %l, i32 0
  %l1 = extractelement <2 x i64> %l, i32 1
  %max = call i64 @llvm.smax.i64(i64 %l0, i64 %l1)
  %clz = call i64 @llvm.ctlz.i64(i64 %max, i1 false)
  %div = sdiv i64 %max, %clz
  store i64 %div, ptr addrspace(1) %out, align 8
  %b = sext i8 %byte to i32
  %s = zext i16 %short to i32
  %t = mul i32 %b, %s
  %tr = trunc i32 %t to i8
  store i8 %tr, ptr addrspace(1) %out, align 1
  %idx = and i32 %t, 3
  %cp = getelementptr [4 x i32], ptr addrspace(4) @tab, i32 0, i32 %idx
  %cv = load i32, ptr addrspace(4) %cp, align 4
  store i32 %cv, ptr addrspace(1) @counter, align 4
  ret void
}

define i32 @callee(i32 %a, ptr %p) noinline {
  %v = load i32, ptr %p
  %r = add i32 %v, %a
  ret i32 %r
}

define ptx_kernel void @calls(ptr addrspace(1) %out, i32 %n) {
entry:
  %local = alloca [16 x i32], align 4
  %i = and i32 %n, 15
  %slot = getelementptr [16 x i32], ptr %local, i32 0, i32 %i
  store i32 %n, ptr %slot
  %r = call i32 @callee(i32 %n, ptr %slot)
  switch i32 %r, label %other [
    i32 0, label %zero
    i32 1, label %one
    i32 2, label %two
    i32 3, label %three
    i32 4, label %four
    i32 5, label %five
  ]
zero:
  store i32 10, ptr addrspace(1) %out
  ret void
one:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  br label %other
two:
  store i32 %n, ptr addrspace(1) %out
  br label %other
three:
  %x = atomicrmw add ptr addrspace(1) %out, i32 1 monotonic
  br label %other
four:
  call void @llvm.nvvm.membar.gl()
  br label %other
five:
  store i32 %i, ptr addrspace(1) %out
  br label %other
other:
  ret void
}
