import { sha256Hex } from '../../runtime/secrets.ts';

/**
 * Where the browser comes back to: one address for each authorization server, so that the answer of one is never taken for
 * another's (RFC 9700, section 4.4).
 *
 * @param server Its base URL, of a network that has many.
 */
export const redirectUri = (publicUrl: string, platform: string, server?: string): string =>
  `${publicUrl}/connect/callback/${platform}${server === undefined ? '' : `-${sha256Hex(server).slice(0, 16)}`}`;
