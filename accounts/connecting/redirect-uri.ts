import { sha256Hex } from '../../runtime/secrets.ts';

/**
 * The OAuth redirect URI. Each authorization server has its own, against mix-up attacks (RFC 9700, section 4.4).
 *
 * @param server Base URL, for a network with many servers.
 */
export const redirectUri = (publicUrl: string, platform: string, server?: string): string =>
  `${publicUrl}/connect/callback/${platform}${server === undefined ? '' : `-${sha256Hex(server).slice(0, 16)}`}`;
