// The seeded inputs: their bits, their statistics, and what each family is made to show.
#include <iterator>

#include "checks/tests/test_reference.hpp"

using namespace lab;
using namespace lab::judge;

// --- inputs ---------------------------------------------------------------------------------------------------------

// On every machine, after what was asserted of these very bits, and those of an independent Python implementation. On the notes' shape: means, deviations and no correlation of
// what is normal; scores of peaked inputs up to 25 and more, half of the weight on one key; offset scores that overflow
// exp in fp32; and impulse one-hot at n mod D. On the shapes where the acceptance has them: swamped makes a sum in fp16
// lose every tile after the first, an error of 0.01 where the bound is 1e-3; climbing makes an O in fp16 forget its
// rescales, for tiles of 64 to 256 keys, and a row of each warp rescale in every tile; cancelling leaves the rounding of
// weights, 1e-4 where the bound is 2e-5. Of special each head has one odd value, where special_of says; of two heads the
// first keys have no score, and of one all scores are below -65504. An amplitude multiplies q and k, not v: at 65504
// between a quarter and a half of k saturates.
TEST_CASE("inputs: each family's bits") {
  constexpr std::uint64_t ON_MISSION[] = {0x80408c383429734b, 0x237c44e3d22bc2f4, 0xc26c6db66047f86a,
                                          0x9e00183eb9a554de, 0xdc7e1cf1d931d17e, 0x1289c0cf26ee5b25,
                                          0xee3853c8c887c862, 0x589a80e6abef3de9, 0xa1a1fbd3d070cd55,
                                          0x6b6ab3fabc943e98, 0xbc7dc734625e2dd8};
  static_assert(std::size(ON_MISSION) == std::size(FAMILIES));
  const auto digest = [](Family family, const Shape& shape, double amplitude = 1) {
    const Inputs in = make_inputs(family, shape, 1, {}, amplitude);
    std::uint64_t hash = 0xcbf29ce484222325u;
    for (const auto* tensor : {&in.q, &in.k, &in.v})
      for (const fp16 x : *tensor) hash = (hash ^ x.bits) * 0x100000001b3u;
    return hash;
  };
  for (std::size_t i = 0; i < std::size(FAMILIES); ++i) {
    CAPTURE(i);
    CHECK(digest(FAMILIES[i], MISSION) == ON_MISSION[i]);
  }
  CHECK(digest(Family::swamped, {1, 1, 2048, 64, false}) == 0xce05473bf7dfb516);
  CHECK(digest(Family::swamped, {1, 1, 2048, 128, false}) == 0x6f7be46b0d74682c);
  CHECK(digest(Family::climbing, {1, 2, 1024, 64, false}) == 0x00aec698cf078d4d);
  CHECK(digest(Family::climbing, {1, 2, 1024, 128, false}) == 0x0ec5af18ffcf91e9);
  CHECK(digest(Family::cancelling, {1, 1, 128, 64, false}) == 0xaa03f36370768365);
  CHECK(digest(Family::cancelling, {1, 1, 128, 128, false}) == 0x6a05669ab750b991);
  CHECK(digest(Family::special, {1, SPECIALS, 139, 64, false}) == 0x4794c8a266895ecd);
  CHECK(digest(Family::unit, {1, 1, 40, 64, false}, 65504) == 0x3a8c1320ccd7c156);
  CHECK(digest(Family::matched, {1, 1, 40, 64, false}, 6000) == 0x1d92fe363646ce11);
  CHECK(digest(Family::constant, {1, 1, 40, 64, false}, 30000) == 0xf622b3a6fd34bb19);
  CHECK_THROWS_AS(make_inputs(Family::offset, MISSION, 1, {}, 2), BadInput);
}

// Numbers drawn once are kept for what comes next: nothing of what came before may show.
TEST_CASE("inputs: the same whatever was drawn before, and past what is kept") {
  // The heads that are asked for begin and end inside the stretches that are drawn at a time.
  const Shape whole{1, 40, 129, 64}, long_one{1, 5, 8192, 128};
  const std::uint32_t some[] = {3, 4, 39}, last[] = {4};  // of long_one: past 2^22 elements
  const Inputs first = make_inputs(Family::unit, whole, 21, some), far = make_inputs(Family::unit, long_one, 21, last);
  make_inputs(Family::peaked, {1, 2, 500, 64}, 22);
  make_inputs(Family::peaked, whole, 21);
  const Inputs again = make_inputs(Family::unit, whole, 21, some);
  CHECK((again.q == first.q && again.k == first.k && again.v == first.v));
  const std::size_t head = std::size_t(129) * 64;
  const Inputs all = make_inputs(Family::unit, whole, 21);
  for (const std::uint32_t h : some)
    CHECK(std::equal(all.q.begin() + std::ptrdiff_t(h * head), all.q.begin() + std::ptrdiff_t((h + 1) * head),
                     first.q.begin() + std::ptrdiff_t(h * head)));
  CHECK(first.q[0] == FP16_NAN);
  const Inputs far_again = make_inputs(Family::unit, long_one, 21);
  const std::ptrdiff_t begin = std::ptrdiff_t(4) * 8192 * 128;
  CHECK(std::equal(far.v.begin() + begin, far.v.end(), far_again.v.begin() + begin));
  CHECK(!std::equal(far_again.v.begin() + begin, far_again.v.begin() + begin + 100, far_again.v.begin()));
}
