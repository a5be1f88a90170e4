const alphabet = '234567abcdefghijklmnopqrstuvwxyz';
const pattern = /^[2-7a-j][2-7a-z]{12}$/v;

/** Whether a record key has the form that posts need. Source: https://atproto.com/specs/tid */
export function isTid(text: string): boolean {
  return pattern.test(text);
}

/** Returns a function that makes keys from the time; each is above the one before. */
export function createTids(now: () => number): () => string {
  let lastMicros = 0n;
  return () => {
    const micros = BigInt(now()) * 1000n;
    lastMicros = micros > lastMicros ? micros : lastMicros + 1n;
    let rest = lastMicros << 10n; // The lower ten bits name the clock; the sandbox has only one.
    let tid = '';
    for (let place = 0; place < 13; place += 1) {
      tid = (alphabet[Number(rest & 31n)] ?? '') + tid;
      rest >>= 5n;
    }
    return tid;
  };
}
