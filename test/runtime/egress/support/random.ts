/** Pseudo-random numbers, the same in every run, so that a failure can be repeated. */
export function randomBits(seed: number): (width: number) => bigint {
  let state = BigInt(seed);
  const next = () => {
    state =
      (state * 6_364_136_223_846_793_005n + 1_442_695_040_888_963_407n) & 0xffff_ffff_ffff_ffffn;
    return state >> 32n;
  };
  return (width) => {
    let bits = 0n;
    for (let have = 0; have < width; have += 32) {
      bits = (bits << 32n) | next();
    }
    return bits & ((1n << BigInt(width)) - 1n);
  };
}
