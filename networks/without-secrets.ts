/** Of a server's words and of a secret, in UTF-16 units. Both may be megabytes, and a server may have chosen both. */
export const maxRead = 4096;

/**
 * A server may cut off what it repeats: a beginning of a secret that has half of it, or 32 units, is none that is there by
 * chance, and tells too much. A short one may be: a secret of less than 6 is taken out only where it is whole.
 */
const enoughOf = (spelling: string): number =>
  Math.min(spelling.length, 32, Math.max(6, Math.ceil(spelling.length / 2)));

/**
 * The beginning of a server's words, with `…` in place of each secret.
 *
 * What could be the beginning of a secret that goes on behind the cut is taken out as well.
 */
export function withoutSecrets(words: string, secrets: readonly string[]): string {
  const piece = words.slice(0, maxRead);
  const isCut = words.length > maxRead;
  const hidden = new Uint8Array(piece.length);
  for (const spelling of new Set(secrets.flatMap(spellingsOf))) {
    const enough = enoughOf(spelling);
    for (const [at, length] of beginningsIn(piece, spelling).entries()) {
      const end = at + length;
      if (length > 0 && (length >= enough || (isCut && end === piece.length))) {
        hidden.fill(1, at, end);
      }
    }
  }

  let text = '';
  for (const [at, isHidden] of hidden.entries()) {
    text += isHidden === 0 ? piece.charAt(at) : hidden[at - 1] === 1 ? '' : '…';
  }
  return text;
}

/** As it stands in a form, in an address, or in JSON: a server may repeat the request as it came. */
function spellingsOf(secret: string): string[] {
  if (secret === '') {
    return [];
  }

  const start = secret.slice(0, maxRead);
  const text = start.toWellFormed();
  const inForm = new URLSearchParams([['', text]]).toString().slice(1);
  const encoded = [encodeURIComponent(text), inForm];
  const inJson = JSON.stringify(text).slice(1, -1);
  return [
    start,
    ...encoded,
    ...encoded.map((spelling) =>
      spelling.replaceAll(/%[0-9A-F]{2}/gv, (byte) => byte.toLowerCase()),
    ),
    inJson,
    inJson.replaceAll('/', String.raw`\/`), // As PHP writes it.
  ].map((spelling) => spelling.slice(0, maxRead));
}

/**
 * How much of the beginning of a secret stands at each place of a text.
 *
 * Gusfield's Z algorithm, which is linear: looking for a secret of `x` in words of `x` takes `replaceAll` 29 s.
 */
function beginningsIn(text: string, secret: string): Uint16Array {
  const both = secret + text;
  const lengths = new Uint16Array(both.length);
  let from = 0;
  let to = 0;
  for (let at = 1; at < both.length; at += 1) {
    let length = at < to ? Math.min(to - at, lengths[at - from] ?? 0) : 0;
    while (at + length < both.length && both.charCodeAt(length) === both.charCodeAt(at + length)) {
      length += 1;
    }
    if (at + length > to) {
      from = at;
      to = at + length;
    }
    lengths[at] = length;
  }

  return lengths.subarray(secret.length).map((length) => Math.min(length, secret.length));
}
