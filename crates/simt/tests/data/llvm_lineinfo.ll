; A line table of the form that rustc requests from LLVM. LLVM prints the places where code was
; inlined only in comments: `llc -mcpu=sm_75 llvm_lineinfo.ll -o llvm_lineinfo.sm_75.ptx`.
target datalayout = "e-p3:32:32-p4:32:32-p5:32:32-p6:32:32-p7:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

define ptx_kernel void @add(ptr addrspace(1) %p, i32 %n) !dbg !5 {
  %a = load i32, ptr addrspace(1) %p, align 4, !dbg !10
  %b = add i32 %a, %n, !dbg !11
  %c = mul i32 %b, %n, !dbg !13
  store i32 %c, ptr addrspace(1) %p, align 4, !dbg !14
  ret void, !dbg !15
}

!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2, !3}

!0 = distinct !DICompileUnit(language: DW_LANG_Rust, file: !1, producer: "rustc", isOptimized: true, runtimeVersion: 0, emissionKind: LineTablesOnly)
!1 = !DIFile(filename: "kernel.rs", directory: "/src")
!2 = !{i32 2, !"Dwarf Version", i32 2}
!3 = !{i32 2, !"Debug Info Version", i32 3}
!4 = !DISubroutineType(types: !{})
!5 = distinct !DISubprogram(name: "add", linkageName: "add", scope: !1, file: !1, line: 10, type: !4, scopeLine: 10, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!6 = distinct !DISubprogram(name: "combine", linkageName: "_RNvC6kernel7combine", scope: !1, file: !7, line: 3, type: !4, scopeLine: 3, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!7 = !DIFile(filename: "op.rs", directory: "/src")
!8 = distinct !DISubprogram(name: "inner", linkageName: "_RNvC6kernel5inner", scope: !1, file: !7, line: 7, type: !4, scopeLine: 7, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!10 = !DILocation(line: 11, column: 5, scope: !5)
!11 = !DILocation(line: 4, column: 9, scope: !6, inlinedAt: !12)
!12 = distinct !DILocation(line: 12, column: 7, scope: !5)
!13 = !DILocation(line: 8, column: 3, scope: !8, inlinedAt: !16)
!14 = !DILocation(line: 13, column: 5, scope: !5)
!15 = !DILocation(line: 14, column: 2, scope: !5)
!16 = distinct !DILocation(line: 5, column: 1, scope: !6, inlinedAt: !12)
