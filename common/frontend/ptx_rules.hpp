// Which PTX is read: an instruction's name, its operands' forms, and the C++ that does it (common/cpu/inline_ptx.h).
//
//   name      words between dots; <T>, <U> a type; <C> a comparison; a|b one of these; word? may be missing; <hint>* any
//             number of cache hints, roundings and scopes that change no value here
//   operands  r a register or number, v a vector in braces, a an address in brackets; * whatever else
//   code      $0 operand 0; $T, $U the types; $t1, $u1, $w1, $f1 the value of operand 1 as one of these types, 32 bits, a
//             float; $V0 references to a vector's elements; $U1, $F1 their values as an array of unsigned or float; $a1 an
//             address; $o the word that was chosen first; $C the comparison; $? whether the name has .trans.
//             The value after a = is put into operand 0.
#pragma once
#include <string_view>

namespace lab::frontend {

struct Rule {
  std::string_view name, operands, code;
};

inline constexpr Rule RULES[] = {
    // --- registers -----------------------------------------------------------------------------------------------
    {"mov.<T>", "rr", "= $t1"},
    {"mov.<T>", "rv", "= joined<$T>($U1)"},
    {"mov.<T>", "vr", "part($t1, $V0)"},
    {"add.<hint>*.<T>", "rrr", "= $T(wrapping($t1) + wrapping($t2))"},
    {"sub.<hint>*.<T>", "rrr", "= $T(wrapping($t1) - wrapping($t2))"},
    {"mul.lo?.<hint>*.<T>", "rrr", "= $T(wrapping($t1) * wrapping($t2))"},
    {"mul.wide.<T>", "rrr", "= wide($t1) * wide($t2)"},
    {"mul.hi.<T>", "rrr", "= high($t1, $t2)"},
    {"mad.lo.<T>", "rrrr", "= $T(wrapping($t1) * wrapping($t2) + wrapping($t3))"},
    {"mad.wide.<T>", "rrrr", "= wide($t1) * wide($t2) + as<decltype(wide($t1))>($3)"},
    {"fma.rn.<hint>*.<T>", "rrrr", "= fma_($t1, $t2, $t3)"},
    {"div.<hint>*.<T>", "rrr", "= $t1 / $t2"},
    {"rem.<T>", "rrr", "= $T($t1 % $t2)"},
    {"min|max.<hint>*.<T>", "rrr", "= $o_($t1, $t2)"},
    {"neg.<hint>*.<T>", "rr", "= negated($t1)"},
    {"abs.<hint>*.<T>", "rr", "= absolute($t1)"},
    {"and.<T>", "rrr", "= $T($t1 & $t2)"},
    {"or.<T>", "rrr", "= $T($t1 | $t2)"},
    {"xor.<T>", "rrr", "= $T($t1 ^ $t2)"},
    {"not.<T>", "rr", "= inverted($t1)"},
    {"shl.<T>", "rrr", "= shifted_left($t1, $w2)"},
    {"shr.<T>", "rrr", "= shifted_right($t1, $w2)"},
    {"shf.l.wrap.b32", "rrrr", "= __funnelshift_l($w1, $w2, $w3)"},
    {"shf.r.wrap.b32", "rrrr", "= __funnelshift_r($w1, $w2, $w3)"},
    {"popc.b32", "rr", "= __popc($w1)"},
    {"clz.b32", "rr", "= __clz(as<std::int32_t>($1))"},
    {"brev.b32", "rr", "= __brev($w1)"},
    {"prmt.b32", "rrrr", "= __byte_perm($w1, $w2, $w3)"},
    {"lop3.b32", "rrrrr", "= lop3($w1, $w2, $w3, $4)"},
    {"bfe.u32", "rrrr", "= bit_field($w1, $w2, $w3)"},
    {"setp.<C>.<hint>*.<T>", "rrr", "= $t1 $C $t2"},
    {"selp.<T>", "rrrr", "= as<bool>($3) ? $t1 : $t2"},
    {"cvt.rn.f16x2.f32", "rrr", "= pair<__half>($f2, $f1)"},
    {"cvt.rn.bf16x2.f32", "rrr", "= pair<__nv_bfloat16>($f2, $f1)"},
    {"cvt.rna.tf32.f32", "rr", "= to_tf32($f1)"},
    {"cvt.rzi.<hint>*.<T>.<U>", "rr", "= static_cast<$T>(std::trunc($u1))"},
    {"cvt.rni.<hint>*.<T>.<U>", "rr", "= static_cast<$T>(std::nearbyint($u1))"},
    {"cvt.rmi.<hint>*.<T>.<U>", "rr", "= static_cast<$T>(std::floor($u1))"},
    {"cvt.<hint>*.<T>.<U>", "rr", "= converted<$T>($u1)"},
    {"cvta.to.shared.u64", "rr", "= shared_address($1)"},
    {"cvta.shared.u64", "rr", "= shared_at($1)"},
    {"cvta.to?.global.u64", "rr", "= as<std::uint64_t>($1)"},
    // --- the special function unit ---------------------------------------------------------------------------------
    {"ex2.approx.ftz?.f32", "rr", "= (::lab::cpu::counted(::lab::Counted::exponential), ::lab::ex2_approx_ftz($f1))"},
    {"ex2.approx.f16x2", "rr", "= of_both([](float x) { return std::exp2(x); }, $w1)"},
    {"rcp.approx.ftz?.f32", "rr", "= (::lab::cpu::counted(::lab::Counted::reciprocal), ::lab::rcp_approx_ftz($f1))"},
    {"rcp.rn.ftz?.f32", "rr", "= 1.0f / $f1"},
    {"rsqrt.approx.ftz?.f32", "rr", "= rsqrtf($f1)"},
    {"sqrt.approx|rn.ftz?.f32", "rr", "= std::sqrt($f1)"},
    {"lg2.approx.ftz?.f32", "rr", "= std::log2($f1)"},
    {"sin.approx.ftz?.f32", "rr", "= std::sin($f1)"},
    {"cos.approx.ftz?.f32", "rr", "= std::cos($f1)"},
    {"tanh.approx.f32", "rr", "= std::tanh($f1)"},
    // --- cp.async ------------------------------------------------------------------------------------------------
    {"cp.async.ca|cg.shared|shared::cta.global.<hint>*", "aar",
     "__pipeline_memcpy_async(shared_at($a0), generic_at($a1), $2)"},
    {"cp.async.ca|cg.shared|shared::cta.global.<hint>*", "aarr",
     "__pipeline_memcpy_async(shared_at($a0), generic_at($a1), $2, ($2) - $w3)"},
    {"cp.async.commit_group", "", "__pipeline_commit()"},
    {"cp.async.wait_group", "r", "__pipeline_wait_prior($0)"},
    {"cp.async.wait_all", "", "(__pipeline_commit(), __pipeline_wait_prior(0))"},
    // --- matrices --------------------------------------------------------------------------------------------------
    {"ldmatrix.sync.aligned.m8n8?.x1|x2|x4.trans?.m8n8?.shared|shared::cta.b16", "va",
     "load_matrices($V0, shared_at($a1), $?)"},
    {"stmatrix.sync.aligned.m8n8?.x1|x2|x4.trans?.m8n8?.shared|shared::cta.b16", "av",
     "store_matrices(shared_at($a0), $U1, $?)"},
    {"mma.sync.aligned.m16n8k16|m16n8k8.row.col.f32.<T>.<T>.f32", "vvvv", "multiply<$T>($V0, $U1, $U2, $F3)"},
    {"mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16", "vvvv", "multiply_to_halves($V0, $U1, $U2, $U3)"},
    {"mma.sync.aligned.m16n8k32|m16n8k16.row.col.s32.<T>.<U>.s32", "vvvv",
     "multiply_by_shuffles<$T, $U>($V0, $U1, $U2, $U3)"},
    {"mma.sync.aligned.m16n8k8|m16n8k4.row.col.f32.tf32.tf32.f32", "vvvv",
     "multiply_by_shuffles<float, float>($V0, $U1, $U2, $F3)"},
    {"wgmma.fence.sync.aligned", "", "::lab::cpu::wgmma_fence()"},
    {"wgmma.commit_group.sync.aligned", "", "::lab::cpu::wgmma_commit()"},
    {"wgmma.wait_group.sync.aligned", "r", "::lab::cpu::wgmma_wait($0)"},
    {"setmaxnreg.inc.sync.aligned.u32", "r", "::lab::cpu::set_max_registers($0, true)"},
    {"setmaxnreg.dec.sync.aligned.u32", "r", "::lab::cpu::set_max_registers($0, false)"},
    // --- barriers and fences -----------------------------------------------------------------------------------------
    {"bar|barrier.cta?.sync.aligned?", "r", "whole_block_barrier($0)"},
    {"bar|barrier.cta?.sync.aligned?", "rr", "::lab::cpu::named_barrier($0, $1, true)"},
    {"bar|barrier.cta?.arrive.aligned?", "rr", "::lab::cpu::named_barrier($0, $1, false)"},
    {"bar.warp.sync", "r", "__syncwarp($0)"},
    {"membar.cta", "", "__threadfence_block()"},
    {"membar.gl|sys", "", "__threadfence()"},
    {"fence.acq_rel|sc.cta", "", "__threadfence_block()"},
    {"fence.acq_rel|sc.gpu|cluster|sys", "", "__threadfence()"},
    {"fence.proxy.async.<hint>*", "", "::lab::cpu::fence_proxy_async()"},
    {"fence.mbarrier_init.release.cluster", "", "::lab::cpu::fence_mbarrier_init()"},
    {"fence.proxy.tensormap::generic.acquire.gpu", "ar", "(void)0"},
    // --- mbarriers ---------------------------------------------------------------------------------------------------
    {"mbarrier.init.shared|shared::cta?.b64", "ar", "::lab::cpu::mbarrier_init(shared_at($a0), $1)"},
    {"mbarrier.inval.shared|shared::cta?.b64", "a", "(void)0"},
    {"mbarrier.arrive.<hint>*.shared|shared::cta.b64", "ra", "::lab::cpu::mbarrier_arrive(shared_at($a1), 0, false)"},
    {"mbarrier.arrive.<hint>*.shared|shared::cta.b64", "rar",
     "times($2, [&] { ::lab::cpu::mbarrier_arrive(shared_at($a1), 0, false); })"},
    {"mbarrier.arrive.<hint>*.shared::cluster.b64", "ra", "::lab::cpu::remote_arrive($w1)"},
    {"mbarrier.arrive.<hint>*.shared::cluster.b64", "rar", "times($2, [&] { ::lab::cpu::remote_arrive($w1); })"},
    {"mbarrier.arrive.expect_tx.<hint>*.shared|shared::cta.b64", "rar",
     "::lab::cpu::mbarrier_arrive(shared_at($a1), $2, true)"},
    {"mbarrier.try_wait.parity.acquire.cluster.shared|shared::cta.b64", "rar",
     "= ::lab::cpu::mbarrier_try_wait_cluster(shared_at($a1), $2)"},
    {"mbarrier.try_wait|test_wait.parity.<hint>*.shared|shared::cta.b64", "rar*",
     "= ::lab::cpu::mbarrier_try_wait(shared_at($a1), $2)"},
    // --- the copy engine -----------------------------------------------------------------------------------------------
    {"cp.async.bulk.tensor.1d|2d|3d|4d|5d.shared::cluster|shared::cta.global.tile?.mbarrier::complete_tx::bytes.<hint>"
     "*",
     "aa*", "::lab::cpu::tma_load(shared_at($a0), $1, shared_at($2))"},
    {"cp.async.bulk.tensor.1d|2d|3d|4d|5d.shared::cluster.global.tile?.mbarrier::complete_tx::bytes.multicast::cluster."
     "<hint>*",
     "aa*", "::lab::cpu::tma_load_multicast(shared_at($a0), $1, shared_at($2), $3)"},
    {"cp.async.bulk.tensor.1d|2d|3d|4d|5d.global.shared::cta.tile?.bulk_group.<hint>*", "aa*",
     "::lab::cpu::tma_store($0, shared_at($a1))"},
    {"cp.async.bulk.shared::cluster|shared::cta.global.mbarrier::complete_tx::bytes.<hint>*", "aara",
     "::lab::cpu::bulk_load(shared_at($a0), generic_at($a1), $2, shared_at($a3))"},
    {"cp.async.bulk.global.shared::cta.bulk_group.<hint>*", "aar",
     "::lab::cpu::bulk_store(generic_at($a0), shared_at($a1), $2)"},
    {"cp.async.bulk.commit_group", "", "::lab::cpu::bulk_commit()"},
    {"cp.async.bulk.wait_group", "r", "::lab::cpu::bulk_wait($0, false)"},
    {"cp.async.bulk.wait_group.read", "r", "::lab::cpu::bulk_wait($0, true)"},
    {"prefetch.tensormap", "a", "(void)0"},
    {"prefetch.<hint>*.L1|L2", "a", "(void)0"},
    {"createpolicy.fractional.<hint>*.b64", "r*", "= std::uint64_t(0)"},
    // --- clusters --------------------------------------------------------------------------------------------------------
    {"mapa.shared::cluster?.u32", "rrr", "= ($w2 + 1) << 24 | ($w1 & 0xFFFFFF)"},  // instructions.h says what it is
    {"barrier.cluster.arrive.release?.aligned?", "", "::lab::cpu::cluster_arrive(true)"},
    {"barrier.cluster.arrive.relaxed.aligned?", "", "::lab::cpu::cluster_arrive(false)"},
    {"barrier.cluster.wait.acquire?.aligned?", "", "::lab::cpu::cluster_wait()"},
    {"st.async.<hint>*.shared::cluster.mbarrier::complete_tx::bytes.<T>", "ara", "store_async($a0, $t1, $a2)"},
    {"st.async.<hint>*.shared::cluster.mbarrier::complete_tx::bytes.v2|v4.f32", "ava", "store_async($a0, $F1, $a2)"},
    // --- the rest --------------------------------------------------------------------------------------------------------
    {"elect.sync", "rr", "= lane_id() == 0"},
    {"activemask.b32", "r", "= __activemask()"},
    {"griddepcontrol.wait", "", "::lab::cpu::grid_dependency_wait()"},
    {"griddepcontrol.launch_dependents", "", "::lab::cpu::launch_dependents()"},
    {"nanosleep.u32", "r", "__nanosleep($0)"},
    {"shfl.sync.bfly.b32", "rrrrr", "= __shfl_xor_sync($w4, $w1, $2)"},
    {"shfl.sync.down.b32", "rrrrr", "= __shfl_down_sync($w4, $w1, $2)"},
    {"shfl.sync.up.b32", "rrrrr", "= __shfl_up_sync($w4, $w1, $2)"},
    {"shfl.sync.idx.b32", "rrrrr", "= __shfl_sync($w4, $w1, $2)"},
    {"trap", "", "__trap()"},
};

}  // namespace lab::frontend
