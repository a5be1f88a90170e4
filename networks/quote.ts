const maxLength = 300;

/**
 * A server's own words, fit for a message to the user: one line, at most 300 characters, in quotation marks.
 *
 * Empty when there are none. A server may repeat what it was sent, so the secrets of the request are taken out.
 */
export function quote(words: unknown, secrets: readonly string[]): string {
  if (typeof words !== 'string') {
    return '';
  }

  const clean = secrets
    .filter((secret) => secret !== '')
    .reduce((text, secret) => text.replaceAll(secret, '…'), words)
    .replaceAll(/[\p{Cc}\s]+/gu, ' ')
    .trim();
  const short = clean.length > maxLength ? `${clean.slice(0, maxLength)}…` : clean;
  // A cut through a surrogate pair would leave a text that no database takes.
  return short && `"${short.toWellFormed()}"`;
}
