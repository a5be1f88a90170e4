/** Set by undici, or by us below; a caller who sets them means something that would not happen. */
const ownHeaders = new Set([
  'host',
  'connection',
  'keep-alive',
  'accept-encoding',
  'content-length',
  'transfer-encoding',
  'expect',
  'upgrade',
]);

/** The caller's headers, and the one that keeps answers uncompressed. @throws TypeError for one that is not theirs. */
export function requestHeaders(
  headers: Readonly<Record<string, string>> = {},
): Record<string, string> {
  const own = Object.keys(headers).find((name) => ownHeaders.has(name.toLowerCase()));
  if (own !== undefined) {
    throw new TypeError(`The header ${own} is not the caller's to set.`);
  }

  return { ...headers, 'accept-encoding': 'identity' };
}
