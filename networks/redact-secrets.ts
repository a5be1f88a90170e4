/** Limit for the server's message and for a secret, in UTF-16 units. A server may choose both, and send megabytes. */
export const maxRead = 4096;

/**
 * How much of a secret's beginning is removed. A server may cut off what it repeats: half of a secret, or 32 units, are
 * no coincidence and reveal too much. A secret of less than 6 units is removed only if it is complete.
 */
const enoughOf = (spelling: string): number =>
  Math.min(spelling.length, 32, Math.max(6, Math.ceil(spelling.length / 2)));

/**
 * The beginning of a server's message, with `…` in place of each secret.
 *
 * At a cut, text that may be the beginning of a secret is removed too.
 */
export function redactSecrets(message: string, secrets: readonly string[]): string {
  const piece = message.slice(0, maxRead);
  const isCut = message.length > maxRead;
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

/** A secret as forms, URLs and JSON contain it: a server may repeat the raw request. */
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
    inJson.replaceAll('/', String.raw`\/`), // PHP escapes slashes.
  ].map((spelling) => spelling.slice(0, maxRead));
}

/**
 * The length of the secret's beginning at each position of a text.
 *
 * Gusfield's Z algorithm, which is linear. `replaceAll` takes 29 s for a secret of `x` in a message of `x`.
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
