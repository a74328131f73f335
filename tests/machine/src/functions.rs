//! Functions that programs call, and how.

/// The functions.
pub(crate) const TEXT: &str = "\
.func (.reg .b32 %result) straight(.reg .b32 %a, .reg .b64 %b)
{
.reg .pred %p<2>; .reg .b32 %c<2>;
setp.lt.u32 %p1, %a, 1000;
cvt.u32.u64 %c1, %b;
add.u32 %result, %a, %c1;
@%p1 ret;
mul.lo.u32 %result, %result, 5;
ret;
}
.func (.param .b32 result) around(.param .b32 a, .param .b64 b)
{
.reg .pred %p<2>; .reg .b32 %r<4>; .reg .b64 %q<2>;
ld.param.b32 %r1, [a]; ld.param.b64 %q1, [b];
and.b32 %r2, %r1, 7; add.u32 %r2, %r2, 1;
HEAD:
mad.lo.u32 %r1, %r1, 5, %r2; sub.u32 %r2, %r2, 1; setp.ne.u32 %p1, %r2, 0;
@%p1 bra HEAD;
popc.b64 %r3, %q1; sub.u32 %r1, %r1, %r3;
st.param.b32 [result], %r1;
ret;
}
.func (.param .b32 result) deeper(.param .b32 a, .param .b64 b)
{
.reg .pred %p<2>; .reg .b32 %r<4>; .reg .b64 %q<2>; .local .align 8 .b8 kept[16];
ld.param.b32 %r1, [a]; ld.param.b64 %q1, [b];
st.local.b64 [kept+8], %q1;
setp.eq.u64 %p1, %q1, 0;
@%p1 bra DONE;
shr.u64 %q1, %q1, 1; add.u32 %r2, %r1, 3;
call (%r1), around, (%r2, %q1);
DONE:
ld.local.b32 %r2, [kept+8]; xor.b32 %r1, %r1, %r2;
st.param.b32 [result], %r1;
ret;
}
.func through(.param .b64 place, .param .b32 value)
{
.reg .b32 %r<3>; .reg .b64 %q<2>;
ld.param.b64 %q1, [place]; ld.param.b32 %r1, [value];
ld.b32 %r2, [%q1]; add.u32 %r1, %r1, %r2; st.b32 [%q1+4], %r1;
ret;
}
";

/// Calls of them.
pub(crate) const CALLS: &[&str] = &[
    "call ($r), straight, (<$r|$i>, $q);",
    "call ($r), around, (<$r|$u|3>, <$q|$j>);",
    "call ($r), deeper, ($r, $q);",
    "mov.u64 $A, loc; cvta.local.u64 $A, $A; call through, ($A, $r);",
    "mov.u64 $A, around; { Q: .callprototype (.param .b32 _) _ (.param .b32 _, .param .b64 _); call ($r), $A, ($r, $q), Q; }",
];
