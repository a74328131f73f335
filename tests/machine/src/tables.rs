//! Computations of statements: rows of templates.
//!
//! A row is one instruction or several, which stand on one line. `<a|b>` is one of `a` and `b`, and `&` is the bar of PTX. `SPACE`,
//! `CELL` and their like are replaced by the statement that uses the row. A `$` and a letter is an operand:
//!
//! | letters | operand |
//! |---|---|
//! | `r` `q` `h` `f` `d` `p` `b` `w` | a register of values: 32, 64, 16 bits, `f32`, `f64`, a predicate, 8 and 128 bits |
//! | `i` `j` | a register of indices, of 32 or 64 bits, which are mostly affine |
//! | `e` | the last register of indices again |
//! | `u` `k` | a register or a predicate that is the same in all lanes |
//! | `R` `Q` `H` `F` `D` `I` `J` `U` | the same as the small letter, or a constant, or a special register for `U` |
//! | `P` | a predicate, of any kind, or its opposite |
//! | `n` | a shift amount or a position of a bit: a constant or a register |
//! | `s` `x` `y` | a constant of 5, 8 or 16 bits |
//! | `c` `C` | an interesting constant of 32 or 64 bits |
//! | `S` | a special register |
//! | `m` `M` | an interesting constant of 32 or 64 bits, which is the stride of what follows |
//! | `O` `N` | about a multiple of the stride, of 32 or 64 bits |
//! | `z` | the mask of the lanes that execute the statement together |
//! | `0` to `9` | a temporary of 32 bits |
//! | `A` `B` | a temporary of 64 bits |

/// Values that are the same or neighbouring in the lanes of a group, by operations that are linear.
pub(crate) const LINEAR: &[&str] = &[
    "mov.u32 $i, <$S|$S|$c|$U>;",
    "mov.b64 $j, <$C|$J>;",
    "add.<u|s>32 $i, $I, $I;",
    "sub.<u|s>32 $i, $I, $I;",
    "mul.lo.<u|s>32 $i, $I, <$c|$s>;",
    "mul.lo.<u|s>32 $i, $s, $i;",
    "mul.lo.u32 $i, $i, $U;",
    "mad.lo.<u|s>32 $i, $I, <$c|$s>, $I;",
    "mad.lo.s32 $i, $s, $I, $I;",
    "shl.b32 $i, $I, <$s|$s|$U|40>;",
    "or.b32 $i, $I, <$I|$s>;",
    "shl.b32 $0, $i, 4; and.b32 $1, $U, 15; or.b32 $i, $0, $1;",
    "and.b32 $0, $U, 7; shl.b32 $1, $i, <3|5>; or.b32 $i, $0, $1;",
    "neg.s32 $i, $i;",
    "min.<u|s>32 $i, $I, $I;",
    "and.b32 $i, $I, <7|31|0xffff|0xf8>;",
    "selp.b32 $i, $I, $I, <$k|$p>;",
    "selp.b64 $j, $J, $J, <$k|$p>;",
    "cvt.u64.u32 $j, $I;",
    "cvt.s64.s32 $j, $I;",
    "cvt.u32.u64 $i, $j;",
    "cvt.<u|s>32.<s|u>32 $i, $i;",
    "cvt.<u|s>64.<s|u>64 $j, $j;",
    "mul.wide.u32 $j, $I, $I;",
    "mul.wide.s32 $j, $I, $I;",
    "mul.wide.<u|s>32 $j, <$i, $c|$c, $i|$i, $U>;",
    "mad.wide.u32 $j, $I, <$c|$I>, $J;",
    "mad.wide.s32 $j, <$c|$I>, $I, $J;",
    "add.<u|s>64 $j, $J, $J;",
    "sub.<u|s>64 $j, $J, $J;",
    "mul.lo.<u|s>64 $j, $J, <$C|$C|$s>;",
    "mul.lo.u64 $j, $C, $j;",
    "mad.lo.<u|s>64 $j, $J, <$C|$s>, $J;",
    "shl.b64 $j, $J, <$s|$s|60|61|63|70>;",
    "or.b64 $j, $J, $J;",
    "shl.b64 $A, $j, 8; or.b64 $j, $A, <$s|$x>;",
    "mov.b64 $j, {$I, 0};",
    "mov.b64 {$i, $0}, $j;",
    "add.u16 $h, $h, $s; cvt.u32.u16 $i, $h;",
    "rem.u32 $i, $I, 32;",
    "div.u32 $i, $I, 8;",
];

/// Warp-uniform values.
pub(crate) const UNIFORM: &[&str] = &[
    "mov.u32 $u, <$c|$s|$U>;",
    "<add|sub|mul.lo|min|max>.<u|s>32 $u, $U, $U;",
    "<and|or|xor>.b32 $u, $U, $U;",
    "<shl.b32|shr.u32|shr.s32> $u, $U, <$s|$u>;",
    "mad.lo.u32 $u, $U, $U, $U;",
    "setp.<eq|ne|lt|le|gt|ge>.<u|s>32 $k, $U, $U;",
    "setp.<lt|hi|ls>.<and|or|xor>.u32 $k, $U, $U, <|!>$k;",
    "<and|or|xor>.pred $k, $k, $k;",
    "not.pred $k, $k;",
    "selp.b32 $u, $U, $U, $k;",
    "ld.param.u32 $u, [n];",
    "ld.param.<u|s><32|16|8> $u, [few+<0|4|12|24>];",
    "bfe.u32 $u, $U, $s, $s;",
    "popc.b32 $u, $U;",
    "cvt.u16.u32 %th, $U; cvt.u32.u16 $u, %th;",
    "cvt.rn.f32.u32 $0, $U; cvt.rzi.u32.f32 $u, $0;",
    "vote.ballot.sync.b32 $u, $P, -1;",
];

/// Comparisons.
pub(crate) const TESTS: &[&str] = &[
    "setp.<eq|ne|lt|le|gt|ge|lo|ls|hi|hs>.u32 $p, $R, $R;",
    "setp.<eq|ne|lt|le|gt|ge>.s32 $p, $R, $R;",
    "setp.<eq|ne|lt|le|gt|ge>.<u|s>64 $p, $Q, $Q;",
    "setp.<eq|ne|lt|le|gt|ge>.<u|s>32 $p, $I, $I;",
    "setp.<eq|ne|lt|le|gt|ge>.<u|s>64 $p, $J, $J;",
    "setp.<eq|lt|ge>.u32 $p, <$i, $u|$u, $i|$c, $i>;",
    "setp.<lt|ge>.<u|s>64 $p, <$j, $C|$C, $j>;",
    "setp.<eq|ne|lt|gt>.<u|s>16 $p, $h, $H;",
    "setp.<lt|le|gt|ge|eq|ne|ltu|geu|equ|neu|num|nan><|.ftz>.f32 $p, $F, $F;",
    "setp.<lt|ge|eq|gtu|nan>.f64 $p, $D, $D;",
    "setp.<lt|eq|geu>.f16 $p, $h, $h;",
    "setp.<lt|eq|gt>.<and|or|xor>.<u|s>32 $p&%tp1, $R, $R, $P;",
    "setp.<lt|ge>.<and|or|xor>.<u|s>64 $p, $J, $J, $P;",
    "setp.<lt|ne>.<f16x2|bf16x2> $p&%tp1, $r, $r;",
    "<and|or|xor>.pred $p, $p, $p;",
    "not.pred $p, <$p|$k>;",
    "mov.pred $p, <$p|$k|%tp0>;",
    "testp.<finite|infinite|number|notanumber|normal|subnormal>.<f32 $p, $f|f64 $p, $d>;",
    "and.b32 $0, $R, <1|2|4|8|16>; setp.ne.u32 $p, $0, 0;",
    "setp.eq.b32 $p, $R, 0;",
    "isspacep.<global|shared|local> $p, <%own|%sgen>;",
];

/// Comparisons of 64-bit multiples of an index with one of these multiples: the stride is a constant of any size.
pub(crate) const MULTIPLES: &[&str] = &[
    "mul.wide.u32 $A, $i, $c; setp.<lt|le|gt|ge|eq>.<u|s>64 $p, <$A, $J|$J, $A>;",
    "cvt.u64.u32 $A, %tx; mul.lo.u64 $A, $A, $M; setp.<lt|le|ge|eq>.u64 $p, $A, $N;",
    "mul.wide.u32 $A, %tx, $m; setp.<lt|gt|ge|eq>.<u|s>64 $p, $A, $N;",
    "mul.wide.s32 $A, <%tx|%lane>, $m; setp.<lt|gt|le>.s64 $p, $N, $A;",
    "mul.lo.u32 $0, <%tx|%lane>, $m; setp.<lt|gt|le>.<u|s>32 $p, $0, $O;",
    "cvt.s64.s32 $A, <%lane|%tx>; mul.lo.s64 $A, $A, $M; add.s64 $B, $A, $C; setp.<lt|ge>.<u|s>64 $p, $A, $B;",
];

/// Values in which lanes differ in any way.
pub(crate) const VALUES: &[&str] = &[
    "<add|sub|min|max>.<u|s>32 $r, $R, $R;",
    "mul.<lo|hi>.<u|s>32 $r, $R, $R;",
    "mad.<lo|hi>.<u|s>32 $r, $R, $R, $R;",
    "<and|or|xor>.b32 $r, $R, $R;",
    "<shl.b32|shr.u32|shr.s32> $r, $R, $n;",
    "or.b32 $0, $R, 1; <div|rem>.<u|s>32 $r, $R, $0;",
    "<div|rem>.<u|s>32 $r, $R, <3|7|16|-5>;",
    "<abs.s32|neg.s32|not.b32|popc.b32|clz.b32|brev.b32|cnot.b32> $r, $R;",
    "bfind<|.shiftamt>.<u|s>32 $r, $R;",
    "bfe.<u|s>32 $r, $R, $n, $n;",
    "bfi.b32 $r, $R, $R, $n, $n;",
    "prmt.b32<|.f4e|.b4e|.rc8|.ecl|.ecr|.rc16> $r, $R, $R, <$y|$R>;",
    "lop3.b32 $r, $R, $R, $R, $x;",
    "shf.<l|r>.<wrap|clamp>.b32 $r, $R, $R, $n;",
    "mul24.<lo|hi>.<u|s>32 $r, $R, $R;",
    "mad24.lo.<u|s>32 $r, $R, $R, $R;",
    "sad.<u|s>32 $r, $R, $R, $R;",
    "dp4a.<u|s>32.<u|s>32 $r, $R, $R, $R;",
    "dp2a.<lo|hi>.<u|s>32.<u|s>32 $r, $R, $R, $R;",
    "add.cc.u32 $0, $R, $R; addc<.cc|>.u32 $r, $R, $R; addc.u32 $1, $r, 0; xor.b32 $r, $r, $1;",
    "sub.cc.u32 $0, $R, $R; subc<.cc|>.u32 $r, $R, $R;",
    "mad.lo.cc.u32 $0, $R, $R, $R; madc.hi.u32 $r, $R, $R, $R; xor.b32 $r, $r, $0;",
    "<add|sub>.cc.u64 $A, $Q, $Q; <addc|subc>.u64 $q, $Q, $Q;",
    "<add|sub|min|max>.<u|s>64 $q, $Q, $Q;",
    "mul.<lo|hi>.<u|s>64 $q, $Q, $Q;",
    "mad.lo.<u|s>64 $q, $Q, $Q, $Q;",
    "<and|or|xor>.b64 $q, $Q, $Q;",
    "<shl.b64|shr.u64|shr.s64> $q, $Q, $n;",
    "or.b64 $A, $Q, 1; <div|rem>.<u|s>64 $q, $Q, $A;",
    "<abs.s64|neg.s64|not.b64|brev.b64> $q, $q;",
    "<popc|clz>.b64 $r, $Q;",
    "bfind.<u|s>64 $r, $q;",
    "mul.wide.<u|s>32 $q, $R, $R;",
    "mad.wide.<u|s>32 $q, $R, $R, $Q;",
    "bfe.<u|s>64 $q, $q, $n, $n;",
    "<add|sub|mul.lo|mul.hi|min|max>.<u|s>16 $h, $h, $H;",
    "<shl.b16|shr.u16|shr.s16> $h, $h, $n;",
    "<and|or|xor>.b16 $h, $h, $h;",
    "mul.wide.<u|s>16 $r, $h, $h;",
    "mad.lo.u16 $h, $h, $H, $h;",
    "cvt.<u|s>8.<u|s>32 $b, $r; cvt.<u|s>32.<u|s>8 $r, $b;",
    "cvt.<u|s>16.<u|s>32 $h, $r;",
    "cvt.<u|s>32.<u|s>16 $r, $h;",
    "cvt.sat.<s8|u8|s16|u16>.s32 $h, $r;",
    "cvt.sat.<s32|u32>.s64 $r, $q;",
    "cvt.<u|s>64.<u|s>16 $q, $h;",
    "cvt.<u|s>16.<u|s>64 $h, $q;",
    "cvt.<rni|rzi|rmi|rpi><|.ftz>.<u|s>32.f32 $r, $F;",
    "cvt.<rni|rzi>.<u|s>64.<f32 $q, $f|f64 $q, $d>;",
    "cvt.<rni|rzi|rmi|rpi><|.sat>.<u|s>32.f64 $r, $d;",
    "cvt.<rn|rz|rm|rp>.f32.<u|s>32 $f, $R;",
    "cvt.<rn|rz>.f32.<u|s>64 $f, $q;",
    "cvt.rn.f64.<u|s>32 $d, $R;",
    "cvt.<rn|rz|rm|rp>.f64.<u|s>64 $d, $q;",
    "cvt.f64.f32 $d, $F;",
    "cvt.<rn|rz|rm|rp><|.ftz>.f32.f64 $f, $D;",
    "cvt.<rn|rz>.f16.f32 $h, $f;",
    "cvt.f32.f16 $f, $h;",
    "cvt.rn.bf16.f32 $h, $f;",
    "cvt.f32.bf16 $f, $h;",
    "cvt.rn.<f16x2|bf16x2>.f32 $r, $f, $f;",
    "cvt.<rni|rzi|rmi|rpi>.f32.f32 $f, $f;",
    "<add|sub|mul><|.rn|.rz|.rm|.rp><|.ftz><|.sat>.f32 $f, $F, $F;",
    "fma.<rn|rz|rm|rp><|.ftz><|.sat>.f32 $f, $F, $F, $F;",
    "<min|max><|.ftz><|.NaN>.f32 $f, $F, $F;",
    "<abs|neg><|.ftz>.f32 $f, $f;",
    "<sqrt|rcp>.<rn|rz|rm|rp>.f32 $f, $f;",
    "<sqrt|rcp|rsqrt|ex2|lg2|sin|cos|tanh>.approx.f32 $f, $f;",
    "div.<rn|rz|approx|full>.f32 $f, $F, $F;",
    "<add|sub|mul>.<rn|rz|rm|rp>.f64 $d, $D, $D;",
    "fma.<rn|rz|rm|rp>.f64 $d, $D, $D, $D;",
    "<min|max>.f64 $d, $D, $D;",
    "<abs.f64|neg.f64|sqrt.rn.f64|rcp.rn.f64> $d, $d;",
    "div.rn.f64 $d, $D, $D;",
    "<add|sub|mul>.<f16|rn.f16> $h, $h, $h;",
    "fma.rn.<f16|bf16> $h, $h, $h, $h;",
    "<add|sub|mul>.f16x2 $r, $r, $r;",
    "fma.rn.<f16x2|bf16x2> $r, $r, $r, $r;",
    "<min|max>.<f16x2|bf16x2> $r, $r, $r;",
    "<min|max>.<f16|bf16> $h, $h, $h;",
    "cvt.rn.f32.u32 $0, <%ty|%row|%tx|$u>; <add|mul>.f32 $1, $0, $F; mov.b32 <$r|$i|$f>, $1;",
    "cvt.rn.f32.u32 $0, <%ty|%row|$u>; fma.rn.f32 $1, $0, $0, $0; selp.f32 $2, $1, $0, <$p|$k>; mov.b32 <$r|$i|$f>, $2;",
    "mov.b32 $f, $R;",
    "mov.b32 $r, <$f|$F|$i|$u|$S>;",
    "mov.b64 $d, $Q;",
    "mov.b64 $q, <$d|$j|$C>;",
    "mov.b64 $q, {$R, $R};",
    "mov.b64 {$0, $r}, $q;",
    "mov.b32 $r, {$h, $h};",
    "mov.b32 {$h, %th}, $r;",
    "mov.b128 $w, {$q, $q};",
    "mov.b128 {$q, $A}, $w;",
    "selp.<b|u|s>32 $r, $R, $R, <$p|$k>;",
    "selp.b64 $q, $Q, $Q, <$p|$k>;",
    "selp.f32 $f, $F, $F, <$p|$k>;",
    "selp.b16 $h, $h, $h, $p;",
    "slct.<u|s>32.s32 $r, $R, $R, $R;",
    "slct.f32.f32 $f, $f, $f, $f;",
    "set.<lt|ge|eq>.<u|s>32.<u|s>32 $r, $R, $R;",
    "set.<lt|geu|nan>.f32.f32 $f, $F, $F;",
    "copysign.<f32 $f, $f, $f|f64 $d, $d, $d>;",
    "fns.b32 $r, $R, <0|7|31>, <1|-2|3>;",
    "szext.wrap.<u|s>32 $r, $R, <5|9|31>;",
    "bmsk.clamp.b32 $r, $n, $n;",
    "vadd.s32.u32.s32.sat $r, $r.b0, $r.h1;",
    "ld.const.<u32 $r|b64 $q|u8 $h|v4.u32 {$0, $1, $r, $2}>, [table+<0|16|64|112>];",
    "and.b32 $0, $R, 15; mul.wide.u32 $A, $0, 8; mov.b64 $B, table; add.s64 $A, $A, $B; ld.const.b64 $q, [$A];",
    "ld.param.<u32 $r|u64 $q|u8 $h|v2.u32 {$r, $0}>, [few+<0|8|16>];",
];

/// Loads from the buffer that is only read. `$z` sizes it, and its bounds are tested or its indices are cut.
pub(crate) const READS: &[&str] = &[
    // Behind a bounds check, as a slice has it: by any stride.
    "mul.lo.u64 $A, $j, 4; setp.le.u64 %tp0, $A, 4092; add.s64 $A, %in, $A; @%tp0 ld<|.global|.global.nc>.u32 <$r|$i>, [$A];",
    "setp.lt.u64 %tp0, $j, 512; shl.b64 $A, $e, 3; add.s64 $A, %in, $A; @%tp0 ld<|.global>.b64 <$q|$j|$d>, [$A];",
    "setp.lt.u64 %tp0, $j, 4096; add.s64 $A, %in, $e; @%tp0 ld<|.global>.<u|s>8 <$r|$h>, [$A];",
    "setp.lt.u32 %tp0, $i, 1000; mad.wide.u32 $A, $e, 4, %in; @%tp0 ld.global.<u32 <$r|$i>|f32 $f>, [$A<|+4|+32>];",
    "setp.lt.u32 %tp0, $i, 200; mad.wide.u32 $A, $e, 16, %in; @%tp0 ld.global.v4.u32 {$0, $r, $1, $2}, [$A]; @%tp0 ld.global.u32 $r, [$A+8];",
    "setp.gt.s64 %tp0, $j, -1; setp.lt.and.s64 %tp0, $e, 1024, %tp0; mad.lo.s64 $A, $e, 4, %in; @%tp0 ld.global.u32 $r, [$A];",
    // By an index that is cut.
    "and.b32 $0, $R, 1023; mad.wide.u32 $A, $0, 4, %in; ld<|.global|.volatile.global|.relaxed.gpu.global>.<u|s|b>32 $r, [$A];",
    "and.b64 $A, $Q, 4088; add.s64 $A, %in, $A; ld<|.global>.<b64 $q|v2.u32 {$r, $0}|v4.u16 {$h, %th, _, _}>, [$A];",
    "and.b64 $A, $Q, 4080; add.s64 $A, %in, $A; ld<|.global>.<v2.b64 {$q, $B}|v4.f32 {$f, $0, $1, $2}|b128 $w>, [$A];",
    "and.b64 $A, $Q, 4064; add.s64 $A, %in, $A; ld.global.<v4.b64 {$q, $B, _, _}|v8.b32 {$r, $0, $1, $2, _, _, _, _}>, [$A];",
    "and.b32 $0, $I, 4095; cvt.u64.u32 $A, $0; add.s64 $A, %in, $A; ld.<u|s>8 <$r|$h|$i>, [$A];",
    // One address for all lanes, or for each group of them.
    "ld<|.global>.<u32 <$r|$u|$i>|b64 <$q|$j>|f32 $f|u16 $h|f64 $d>, [%in+<0|8|64|4080>];",
    "and.b32 $0, $U, 255; mad.wide.u32 $A, $0, 16, %in; ld.global.<u32 <$r|$i|$u>|b64 <$q|$j>|v4.u32 {$r, $0, $1, $2}|u8 $r>, [$A];",
    "and.b32 $0, <%ty|%tz|%row>, 63; mad.wide.u32 $A, $0, <16|4>, %in; ld.global.u32 <$r|$i>, [$A+<0|4|12>];",
    // Neighbouring addresses.
    "and.b32 $0, $U, 31; shl.b32 $0, $0, 4; add.u32 $0, $0, <%tx|%lane>; mad.wide.u32 $A, $0, <1|2|4>, %in; ld.global.u8 <$r|$h>, [$A]; ld.global.u8 $r, [$A+3];",
    "mad.wide.u32 $A, %tx, 2, %in; ld.global.<u|s>16 <$r|$h>, [$A+<0|2|6>];",
    "mad.wide.u32 $A, %tx, <4|8|12>, %in; ld.global.u32 $r, [$A<|+4|+16>]; ld.global.u32 <$r|$i>, [$A+8];",
    "mad.wide.u32 $A, %tx, <8|16>, %in; ld.global.<v2.u32 {$r, $0}|b64 $q|v4.u16 {$h, %th, _, _}>, [$A<|+8>];",
    "and.b32 $0, %ltid, 127; mad.wide.u32 $A, $0, <16|32>, %in; ld.global.<v4.u32 {$0, $1, $r, $2}|v2.b64 {$q, $B}|b128 $w>, [$A];",
    "mul.wide.u32 $A, %lane, 4; sub.s64 $A, %in, $A; ld.global.u32 $r, [$A+<128|124|256>];",
    "ld.global.u32 $r, [buffer+<0|4|60>];",
    "ldu.global.u32 $r, [%in+<0|16>];",
];

/// Collective operations of the lanes of a warp. The lanes of `$z` execute them.
pub(crate) const TOGETHER: &[&str] = &[
    "vote.sync.<all|any|uni>.pred <$p|$k>, $P, $z;",
    "vote.sync.ballot.b32 <$r|$u|$i>, $P, $z;",
    "redux.sync.<add|min|max>.<u|s>32 <$r|$u|$i>, <$R|$I|$U|$c|$s>, $z;",
    "redux.sync.<and|or|xor>.b32 <$r|$u|$i>, <$R|$I|$U|$c>, $z;",
    "redux.sync.<min|max><|.abs><|.NaN>.f32 $f, $F, $z;",
    "match.any.sync.<b32 $r, <$R|$U|$I>|b64 $r, $Q>, $z;",
    "match.all.sync.<b32 $r&$p, <$R|$U|$I>|b64 <$r|$u>, $Q>, $z;",
    "elect.sync $r&$p, $z;",
    "bar.warp.sync $z;",
    "bar.warp.sync $z; activemask.b32 <$r|$u|$i>;",
    "shfl.sync.idx.b32 $r, $R, %lane, 31, $z;",
    "mov.u32 $0, <$R|$U|$c>; redux.sync.<add.u32|min.s32|or.b32> $r, $0, $z;",
];

/// Shuffles, for converged warps of 32 lanes.
pub(crate) const SHUFFLES: &[&str] = &[
    "shfl.sync.idx.b32 <$r|$u|$i>, <$R|$I|$U|$c>, <0|5|8|31>, 31, $z;",
    "shfl.sync.<up|down|bfly|idx>.b32 $r, <$R|$I|$U>, $s, <31|0|0x1c1f|0x181f|0x1800>, $z;",
    "shfl.sync.<up|down|bfly|idx>.b32 $r&$p, $R, <$s|$R|$U>, <31|0|0x1c1f>, $z;",
    "shfl.sync.<up|down|bfly|idx>.b32 <$r|$i>, <$R|$I>, <$U|$I>, <31|$U>, $z;",
    "shfl.sync.<up|down>.b32 <$r|$i>, $i, <1|8|16>, <0|31>, $z;",
];

/// Operations of whole warps: products of matrices, and their operands.
pub(crate) const MATRICES: &[&str] = &[
    "movmatrix.sync.aligned.m8n8.trans.b16 $r, <$r|$i|$u>;",
    "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {$A, $d}, {$d}, {$d}, {$d, $d};",
    "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {$0, $1, $2, $r}, {$r, $r}, {$r}, {$f, $f, $f, $f};",
    "and.b32 $0, %lane, <7|31>; mov.u32 $1, tile; mad.lo.u32 $0, $0, 16, $1; ldmatrix.sync.aligned.m8n8.<x1<|.trans>.shared.b16 {$r}|x2.shared.b16 {$r, $2}|x4.trans.shared.b16 {$2, $3, $r, $5}>, [$0];",
    "mov.u32 $0, tile; ldmatrix.sync.aligned.m8n8.x1.shared.b16 {$r}, [$0+<0|16|496>];",
];

/// Operations on a cell of the thread's own, `[%cell]`, which has 16 bytes.
pub(crate) const ATOMS: &[&str] = &[
    "atom<|.relaxed.gpu|.acq_rel.cta><SPACE>.<add|min|max|exch|and|or|xor|inc|dec>.<TYPE> $r, [CELL<|+4|+12>], $R;",
    "atom<SPACE>.<add|min|max|exch|and|or|xor>.<WIDE> $q, [CELL<|+8>], $Q;",
    "atom<SPACE>.cas.b32 $r, [CELL<|+8>], $R, $R; atom<SPACE>.cas.b32 $r, [CELL+8], $r, $R;",
    "atom<SPACE>.cas.b64 $q, [CELL], $Q, $Q;",
    "atom<SPACE>.cas.b16 $h, [CELL+<0|2|14>], $h, $h;",
    "atom<SPACE>.add.f32 $f, [CELL<|+4>], $F;",
    "atom<SPACE>.add.f64 $d, [CELL<|+8>], $D;",
    "atom<SPACE>.add.noftz.<f16x2|bf16x2> $r, [CELL+<0|4>], $r;",
    "atom<SPACE>.add.noftz.<f16|bf16> $h, [CELL+<2|6>], $h;",
    "atom<SPACE>.<exch.b128 $w, [CELL], $w|cas.b128 $w, [CELL], $w, $w>;",
    "red<|.relaxed.gpu><SPACE>.<add|min|max|and|or|xor|inc|dec>.<TYPE> [CELL<|+4|+8>], <$R|$I|$U>;",
    "red<SPACE>.<add.u64|min.s64|max.u64|and.b64|or.b64|xor.b64> [CELL+<0|8>], <$Q|$J>;",
    "red<SPACE>.add.<f32 [CELL], $F|f64 [CELL+8], $D|noftz.f16x2 [CELL+4], $r>;",
    "atom<SPACE>.add.u32 $0, [CELL], $R;",
];

/// Operations whose order does not matter, on words that all threads share: behind `COUNT`, which is shared or global.
pub(crate) const COUNTERS: &[&str] = &[
    "<red|atom><SPACE>.add.u32 OLD[COUNT], <$R|$U|$I|1>;",
    "<red|atom><SPACE>.min.s32 OLD[COUNT+4], <$R|$I|$c>;",
    "<red|atom><SPACE>.max.u32 OLD[COUNT+8], <$R|$I|$c>;",
    "red<SPACE>.and.b32 [COUNT+12], <$R|$U>;",
    "red<SPACE>.or.b32 [COUNT+16], <$R|$U|$c>;",
    "<red|atom><SPACE>.xor.b32 OLD[COUNT+20], <$R|$U|$I>;",
    "<red|atom><SPACE>.inc.u32 OLD[COUNT+24], 100;",
    "red<SPACE>.dec.u32 [COUNT+28], 1000;",
    "<red|atom><SPACE>.add.u64 WOLD[COUNT+32], <$Q|$J>;",
    "red<SPACE>.<max.s64 [COUNT+40]|min.u64 [COUNT+48]|xor.b64 [COUNT+56]>, <$Q|$J|$C>;",
    "and.b32 $0, $R, 15; cvt.rn.f32.u32 $0, $0; red<SPACE>.add.f32 [COUNT+64], $0;",
    "and.b32 $0, $R, 15; cvt.rn.f64.u32 $A, $0; red<SPACE>.add.f64 [COUNT+72], $A;",
    "and.b32 $0, $U, 3; shl.b32 $0, $0, 2; cvt.u64.u32 $A, $0; add.s64 $A, $A, WIDE; red<SPACE>.add.u32 [$A+80], <$R|1>;",
    "and.b32 $0, $I, 3; shl.b32 $0, $0, 2; cvt.u64.u32 $A, $0; add.s64 $A, $A, WIDE; <red|atom><SPACE>.add.u32 OLD[$A+80], <$R|$U|1>;",
    "and.b32 $0, $R, 3; shl.b32 $0, $0, 2; cvt.u64.u32 $A, $0; add.s64 $A, $A, WIDE; red<SPACE>.add.u32 [$A+80], <$R|1>;",
];

/// The thread's stack, `loc` of 64 bytes.
pub(crate) const LOCAL: &[&str] = &[
    "st.local.<u32 [loc+<0|4|60>], $R|b64 [loc+<8|16>], $Q|u8 [loc+<1|7>], $r|v2.u32 [loc+24], {$r, $r}|v4.f32 [loc+32], {$f, $f, $f, $f}>;",
    "ld.local.<u32 $r, [loc+<0|4|60>]|b64 $q, [loc+<8|16>]|s8 $r, [loc+<1|7>]|v2.u32 {$r, $0}, [loc+24]|b128 $w, [loc+32]>;",
    "and.b32 $0, $R, 60; mov.u32 $1, loc; add.u32 $0, $0, $1; <ld.local.u32 $r, [$0]|st.local.u32 [$0], $R>;",
    "and.b64 $A, <$Q|$J>, 56; mov.u64 $B, loc; add.s64 $A, $A, $B; <ld.local.b64 $q, [$A]|st.local.b64 [$A], $Q>;",
    "and.b32 $0, $I, 15; mov.u32 $1, loc; mad.lo.u32 $0, $0, 4, $1; st.local.u32 [$0], $R; ld.local.u16 $h, [$0+<0|2>]; ld.local.u32 <$r|$i>, [$0];",
    "mov.u64 $A, loc; cvta.local.u64 $A, $A; <ld.u32 $r, [$A+<0|12>]|st.b64 [$A+<0|8>], $q|st.u8 [$A+5], $r>;",
    "mov.u64 $A, loc; cvta.local.u64 $A, $A; and.b64 $B, $Q, 60; add.s64 $A, $A, $B; cvta.to.local.u64 $A, $A; <ld.local.u32 $r, [$A]|st.local.u32 [$A], $r>;",
    "mul.wide.u32 $A, <%n|%row>, 0; mov.u64 $B, loc; add.s64 $A, $A, $B; st.local.v2.b64 [$A], {$q, $q}; ld.local.v4.u32 {$0, $r, $1, $2}, [$A];",
];

/// Accesses that fail, or that do not by luck.
pub(crate) const FAULTS: &[&str] = &[
    "cvt.u64.u32 $A, <%lane|%tx>; mul.lo.u64 $A, $A, $M; add.s64 $A, %in, $A; ld<|.global>.<u32 $r|u8 $r|b64 $q|v4.u32 {$0, $r, $1, $2}>, [$A<|+4096|+8188|+-4>];",
    "cvt.u64.u32 $A, <%lane|%tx>; mul.lo.u64 $A, $A, $M; add.s64 $A, %in, $A; st<|.global>.<u32 [$A], $r|u16 [$A+2], $h|v2.u32 [$A], {$r, $r}>;",
    "mul.wide.s32 $A, <%lane|%tx|$i>, $m; add.s64 $A, %in, $A; ld.global.u32 <$r|$i>, [$A];",
    "mul.lo.u32 $0, %lane, $m; mov.u32 $1, scnt; add.u32 $0, $0, $1; <ld.shared.u32 $r, [$0]|st.shared.u32 [$0+<0|64>], $r|red.shared.add.u32 [$0], 1>;",
    "mul.wide.u32 $A, %lane, $m; mov.u64 $B, scnt; add.s64 $A, $A, $B; <ld.shared.b64 $q, [$A]|st.shared.u8 [$A], $r|atom.shared.max.u32 $r, [$A], $R>;",
    "mul.lo.u32 $0, %lane, $m; mov.u32 $1, loc; add.u32 $0, $0, $1; <ld.local.u32 $r, [$0]|st.local.u32 [$0+4], $r>;",
    "mul.wide.u32 $A, %lane, $m; mov.u64 $B, loc; add.s64 $A, $A, $B; <cvta.local.u64 $A, $A; ld.u32 $r, [$A]|ld.local.b64 $q, [$A]>;",
    "mad.wide.u32 $A, %lane, <3|6|10|2>, %in; ld.global.<u32 $r|b64 $q|v4.u32 {$0, $r, $1, $2}>, [$A];",
    "ld.global.<u32 $r, [%in+<1|2|8192|8190>]|b64 $q, [%in+4]|v2.b64 {$q, $A}, [%in+8]>;",
    "setp.eq.u32 %tp0, %lane, <0|7|8|31|13>; @%tp0 ld.global.u32 $r, [%in+<8192|1000000|3>];",
    "setp.ne.u32 %tp0, %lane, <0|7|8|31|13>; @!%tp0 st.global.u32 [%in+<8192|3>], $r;",
    "mov.b64 $A, <0|16|0xffffffffffffff00>; <ld.u32 $r, [$A]|ld.global.u32 $r, [$A+8]|st.u8 [$A], $r|atom.add.u32 $r, [$A], 1>;",
    "mul.wide.u32 $A, %lane, $m; add.s64 $A, %in, $A; <atom.global.add.u32 $r, [$A], $R|red.global.max.u32 [$A], $R|atom.cas.b64 $q, [$A], $Q, $Q>;",
    "mov.u64 $A, table; <st.u32 [$A], $r|st.global.u32 [$A], $r|ld.global.u32 $r, [$A+128]>;",
    "cvta.shared.u64 $A, $J; ld.u32 $r, [$A];",
    "cvta.to.shared.u64 $A, %in; ld.shared.u32 $r, [$A];",
    "setp.eq.u32 %tp0, %lane, <3|17>; @%tp0 trap;",
    "ld.<global.u32 $r, [%sgen]|u32 $r, [%sgen+<2|128>]|shared.u32 $r, [%scnt+<1|128>]|shared.b64 $q, [%swide+4]>;",
    "add.s64 $A, %sgen, <0x40000|0x1000000|-4>; <ld.u32 $r, [$A]|st.u32 [$A], $r>;",
    "mov.u64 $A, loc; cvta.local.u64 $A, $A; <ld.global.u32 $r, [$A]|ld.u32 $r, [$A+<2|4096>]|st.u32 [$A+-4096], $r|ld.b64 $q, [$A+1000000]>;",
    "ld.local.<u32 $r, [loc+2]|b64 $q, [loc+4]>;",
    "mov.b64 $A, few; cvta.param.u64 $A, $A; <st.u32 [$A], $r|ld.u32 $r, [$A+<32|1>]>;",
    "ld.param.u32 $r, [few+4]; mov.u64 $A, few; mul.wide.u32 $B, %lane, <4|8|0>; add.s64 $A, $A, $B; ld.param.u32 $r, [$A];",
    "mov.u64 $A, straight; <ld.u32 $r, [$A]|st.u32 [$A], $r>;",
];
